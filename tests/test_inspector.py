"""The inspect thread's own arithmetic: how long it may be away for something that is not a frame, and when."""

from threading import Condition, Event
from types import SimpleNamespace

import pytest

from app.inspector import POLL_S, PUBLISH_S, Inspector
from app.latest import Line
from app.microbatch import AFTER_NS, CAUTION
from app.schedule import Lane, Schedule
from app.steady.lull import Lull
from tests.frames import frame

MS = 1_000_000


def inspector(*cameras):
    """An inspector of cameras, each with its budget and what its engine's call lasts, in milliseconds."""
    bell = Condition()
    lanes = {str(n): Lane(Line(bell, 4, source_waits=True), budget * MS) for n, (budget, _) in enumerate(cameras)}
    engines = [SimpleNamespace(most=1) for _ in cameras]
    pipelines = {str(number): SimpleNamespace(engine=engine) for number, engine in enumerate(engines)}
    made = Inspector([], pipelines, Schedule(lanes, bell))
    for engine, (_, call_ms) in zip(engines, cameras, strict=True):
        made._calls_of(engine).took(1, 0, call_ms * MS)
    return made


@pytest.mark.parametrize(
    ("cameras", "busy_ms"),
    [
        ([(100, 20)], 20),
        ([(100, 20), (500, 20)], 40),  # the tightest budget counts, and every camera's frame may come at once
        ([(100, 60)], 60),  # no time to spare: below zero
    ],
)
def test_what_is_left_of_the_tightest_budget_after_every_camera_s_call_is_to_spare(cameras, busy_ms):
    spare_ns = inspector(*cameras)._spare_ns()
    assert spare_ns == pytest.approx(0.75 * 100 * MS - CAUTION * busy_ms * MS - AFTER_NS)


def test_a_call_waits_for_no_second_picture_of_a_camera():
    engine, asked = SimpleNamespace(most=8), []

    def also(cameras, wait_ns):
        asked.append((sorted(cameras), wait_ns))
        return frame(1, camera="b") if len(asked) == 1 else None

    def begin(one):
        return SimpleNamespace(frame=one, engine=engine)

    schedule = SimpleNamespace(deadline_ns=lambda _: 0, also=also)
    gathering = Inspector([], {name: SimpleNamespace(engine=engine, begin=begin) for name in "ab"}, schedule)
    gathering._calls[id(engine)] = SimpleNamespace(fits=lambda *_: True, wait_ns=lambda *_: 5 * MS)
    together = gathering._gather(begin(frame(1, camera="a")), [])
    assert [one.frame.camera for one in together] == ["a", "b"]
    assert asked == [(["a", "b"], 5 * MS), (["a", "b"], 0)], "another one is taken along if it waits already"


class Quiet:
    """In the place of `Steady`: notes when it may collect garbage."""

    def __init__(self, seen):
        self._seen = seen

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def warm(self):
        pass

    def between(self, *, idle):
        if idle:
            self._seen.append("garbage")


class NotedLull(Lull):
    """Notes when it begins and ends."""

    def __init__(self, seen):
        super().__init__()
        self._seen = seen

    def begin(self):
        self._seen.append("lull")
        super().begin()

    def end(self):
        self._seen.append("no lull")
        super().end()


def test_what_can_wait_has_its_time_once_the_verdict_has_gone_out():
    seen, waited_s = [], []
    frames = iter([frame(1), None, frame(2), frame(3), None, None])

    def following(timeout_s):
        waited_s.append(timeout_s)
        return next(frames, None)

    def drained():
        return {"a"} if len(waited_s) == 6 else set()

    one = SimpleNamespace(begin=lambda it: seen.append(it.seq), finish=lambda: None)
    schedule = SimpleNamespace(next=following, drained=drained, least_budget_ns=lambda: 0)
    lull = NotedLull(seen)
    made = Inspector([], {"a": one, "front": one}, schedule, steady=Quiet(seen), lull=lull)
    made._open = {"a"}
    made.run(Event())
    first = ["no lull", 1]  # waits already: no time for anything else
    second = ["garbage", "lull", "no lull", 2]  # none came while the verdict before went out
    assert seen == [*first, *second, "no lull", 3, "garbage", "lull", "lull"], "and it stays so after the end"
    assert waited_s == [PUBLISH_S, PUBLISH_S, POLL_S, PUBLISH_S, PUBLISH_S, POLL_S]
    assert lull.wait(0)
