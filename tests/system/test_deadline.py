"""UNKNOWN/late by the deadline through the whole product and a real broker, while the engine hangs or dawdles."""

from __future__ import annotations

import random
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from time import monotonic_ns

import numpy as np
import pytest

from app.broker import LocalBroker
from app.capture.scripted import picture_of
from app.config import sections
from app.detections import Detections
from app.errors import EndOfStream
from app.inference.fake import FakeBackend
from app.model import TensorSpec
from app.publish.message import Event, Result
from app.watch import Subscriber
from app.wiring import Product, Watchers, build
from app.wiring.swap import Swap
from tests.system.lines import demo_line

pytestmark = pytest.mark.broker
WAIT_S = 30
MS = 1_000_000


class Trigger:
    """A camera that gives so many pictures, one every few milliseconds or as soon as it is let."""

    def __init__(self, pictures: int, every_s: float, go: Callable[[int], object] = lambda number: None) -> None:
        self.pictures, self.every_s, self.go = pictures, every_s, go
        self.given = 0

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def read(self, timeout_s):
        self.go(self.given)
        if self.given == self.pictures:
            raise EndOfStream("enough")
        threading.Event().wait(self.every_s)
        self.given += 1
        return picture_of(90 + self.given % 60)


class Heard:
    """What a subscriber received and when, from a thread of its own."""

    def __init__(self, port: int) -> None:
        self.results: list[tuple[Result, int]] = []
        self.events: list[Event] = []
        self._changed = threading.Condition()
        self._subscriber = Subscriber(sections.Mqtt(port=port))
        self._stop = False
        self._thread = threading.Thread(target=self._listen)

    def __enter__(self):
        self._subscriber.__enter__()
        assert self._subscriber.wait_until_subscribed(WAIT_S)
        self._thread.start()
        return self

    def __exit__(self, *error):
        self._stop = True
        self._thread.join(WAIT_S)
        self._subscriber.__exit__(*error)

    def _listen(self):
        while not self._stop:
            arrival = self._subscriber.get(0.1)
            with self._changed:
                if arrival is not None and isinstance(arrival.message, Result):
                    self.results.append((arrival.message, arrival.arrived_ns))
                elif arrival is not None and isinstance(arrival.message, Event):
                    self.events.append(arrival.message)
                self._changed.notify_all()

    def wait_for(self, is_true):
        with self._changed:
            return self._changed.wait_for(is_true, WAIT_S)


@pytest.fixture
def heard() -> Iterator[Heard]:
    with LocalBroker(kind="mosquitto") as broker, Heard(broker.port) as one:
        one.port = broker.port
        yield one


def line(port: int, source: Trigger, delay: Callable[[int], object], *, queue: str, budget_ms: float) -> Product:
    """A triggered camera without a gate, whose engine takes as long as a test says."""
    loaded = demo_line(mqtt=sections.Mqtt(port=port, version="3.1.1"), paced=True)
    camera = loaded.config.cameras["covers"]
    update = {"gate": None, "queue": queue, "budget_ms": budget_ms, "queue_length": 64}
    update["judge"] = sections.Judge(rules=[sections.ForbidRule(forbid="hole")])
    cameras = {"covers": camera.model_copy(update=update)}
    loaded = replace(loaded, config=loaded.config.model_copy(update={"cameras": cameras}))

    def slow(_, engine):
        calls = iter(range(-1, 1_000_000))
        spec = TensorSpec(next(iter(engine.feeds)), engine.sample[None].shape, engine.sample.dtype.name)

        def infer(feeds):
            delay(next(calls))
            return {"out": np.zeros(1, np.float32)}

        decode = lambda *_: Detections.none(("hole",))  # noqa: E731 - one field of three
        return replace(engine, backend=FakeBackend([spec], infer), decode=decode)

    swap = Swap(source=lambda _, __: source, engine=slow)
    return build(loaded, Watchers(), swap)


def test_late_is_with_the_subscriber_while_the_engine_hangs_and_the_verdict_follows(heard: Heard) -> None:
    hangs, over = threading.Event(), threading.Event()
    source = Trigger(1, 0.0, lambda given: given and over.wait(WAIT_S))
    product = line(heard.port, source, lambda call: call == 0 and hangs.wait(10), queue="latest", budget_ms=1000.0)
    service = threading.Thread(target=product.service.run)
    service.start()
    assert heard.wait_for(lambda: heard.results), "although the engine hangs"
    first, arrived_ns = heard.results[0]
    assert not hangs.is_set()
    hangs.set()
    assert heard.wait_for(lambda: len(heard.results) == 2)
    over.set()
    service.join(WAIT_S)
    judged = [(r.seq, r.rev, r.verdict.value, [reason.code for reason in r.reasons], r.late) for r, _ in heard.results]
    assert judged == [(1, 1, "UNKNOWN", ["late"], False), (1, 2, "OK", [], True)]
    assert first.level == "late"
    assert first.total_ms < 1000.0
    assert arrived_ns < monotonic_ns()
    assert str(product.ledger.counts("covers")) == "1 captured = 1 late"


