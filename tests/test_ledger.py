"""Every frame ends exactly once."""

import pytest

from app.ledger import Fate, Ledger


def test_captured_is_the_sum_of_all_fates_and_of_what_waits() -> None:
    ledger = Ledger(["front"])
    for seq in range(1, 8):
        ledger.capture("front", seq)
    for seq, fate in enumerate(Fate, start=1):
        ledger.settle("front", seq, fate)
    counts = ledger.counts("front")
    assert counts.captured == 7
    assert (counts.judged, counts.overwritten, counts.skipped, counts.late, counts.failed) == (1, 1, 1, 1, 1)
    assert counts.waiting == 2
    assert counts.balanced


@pytest.mark.parametrize("seq", [1, 2], ids=["ended before", "never captured"])
def test_a_frame_that_ends_twice_or_from_nowhere_is_seen(seq: int) -> None:
    ledger = Ledger(["front"])
    ledger.capture("front", 1)
    ledger.settle("front", 1, Fate.JUDGED)
    ledger.settle("front", seq, Fate.LATE)
    assert ledger.counts("front").settled_twice == 1
    assert not ledger.counts("front").balanced


def test_cameras_are_counted_apart() -> None:
    ledger = Ledger(["front", "back"])
    ledger.capture("front", 1)
    assert ledger.counts("front").waiting == 1
    assert ledger.counts("back").captured == 0
