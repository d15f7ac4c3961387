"""One lasting connection to a broker: connects, falls back to MQTT 3.1.1, comes back after every loss."""

from __future__ import annotations

import logging
import socket
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import ParamSpec, Protocol

from paho.mqtt.client import Client, ConnectFlags, DisconnectFlags, MQTTMessage
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode, MQTTProtocolVersion
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode
from typing_extensions import Self

from app.config.secrets import read_secret
from app.config.sections import Mqtt
from app.errors import SinkLost
from app.publish.backoff import Backoff
from app.publish.properties import properties_of
from app.publish.tls import tls_context, tls_remedy

logger = logging.getLogger(__name__)
P = ParamSpec("P")

CONNECT_TIMEOUT_S = 3.0
LOOP_S = 0.5
ANSWER_S = 1.5
"""For the broker to answer the first packet. amqtt never does where it does not understand a last will of MQTT 5."""
GOODBYE_S = 0.3
NO_ANSWER = "no answer"
UNSUPPORTED_VERSION = 0x84
SILENT_REFUSALS = 2
"""A broker that closes so often without an answer may not know the version; the other one is tried."""
REPEAT_LOG_S = 60.0


@dataclass(frozen=True, slots=True)
class Will:
    """What the broker publishes, retained, when the connection breaks."""

    topic: str
    payload: bytes


@dataclass(frozen=True, slots=True)
class Limits:
    """What the broker allows on this connection; None where it does not say.

    Attributes:
        receive_maximum: publications on their way at one time.
        packet_bytes: largest packet.
    """

    receive_maximum: int | None = None
    packet_bytes: int | None = None


class LinkUser(Protocol):
    """Whoever holds a link; called from the link's thread, and what these raise is logged and goes no further."""

    def up(self, limits: Limits) -> None:
        """The connection stands: subscribe, and publish what is retained."""
        ...

    def down(self, why: str) -> None:
        """It is gone; what had no acknowledgement is not sent again by the link."""
        ...

    def subscribed(self) -> None:
        """The broker has confirmed the subscriptions."""
        ...

    def acked(self, mid: int, refusal: str | None) -> None:
        """The broker has taken the publication, or refused it and said why."""
        ...

    def received(self, topic: str, payload: bytes, retained: bool) -> None:
        """A message of a subscription has come."""
        ...


