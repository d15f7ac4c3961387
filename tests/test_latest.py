"""The hand-off: newest wins, or nothing is lost."""

from threading import Condition, Event, Thread

import pytest

from app.frame import Frame
from app.latest import Line, Slot
from app.verdict import Code
from tests.frames import frame


@pytest.fixture
def bell() -> Condition:
    return Condition()


def taken(handoff: Slot | Line, bell: Condition) -> list[int]:
    with bell:
        seqs = []
        while handoff.oldest_exposed_ns() is not None:
            seqs.append(handoff.take().seq)
        return seqs


def test_a_slot_keeps_the_newest_frame_and_hands_back_what_it_overwrote(bell: Condition) -> None:
    overwritten: list[Frame] = []
    slot = Slot(bell, overwritten.append)
    for seq in (1, 2, 3):
        slot.put(frame(seq))
    assert taken(slot, bell) == [3]
    assert [lost.seq for lost in overwritten] == [1, 2]


MS = 1_000_000


@pytest.mark.parametrize(
    ("wait_ms", "exposed_ms", "kept", "lost"),
    [
        (0, [0, 0, 0], [3], [1, 2]),  # newest wins, even of one burst
        (30, [0, 10, 20], [1, 2, 3], []),  # a burst waits for its turn
        (30, [0, 10, 40], [2, 3], [1]),  # what is older than that is overwritten
        (30, [0, 10, 100], [3], [1, 2]),
        (30, [0] * 10, list(range(3, 11)), [1, 2]),  # eight pictures at most
    ],
)
def test_a_slot_lets_pictures_of_a_burst_wait_for_one_another(
    bell: Condition, wait_ms: int, exposed_ms: list[int], kept: list[int], lost: list[int]
) -> None:
    overwritten: list[Frame] = []
    slot = Slot(bell, overwritten.append, lambda: wait_ms * MS)
    for seq, exposed in enumerate(exposed_ms, start=1):
        slot.put(frame(seq, exposed_ns=exposed * MS))
    assert [frame.seq for frame in overwritten] == lost
    assert taken(slot, bell) == kept


def test_a_line_keeps_order_and_makes_a_file_wait_for_room(bell: Condition) -> None:
    line = Line(bell, 2, source_waits=True)
    through = Event()

    def feed() -> None:
        for seq in (1, 2, 3):
            line.put(frame(seq))
        through.set()

    thread = Thread(target=feed)
    thread.start()
    with bell:
        assert bell.wait_for(lambda: line.oldest_exposed_ns() is not None, 5)
    assert not through.wait(0.05), "the third frame went in although the line was full"
    with bell:
        assert line.take().seq == 1
    assert through.wait(5)
    thread.join()
    assert taken(line, bell) == [2, 3]


def test_a_full_line_turns_a_triggered_picture_into_unknown_in_its_place(bell: Condition) -> None:
    line = Line(bell, 1, source_waits=False)
    for seq in (1, 2, 3):
        line.put(frame(seq))
    with bell:
        first, second, third = line.take(), line.take(), line.take()
    assert first.picture.fault is None
    for late in (second, third):
        assert late.picture.fault is not None
        assert late.picture.fault.code is Code.OVERRUN
        assert late.image_hwc.size == 0, "the pixels would fill the memory"


def test_finishing_frees_a_source_that_waits_for_room(bell: Condition) -> None:
    line = Line(bell, 1, source_waits=True)
    line.put(frame(1))
    thread = Thread(target=lambda: line.put(frame(2)))
    thread.start()
    line.finish()
    thread.join(5)
    assert not thread.is_alive()


def test_a_handoff_is_drained_only_after_its_last_frame_was_taken(bell: Condition) -> None:
    slot = Slot(bell, lambda _: None)
    slot.put(frame(1))
    slot.finish()
    assert not slot.drained
    assert taken(slot, bell) == [1]
    assert slot.drained
