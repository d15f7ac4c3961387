"""What the log costs is measured with a disk that takes all and one that takes nothing."""

import gc

from app.bench import log_cost


def test_every_row_has_its_figure_and_what_the_machine_itself_takes() -> None:
    rows = log_cost.rows(40)
    assert [row.what.split(",")[0] for row in rows] == ["OK", "NG", "NG"]
    assert all("nothing at all" in row.got and row.met in (True, False) for row in rows)
    assert gc.isenabled(), "as it was"


def test_the_stalled_file_takes_little_and_then_nothing() -> None:
    with log_cost.stalled() as descriptor:
        log = log_cost.Descriptor(descriptor)
        assert not log.write("x" * 200_000, lambda: True)
