"""The broker as a sink: QoS 1, a bounded number of messages on their way, a retained status that is always true."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType

from typing_extensions import Self

from app.config.sections import Mqtt
from app.errors import SinkLost
from app.publish.backoff import Backoff
from app.publish.base import Receipts
from app.publish.clock import UtcClock, iso_utc
from app.publish.health import Health
from app.publish.identity import client_id
from app.publish.link import Limits, Link, Will
from app.publish.message import (
    Ack,
    MalformedMessage,
    Message,
    State,
    Status,
    decode,
    encode,
    encode_within,
)
from app.publish.topics import Topics

logger = logging.getLogger(__name__)

WINDOW = 16
"""Messages on their way at one time; brokers accept 20 by default, and a status may be among them."""
HEADER_BYTES = 64
"""What a packet has beside its topic and payload, at most."""
FRUITLESS = 2
"""Connections that ended with messages on their way and none acknowledged, after which these go one at a time."""
SHRINK_BYTES = 16384
"""A message larger than this that ends connections is tried without its boxes before it is given up."""
LATER = ("Not authorized", "Quota exceeded", "Unspecified error", "Implementation specific error")
"""What a broker says that may take the message once somebody has mended it: it is kept and tried again."""
REPEAT_LOG_NS = 60_000_000_000
GOODBYE_S = 0.2
"""For the last status to be acknowledged; the service has two seconds in all to stop."""


@dataclass(frozen=True, slots=True)
class OnItsWay:
    """A publication without an acknowledgement so far; a status has no message id."""

    message_id: str
    sent_ns: int
    bytes: int


class MqttSink:
    """Publishes messages to a broker and says by `Receipts` what became of each.

    Args:
        section: the broker.
        line: the line's name as configured.
        cameras: the cameras' names as configured.
        receipts: told what became of each message, from the link's thread.
        on_ack: told of every subscriber's acknowledgement and when it came, on `time.monotonic_ns`.
        models: for the status: what runs, with its execution provider.
        version: for the status: of the product.
        clock: labels the status.
        live_s: says of a message's id for how many seconds from a moment on it is live; None: for ever.
        on_written: told of a message's id and when it was handed to the operating system, on `time.monotonic_ns`; from
            the link's thread.
        backoff: the pauses between tries to connect.

    Raises:
        ValueError: the root, the line or a camera can't be part of a topic.
    """

    def __init__(
        self,
        section: Mqtt,
        line: str,
        cameras: Sequence[str],
        receipts: Receipts,
        *,
        on_ack: Callable[[Ack, int], None] | None = None,
        models: Sequence[str] = (),
        version: str = "",
        clock: UtcClock | None = None,
        live_s: Callable[[str, int], int | None] = lambda *_: None,
        on_written: Callable[[str, int], None] | None = None,
        backoff: Backoff | None = None,
    ) -> None:
        self._section = section
        self._line = line
        self._online = dict.fromkeys(cameras, True)
        self._why: dict[str, str] = {}
        self._receipts = receipts
        self._on_ack = on_ack
        self._models = list(models)
        self._log_dropped = 0
        self._health: Health | None = None
        self._version = version
        self._clock = clock or UtcClock()
        self._topics = Topics(section.root, line)
        for camera in cameras:
            self._topics.result(camera)
        self._content_type = "application/json" if section.encoding == "json" else "application/msgpack"
        self._changed = threading.Condition()
        # Under `_changed`, which is never held during a call of paho: paho holds its own lock when it calls `acked`.
        self._on_their_way: dict[int, OnItsWay] = {}
        self._acked_early: dict[int, str | None] = {}
        self._leaving: list[str] = []
        self._connection = 0
        self._fruitless = 0
        self._refused_ns = -REPEAT_LOG_NS
        self._limits = Limits()
        self._max_bytes = section.max_payload_bytes
        will = Will(self._topics.status(), encode(self._status("offline", "lost"), section.encoding))
        self._on_written = on_written
        self._live_s = live_s
        own_id = section.client_id or client_id(line)
        self._link = Link(section, own_id, self, will=will, backoff=backoff, on_written=self.written)

    def __enter__(self) -> Self:
        """Start to connect; a broker that is away is no error.

        Raises:
            ConfigError: a password or certificate file can't be read.
        """
        self._link.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Publish one retained `offline`, wait a moment for what is on its way, and disconnect."""
        try:
            self._publish_status("offline", "stopped")
            with self._changed:
                self._changed.wait_for(lambda: not self._on_their_way, GOODBYE_S)
        except SinkLost:
            logger.debug("no goodbye: the broker is away and has the last will")
        self._link.__exit__(kind, error, traceback)

    def send(self, message: Message) -> None:
        """Hand one message to the network.

        Raises:
            SinkLost: not connected, or as many messages as allowed are on their way; `Receipts.ready` says when to
                try again.
        """
        with self._changed:
            if len(self._on_their_way) >= self._window:
                raise SinkLost(f"broker: {len(self._on_their_way)} messages wait for its acknowledgement")
            max_bytes = self._max_bytes
        try:
            topic = self._topics.of(message)
            payload = encode_within(message, max_bytes - len(topic.encode()) - HEADER_BYTES, self._section.encoding)
            expiry_s = self._live_s(message.id, time.monotonic_ns())
            self._publish(topic, payload, message.id, expiry_s=expiry_s)
        except ValueError as error:  # a camera's name that can't be a topic must not hold up the others
            self._receipts.refused(message.id, str(error))

    def set_camera(self, camera: str, online: bool, why: str = "lost") -> None:
        """Change a camera's retained status, now or as soon as the broker is there; not of one that was removed."""
        if camera not in self._online:
            return
        self._online[camera], self._why[camera] = online, why
        try:
            self._publish_camera(camera)
        except SinkLost:
            logger.debug("the status of camera %s goes out with the next connection", camera)

    def add_camera(self, camera: str) -> None:
        """Keep the retained status of one camera more.

        Raises:
            ValueError: its name can't be part of a topic.
        """
        self._topics.result(camera)
        self._online[camera] = False
        self._say_status()

    def remove_camera(self, camera: str) -> None:
        """Have the broker forget one camera's status."""
        del self._online[camera]
        try:
            self._publish(self._topics.status(camera), b"", "", retain=True)
        except SinkLost:
            logger.debug("the broker is away and goes on keeping the status of camera %s", camera)
        self._say_status()

    def set_models(self, models: Sequence[str]) -> None:
        """Change what the line's retained status says of its models, now or as soon as the broker is there."""
        self._models = list(models)
        self._say_status()

    def set_log_dropped(self, lines: int) -> None:
        """Change what the line's retained status says of its log, now or as soon as the broker is there."""
        self._log_dropped = lines
        self._say_status()

    def set_health(self, health: Health) -> None:
        """Change what the retained statuses say of the service and its cameras, now or with the next connection."""
        self._health = health
        self._say_status()

    def oldest_unacked_s(self) -> float:
        """Return how long the oldest message on its way has waited for the broker; 0 where none does."""
        with self._changed:
            oldest_ns = min((way.sent_ns for way in self._on_their_way.values()), default=None)
        return 0.0 if oldest_ns is None else (time.monotonic_ns() - oldest_ns) / 1e9

    @property
    def is_up(self) -> bool:
        """Whether the broker is connected."""
        return self._link.is_up

    @property
    def models(self) -> Sequence[str]:
        """Which models run, and where they really do."""
        return tuple(self._models)

    @property
    def trouble(self) -> str:
        """Why there is no connection, in one line; empty where there is one."""
        return "" if self._link.is_up else self._link.trouble or f"broker {self._section.host}: not connected yet"

    @property
    def protocol(self) -> str:
        """The MQTT version spoken, "5" or "3.1.1"."""
        return self._link.protocol

    # ── the link's side (its thread) ─────────────────────────────────────────────────────────────────────────────────

    def up(self, limits: Limits) -> None:
        """Subscribe and publish the retained statuses: a restarted broker knows neither."""
        with self._changed:
            self._connection += 1
            self._limits = limits
            self._max_bytes = min(self._max_bytes, limits.packet_bytes or self._max_bytes)
        if self._on_ack is not None:
            self._link.subscribe([self._topics.all_acks], qos=0)
        self._publish_status("online", "running")
        self._receipts.ready()

    def subscribed(self) -> None:
        """Nothing waits for it."""

    def down(self, why: str) -> None:
        """Give everything without an acknowledgement back to its owner, oldest first."""
        with self._changed:
            self._connection += 1
            messages = [way for way in self._on_their_way.values() if way.message_id]
            self._on_their_way.clear()
            self._acked_early.clear()
            self._leaving.clear()
            self._fruitless += bool(messages)
            self._changed.notify_all()
        culprit = self._culprit(messages, why)
        self._receipts.returned([way.message_id for way in messages if way is not culprit])

    def acked(self, mid: int, refusal: str | None) -> None:
        """Pass on what the broker says of one publication."""
        now_ns = time.monotonic_ns()
        with self._changed:
            way = self._on_their_way.pop(mid, None)
            if way is None:  # faster than the thread that published it
                self._acked_early[mid] = refusal
                return
            self._changed.notify_all()
        self._settle(way, refusal, now_ns)

    def written(self, at_ns: int) -> None:
        """Pass on that all messages so far are with the operating system."""
        with self._changed:
            gone, self._leaving = self._leaving, []
        if self._on_written is not None:
            for message_id in gone:
                self._on_written(message_id, at_ns)

    def received(self, topic: str, payload: bytes, retained: bool) -> None:
        """Take a subscriber's acknowledgement; anything else on that topic is logged and forgotten."""
        now_ns = time.monotonic_ns()
        try:
            message = decode(payload)
        except MalformedMessage as error:
            logger.debug("topic %s: %s", topic, error)
            return
        if isinstance(message, Ack) and message.shows == "result" and not retained and self._on_ack is not None:
            self._on_ack(message, now_ns)

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _say_status(self) -> None:
        try:
            self._publish_status("online", "running")
        except SinkLost:
            logger.debug("the status goes out with the next connection")

    @property
    def _window(self) -> int:
        if self._fruitless >= FRUITLESS:
            return 1
        return min(WINDOW, self._limits.receive_maximum or WINDOW)

    def _publish(
        self, topic: str, payload: bytes, message_id: str, *, retain: bool = False, expiry_s: int | None = None
    ) -> None:
        connection = self._connection
        if message_id:
            with self._changed:  # before it is published: the link's thread may have written it when that returns
                self._leaving.append(message_id)
        try:
            mid = self._link.publish(topic, payload, retain=retain, content_type=self._content_type, expiry_s=expiry_s)
        except SinkLost:
            with self._changed:
                self._leaving.clear()
            raise
        now_ns = time.monotonic_ns()
        way = OnItsWay(message_id, now_ns, len(payload))
        with self._changed:
            if connection != self._connection:
                raise SinkLost("broker: the connection was lost while the message was handed over")
            if mid not in self._acked_early:
                self._on_their_way[mid] = way
                return
            refusal = self._acked_early.pop(mid)
        self._settle(way, refusal, now_ns)

    def _settle(self, way: OnItsWay, refusal: str | None, now_ns: int) -> None:
        if refusal is not None:
            self._say_refused(way, refusal)
        if not way.message_id:
            self._receipts.ready()
            return
        with self._changed:
            self._fruitless = 0
            unseen = way.message_id in self._leaving
        if unseen:  # paho does not tell where it wrote before the publishing thread had asked it to
            self.written(now_ns)
        if refusal is None:
            self._receipts.delivered(way.message_id, now_ns)
        else:
            self._receipts.refused(way.message_id, refusal, later=refusal in LATER)

    def _say_refused(self, way: OnItsWay, refusal: str) -> None:
        """Log it; of what is tried again, at most once a minute."""
        if refusal not in LATER:
            logger.warning("the broker refuses a message of %d bytes: %s", way.bytes, refusal)
        elif way.sent_ns - self._refused_ns > REPEAT_LOG_NS:
            self._refused_ns = way.sent_ns
            logger.warning("the broker does not take results now (%s); check what it lets this client do", refusal)

    def _culprit(self, messages: list[OnItsWay], why: str) -> OnItsWay | None:
        """Find the message that ends every connection; shrink it by the limit, or refuse it and return it."""
        if self._fruitless <= FRUITLESS or len(messages) != 1:
            return None
        culprit = messages[0]
        if culprit.bytes > SHRINK_BYTES:
            logger.warning(
                "the broker closes the connection (%s) on a message of %d bytes; longer ones lose their boxes from now "
                "on; set mqtt.max_payload_bytes to what it takes",
                why,
                culprit.bytes,
            )
            self._max_bytes = culprit.bytes - 1
            return None
        self._fruitless = 0
        self._receipts.refused(culprit.message_id, f"the broker closes the connection each time it is sent ({why})")
        return culprit

    def _publish_status(self, state: State, reason: str) -> None:
        for camera in tuple(self._online):
            self._publish_camera(camera, stopped=reason == "stopped")
        status = self._status(state, reason)
        self._publish(self._topics.status(), encode(status, self._section.encoding), "", retain=True)

    def _publish_camera(self, camera: str, *, stopped: bool = False) -> None:
        reason = "stopped" if stopped else "running" if self._online[camera] else self._why.get(camera, "lost")
        status = self._status("online" if reason == "running" else "offline", reason, camera)
        self._publish(self._topics.status(camera), encode(status, self._section.encoding), "", retain=True)

    def _status(self, state: State, reason: str, camera: str = "") -> Status:
        return Status(
            state=state,
            reason=reason,
            line=self._line,
            camera=camera,
            cameras=list(self._online),
            models=self._models,
            version=self._version,
            log_dropped=self._log_dropped,
            utc=iso_utc(self._clock.now().utc_ns),
            health=self._health.service if self._health and not camera else None,
            detail=self._health.cameras.get(camera) if self._health else None,
        )
