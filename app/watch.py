"""A subscriber such as a customer would write: receives, drops duplicates, shows, acknowledges."""

from __future__ import annotations

import threading
import time
import uuid
from collections import OrderedDict, deque
from dataclasses import dataclass
from types import TracebackType

from rich.console import Console
from rich.text import Text
from typing_extensions import Self

from app.config.sections import Mqtt
from app.errors import SinkLost
from app.publish.backoff import Backoff
from app.publish.identity import client_id
from app.publish.link import Limits, Link
from app.publish.message import Ack, Anything, Event, Latency, MalformedMessage, Result, Status, decode, encode
from app.publish.topics import slug
from app.verdict import Verdict

MAX_WAITING = 10_000
REMEMBERED_IDS = 10_000
FIRST_CONNECTION_S = 10.0
STYLES = {Verdict.OK: "bold green", Verdict.NG: "bold white on red", Verdict.UNKNOWN: "bold black on yellow"}


@dataclass(frozen=True, slots=True)
class Arrival:
    """A message and when it came, on `time.monotonic_ns`."""

    topic: str
    message: Result | Event | Status
    arrived_ns: int


class Subscriber:
    """Receives the messages of a line; comes back by itself after the broker was away.

    Args:
        section: the broker.
        line, camera: names as configured; empty for all.
    """

    def __init__(self, section: Mqtt, *, line: str = "", camera: str = "", backoff: Backoff | None = None) -> None:
        one_line, one_camera = (slug(name) if name else "+" for name in (line, camera))
        base = f"{section.root.strip('/')}/{one_line}"
        self._topics = [f"{base}/{one_camera}/{kind}" for kind in ("result", "event", "status")]
        self._topics += [f"{base}/{kind}" for kind in ("event", "status")]
        self._encoding = section.encoding
        self._changed = threading.Condition()
        self._waiting: deque[Arrival] = deque()
        self._seen: OrderedDict[str, None] = OrderedDict()
        self.client = client_id("", f"watch-{uuid.uuid4().hex[:6]}")
        self._link = Link(section, self.client, self, backoff=backoff)
        self._is_subscribed = False
        self.duplicates = 0
        self.malformed = 0
        self.overrun = 0

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
        """Disconnect."""
        self._link.__exit__(kind, error, traceback)

    def wait_until_subscribed(self, timeout_s: float) -> bool:
        """Wait for the broker to confirm the subscription; return whether it has."""
        with self._changed:
            return self._changed.wait_for(lambda: self._is_subscribed, timeout_s)

    def get(self, timeout_s: float) -> Arrival | None:
        """Return the next message, None if none comes in time."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting, timeout_s)
            return self._waiting.popleft() if self._waiting else None

    def acknowledge(self, arrival: Arrival) -> None:
        """Tell the service that a result is shown now; lost without harm where the broker is away."""
        if not isinstance(arrival.message, Result):
            return
        hold_ms = (time.monotonic_ns() - arrival.arrived_ns) / 1e6
        result = arrival.message
        ack = Ack(id=result.id, trace_id=result.trace_id, hold_ms=round(hold_ms, 3), client=self.client)
        try:
            self._link.publish(f"{arrival.topic.rpartition('/')[0]}/ack", encode(ack, self._encoding), qos=0)
        except SinkLost:
            return

    # ── the link's side (its thread) ─────────────────────────────────────────────────────────────────────────────────

    def up(self, limits: Limits) -> None:
        """Subscribe: a new connection knows no subscription."""
        self._link.subscribe(self._topics)

    def subscribed(self) -> None:
        """The broker has confirmed it."""
        with self._changed:
            self._is_subscribed = True
            self._changed.notify_all()

    def down(self, why: str) -> None:
        """Note it; the link comes back."""
        with self._changed:
            self._is_subscribed = False

    def acked(self, mid: int, refusal: str | None) -> None:
        """Nothing waits for it."""

    def received(self, topic: str, payload: bytes, retained: bool) -> None:
        """Queue one message unless it is none, or one that has come before."""
        arrived_ns = time.monotonic_ns()
        try:
            message = decode(payload)
        except MalformedMessage:
            self.malformed += 1
            return
        if isinstance(message, Ack | Latency):
            return
        with self._changed:
            if self._is_duplicate(message):
                self.duplicates += 1
                return
            if len(self._waiting) >= MAX_WAITING:
                self._waiting.popleft()
                self.overrun += 1
            self._waiting.append(Arrival(topic, message, arrived_ns))
            self._changed.notify_all()

    def _is_duplicate(self, message: Anything) -> bool:
        if not isinstance(message, Result | Event):
            return False
        if message.id in self._seen:
            return True
        self._seen[message.id] = None
        if len(self._seen) > REMEMBERED_IDS:
            self._seen.popitem(last=False)
        return False


def watch(
    section: Mqtt,
    *,
    line: str = "",
    camera: str = "",
    as_json: bool = False,
    count: int = 0,
    console: Console | None = None,
) -> None:
    """Print what a customer would receive, one line a message, until so many results have come.

    Args:
        section: the broker.
        line: its name as configured; empty for all.
        camera: its name as configured; empty for all.
        as_json: print the messages themselves.
        count: of results, 0 for no end.
        console: where to.

    Raises:
        SinkLost: the broker could not be reached in the first seconds; later losses are waited out.
        ConfigError: a password or certificate file can't be read.
    """
    console = console or Console(highlight=False)
    with Subscriber(section, line=line, camera=camera) as subscriber:
        if not subscriber.wait_until_subscribed(FIRST_CONNECTION_S):
            address = f"{section.host}:{section.port}"
            raise SinkLost(f"broker {address}: not reached within {FIRST_CONNECTION_S:.0f} s; see --host and --port")
        results = 0
        while count == 0 or results < count:
            arrival = subscriber.get(timeout_s=1.0)
            if arrival is None:
                continue
            show(arrival.message, console, as_json=as_json)
            subscriber.acknowledge(arrival)
            results += isinstance(arrival.message, Result)


def show(message: Result | Event | Status, console: Console, *, as_json: bool) -> None:
    """Print one message on one line."""
    if as_json:
        console.out(encode(message).decode(), highlight=False)
    else:
        console.print(line_of(message), soft_wrap=True)


def line_of(message: Result | Event | Status) -> Text:
    """Return one message as one line for a person."""
    if isinstance(message, Result):
        return _result_line(message)
    if isinstance(message, Event):
        return Text.assemble((f"{message.kind:>7} ", "cyan"), f" {message.camera or message.line}  {message.text}")
    style = "green" if message.state == "online" else "red"
    who = message.camera or message.line
    return Text.assemble((f"{message.state:>7} ", style), f" {who}  {message.reason}, {message.version}".rstrip(", "))


def _result_line(result: Result) -> Text:
    part = f"#{result.seq}" if result.part is None else f"part {result.part} (#{result.seq})"
    why = "; ".join(reason.text or reason.code for reason in result.reasons)
    total = "" if result.total_ms is None else f"{result.total_ms:.1f} ms"
    revised = f"revision {result.rev}" if result.rev > 1 else ""
    facts = "  ".join(filter(None, (result.camera, part, result.label, revised, why)))
    late = result.total_ms is not None and result.budget_ms is not None and result.total_ms > result.budget_ms
    verdict = (f"{result.verdict.value:>7} ", STYLES[result.verdict])
    return Text.assemble(verdict, f" {facts}  ", (total, "red" if late else "dim"))
