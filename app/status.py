"""Asks the broker how lines are: their retained statuses, as a table."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from time import monotonic

import msgspec
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from app.config.sections import Mqtt
from app.errors import SinkLost, TaktsightError
from app.publish.message import Status
from app.publish.visible import visible_message
from app.watch import Subscriber

CONNECT_S = 5.0
QUIET_S = 1.0
"""Retained messages come at once; after so long without one there are no more."""

SHOWN = ("captured", "judged", "late", "failed")
"""Words of the ledger that the table has room for."""


@dataclass(slots=True)
class Line:
    """One line's statuses as the broker keeps them."""

    service: Status | None = None
    cameras: dict[str, Status] = field(default_factory=dict)

    @property
    def is_well(self) -> bool:
        """Whether the service is there and has nothing to complain of."""
        service = self.service
        return service is not None and service.state == "online" and (service.health is None or service.health.healthy)


def show_status(section: Mqtt, console: Console, *, line: str, as_json: bool) -> bool:
    """Print how a line is, or every line of a broker; return whether all are well.

    Raises:
        SinkLost: the broker can't be reached.
        TaktsightError: it knows of no line.
    """
    lines = ask(section, line)
    if not lines:
        wanted = f"line {line}" if line else "any line"
        raise TaktsightError(
            f"{section.host}:{section.port}: the broker knows nothing of {wanted} under {section.root!r}; is the "
            "service running, and does it speak to this broker?"
        )
    if as_json:
        found = {name: {"service": one.service, "cameras": one.cameras} for name, one in lines.items()}
        sys.stdout.write(msgspec.json.encode(found).decode() + "\n")
    else:
        for name, one in lines.items():
            _show(name, one, console)
    return all(one.is_well for one in lines.values())


def ask(section: Mqtt, line: str = "", connect_s: float = CONNECT_S, quiet_s: float = QUIET_S) -> dict[str, Line]:
    """Return the statuses that a broker keeps, by line.

    Raises:
        SinkLost: it can't be reached.
    """
    with Subscriber(section, line=line) as subscriber:
        if not subscriber.wait_until_subscribed(connect_s):
            raise SinkLost(
                f"{section.host}:{section.port}: no broker takes us within {connect_s:g} s; is it there, and are host, "
                "port, user and password right?"
            )
        lines: dict[str, Line] = {}
        until_s = monotonic() + quiet_s
        while (left_s := until_s - monotonic()) > 0:
            arrival = subscriber.get(left_s)
            if arrival is not None and isinstance(arrival.message, Status):
                _keep(lines, arrival.message)
    return lines


def _keep(lines: dict[str, Line], status: Status) -> None:
    status = visible_message(status)
    one = lines.setdefault(status.line, Line())
    if status.camera:
        one.cameras[status.camera] = status
    else:
        one.service = status


def _show(name: str, line: Line, console: Console) -> None:
    service = line.service
    health = None if service is None else service.health
    if service is None:
        console.print(f"{name}: no word of its service, only of its cameras", markup=False)
    elif service.state == "offline":
        said = escape(f"({service.reason} since {service.utc})")
        console.print(f"[bold red]{escape(name)}: offline[/] {said}")
    elif health is None:
        console.print(f"{name}: online since {service.utc}; its health follows within ten seconds", markup=False)
    else:
        word = "[bold green]well[/]" if health.healthy else "[bold red]not well[/]"
        p99 = "no results yet" if health.p99_ms is None else f"p99 {health.p99_ms:.1f} ms"
        rate = f"{health.verdicts_per_s:.1f} verdicts/s"
        console.print(f"{escape(name)}: {word}, {rate}, {p99}, up {_time(health.uptime_s)}")
        for problem in health.problems:
            console.print(f"  {problem}", style="red", markup=False, highlight=False)
    if line.cameras:
        console.print(_cameras(line))
    if service is not None and health is not None:
        _show_rest(service, console)


def _cameras(line: Line) -> Table:
    table = Table(
        "camera", "state", "since", "reconnects/h", "stalls/h", "level", "captured", "judged", "late", "failed"
    )
    for column in table.columns[2:]:
        column.justify = "right"
    online = line.service is not None and line.service.state == "online"
    for name, status in sorted(line.cameras.items()):
        detail = status.detail
        if not online or detail is None:
            table.add_row(escape(name), "unknown" if not online else status.state, *[""] * 8)
            continue
        frames = [str(detail.frames.get(word, "")) for word in SHOWN]
        numbers = (str(detail.reconnects_per_h), str(detail.stalls_per_h))
        row = (name, detail.state, _time(detail.since_s), *numbers, detail.level, *frames)
        table.add_row(*map(escape, row))
    return table


def _show_rest(service: Status, console: Console) -> None:
    health = service.health
    assert health is not None, "asked before"
    told = [f"outbox: {health.outbox_waiting} waiting, oldest {health.outbox_oldest_s:.1f} s, "
            f"{health.outbox_dropped} dropped"]  # fmt: skip
    if health.rss_bytes is not None:
        told.append(f"memory: {health.rss_bytes >> 20} MB, {health.files} files, {health.threads} threads")
    if health.disk_free_bytes is not None:
        told.append(f"disk: {health.disk_free_bytes / (1 << 30):.1f} GB free")
    if health.hottest_c is not None:
        told.append(f"temperature: {health.hottest_c:.0f} °C")
    told += [f"model: {model}" for model in service.models]
    for text in told:
        console.print(f"  {text}", markup=False, highlight=False)


def _time(seconds: float) -> str:
    """Say a length of time as a person would."""
    for unit, name in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds:.0f} s"
