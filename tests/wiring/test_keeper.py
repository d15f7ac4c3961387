"""Where results wait: on disk where there is a place for it, in memory where there is none or where it is asked for."""

from pathlib import Path

import pytest

from app.config.sections import Outbox
from app.wiring.keeper import build_keeper, outbox_file


@pytest.fixture(autouse=True)
def _no_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STATE_DIRECTORY", raising=False)
    monkeypatch.delenv("RUNTIME_DIRECTORY", raising=False)


def test_outside_a_service_results_wait_in_memory() -> None:
    assert outbox_file(Outbox()) is None
    assert build_keeper(Outbox()) is None


def test_a_service_keeps_them_in_its_state_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STATE_DIRECTORY", f"{tmp_path}/state:{tmp_path}/other")
    assert outbox_file(Outbox()) == tmp_path / "state" / "outbox.sqlite"
    assert outbox_file(Outbox(path="memory")) is None


def test_a_path_of_ones_own_counts_everywhere(tmp_path: Path) -> None:
    section = Outbox(path=f"{tmp_path}/mine.sqlite")
    assert outbox_file(section) == tmp_path / "mine.sqlite"
    assert build_keeper(section) is not None
