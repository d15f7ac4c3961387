"""Outcomes to publish, a real broker to publish to, and one that misbehaves."""

import threading
import time
from pathlib import Path

import numpy as np
import pytest
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

from app.bench.hang_up import hang_up
from app.broker import LocalBroker
from app.config.sections import Mqtt
from app.detections import Detections
from app.publish.backoff import Backoff
from app.publish.mqtt import MqttSink
from app.publish.outbox import Outbox
from app.trace import Trace
from app.verdict import Judgement, Outcome, Verdict
from tests.ports import free_port
from tests.publish.durable import Durable
from tests.tcp_server import TcpServer

LINE = "Linie 1"
CAMERA = "Ofen-Tür"
NAMES = ("cover", "screw")


def make_outcome(seq=1, verdict=Verdict.OK, *, camera=CAMERA, boxes=1, reasons=(), **changes):
    """Return an outcome with so many boxes and a trace that has passed the judge."""
    now_ns = time.monotonic_ns()
    trace = Trace(f"run-{camera}-{seq}", now_ns - 30_000_000)
    trace.add("capture", now_ns - 30_000_000, now_ns - 20_000_000)
    trace.add("inference", now_ns - 15_000_000, now_ns)
    xyxy = np.tile(np.array([[10.004, 20, 30, 40]], np.float32), (boxes, 1))
    found = Detections(xyxy, np.full(boxes, 0.9, np.float32), np.ones(boxes, np.int64), NAMES)
    fields = {
        "trace_id": trace.trace_id,
        "camera": camera,
        "seq": seq,
        "judgement": Judgement(verdict, tuple(reasons)),
        "size_wh": (640, 480),
        "detections": found,
        "trace": trace,
        "budget_ms": 100.0,
        "captured_utc_ns": 1_700_000_000_123_456_789,
    }
    return Outcome(**(fields | changes))


@pytest.fixture
def outcome():
    return make_outcome


class Collector:
    """A listener that a test can wait on."""

    def __init__(self):
        self.items = []
        self._changed = threading.Condition()

    def __call__(self, item):
        with self._changed:
            self.items.append(item)
            self._changed.notify_all()

    def wait_for(self, enough, timeout_s=20.0):
        """Wait until `enough(items)`, or for so many items; return whether it came to that."""
        is_enough = enough if callable(enough) else (lambda items: len(items) >= enough)
        with self._changed:
            return self._changed.wait_for(lambda: is_enough(self.items), timeout_s)


@pytest.fixture
def collector():
    return Collector


@pytest.fixture
def start(tmp_path):
    """Make durable outboxes on one file."""
    return Durable(Collector, tmp_path)


@pytest.fixture(scope="module")
def broker():
    """A real mosquitto for one module."""
    with LocalBroker(kind="mosquitto") as running:
        yield running


TLS = Path(__file__).parent / "tls"


@pytest.fixture
def secured_broker():
    """A mosquitto that wants encryption, a client certificate and a password."""
    access = f"""
    cafile {TLS / "ca.pem"}
    certfile {TLS / "server.pem"}
    keyfile {TLS / "server.key"}
    require_certificate true
    allow_anonymous false
    password_file {TLS / "passwords"}
    """
    with LocalBroker(kind="mosquitto", access="\n".join(line.strip() for line in access.splitlines())) as running:
        running.tls = {"ca_file": f"{TLS}/ca.pem", "cert_file": f"{TLS}/client.pem", "key_file": f"{TLS}/client.key"}
        running.username, running.password = "line1", "geheim-für-tests"
        yield running


@pytest.fixture
def restartable():
    """Return a function that starts a mosquitto on one and the same port, and ends the one before."""
    port = free_port()
    running = []

    def stop():
        while running:
            running.pop().__exit__(None, None, None)

    def start():
        stop()
        running.append(LocalBroker(port, "mosquitto").__enter__())

    start.port, start.stop = port, stop
    yield start
    stop()


