"""The client id: one machine's, and always the same."""

from app.publish import identity


def test_mq_08_two_machines_never_share_an_id_even_if_copied_from_one_image(monkeypatch, tmp_path):
    machine_id = tmp_path / "machine-id"
    machine_id.write_text("0123456789abcdef\n")
    mine = identity.client_id("Linie 1", machine_id=machine_id)
    assert mine == identity.client_id("Linie 1", machine_id=machine_id)
    monkeypatch.setattr(identity.uuid, "getnode", lambda: 42)
    assert mine != identity.client_id("Linie 1", machine_id=machine_id)


def test_mq_08_two_lines_and_two_roles_of_one_machine_differ():
    assert len({identity.client_id("a"), identity.client_id("b"), identity.client_id("a", "watch")}) == 3


def test_a_machine_without_an_id_has_one_all_the_same(tmp_path):
    assert identity.client_id("Linie 1", machine_id=tmp_path / "missing").startswith("taktsight-linie-1-")


def test_the_machines_own_id_is_not_shown(tmp_path):
    (tmp_path / "machine-id").write_text("0123456789abcdef")
    assert "0123456789" not in identity.client_id("x", machine_id=tmp_path / "machine-id")
