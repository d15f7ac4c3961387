"""A subscriber such as a customer would write: receives, drops duplicates, shows, acknowledges."""

from __future__ import annotations

import threading
import time
import uuid
from collections import OrderedDict, deque
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal

from rich.console import Console
from rich.text import Text
from typing_extensions import Self

from app.config.sections import Mqtt
from app.errors import ConfigError, SinkLost
from app.publish.backoff import Backoff
from app.publish.identity import client_id
from app.publish.link import Limits, Link
from app.publish.message import (
    Ack,
    Anything,
    Event,
    Latency,
    MalformedMessage,
    Preview,
    Result,
    Status,
    Want,
    decode,
    encode,
)
from app.publish.spread import Subscriber as Row
from app.publish.topics import slug
from app.publish.visible import visible
from app.verdict import Verdict

MAX_WAITING = 10_000
REMEMBERED_IDS = 10_000
FIRST_CONNECTION_S = 10.0
ASK_S = 10.0
"""Between two times that a watcher says that it still wants previews."""
STYLES = {Verdict.OK: "bold green", Verdict.NG: "bold white on red", Verdict.UNKNOWN: "bold black on yellow"}


@dataclass(frozen=True, slots=True)
class Arrival:
    """A message and when it came, on `time.monotonic_ns`."""

    topic: str
    message: Result | Event | Status | Latency | Preview
    arrived_ns: int


class Subscriber:
    """Receives the messages of a line; comes back by itself after the broker was away.

    Args:
        section: the broker.
        line, camera: names as configured; empty for all.
        latencies: also receive how long the stages take.
        previews: also ask every camera that is there for small pictures of what it sees.
    """

    def __init__(
        self,
        section: Mqtt,
        *,
        line: str = "",
        camera: str = "",
        latencies: bool = False,
        previews: bool = False,
        backoff: Backoff | None = None,
    ) -> None:
        one_line, one_camera = (slug(name) if name else "+" for name in (line, camera))
        base = f"{section.root.strip('/')}/{one_line}"
        kinds = ("result", "history", "event", "status", *(("latency",) if latencies else ()))
        self._topics = [f"{base}/{one_camera}/{kind}" for kind in kinds]
        self._topics += [f"{base}/{kind}" for kind in ("event", "status")]
        self._encoding = section.encoding
        self._changed = threading.Condition()
        self._waiting: deque[Arrival] = deque()
        self._seen: OrderedDict[str, None] = OrderedDict()
        self.client = client_id("", f"watch-{uuid.uuid4().hex[:6]}")
        if previews:
            self._topics.append(f"{base}/{one_camera}/preview/{slug(self.client)}")
        self._wants_previews = previews
        self._asked_ns: dict[str, int] = {}
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
        """Say that no previews are wanted any more, and disconnect."""
        for base in self._asked_ns:
            self._ask(base, wanted=False)
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
        """Tell the service that a result or preview is shown now; lost without harm where the broker is away."""
        message = arrival.message
        if not isinstance(message, Result | Preview) or (isinstance(message, Result) and message.history):
            return
        hold_ms = round((time.monotonic_ns() - arrival.arrived_ns) / 1e6, 3)
        base = arrival.topic.rpartition("/result" if isinstance(message, Result) else "/preview/")[0]
        shows: Literal["result", "preview"] = "result" if isinstance(message, Result) else "preview"
        ack = Ack(id=message.id, trace_id=message.trace_id, hold_ms=hold_ms, client=self.client, shows=shows)
        with suppress(SinkLost):
            self._link.publish(f"{base}/ack", encode(ack, self._encoding), qos=0)

    def ask_again(self) -> None:
        """Say that previews are still wanted, where it is time to; called now and then by whoever shows them."""
        now_ns = time.monotonic_ns()
        for base in [base for base, asked_ns in self._asked_ns.items() if now_ns - asked_ns >= ASK_S * 1e9]:
            self._ask(base)

    def _ask(self, base: str, *, wanted: bool = True) -> None:
        self._asked_ns[base] = time.monotonic_ns()
        with suppress(SinkLost):
            want = Want(client=self.client, previews=wanted)
            self._link.publish(f"{base}/ack", encode(want, self._encoding), qos=0)

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
        if isinstance(message, Ack | Want):
            return
        if self._wants_previews and isinstance(message, Status) and message.camera and message.state == "online":
            self._ask(topic.rpartition("/")[0])
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
        if not isinstance(message, Result | Event | Latency):
            return False
        if message.id in self._seen:
            return True
        self._seen[message.id] = None
        if len(self._seen) > REMEMBERED_IDS:
            self._seen.popitem(last=False)
        return False


