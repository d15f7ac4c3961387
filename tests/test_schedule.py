"""Which frame goes next."""

from threading import Condition, Timer

from app.latest import Line
from app.schedule import Lane, Schedule
from tests.frames import frame

MS = 1_000_000


def lanes(bell: Condition, **budgets_ms: int) -> tuple[dict[str, Line], Schedule]:
    lines = {camera: Line(bell, 8, source_waits=True) for camera in budgets_ms}
    schedule = Schedule({camera: Lane(lines[camera], budget * MS) for camera, budget in budgets_ms.items()}, bell)
    return lines, schedule


def test_the_earliest_deadline_goes_first_whichever_camera_was_first() -> None:
    lines, schedule = lanes(Condition(), slow=500, quick=100)
    lines["slow"].put(frame(1, "slow", exposed_ns=0))
    lines["quick"].put(frame(1, "quick", exposed_ns=200 * MS))
    lines["quick"].put(frame(2, "quick", exposed_ns=450 * MS))
    order = [schedule.next(1) for _ in range(3)]
    assert [(f.camera, f.seq) for f in order if f] == [("quick", 1), ("slow", 1), ("quick", 2)]


def test_nothing_waiting_gives_none_after_the_time_out() -> None:
    _, schedule = lanes(Condition(), a=100)
    assert schedule.next(0.01) is None


def test_a_frame_that_arrives_while_waiting_is_given_at_once() -> None:
    lines, schedule = lanes(Condition(), a=100, b=100)
    timer = Timer(0.05, lambda: lines["b"].put(frame(7, "b")))
    timer.start()
    got = schedule.next(30)
    timer.join()
    assert got is not None
    assert got.seq == 7


def test_cameras_that_gave_their_last_frame_are_drained_and_end_the_wait() -> None:
    lines, schedule = lanes(Condition(), a=100, b=100)
    lines["a"].put(frame(1, "a"))
    for line in lines.values():
        line.finish()
    assert schedule.drained() == {"b"}
    assert schedule.next(30) is not None
    assert schedule.drained() == {"a", "b"}
    assert schedule.next(30) is None