def test_every_trigger_that_waits_behind_a_hanging_engine_is_said_to_be_late_while_it_hangs(heard: Heard) -> None:
    hangs, over = threading.Event(), threading.Event()
    source = Trigger(5, 0.005, lambda given: given == 5 and over.wait(WAIT_S))
    product = line(heard.port, source, lambda call: call == 0 and hangs.wait(WAIT_S), queue="every", budget_ms=300.0)
    service = threading.Thread(target=product.service.run)
    service.start()
    assert heard.wait_for(lambda: len(heard.results) == 5)
    assert not hangs.is_set()
    assert [(result.seq, result.rev) for result, _ in heard.results] == [(seq, 1) for seq in range(1, 6)]
    hangs.set()
    # The last one or two may still have a moment of their budget left when they are picked, and are looked at then.
    assert heard.wait_for(lambda: (1, 2) in [(result.seq, result.rev) for result, _ in heard.results])
    over.set()
    service.join(WAIT_S)
    assert str(product.ledger.counts("covers")) == "5 captured = 5 late"


@pytest.mark.parametrize("queue", ["every", "latest"])
def test_each_frame_has_one_revision_1_whatever_the_engine_takes(heard: Heard, queue: str) -> None:
    chance, frames = random.Random(7), 300
    times_s = [0.0, *(chance.choice([0.001, 0.004, 0.018, 0.022, 0.045]) for _ in range(2 * frames))]
    source = Trigger(frames, 0.015)
    product = line(
        heard.port, source, lambda call: threading.Event().wait(times_s[call + 1]), queue=queue, budget_ms=25.0
    )
    product.service.run()
    counts = product.ledger.counts("covers")
    assert counts.balanced, str(counts)
    assert (counts.captured, counts.waiting) == (frames, 0)
    spoken = counts.captured - counts.overwritten
    assert heard.wait_for(lambda: sum(result.rev == 1 for result, _ in heard.results) >= spoken)
    revisions = defaultdict(list)
    for result, _ in heard.results:
        revisions[result.seq].append(result)
    assert len(revisions) == spoken
    assert Counter(tuple(result.rev for result in of_one) for of_one in revisions.values()).keys() <= {(1,), (1, 2)}
    late = {seq for seq, (first, *_) in revisions.items() if [r.code for r in first.reasons] == ["late"]}
    assert len(late) == counts.late > 0
    assert counts.judged > 0
    assert min(product.budgets.aim.samples) > 20, "the timer has learned how late it is, and how far the network"
    for seq, (first, *second) in revisions.items():
        assert (first.verdict.value == "UNKNOWN") == (seq in late)
        assert [result.late for result in second] == [True] * len(second)
        assert not second or seq in late, "only UNKNOWN/late is followed by another verdict"


def test_breaches_and_level_changes_are_events_and_counts(heard: Heard) -> None:
    delay = lambda call: threading.Event().wait(0.06 if 40 < call < 80 else 0.001)  # noqa: E731 - one line
    product = line(heard.port, Trigger(200, 0.01), delay, queue="latest", budget_ms=50.0)
    product.service.run()
    assert heard.wait_for(lambda: {"level", "breach"} <= {event.kind for event in heard.events})
    counts = product.recorder.budget_counts()
    breaches = [event for event in heard.events if event.kind == "breach" and "inference" in event.data["over_ms"]]
    # A busy machine may make others late as well, by less.
    assert [event for event in breaches if event.data["over_ms"]["inference"] > 60 - 50 * 0.35 - 1]
    assert counts.breaches["covers", "inference"] >= len(breaches)
    levels = [event.data["level"] for event in heard.events if event.kind == "level"]
    assert set(levels) <= {"late", "full"}
    assert counts.level_changes["covers", "late"] >= 1


def test_pictures_of_a_folder_wait_for_nobody_unless_they_are_told_to() -> None:
    loaded = demo_line(fps=15.0, parts=2, paced=False)
    camera = loaded.config.cameras["covers"].model_copy(update={"budget_ms": 0.01})
    for deadline, late in ((None, False), (True, True)):
        cameras = {"covers": camera.model_copy(update={"deadline": deadline})}
        product = build(replace(loaded, config=loaded.config.model_copy(update={"cameras": cameras})))
        product.service.run()
        counts = product.ledger.counts("covers")
        assert counts.balanced
        assert (counts.late == counts.captured) is late