class Gallery:
    """A folder with the newest preview of each camera, which whoever looks at it never sees half written.

    Args:
        folder: made where it is not there.

    Raises:
        ConfigError: it can't be written to.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(
                f"--previews {folder}: {error.strerror}; name a folder that this user may write"
            ) from error

    def hang(self, topic: str, preview: Preview) -> Path:
        """Put a preview in the place of the camera's last one, `<line>-<camera>.jpg`, and return its path.

        Raises:
            ConfigError: the folder does not take it.
        """
        line, camera = topic.split("/")[-4:-2]
        path = self._folder / f"{line}-{camera}.jpg"
        part = path.with_suffix(".part")
        try:
            part.write_bytes(preview.jpeg)
            part.replace(path)
        except OSError as error:
            raise ConfigError(f"--previews {path}: {error.strerror}; make room, or name another folder") from error
        return path


def watch(
    section: Mqtt,
    *,
    line: str = "",
    camera: str = "",
    as_json: bool = False,
    count: int = 0,
    previews: Path | None = None,
    console: Console | None = None,
) -> None:
    """Print what a customer would receive, one line a message, until so many results have come.

    Args:
        section: the broker.
        line: its name as configured; empty for all.
        camera: its name as configured; empty for all.
        as_json: print the messages themselves.
        count: of results, 0 for no end.
        previews: a folder for the newest picture of each camera, where previews are wanted.
        console: where to.

    Raises:
        SinkLost: the broker could not be reached in the first seconds; later losses are waited out.
        ConfigError: a password or certificate file can't be read.
    """
    console = console or Console(highlight=False)
    gallery = None if previews is None else Gallery(previews)
    with Subscriber(section, line=line, camera=camera, latencies=True, previews=gallery is not None) as subscriber:
        if not subscriber.wait_until_subscribed(FIRST_CONNECTION_S):
            address = f"{section.host}:{section.port}"
            raise SinkLost(f"broker {address}: not reached within {FIRST_CONNECTION_S:.0f} s; see --host and --port")
        results = 0
        while count == 0 or results < count:
            arrival = subscriber.get(timeout_s=1.0)
            subscriber.ask_again()
            if arrival is None:
                continue
            show(arrival, console, gallery, as_json=as_json)
            subscriber.acknowledge(arrival)
            results += isinstance(arrival.message, Result)


def show(arrival: Arrival, console: Console, gallery: Gallery | None, *, as_json: bool) -> None:
    """Print one message on one line; hang a preview where it belongs."""
    message = arrival.message
    if isinstance(message, Preview):
        if gallery is not None:
            gallery.hang(arrival.topic, message)
    elif as_json:
        console.out(visible(encode(message).decode()), highlight=False)
    else:
        console.print(line_of(message), soft_wrap=True)


def line_of(message: Result | Event | Status | Latency) -> Text:
    """Return one message as one line for a person."""
    line = _line_of(message)
    line.plain = visible(line.plain)
    return line


def _line_of(message: Result | Event | Status | Latency) -> Text:
    if isinstance(message, Latency):
        return _latency_line(message)
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
    history = f"history of {result.captured_utc}" if result.history else ""
    facts = "  ".join(filter(None, (result.camera, part, result.label, revised, history, why)))
    late = result.total_ms is not None and result.budget_ms is not None and result.total_ms > result.budget_ms
    verdict = (f"{result.verdict.value:>7} ", STYLES[result.verdict])
    return Text.assemble(verdict, f" {facts}  ", (total, "red" if late else "dim"))


def _latency_line(message: Latency) -> Text:
    """Say how fast the camera's results were in the last ten seconds, what took longest, and who shows them slowest."""
    stages = message.windows[0].stages if message.windows else {}
    total = stages.get("total")
    if total is None:
        return Text.assemble(("latency ", "cyan"), f" {message.camera}  no result in the last 10 s")
    parts = {name: spread.p99 or 0.0 for name, spread in stages.items() if name not in ("total", "presentation")}
    longest = max(parts, key=lambda name: parts[name], default="")
    facts = [f"total p50 {_ms(total.p50)}, p99 {_ms(total.p99)} of {message.budget_ms:g} ms ({total.count} in 10 s)"]
    if longest:
        facts.append(f"longest: {longest} p99 {parts[longest]:.1f} ms")
    facts += [f"level {message.level}"] if message.level not in ("", "full") else []
    facts += [
        _slowest(what, rows[0])
        for what, rows in (("shown", message.subscribers), ("previews", message.previews))
        if rows
    ]
    is_late = total.p99 is None or total.p99 > message.budget_ms
    return Text.assemble(("latency ", "red" if is_late else "cyan"), f" {message.camera}  ", "; ".join(facts))


def _slowest(what: str, row: Row) -> str:
    spent_ms = (row.network.p90 or 0.0) + (row.hold.p90 or 0.0)
    return f"{what} slowest by {row.client}: p90 {spent_ms:.1f} ms, mostly {row.mostly}, {row.per_s:g} a second"


def _ms(value_ms: float | None) -> str:
    return "over 10 s" if value_ms is None else f"{value_ms:.1f}"
