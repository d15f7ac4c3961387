"""Where outcomes go: the outbox with its sinks, and the pictures that are kept."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

from app.config import sections
from app.evidence.settings import Settings
from app.evidence.waiting import Job, Planned
from app.frame import AnyImage
from app.latency.recorder import Recorder
from app.pipeline import Emit
from app.publish.base import NoStatus, StatusBoard
from app.publish.clock import UtcClock
from app.publish.outbox import Outbox
from app.steady.lull import Lull
from app.verdict import Outcome
from app.wiring.budgets import Budgets
from app.wiring.keeper import build_keeper
from app.wiring.snapshots import Snapshots
from app.wiring.telemetry import Telemetry
from app.wiring.traces import Tracer


@dataclass(frozen=True, slots=True)
class Watchers:
    """Who else hears of outcomes; called on the outbox's threads, must not wait.

    Attributes:
        on_judged: the verdict is known; called on the inspect thread, or on the deadline's for one that is late.
        on_written: the operating system's network has it since that moment on `time.monotonic_ns`.
        on_done: the broker has it.
        on_shown: a subscriber has shown it.
        log_dropped: says how many lines of the log were dropped so far.
    """

    on_judged: Callable[[Outcome], None] = field(default=lambda _: None)
    on_written: Callable[[Outcome, int], None] = field(default=lambda *_: None)
    on_done: Callable[[Outcome], None] = field(default=lambda _: None)
    on_shown: Callable[[Outcome], None] = field(default=lambda _: None)
    log_dropped: Callable[[], int] = field(default=lambda: 0)


def build_outbox(
    config: sections.Config,
    clock: UtcClock,
    recorder: Recorder,
    watchers: Watchers,
    tracer: Tracer,
    budgets: Budgets,
    telemetry: Telemetry,
) -> tuple[Outbox, StatusBoard]:
    """Wire the outbox and its sinks; the broker first, because its acknowledgement ends the network stage.

    Returns:
        The outbox, and what keeps the retained status true.
    """

    def done(outcome: Outcome) -> None:
        recorder.add(outcome.camera, outcome.trace.columns_ms(), outcome.trace.total_ms, outcome.budget_ms)
        budgets.done(outcome)
        watchers.on_done(outcome)

    def written(outcome: Outcome, put_ns: int, at_ns: int) -> None:
        budgets.written(put_ns, at_ns)
        watchers.on_written(outcome, at_ns)

    def shown(outcome: Outcome) -> None:
        recorder.add_shown(outcome.camera, outcome.trace.columns_ms()["presentation"] or 0.0)
        budgets.shown(outcome)
        watchers.on_shown(outcome)

    limits = config.mqtt or sections.Mqtt()
    outbox = Outbox(
        config.line,
        max_waiting=limits.max_waiting,
        max_waiting_bytes=limits.max_waiting_bytes,
        max_age_s=config.outbox.max_age_s,
        expiry_s=config.outbox.expiry_s,
        on_done=done,
        on_shown=shown,
        on_answer=telemetry.answered,
        on_event=tracer.event,
        on_written=written,
        clock=clock,
    )
    return outbox, add_sinks(config, clock, outbox)


def add_sinks(config: sections.Config, clock: UtcClock, outbox: Outbox) -> StatusBoard:
    """Add the sinks that are configured; return what keeps the retained status true."""
    status: StatusBoard = NoStatus()
    if config.mqtt is not None:
        from app.publish.mqtt import MqttSink

        sink = MqttSink(
            config.mqtt,
            config.line,
            tuple(config.cameras),
            outbox,
            on_ack=outbox.shown,
            on_written=outbox.written,
            live_s=outbox.live_s,
            version=version("taktsight"),
            clock=clock,
        )
        outbox.add("mqtt", sink, answers=True, keeper=build_keeper(config.outbox))
        status = sink
    if config.jsonl is not None:
        from app.publish.jsonl import JsonlSink

        outbox.add("jsonl", JsonlSink(config.jsonl))
    return status


@dataclass(frozen=True, slots=True)
class Keep:
    """What keeps pictures: `plan` before an outcome is published, `put` after it. By default nothing is kept.

    Attributes:
        also: keeps a picture of which the message is out already; returns the record's name, empty where it can't.
    """

    plan: Callable[[Outcome, AnyImage], Planned] = field(default=lambda outcome, _: (outcome, ()))
    put: Callable[[tuple[Job, ...]], None] = field(default=lambda _: None)
    also: Callable[[Outcome, AnyImage], str] = field(default=lambda *_: "")


def build_evidence(
    config: sections.Config,
    settings: Settings,
    outbox: Outbox,
    parts: list[AbstractContextManager[Any]],
    snapshots: Snapshots,
    is_hurried: Callable[[], bool],
    lull: Lull,
) -> Keep:
    """Wire the writer of kept pictures, where there is one, and add it to what the service enters."""
    if config.evidence is None and config.collect is None:
        return Keep()
    from app.evidence.writer import Evidence

    tell = outbox.event
    evidence = Evidence(
        config.evidence,
        config.collect,
        line=config.line,
        settings=settings,
        tell=tell,
        is_hurried=is_hurried,
        lull=lull.wait,
    )
    parts.append(evidence)

    def plan(outcome: Outcome, image: AnyImage) -> Planned:
        return evidence.plan(outcome, image, asked=snapshots.wants(outcome.camera))

    def also(outcome: Outcome, image: AnyImage) -> str:
        planned, jobs = evidence.plan(outcome, image, asked=True)
        evidence.put(jobs)
        return planned.evidence

    return Keep(plan, evidence.put, also)


def build_previews(
    config: sections.Config, parts: list[AbstractContextManager[Any]], telemetry: Telemetry, lull: Lull
) -> tuple[Emit, Callable[[str], None]]:
    """Wire the small pictures for people who watch, where they are asked for, and add them to what is entered.

    Returns:
        What takes outcomes with their pictures, and what is told of a camera more.
    """
    if config.mqtt is None or config.mqtt.previews is None:
        return lambda *_: None, lambda _: None
    from app.publish.previews import Previews

    previews = Previews(config.mqtt, config.line, tuple(config.cameras), on_shown=telemetry.previewed, lull=lull.wait)
    telemetry.previews = lambda: {name: (count, previews.sent[name]) for name, count in previews.watchers().items()}
    parts.append(previews)
    return previews.put, previews.add_camera
