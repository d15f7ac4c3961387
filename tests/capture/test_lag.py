"""A camera that is faster than whoever looks at its pictures: newest wins, and nothing lags behind."""

import itertools
from threading import Condition, Event, Thread
from time import monotonic_ns

from app.capture.feed import Feed
from app.capture.guard import Guard
from app.capture.stream import Stream
from app.config.sections import Guard as GuardSection
from app.config.sections import Reopen, StreamSource
from app.latest import Slot
from app.schedule import Lane, Schedule
from tests.capture.servers import counting_server, number_in

FPS, WORK_S, LOOKS = 50, 0.2, 15


def test_cam_04_the_picture_looked_at_is_never_older_than_one_period_and_the_rest_is_counted():
    """After 15 looks of 200 ms at 50 pictures a second, whoever takes them in order would be 135 pictures behind."""
    bell, stop, overwritten, captured, looked_at, behind, ages_s = Condition(), Event(), [], [], [], [], []
    slot = Slot(bell, lambda frame: overwritten.append(number_in(frame.image_hwc)))

    def put(frame):
        captured.append(number_in(frame.image_hwc))
        slot.put(frame)

    with counting_server(number / FPS for number in itertools.count()) as (url, sent_ns):
        source = Stream(StreamSource(kind="stream", url=url))
        guard = Guard(GuardSection(frozen=False), live=True)
        feed = Feed("c", lambda: source, guard=guard, reopen=Reopen(), put=put, on_state=lambda *_: None)
        thread = Thread(target=feed.run, args=(stop,), name="capture")
        thread.start()
        schedule = Schedule({"c": Lane(slot, 100_000_000)}, bell)
        while len(looked_at) < LOOKS:
            frame = schedule.next(5.0)
            assert frame is not None, "the camera gives pictures"
            number = number_in(frame.image_hwc)
            behind.append(max(sent_ns) - number)
            Event().wait(WORK_S)
            ages_s.append((monotonic_ns() - sent_ns[number]) / 1e9)
            looked_at.append(number)
        stop.set()
        thread.join()
    # One period is one picture; the rest is what a busy machine may take before it wakes whoever waits.
    assert max(behind[1:]) <= 1 + 39, behind
    assert max(ages_s[1:]) <= 1 / FPS + WORK_S + 0.8, ages_s
    assert captured == list(range(captured[0], captured[0] + len(captured))), "all that was sent has arrived"
    waiting = set(captured) - set(looked_at) - set(overwritten)
    assert len(waiting) <= 1
    assert len(overwritten) == len(captured) - len(looked_at) - len(waiting), "dropped is sent less looked at"
    assert len(overwritten) > 5 * LOOKS
