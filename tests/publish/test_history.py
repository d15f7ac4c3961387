"""Live results expire at the broker and go to `history` here; what a broker refuses for now waits; a real broker each time."""

import threading
import time
from pathlib import Path

import pytest
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion

from app.bench.hang_up import hang_up
from app.broker import ANYBODY, LocalBroker
from app.config.sections import Mqtt
from app.publish.backoff import Backoff
from app.publish.message import decode
from app.publish.mqtt import MqttSink
from app.publish.outbox import Outbox
from tests.publish.cable import Cable

ROOT = Path(__file__).resolve().parent.parent.parent
WAIT_S = 20
CAMERA = "Ofen-Tür"
pytestmark = pytest.mark.broker


class Line:
    """An outbox with results that expire, and its connection."""

    def __init__(self, port, expiry_s, **section):
        self.outbox = Outbox(
            "line", max_waiting=100, max_waiting_bytes=1 << 24, max_age_s=60.0, expiry_s=expiry_s, grace_s=0.2
        )
        section = Mqtt(port=port, **section)
        self.sink = MqttSink(
            section, "line", (CAMERA,), self.outbox, live_s=self.outbox.live_s, backoff=Backoff(0.02, 0.05)
        )
        self.outbox.add("mqtt", self.sink, answers=True)

    def __enter__(self):
        self.outbox.__enter__()
        return self

    def __exit__(self, *error):
        self.outbox.__exit__(*error)

    def wait_for(self, delivered):
        until_s = time.monotonic() + WAIT_S
        while self.outbox.counts()["mqtt"].delivered < delivered:
            assert time.monotonic() < until_s, self.outbox.counts()
            threading.Event().wait(0.02)


@pytest.fixture
def subscribe(collector):
    """Return a function that subscribes a client of version 5 to results of either kind."""
    clients = []

    def start(port):
        came, ready = collector(), threading.Event()
        client = Client(CallbackAPIVersion.VERSION2, protocol=MQTTProtocolVersion.MQTTv5)
        client.on_connect = lambda *_: client.subscribe([("+/+/+/result", 1), ("+/+/+/history", 1)])
        client.on_subscribe = lambda *_: ready.set()
        client.on_message = lambda _c, _u, message: came(message)
        client.connect("127.0.0.1", port)
        client.loop_start()
        clients.append(client)
        assert ready.wait(WAIT_S)
        return came

    yield start
    for client in clients:
        hang_up(client)


def test_a_live_result_tells_the_broker_for_how_long_it_is(broker, subscribe, outcome):
    came = subscribe(broker.port)
    with Line(broker.port, expiry_s=30.0) as line:
        line.outbox.put(outcome(1))
        assert came.wait_for(1)
    (message,) = came.items
    assert message.topic == "taktsight/line/ofen-tuer/result"
    assert 28 <= message.properties.MessageExpiryInterval <= 30
    assert decode(message.payload).history is False


def test_without_an_expiry_the_broker_is_told_none(broker, subscribe, outcome):
    came = subscribe(broker.port)
    with Line(broker.port, expiry_s=None) as line:
        line.outbox.put(outcome(1))
        assert came.wait_for(1)
    assert not hasattr(came.items[0].properties, "MessageExpiryInterval")


def test_mq_07_an_old_result_comes_as_history_and_behind_the_live_ones(broker, subscribe, outcome):
    cable = Cable(broker.port)
    came = subscribe(broker.port)
    with Line(cable.port, expiry_s=2.0) as line:
        line.outbox.put(outcome(1))
        threading.Event().wait(2.1)
        line.outbox.put(outcome(2))
        cable.heal()
        assert came.wait_for(2)
    cable.cut()
    said = {message.topic.rpartition("/")[2]: decode(message.payload) for message in came.items}
    assert (said["history"].seq, said["history"].history, said["history"].id) == (1, True, f"run-{CAMERA}-1.1")
    assert (said["result"].seq, said["result"].history) == (2, False)
    assert came.items[0].topic.endswith("/result"), "the live one first"
    history = next(message for message in came.items if message.topic.endswith("/history"))
    assert not hasattr(history.properties, "MessageExpiryInterval"), "history is kept for whoever comes for it"


def test_what_the_brokers_rules_forbid_waits_until_they_are_mended(tmp_path, outcome, monkeypatch, caplog):
    monkeypatch.setattr("app.publish.lane.LATER_NS", 50_000_000)
    rules = tmp_path / "acl"
    rules.write_text("topic read #\ntopic write taktsight/line/status\n", encoding="ascii")
    strict = LocalBroker(kind="mosquitto", access=f"{ANYBODY}\nacl_file {rules}")
    with strict as running, Line(running.port, expiry_s=60.0) as line:
        line.outbox.put(outcome(1))
        until_s = time.monotonic() + WAIT_S
        while "does not take results now" not in caplog.text:
            assert time.monotonic() < until_s, caplog.text
            threading.Event().wait(0.02)
        assert line.outbox.counts()["mqtt"].waiting == 1
        strict.__exit__(None, None, None)
        with LocalBroker(strict.port, "mosquitto"):
            line.wait_for(1)
    assert line.outbox.counts()["mqtt"].refused == 0


def test_mq_15_nothing_waits_for_an_acknowledgement_without_an_end():
    """Waiting for one in a callback waits for ever: paho takes it from the thread that then waits."""
    calls = [path for path in (ROOT / "app").rglob("*.py") if "wait_for_publish" in path.read_text(encoding="utf-8")]
    assert calls == []


def test_mq_15_what_is_published_from_a_callback_arrives(broker, subscribe, outcome):
    came = subscribe(broker.port)
    line = Line(broker.port, expiry_s=60.0)
    line.outbox._on_done = lambda one: line.outbox.put(outcome(one.seq + 1)) if one.seq < 3 else None
    with line:
        line.outbox.put(outcome(1))  # its acknowledgement, on the network's thread, puts the next one
        assert came.wait_for(3)
    assert [decode(message.payload).seq for message in came.items] == [1, 2, 3]


def test_mq_15_a_broker_that_dies_while_it_is_waited_for_holds_up_nobody(restartable, outcome):
    restartable()
    line = Line(restartable.port, expiry_s=60.0)
    with line:
        line.outbox.put(outcome(1))
        line.wait_for(1)
        restartable.stop()
        line.outbox.put(outcome(2))
        began_s = time.monotonic()
    assert time.monotonic() - began_s < WAIT_S
    assert line.outbox.counts()["mqtt"].waiting == 1
