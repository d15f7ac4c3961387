"""What every sink promises, run over all of them."""

import threading
import time

import numpy as np
import pytest

from app.broker import LocalBroker
from app.config.sections import Jsonl, Mqtt
from app.detections import Detections
from app.errors import SinkLost
from app.publish.build import event_of, result_of
from app.publish.clock import Label
from app.publish.jsonl import JsonlSink
from app.publish.message import decode
from app.publish.mqtt import MqttSink
from app.publish.outbox import Nowhere
from app.trace import Trace
from app.verdict import Judgement, Outcome, Verdict
from app.watch import Subscriber

CAMERA = "cam 1"
pytestmark = pytest.mark.broker


class Receipts:
    """Remembers what it is told."""

    def __init__(self):
        self.told = []
        self.is_ready = threading.Event()

    def delivered(self, message_id, at_ns):
        self.told.append(message_id)

    def refused(self, message_id, why):
        self.told.append(message_id)

    def returned(self, message_ids):
        self.told.extend(message_ids)

    def ready(self):
        self.is_ready.set()


@pytest.fixture(scope="module")
def broker():
    with LocalBroker(kind="mosquitto") as running:
        yield running


@pytest.fixture(params=["jsonl", "mqtt", "nowhere"])
def case(request, tmp_path, broker):
    """A sink and a function that returns the next message that came out at its far end."""
    if request.param == "nowhere":
        yield Nowhere(), None
    elif request.param == "jsonl":
        path = tmp_path / "out.jsonl"
        yield JsonlSink(Jsonl(path=str(path))), lambda n: [decode(x) for x in path.read_bytes().splitlines()][:n]
    else:
        section = Mqtt(port=broker.port, root=f"contract{time.monotonic_ns()}")
        with Subscriber(section) as subscriber:
            assert subscriber.wait_until_subscribed(20)

            def arrived(count):
                messages = []
                while len(messages) < count:
                    message = subscriber.get(20).message
                    messages += [message] if hasattr(message, "id") else []
                return messages

            yield MqttSink(section, "line", [CAMERA], Receipts()), arrived


@pytest.fixture
def result():
    trace = Trace("t1", 0)
    none = Detections(np.zeros((0, 4), np.float32), np.zeros(0, np.float32), np.zeros(0, np.int64), ())
    return result_of(Outcome("t1", CAMERA, 1, Judgement(Verdict.OK), (4, 3), none, trace, 100.0, 0), "line")


@pytest.fixture
def event():
    return event_of("e1", "line", camera=CAMERA, kind="test", text="text", data={"n": 1}, at=Label(0, "ok"))


def send(sink, message):
    """Send as the outbox does: what is refused for now is sent again."""
    until_s = time.monotonic() + 20
    while True:
        try:
            return sink.send(message)
        except SinkLost:
            assert time.monotonic() < until_s, "the sink never took it"
            threading.Event().wait(0.02)


def test_results_and_events_arrive_whole_and_in_order(case, result, event):
    sink, arrived = case
    with sink:
        send(sink, result)
        send(sink, event)
        if arrived is not None:
            assert arrived(2) == [result, event]


def test_entering_gives_the_sink_and_leaving_twice_is_safe(case):
    sink, _ = case
    assert sink.__enter__() is sink
    sink.__exit__(None, None, None)
    sink.__exit__(None, None, None)


def test_constructing_opens_nothing(case, tmp_path):
    assert list(tmp_path.iterdir()) == []
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("mqtt taktsight-line")]


def test_a_sink_that_was_left_takes_nothing(case, result):
    sink, arrived = case
    with sink:
        pass
    if arrived is None:
        return
    with pytest.raises(SinkLost):
        sink.send(result)