class Link:
    """Owns the socket and the thread; every connection has its own paho client, so that no state outlives a loss.

    Args:
        section: the broker's address, credentials, encryption and version.
        client_id: what the broker knows this client by; a second client with the same one throws the first out.
        user: told of everything that happens.
        will: None for a client that nobody misses.
        backoff: the pauses between tries.
        on_written: told when all that was published has been handed to the operating system, on `time.monotonic_ns`;
            from the link's thread.
        thread_name: of the link's thread; None for one that begins with `mqtt`, which is put before all others.
    """

    def __init__(
        self,
        section: Mqtt,
        client_id: str,
        user: LinkUser,
        *,
        will: Will | None = None,
        backoff: Backoff | None = None,
        on_written: Callable[[int], None] | None = None,
        thread_name: str | None = None,
    ) -> None:
        self._section = section
        self._thread_name = thread_name or f"mqtt {client_id}"
        self._client_id = client_id
        self._user = user
        self._will = will
        self._backoff = backoff or Backoff()
        self._on_written = on_written
        self._version = MQTTProtocolVersion.MQTTv311 if section.version == "3.1.1" else MQTTProtocolVersion.MQTTv5
        self._silent = 0
        self._knows_5 = False
        self._goodbye_by_s = 0.0
        self._stop = threading.Event()
        self._client: Client | None = None
        self._up_s: float | None = None
        self._refusal: str | None = None
        self._trouble = ""
        self._logged: dict[str, float] = {}
        self._thread: threading.Thread | None = None
        self._password: str | None = None
        self._tls: ssl.SSLContext | None = None

    # ── its owner's side ─────────────────────────────────────────────────────────────────────────────────────────────

    def __enter__(self) -> Self:
        """Read the secrets and start to connect; a broker that is away is no error.

        Raises:
            ConfigError: a password or certificate file can't be read.
        """
        assert self._thread is None, "a link is entered once"
        section = self._section
        self._password = read_secret(section.password_file) if section.password_file else section.password
        self._tls = None if section.tls is None else tls_context(section.tls)
        # A daemon, because a name look-up or a TLS handshake can't be broken off, and must not hold up the end of the
        # process for longer than `__exit__` waits.
        self._thread = threading.Thread(target=self._run, name=self._thread_name, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Say goodbye, so that the broker sends no will, and wait for the thread."""
        self._goodbye_by_s = time.monotonic() + GOODBYE_S
        self._stop.set()
        client = self._client
        if client is not None:
            client.disconnect()
        if self._thread is not None:
            self._thread.join(GOODBYE_S)

    @property
    def is_up(self) -> bool:
        """Whether the broker has accepted the connection."""
        return self._up_s is not None

    @property
    def trouble(self) -> str:
        """Why there is no connection, in one line; empty where there is one, or nothing is known yet."""
        return "" if self.is_up else self._trouble

    @property
    def protocol(self) -> str:
        """The version spoken now, "5" or "3.1.1"."""
        return "5" if self._version is MQTTProtocolVersion.MQTTv5 else "3.1.1"

    def publish(
        self,
        topic: str,
        payload: bytes,
        *,
        qos: int = 1,
        retain: bool = False,
        content_type: str = "",
        expiry_s: int | None = None,
    ) -> int:
        """Hand one publication to the network thread and return its number on this connection.

        Args:
            topic: where it goes.
            payload: what goes there.
            qos: 0 or 1.
            retain: the broker keeps it.
            content_type: of the payload; like `expiry_s` for MQTT 5 only.
            expiry_s: the broker gives it to nobody later than so; None: it may at any time.

        Raises:
            SinkLost: there is no connection.
            ValueError: the topic can't be published to.
        """
        client = self._client
        if client is None or self._up_s is None:
            raise SinkLost(f"broker {self._address}: not connected; the message is kept")
        is_5 = self._version is MQTTProtocolVersion.MQTTv5
        properties = properties_of(content_type, expiry_s) if is_5 and (content_type or expiry_s) else None
        info = client.publish(topic, payload, qos, retain, properties)
        if info.rc != MQTTErrorCode.MQTT_ERR_SUCCESS:
            raise SinkLost(f"broker {self._address}: {info.rc.name}; the message is kept")
        return info.mid

    def subscribe(self, topics: list[str], qos: int = 1) -> None:
        """Subscribe on the connection that stands; to be called in `up`, because a new connection knows none."""
        if self._client is not None and topics:
            self._client.subscribe([(topic, qos) for topic in topics])

    # ── the thread ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _run(self) -> None:
        while not self._stop.is_set():
            before = self._version
            try:
                self._session()
            except Exception as error:  # the thread's root: a broken packet ends a connection, not the thread
                logger.exception("broker %s: connection ended by a fault", self._address)
                self._ended(f"{type(error).__name__}: {error}")
            if before is self._version or before is MQTTProtocolVersion.MQTTv311:  # else 3.1.1 is tried at once
                self._stop.wait(self._backoff.pause_s(time.monotonic()))

    def _session(self) -> None:
        client = self._new_client()
        self._refusal = None
        try:
            client.connect(self._section.host, self._section.port, self._section.keepalive_s)
        except (OSError, ValueError) as error:  # ValueError: a host name that is none
            self._backoff.failed()
            remedy = None if self._tls is None else tls_remedy(error)
            what = "not reachable" if remedy is None else "no encrypted connection"
            self._is_away(f"{what} ({error}); {remedy or 'trying again, at most every 15 s'}")
            return
        if self._stop.is_set():
            return
        self._client = client
        code = MQTTErrorCode.MQTT_ERR_SUCCESS
        answer_by_s = time.monotonic() + ANSWER_S
        while code == MQTTErrorCode.MQTT_ERR_SUCCESS and client.socket() is not None and self._goes_on(answer_by_s):
            code = client.loop(LOOP_S)
        silent = code == MQTTErrorCode.MQTT_ERR_SUCCESS and not self.is_up
        self._ended(self._refusal or (NO_ANSWER if silent else code.name))

    def _goes_on(self, answer_by_s: float) -> bool:
        """Return whether to wait on: for messages for ever, but not for the first answer nor for the goodbye."""
        if self._stop.is_set():
            return time.monotonic() < self._goodbye_by_s
        return self.is_up or time.monotonic() < answer_by_s

    def _ended(self, why: str) -> None:
        """Let go of a connection, tell the user, and note what its end says about the next try."""
        self._client = None
        up_s, self._up_s = self._up_s, None
        if up_s is None:
            self._backoff.failed()
            self._learn_version(why)
            return
        now_s = time.monotonic()
        self._backoff.lived(now_s - up_s, now_s)
        if now_s - up_s > REPEAT_LOG_S:
            self._logged.clear()
        self._tell(self._user.down, why)
        if self._stop.is_set():
            return
        self._is_away(f"connection lost ({why})")
        if self._backoff.is_kicked(now_s):
            self._warn(f"keeps closing the connection: another client may use the id {self._client_id!r}; "
                       "set mqtt.client_id")  # fmt: skip

    def _learn_version(self, why: str) -> None:
        """Try the other version where the broker refused this one, or closed twice without a word.

        A broker that has spoken version 5 is away or busy where it says nothing: nothing is given up for that.
        """
        if self._stop.is_set():
            return
        refused = why == "Unsupported protocol version" or (why == NO_ANSWER and not self._knows_5)
        self._silent += self._refusal is None and not self._knows_5
        if self._section.version == "auto" and (refused or self._silent >= SILENT_REFUSALS):
            self._silent = 0
            to_5 = self._version is not MQTTProtocolVersion.MQTTv5
            self._version = MQTTProtocolVersion.MQTTv5 if to_5 else MQTTProtocolVersion.MQTTv311
            logger.info("broker %s: refuses the protocol version, trying MQTT %s", self._address, self.protocol)
            return
        if self._refusal is not None and not refused:
            self._backoff.refused()  # asking again soon changes nothing, and some brokers then bar the address
        remedy = "set mqtt.version: auto" if refused else "check mqtt.username, password_file and tls"
        self._is_away(f"refuses the connection ({why}); {remedy}")

    def _new_client(self) -> Client:
        client = Client(CallbackAPIVersion.VERSION2, self._client_id, protocol=self._version)
        client.connect_timeout = CONNECT_TIMEOUT_S
        if self._section.username is not None:
            client.username_pw_set(self._section.username, self._password)
        if self._tls is not None:
            client.tls_set_context(self._tls)
        if self._will is not None:
            client.will_set(self._will.topic, self._will.payload, qos=1, retain=True)
        client.on_connect = self._on_connect
        client.on_disconnect = self._on_disconnect
        client.on_publish = self._on_publish
        client.on_message = self._on_message
        client.on_subscribe = self._on_subscribe
        client.on_socket_open = _send_at_once
        # With this set, paho leaves writing to the loop: two threads that write would mix their packets.
        client.on_socket_register_write = _leave_it_to_the_loop
        client.on_socket_unregister_write = self._on_all_written
        return client

    # ── paho's callbacks; none lets an exception out, which would end the loop ───────────────────────────────────────

    def _on_connect(
        self, client: Client, userdata: object, flags: ConnectFlags, code: ReasonCode, properties: Properties | None
    ) -> None:
        if code.is_failure:
            self._refusal = str(code)
            return
        self._silent, self._knows_5 = 0, self._version is MQTTProtocolVersion.MQTTv5
        self._up_s = time.monotonic()
        logger.info("broker %s: connected, MQTT %s, as %s", self._address, self.protocol, self._client_id)
        maximum = getattr(properties, "ReceiveMaximum", None)
        self._tell(self._user.up, Limits(maximum, getattr(properties, "MaximumPacketSize", None)))

    def _on_disconnect(
        self, client: Client, userdata: object, flags: DisconnectFlags, code: ReasonCode, properties: Properties | None
    ) -> None:
        if flags.is_disconnect_packet_from_server:  # MQTT 5 says why: "Session taken over", "Packet too large", …
            self._refusal = str(code)

    def _on_publish(
        self, client: Client, userdata: object, mid: int, code: ReasonCode, properties: Properties | None
    ) -> None:
        self._tell(self._user.acked, mid, str(code) if code.is_failure else None)

    def _on_all_written(self, client: Client, userdata: object, sock: object) -> None:
        if self._on_written is not None and client.socket() is not None:  # else the socket was closed, not emptied
            self._tell(self._on_written, time.monotonic_ns())

    def _on_subscribe(
        self, client: Client, userdata: object, mid: int, codes: list[ReasonCode], properties: Properties | None
    ) -> None:
        for code in codes:
            if code.is_failure:
                self._warn(f"refuses a subscription ({code}); check what {self._client_id!r} may read")
        self._tell(self._user.subscribed)

    def _on_message(self, client: Client, userdata: object, message: MQTTMessage) -> None:
        self._tell(self._user.received, message.topic, bytes(message.payload), message.retain)

    def _tell(self, callback: Callable[P, None], *arguments: P.args, **keywords: P.kwargs) -> None:
        try:
            callback(*arguments, **keywords)
        except Exception:  # a callback is the root of paho's side of the thread
            logger.exception("broker %s: %s was not handled", self._address, callback.__name__)

    # ── log ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def _address(self) -> str:
        return f"{self._section.host}:{self._section.port}"

    def _is_away(self, text: str) -> None:
        """Keep why there is no connection, and log it."""
        self._trouble = f"broker {self._address}: {text}"
        self._warn(text)

    def _warn(self, text: str) -> None:
        """Log one kind of trouble at most once a minute."""
        now_s = time.monotonic()
        key = text[:24]
        if now_s - self._logged.get(key, -REPEAT_LOG_S) >= REPEAT_LOG_S:
            self._logged[key] = now_s
            logger.warning("broker %s: %s", self._address, text)


def _send_at_once(client: Client, userdata: object, sock: object) -> None:
    """Switch Nagle's algorithm off: it holds a small packet back for 40 ms while another waits for its TCP answer."""
    if isinstance(sock, socket.socket):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _leave_it_to_the_loop(client: Client, userdata: object, sock: object) -> None:
    """Do nothing: the byte that paho has put into its socket pair wakes the loop."""
