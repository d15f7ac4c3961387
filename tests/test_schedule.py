"""Which frame goes next: the most urgent, without a camera left behind; held against every order that could be."""

from collections.abc import Iterable
from functools import cache
from threading import Condition, Timer

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.frame import Frame
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


# ── shares under overload ────────────────────────────────────────────────────────────────────────────────────────────


class Slot:
    """A camera that always has a fresh frame waiting, as one in front of an engine that is too slow."""

    drained = False

    def __init__(self, camera: str, clock: list[int], age_ns: int = 0) -> None:
        self.camera, self.clock, self.age_ns, self.taken = camera, clock, age_ns, 0

    def oldest_exposed_ns(self) -> int:
        return self.clock[0] - self.age_ns

    def take(self) -> Frame:
        self.taken += 1
        return frame(self.taken, self.camera, exposed_ns=self.clock[0] - self.age_ns)


def overloaded(cameras: dict[str, tuple[int, float]], rounds: int = 600) -> dict[str, int]:
    """How often each camera is taken, given its budget in milliseconds and its priority."""
    clock = [0]
    slots = {name: Slot(name, clock) for name in cameras}
    lanes = {name: Lane(slots[name], budget * MS, priority) for name, (budget, priority) in cameras.items()}
    schedule = Schedule(lanes, Condition())
    for _ in range(rounds):
        clock[0] += 10 * MS
        schedule.next(0)
    return {name: slot.taken for name, slot in slots.items()}


def jain(values: Iterable[float]) -> float:
    """Jain's index: 1 where all have the same, 1/n where one has all (Jain, Chiu, Hawe, 1984)."""
    values = list(values)
    return sum(values) ** 2 / (len(values) * sum(value**2 for value in values))


def test_a_camera_with_more_time_is_not_starved_by_those_in_a_hurry() -> None:
    taken = overloaded({"hurried": (50, 1), "calm": (500, 1), "calmer": (5000, 1)})
    assert jain(taken.values()) >= 0.98, taken


@pytest.mark.parametrize("cameras", [2, 4, 8])
def test_equal_cameras_get_equal_shares(cameras: int) -> None:
    taken = overloaded({f"c{number}": (100, 1) for number in range(cameras)})
    assert jain(taken.values()) >= 0.98, taken


def test_twice_the_priority_gets_twice_the_pictures() -> None:
    taken = overloaded({"most": (100, 4), "more": (100, 2), "least": (100, 1)})
    shares = [taken["most"] / 4, taken["more"] / 2, taken["least"]]
    assert jain(shares) >= 0.98, taken


def test_a_camera_that_was_away_has_saved_nothing_up() -> None:
    clock = [0]
    busy, bell = Slot("busy", clock), Condition()
    back = Line(bell, 100, source_waits=True)
    schedule = Schedule({"busy": Lane(busy, 500 * MS), "back": Lane(back, 1000 * MS)}, bell)
    for _ in range(50):
        clock[0] += 10 * MS
        schedule.next(0)
    for number in range(20):
        back.put(frame(number, "back", exposed_ns=clock[0]))
    taken = [schedule.next(0).camera for _ in range(20)]
    assert taken.count("back") in (8, 9, 10, 11), "from now on every second one, and not twenty in a row"


# ── deadlines, against every order that could have been ──────────────────────────────────────────────────────────────

COST = 10
Job = tuple[int, int]
"""When a frame comes, and how long it has, in units of which the engine needs ten for one."""


class Arriving:
    """One camera of one frame that comes at its time."""

    def __init__(self, number: int, comes: int, clock: list[int]) -> None:
        self.number, self.comes, self.clock, self.gone = number, comes, clock, False

    def oldest_exposed_ns(self) -> int | None:
        return None if self.gone or self.clock[0] < self.comes else self.comes

    def take(self) -> Frame:
        self.gone = True
        return frame(self.number, str(self.number), exposed_ns=self.comes)

    @property
    def drained(self) -> bool:
        return self.gone


def missed_by_ours(jobs: list[Job]) -> int:
    clock, misses = [0], 0
    arriving = {str(number): Arriving(number, comes, clock) for number, (comes, _) in enumerate(jobs)}
    schedule = Schedule({name: Lane(one, jobs[int(name)][1]) for name, one in arriving.items()}, Condition())
    left = len(jobs)
    while left:
        taken = schedule.next(0)
        if taken is None:
            clock[0] += 1
            continue
        left -= 1
        comes, has = jobs[int(taken.camera)]
        if clock[0] + COST > comes + has:  # too old when picked: given up, which takes no time
            misses += 1
        else:
            clock[0] += COST
    return misses


def missed_at_best(jobs: list[Job]) -> int:
    """The fewest misses of any order that never lets the engine wait while something could still be on time."""

    @cache
    def fewest(now: int, left: frozenset[int]) -> int:
        hopeless = {number for number in left if max(now, jobs[number][0]) + COST > sum(jobs[number])}
        open_ = left - hopeless
        if not open_:
            return len(hopeless)
        there = [number for number in open_ if jobs[number][0] <= now]
        if not there:
            return fewest(min(jobs[number][0] for number in open_), left)
        return len(hopeless) + min(fewest(now + COST, open_ - {number}) for number in there)

    return fewest(0, frozenset(range(len(jobs))))


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(5, 60)), min_size=1, max_size=6))
@settings(max_examples=300, deadline=None)
def test_a_deadline_is_missed_only_where_no_order_could_have_met_more(jobs: list[Job]) -> None:
    assert missed_by_ours(jobs) == missed_at_best(jobs)


# ── cameras at a rate, each empty for a moment after it was looked at ────────────────────────────────────────────────


class Camera30:
    """A camera of 30 pictures a second that keeps the newest."""

    drained = False
    EVERY_NS = 33_333_333

    def __init__(self, name: str, clock: list[int], phase_ns: int) -> None:
        self.name, self.clock, self.phase_ns, self.seen, self.taken = name, clock, phase_ns, -1, 0

    def newest(self) -> int:
        return (self.clock[0] - self.phase_ns) // self.EVERY_NS

    def oldest_exposed_ns(self) -> int | None:
        newest = self.newest()
        return self.phase_ns + newest * self.EVERY_NS if newest > self.seen and newest >= 0 else None

    def take(self) -> Frame:
        exposed_ns, self.seen, self.taken = self.oldest_exposed_ns(), self.newest(), self.taken + 1
        return frame(self.taken, self.name, exposed_ns=exposed_ns)


@pytest.mark.parametrize("cameras", [2, 4, 8])
@pytest.mark.parametrize("call_ms", [20, 21, 23.5, 25, 30])
def test_cameras_at_one_rate_get_equal_shares_of_an_engine_that_is_too_slow(cameras: int, call_ms: float) -> None:
    clock = [0]
    all_of_them = [Camera30(str(number), clock, number * 23 * MS // cameras) for number in range(cameras)]
    schedule = Schedule({one.name: Lane(one, 100 * MS) for one in all_of_them}, Condition())
    while clock[0] < 20_000 * MS:
        clock[0] += int(call_ms * MS) if schedule.next(0) else MS // 2
    assert jain([one.taken for one in all_of_them]) >= 0.98, [one.taken for one in all_of_them]
