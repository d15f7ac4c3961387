"""Figures of speed on their way: a message of low value, of which only the newest waits."""

import json
import time

import jsonschema
import pytest

from app.publish.backlog import Backlog
from app.publish.lane import Lane, LaneHooks
from app.publish.message import Latency, decode, encode, encode_within, message_schema
from app.publish.parcels import Parcel
from app.publish.spread import Spread, Subscriber, Window
from app.publish.topics import Topics
from app.verdict import Verdict


def spread(count=1000, p50=2.0):
    return Spread(count=count, p50=p50, p90=3.0, p99=4.0, p999=None, max=30_000.0, exact=False)


@pytest.fixture
def figures():
    def make(number=0, camera="cam"):
        stages = dict.fromkeys(
            ("capture", "wait", "preprocess", "inference", "postprocess", "network", "total"), spread()
        )
        subscriber = Subscriber(client="panel", network=spread(), hold=spread(), mostly="client")
        return Latency(
            id=f"f.{number}", line="l", camera=camera, utc="1970-01-01T00:00:00.000Z", budget_ms=100.0, frames=7, misses=1,
            level="full", breaches={"inference": 2}, others=0, subscribers=[subscriber] * 5,
            windows=[Window(seconds=seconds, stages=stages) for seconds in (10, 60, None)],
        )  # fmt: skip

    return make


@pytest.fixture
def lane():
    """A lane whose thread is not started, so that all that is put waits."""
    hooks = LaneHooks(lambda parcel: parcel.message, lambda *_: None, lambda *_: None)
    return Lane("test", None, Backlog(5, 1 << 30, 3600), hooks, answers=True)


def parcel(message):
    return Parcel(message.id, time.monotonic_ns(), None, message, replaces=f"latency of {message.camera}")


@pytest.mark.parametrize("encoding", ["json", "msgpack"])
def test_figures_come_back_from_their_payload(figures, encoding):
    assert decode(encode(figures(), encoding)) == figures()


def test_figures_fit_the_published_schema(figures):
    assert list(jsonschema.Draft202012Validator(message_schema()).iter_errors(json.loads(encode(figures())))) == []


def test_figures_have_a_topic_of_their_own():
    assert Topics("root", "Linie 1").latency("Ofen-Tür") == "root/linie-1/ofen-tuer/latency"


def test_mq_09_figures_too_long_lose_the_subscribers_first_and_then_all_but_the_total(figures):
    whole = figures()
    short = decode(encode_within(whole, len(encode(whole)) - 100))
    assert (short.subscribers, short.windows, short.truncated) == ([], whole.windows, True)
    shorter = decode(encode_within(whole, 1024))
    assert [(window.seconds, list(window.stages)) for window in shorter.windows] == [
        (10, ["total"]), (60, ["total"]), (None, ["total"])
    ]  # fmt: skip
    assert len(encode(shorter)) <= 1024


def test_newer_figures_take_the_place_of_those_that_still_wait(lane, figures):
    for number in range(3):
        lane.put(parcel(figures(number)))
    lane.put(parcel(figures(9, camera="other")))
    counts = lane.counts()
    assert (counts.put, counts.replaced, counts.waiting, counts.dropped) == (4, 2, 2, 0)
    assert [lane._backlog.next(time.monotonic_ns()).parcel.message_id for _ in range(2)] == ["f.2", "f.9"]
    assert lane._backlog.bytes == 0


def test_figures_that_left_and_came_back_are_replaced_as_well(lane, figures):
    old, new = parcel(figures(1)), parcel(figures(2))
    backlog = lane._backlog
    backlog.append(old)
    assert backlog.next(time.monotonic_ns()).parcel is old
    backlog.give_back([old.message_id], time.monotonic_ns())
    assert (backlog.discard_replaced(new), len(backlog), backlog.bytes) == (1, 0, 0)


def test_figures_are_dropped_before_a_verdict_that_somebody_misses(figures, outcome):
    backlog = Backlog(2, 1 << 30, 3600)
    backlog.append(Parcel("ng", 0, outcome(1, Verdict.NG)))
    backlog.append(parcel(figures()))
    backlog.append(Parcel("unknown", 0, outcome(2, Verdict.UNKNOWN)))
    dropped = backlog.shed(0)
    assert [(one.message_id, one.kind) for one in dropped] == [("f.0", "latency")]


def test_figures_go_through_a_real_broker_on_their_topic(broker, rig, listen, figures):
    with rig(broker.port) as mine:
        listener = listen(broker.port, f"{mine.section.root}/#")
        mine.outbox.figures(figures(3, camera="Ofen-Tür"))
        assert listener.wait_for("/linie-1/ofen-tuer/latency", 1)
    assert decode(listener.on("/latency")[0]).id == "f.3"
