"""One picture for each trigger, the first that was exposed after it."""

import pytest

from app.trigger import PATIENCE_NS, Trigger
from tests.frames import frame

NOW_NS = 1_000_000_000_000


@pytest.fixture
def rig(monkeypatch):
    monkeypatch.setattr("app.trigger.monotonic_ns", lambda: NOW_NS)
    lost = []
    trigger = Trigger(lost.append)
    trigger.lost = lost
    return trigger


def test_without_a_trigger_no_picture_is_looked_at(rig):
    assert rig.take(frame(exposed_ns=NOW_NS)) is None


def test_the_first_picture_after_it_carries_its_id_and_the_next_does_not(rig):
    rig.fire("a")
    assert rig.take(frame(1, exposed_ns=NOW_NS - 1)) is None, "that one was exposed before the part was there"
    taken = rig.take(frame(2, exposed_ns=NOW_NS + 5))
    assert (taken.seq, taken.trigger) == (2, "a")
    assert rig.take(frame(3, exposed_ns=NOW_NS + 9)) is None


def test_two_triggers_get_two_pictures_in_their_order(rig):
    rig.fire("a")
    rig.fire("b")
    taken = [rig.take(frame(number, exposed_ns=NOW_NS + number)).trigger for number in (1, 2)]
    assert taken == ["a", "b"]


def test_a_trigger_without_a_picture_in_time_is_told_and_gets_none_later(rig):
    rig.fire("a")
    assert rig.take(frame(1, exposed_ns=NOW_NS + PATIENCE_NS + 1)) is None
    assert rig.lost == ["a"]
