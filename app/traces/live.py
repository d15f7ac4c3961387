"""Collects the times of a running line as a subscriber sees them."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from app.config.sections import Mqtt
from app.errors import SinkLost
from app.latency.trace_file import SystemEvent
from app.publish.message import Event, Result
from app.traces.timing import Timing, timing_of_result
from app.watch import FIRST_CONNECTION_S, Arrival, Subscriber


@dataclass(slots=True)
class Heard:
    """What came in the time.

    Attributes:
        untimed: results that say nothing of their time.
    """

    timings: list[Timing] = field(default_factory=list)
    events: list[SystemEvent] = field(default_factory=list)
    untimed: int = 0

    def take(self, arrival: Arrival) -> None:
        """Sort one message in."""
        message, at_ns = arrival.message, arrival.arrived_ns
        if isinstance(message, Result):
            timing = timing_of_result(message, at_ns)
            self.untimed += timing is None
            self.timings += [timing] if timing is not None else []
        elif isinstance(message, Event):
            event = SystemEvent(
                kind=message.kind,
                camera=message.camera,
                text=message.text,
                began_ns=at_ns,
                ended_ns=at_ns,
                data=message.data,
            )
            self.events.append(event)


def listen(section: Mqtt, *, line: str, camera: str, seconds: float, errors: Console) -> Heard:
    """Subscribe for so long, with a bar that shows it.

    Raises:
        SinkLost: the broker could not be reached.
    """
    with Subscriber(section, line=line, camera=camera) as subscriber:
        if not subscriber.wait_until_subscribed(FIRST_CONNECTION_S):
            address = f"{section.host}:{section.port}"
            raise SinkLost(f"broker {address}: not reached within {FIRST_CONNECTION_S:.0f} s; see --host and --port")
        return _collect(subscriber, seconds, errors)


def _collect(subscriber: Subscriber, seconds: float, errors: Console) -> Heard:
    heard = Heard()
    columns = (TextColumn("listening: {task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as progress:
        task = progress.add_task("0 results", total=seconds)
        began = time.monotonic()
        while (passed := time.monotonic() - began) < seconds:
            arrival = subscriber.get(timeout_s=min(0.2, seconds - passed))
            if arrival is not None:
                heard.take(arrival)
            progress.update(task, completed=passed, description=f"{len(heard.timings)} results")
    return heard
