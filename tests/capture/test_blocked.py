"""Drivers that block: the camera is said to be stale, then lost, and few threads are left to them."""

import threading
from collections import defaultdict
from threading import Event

import pytest

from app.capture.blocked import MOST_S, Blocked
from app.capture.feed import Feed
from app.capture.guard import Guard
from app.capture.scripted import picture_of
from app.config.sections import Guard as GuardSection
from app.config.sections import Reopen
from app.errors import EndOfStream

WAIT_S = 30
LATE = 240
"""The grey of the picture that comes once a driver lets go."""


STUCK_S = MOST_S + 0.1
"""More than one look counts for, so that a busy machine that looks late once blames no driver."""


class Driver:
    """A source whose opening, or reading after two pictures, blocks until it is let go; it notes who is inside."""

    def __init__(self, blocks: str, free: Event) -> None:
        self.blocks, self.free = blocks, free
        self.given = 0
        self.reading = self.closed = False
        self.overlaps = 0

    def __enter__(self):
        if self.blocks == "opening":
            self.free.wait(WAIT_S)
        return self

    def __exit__(self, *_):
        self.overlaps += self.reading
        self.closed = True

    def read(self, timeout_s):
        self.reading = True
        try:
            if self.blocks == "reading" and self.given == 2:
                self.free.wait(WAIT_S)
                self.given += 1
                return picture_of(LATE)
            self.given += 1
            if self.given > 20:
                raise EndOfStream("enough")
            return picture_of(100 + self.given)
        finally:
            self.reading = False


class Line:
    """A feed of drivers, one after the other; its states can be waited for."""

    def __init__(self, *blocks: str, stuck_threads: int = 1, stuck_s: float = STUCK_S, **guard) -> None:
        self.free, self.stop = Event(), Event()
        self.drivers = [Driver(what, self.free) for what in blocks]
        self.made = iter(self.drivers)
        self.frames, self.states = [], []
        self.told = defaultdict(Event)
        self.feed = Feed(
            "front",
            lambda: next(self.made),
            guard=Guard(GuardSection(**guard), live=True),
            reopen=Reopen(first_s=0.01, max_s=0.02, stuck_s=stuck_s, stuck_threads=stuck_threads),
            put=self.frames.append,
            on_state=self.tell,
        )
        self.thread = threading.Thread(target=self.feed.run, args=(self.stop,), name="feed")

    def tell(self, state, text):
        self.states.append((state.value, text))
        self.told[state.value].set()

    @property
    def names(self):
        return [state for state, _ in self.states]

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.free.set()
        self.thread.join(WAIT_S)
        assert not self.thread.is_alive()

    def wait(self, state):
        assert self.told[state].wait(WAIT_S), f"never {state}: {self.states}"


@pytest.mark.parametrize("where", ["opening", "reading"])
def test_ops_08_a_driver_that_never_returns_gets_one_thread_and_no_second_one(where):
    before = threading.active_count()
    with Line(where, "good") as line:
        line.wait("lost")
        assert "blocked" in line.states[-1][1]
        assert "1 of at most 1 threads hang in the driver" in line.states[-1][1]
        assert line.feed.stuck == 1
        Event().wait(1.0)  # many times the pause: it would have tried again
        assert line.drivers[1].given == 0
        assert threading.active_count() <= before + 2, "its own thread and the one that is stuck"
    assert line.drivers[0].closed, "by its own thread, once the driver let it go"


def test_cam_02_once_the_driver_lets_go_the_camera_is_opened_again_and_the_late_picture_is_nobody_s():
    with Line("reading", "good") as line:
        line.wait("lost")
        line.free.set()
        line.wait("ended")
    assert line.names == ["connecting", "online", "lost", "online", "ended"]
    assert [frame.seq for frame in line.frames] == list(range(1, 23))
    assert all(frame.image_hwc[0, 0, 0] != LATE for frame in line.frames)
    assert line.feed.stuck == 0


def test_cam_02_where_the_bound_says_so_a_new_thread_and_source_take_over_at_once():
    with Line("reading", "good", stuck_threads=2) as line:
        line.wait("ended")
        assert line.feed.stuck == 1
    assert line.names == ["connecting", "online", "lost", "online", "ended"]
    assert line.drivers[0].overlaps == 0, "never closed while it is read"


def test_cam_02_the_bound_holds_when_the_next_one_blocks_as_well():
    with Line("opening", "opening", "good", stuck_threads=2) as line:
        deadline = Event()
        while line.feed.stuck < 2 and not deadline.wait(0.02):
            pass
        deadline.wait(0.6)
        assert line.feed.stuck == 2
        assert line.drivers[2].given == 0, "not tried before one of the two was let go"


def test_cam_01_a_camera_that_gives_nothing_is_stale_in_time_and_online_again_with_its_pictures():
    with Line("reading", "good", stuck_s=1000.0, stale_s=0.2, clear_after=2) as line:
        line.wait("stale")
        assert line.names == ["connecting", "online", "stale"]
        line.free.set()
        line.wait("ended")
    assert line.names == ["connecting", "online", "stale", "online", "ended"]


def test_cam_08_a_triggered_camera_is_never_stale():
    with Line("reading", "good", stuck_s=0.6, stale_s=0.1, triggered=True) as line:
        line.wait("lost")
    assert "stale" not in line.names


def test_a_hand_over_that_waits_is_no_blocked_driver():
    line = Line("good")
    line.feed._put = lambda frame: line.frames.append(frame) or (frame.seq == 2 and line.free.wait(1.0))
    with line:
        line.wait("ended")
    assert line.names == ["connecting", "online", "ended"]
    assert len(line.frames) == 20


def test_a_machine_that_slept_blames_no_driver():
    now_s = [0.0]
    blocked = Blocked(lambda: now_s[0])
    assert blocked.look(1) == 0.0
    now_s[0] = 3600.0
    assert blocked.look(1) == MOST_S
    now_s[0] += 0.1
    assert blocked.look(1) == pytest.approx(MOST_S + 0.1)
    assert blocked.look(2) == 0.0, "it has gone on"