class Listener:
    """A customer's client that owes nothing to the product: plain paho."""

    def __init__(self, port, topics="#"):
        self.messages = Collector()
        self._subscribed = threading.Event()
        self.client = Client(CallbackAPIVersion.VERSION2)
        self.client.on_connect = lambda client, *_: client.subscribe(topics, 1)
        self.client.on_subscribe = lambda *_: self._subscribed.set()
        self.client.on_message = lambda _c, _u, message: self.messages((message.topic, message.payload, message.retain))
        self.client.reconnect_delay_set(1, 1)
        self.client.connect("127.0.0.1", port)
        self.client.loop_start()
        assert self._subscribed.wait(20), "the listener could not subscribe"

    def on(self, topic_end):
        return [payload for topic, payload, _ in self.messages.items if topic.endswith(topic_end)]

    def wait_for(self, topic_end, count):
        return self.messages.wait_for(lambda _: len(self.on(topic_end)) >= count)

    def close(self):
        hang_up(self.client)
        # Else they hold one another, and whether the garbage collector has the client close its sockets is luck.
        self.client.on_subscribe = self.client.on_message = None


@pytest.fixture
def listen():
    """Return a function that subscribes a plain client and closes it at the end."""
    open_now = []

    def start(port, topics="#"):
        open_now.append(Listener(port, topics))
        return open_now[-1]

    yield start
    for listener in open_now:
        listener.close()


class Rig:
    """An outbox with an MQTT sink, and what came out of it."""

    def __init__(self, port, root, **section):
        self.done, self.shown = Collector(), Collector()
        limits = {"max_waiting": 1000, "max_waiting_bytes": 1 << 25, "max_age_s": 3600.0}
        limits |= {key: section.pop(key) for key in list(section) if key in limits}
        self.outbox = Outbox(LINE, **limits, on_done=self.done, on_shown=self.shown)
        self.section = Mqtt(port=port, root=root, **section)
        self.sink = MqttSink(
            self.section, LINE, (CAMERA,), self.outbox, on_ack=self.outbox.shown, backoff=Backoff(0.05, 0.2)
        )
        self.outbox.add("mqtt", self.sink, answers=True)

    def __enter__(self):
        self.outbox.__enter__()
        return self

    def __exit__(self, *error):
        self.outbox.__exit__(*error)

    def put(self, *outcomes):
        for one in outcomes:
            self.outbox.put(one)


@pytest.fixture
def rig(request):
    """Return the class; topics of one test begin with a root of its own."""
    root = "t" + str(abs(hash(request.node.nodeid)))

    def make(port, **section):
        return Rig(port, section.pop("root", root), **section)

    return make


class RudeBroker:
    """A raw socket that speaks just enough MQTT to misbehave.

    Args:
        on_publish: gets each PUBLISH packet's size in bytes and packet id; returns "ack", "withhold" or "close".
        connack: the answer to CONNECT, or a function that gives it for a version (5, or 4 for MQTT 3.1.1); None closes
            the connection without a word.
    """

    def __init__(self, on_publish=lambda size, mid: "ack", connack=bytes([0x20, 2, 0, 0])):
        self.on_publish = on_publish
        self.connack = connack
        self.published = Collector()
        self._server = TcpServer(self._serve, "rude broker")
        self.port, self.close = self._server.port, self._server.close

    @property
    def connections(self):
        return self._server.connections

    def _serve(self, connection):
        with connection.makefile("rb") as stream:
            while (head := stream.read(1)) != b"":
                if not self._answer(connection, head[0] >> 4, stream.read(_length(stream))):
                    return

    def _answer(self, connection, kind, body):
        """Answer a packet; return whether to go on."""
        if kind == 1:
            answer = self.connack(body[6]) if callable(self.connack) else self.connack
            connection.sendall(answer or b"")
            return answer is not None
        if kind == 3:
            return self._take(connection, body)
        if kind == 8:
            connection.sendall(bytes([0x90, 3]) + body[:2] + b"\x00")
        elif kind == 12:
            connection.sendall(b"\xd0\x00")
        return True

    def _take(self, connection, body):
        topic_end = 2 + int.from_bytes(body[:2], "big")
        topic, mid = body[2:topic_end].decode(), body[topic_end : topic_end + 2]
        is_result = topic.endswith("/result")
        what = self.on_publish(len(body), int.from_bytes(mid, "big")) if is_result else "ack"
        if is_result:
            self.published(body[topic_end + 2 :])
        if what == "ack":
            connection.sendall(b"\x40\x02" + mid)
        return what != "close"


def _length(stream):
    value, shift = 0, 0
    while True:
        byte = stream.read(1)[0]
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value


@pytest.fixture
def rude_broker():
    """Return a function that starts a misbehaving broker (MQTT 3.1.1 only) and closes it at the end."""
    running = []

    def start(**how):
        running.append(RudeBroker(**how))
        return running[-1]

    yield start
    for one in running:
        one.close()
