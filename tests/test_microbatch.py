"""Whether pictures share a call, with a clock of the test's own."""

import pytest

from app.microbatch import AFTER_NS, CAUTION, MicroBatches

MS = 1_000_000


class Rig:
    """An engine whose calls last what a test says."""

    def __init__(self, wait_ms=5.0):
        self.now_ns = 0
        self.calls = MicroBatches(wait_ms, lambda: self.now_ns)

    def call(self, pictures, spent_ms, idle_ms=0.0):
        self.now_ns += int(idle_ms * MS)
        began_ns = self.now_ns
        self.now_ns += int(spent_ms * MS)
        self.calls.took(pictures, began_ns, self.now_ns)


@pytest.fixture
def rig():
    return Rig()


def test_a_call_lasts_what_such_calls_lasted(rig):
    for _ in range(50):
        rig.call(2, 16)
    assert rig.calls.call_ns(2) == pytest.approx(16 * MS)
    rig.call(2, 36)
    assert 16 * MS < rig.calls.call_ns(2) < 20 * MS, "one slow call is no rule"


def test_what_was_never_called_is_taken_for_one_after_the_other(rig):
    rig.call(2, 16)
    assert rig.calls.call_ns(4) == pytest.approx(32 * MS)
    assert rig.calls.call_ns(1) == pytest.approx(16 * MS), "not for less than what is known"
    assert Rig().calls.call_ns(3) == 0


def test_one_more_fits_only_where_the_earliest_deadline_is_still_met(rig):
    rig.call(1, 10)
    rig.call(2, 16)
    needs_ns = int(CAUTION * 16 * MS) + AFTER_NS
    assert rig.calls.fits(2, rig.now_ns + needs_ns + 1)
    assert not rig.calls.fits(2, rig.now_ns + needs_ns - 1)


def test_nobody_waits_while_the_engine_has_time_to_spare(rig):
    for _ in range(1000):
        rig.call(1, 5, idle_ms=15)
    assert rig.calls.load == pytest.approx(0.25, abs=0.03)
    assert rig.calls.wait_ns(1, rig.now_ns + 500 * MS) == 0


def test_under_full_load_it_waits_as_long_as_allowed_and_no_longer_than_the_deadline_bears(rig):
    for _ in range(1000):
        rig.call(1, 10)
    assert rig.calls.load > 0.98
    assert rig.calls.wait_ns(1, rig.now_ns + 500 * MS) == pytest.approx(5 * MS, rel=0.06)
    tight_ns = rig.now_ns + int(CAUTION * 20 * MS) + AFTER_NS + 2 * MS
    assert rig.calls.wait_ns(1, tight_ns) == pytest.approx(2 * MS, rel=0.01)
    assert rig.calls.wait_ns(1, rig.now_ns) == 0


def test_the_load_is_forgotten_in_a_second_of_silence(rig):
    for _ in range(1000):
        rig.call(1, 10)
    rig.now_ns += 500 * MS
    assert rig.calls.load == pytest.approx(0.5, abs=0.02)
    rig.now_ns += 600 * MS
    assert rig.calls.load == 0


def test_with_no_time_allowed_nobody_waits():
    rig = Rig(wait_ms=0.0)
    for _ in range(1000):
        rig.call(1, 10)
    assert rig.calls.wait_ns(1, rig.now_ns + 500 * MS) == 0
