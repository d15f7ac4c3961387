"""The broker: connected to, published to, and how long until a subscriber has what was published."""

from __future__ import annotations

import logging
import socket
import threading
import time
import uuid
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median

from app.config.sections import Mqtt
from app.doctor.line import Line, fail, ok, warn
from app.errors import ConfigError, SinkLost
from app.publish.link import Limits, Link
from app.publish.topics import Topics

TOPIC = "broker"
CONNECT_S = 6.0
ECHO_S = 3.0
ECHOES = 10
TCP_S = 3.0


@dataclass(frozen=True, slots=True)
class Echo:
    """What came of it.

    Attributes:
        fault: why nothing came back; empty where it did.
        protocol: the MQTT version spoken.
        taken_ms: until the broker's acknowledgement, the median.
        echo_ms: until a subscriber has it, the median.
    """

    fault: str = ""
    protocol: str = ""
    taken_ms: float = 0.0
    echo_ms: float = 0.0


def check_broker(section: Mqtt, line: str, share_ms: float) -> Line:
    """Say how the broker is.

    Args:
        section: the broker.
        line: the line's name as configured.
        share_ms: the least that a camera's budget leaves for the way to the broker.
    """
    where = f"{section.host}:{section.port}"
    unreachable = _unreachable(section)
    if unreachable:
        return fail(TOPIC, f"{where}: {unreachable}", "start the broker, or correct mqtt.host and mqtt.port")
    try:
        topic = f"{Topics(section.root, line).base}/doctor/{uuid.uuid4().hex[:8]}"
        found = measure(section, topic)
    except (ConfigError, ValueError) as error:
        return fail(TOPIC, f"{where}: {error}", "correct the section mqtt")
    if found.fault:
        allowed = f"{topic.rpartition('/')[0]}/#"
        remedy = f"check mqtt.username, password_file, tls, and that this user may write and read {allowed}"
        return fail(TOPIC, f"{where}: {found.fault}", remedy)
    text = (
        f"{where}: MQTT {found.protocol}, acknowledged after {found.taken_ms:.1f} ms, with a subscriber after "
        f"{found.echo_ms:.1f} ms (medians of {ECHOES})"
    )
    if found.taken_ms > share_ms:
        return warn(
            TOPIC,
            f"{text}; the budget leaves {share_ms:.1f} ms",
            "use a broker nearer by, or give `shares.network` more of the budget",
        )
    return ok(TOPIC, text)


def _unreachable(section: Mqtt) -> str:
    """Return why no connection can be made, before MQTT is spoken; empty where one can."""
    try:
        socket.create_connection((section.host, section.port), TCP_S).close()
    except socket.gaierror as error:
        return f"the name can't be found ({error.strerror})"
    except TimeoutError:
        return f"no answer within {TCP_S:.0f} s: it is off, or a firewall is between"
    except OSError as error:
        return f"not reachable ({error.strerror or error})"
    return ""


def measure(section: Mqtt, topic: str) -> Echo:
    """Publish to a topic and wait for the same as a subscriber, on a second connection.

    Raises:
        ConfigError: a password or certificate file can't be read.
    """
    ear, mouth = Ear(topic), Mouth()
    said = _Said(mouth.is_up, ear.is_up)
    with ExitStack() as stack:
        stack.enter_context(said)
        ear.link = Link(section, f"taktsight-doctor-{uuid.uuid4().hex[:6]}", ear)
        stack.enter_context(ear.link)  # known to `ear` by then, which subscribes as soon as it is up
        speaking = stack.enter_context(Link(section, f"taktsight-doctor-{uuid.uuid4().hex[:6]}", mouth))
        is_heard = mouth.is_up.wait(CONNECT_S) and ear.is_up.wait(CONNECT_S)
        if not (is_heard and speaking.is_up and ear.link.is_up):
            return Echo(said.last or f"no answer to MQTT within {CONNECT_S:.0f} s")
        if not ear.is_subscribed.wait(ECHO_S):
            return Echo(said.last or f"the subscription to {topic} was not confirmed")
        taken_ms, echo_ms = [], []
        for number in range(ECHOES):
            times_ms = _once(speaking, mouth, ear, topic, f"{number}".encode())
            if times_ms is None:
                return Echo(mouth.refusal or said.last or f"what was published to {topic} did not come back")
            taken_ms.append(times_ms[0])
            echo_ms.append(times_ms[1])
        return Echo("", speaking.protocol, median(taken_ms), median(echo_ms))


def _once(link: Link, mouth: Mouth, ear: Ear, topic: str, payload: bytes) -> tuple[float, float] | None:
    """Return the milliseconds until the acknowledgement and until the echo; None where one of them does not come."""
    mouth.is_taken.clear()
    ear.has_come.clear()
    began_ns = time.monotonic_ns()
    try:
        link.publish(topic, payload)
    except SinkLost:
        return None
    if not mouth.is_taken.wait(ECHO_S) or mouth.refusal or not ear.has_come.wait(ECHO_S):
        return None
    return (mouth.taken_ns - began_ns) / 1e6, (ear.came_ns - began_ns) / 1e6


class Mouth:
    """Publishes; implements `LinkUser`."""

    def __init__(self) -> None:
        self.is_up, self.is_taken = threading.Event(), threading.Event()
        self.taken_ns = 0
        self.refusal = ""

    def up(self, limits: Limits) -> None:
        """Note it."""
        self.is_up.set()

    def down(self, why: str) -> None:
        """Nothing follows: who waits gives up in time."""

    def subscribed(self) -> None:
        """It has no subscription."""

    def acked(self, mid: int, refusal: str | None) -> None:
        """Note when the broker had it, or why it would not."""
        self.taken_ns = time.monotonic_ns()
        self.refusal = "" if refusal is None else f"it refuses what is published ({refusal})"
        self.is_taken.set()

    def received(self, topic: str, payload: bytes, retained: bool) -> None:
        """It has no subscription."""


class Ear:
    """Subscribes; implements `LinkUser`."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self.link: Link | None = None
        self.is_up, self.is_subscribed, self.has_come = threading.Event(), threading.Event(), threading.Event()
        self.came_ns = 0

    def up(self, limits: Limits) -> None:
        """Subscribe."""
        if self.link is not None:
            self.link.subscribe([self._topic])
        self.is_up.set()

    def down(self, why: str) -> None:
        """Nothing follows: who waits gives up in time."""

    def subscribed(self) -> None:
        """Note it."""
        self.is_subscribed.set()

    def acked(self, mid: int, refusal: str | None) -> None:
        """It publishes nothing."""

    def received(self, topic: str, payload: bytes, retained: bool) -> None:
        """Note when it came."""
        self.came_ns = time.monotonic_ns()
        self.has_come.set()


class _Said(logging.Handler):
    """Keeps the last warning of a link, which knows best what the broker has against us.

    Args:
        waited_for: set with it, so that nobody waits for what will not come.
    """

    def __init__(self, *waited_for: threading.Event) -> None:
        super().__init__(logging.WARNING)
        self.last = ""
        self._waited_for = waited_for
        self._logger = logging.getLogger("app.publish.link")

    def emit(self, record: logging.LogRecord) -> None:
        self.last = record.getMessage().partition(": ")[2]
        for event in self._waited_for:
            event.set()

    def __enter__(self) -> _Said:
        self._logger.addHandler(self)
        self._propagates, self._logger.propagate = self._logger.propagate, False
        return self

    def __exit__(self, *_: object) -> None:
        self._logger.removeHandler(self)
        self._logger.propagate = self._propagates
