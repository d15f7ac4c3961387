"""One camera from its source to its verdicts, and what all cameras of a service share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Condition

from app.capture.base import Source
from app.capture.state import CameraState
from app.config import LoadedConfig, sections
from app.config.budget import budget_ms
from app.config.changes import same_gate, same_hurry
from app.engine import Engine, stands_in
from app.errors import ConfigError
from app.evidence.border import Border as BorderOf
from app.frame import Frame
from app.latency.base import Planner
from app.ledger import Ledger
from app.pipeline import Border, Emit, Pipeline
from app.publish.clock import UtcClock
from app.publish.outbox import Outbox
from app.refine import Refiner, SecondLook
from app.schedule import Lane
from app.static import Static
from app.trigger import PATIENCE_NS, Trigger
from app.wiring.budgets import Budgets
from app.wiring.cameras import (
    Channel,
    build_camera_source,
    build_feed,
    build_gate,
    build_handoff,
    build_judge,
    build_steady,
    put_in,
    queue_of,
)
from app.wiring.jitter import build_jitter
from app.wiring.models import WiredModel
from app.wiring.second_look import EngineLooks, build_refiner
from app.wiring.swap import Swap
from app.wiring.traces import Tracer

MIN_SCORE = 0.001
"""What a look is asked for at least: a score of 0 is no detection."""


@dataclass(slots=True)
class InForce:
    """The configuration that is in force; another takes its place when the service reloads."""

    loaded: LoadedConfig

    @property
    def hash(self) -> str:
        """The first 12 hex digits of its SHA-256, as the results carry them."""
        return self.loaded.sha256[:12]


@dataclass(frozen=True, slots=True)
class Shared:
    """What all cameras of one service have in common.

    Attributes:
        pipelines: by camera, as they are now; changed on the inspect thread.
        triggers: of the cameras that wait for one.
        run_id: unique for this start of the service.
        bell: rung by every hand-off.
        emit: takes every outcome with its picture.
        tell: takes every change of a camera's state.
        swap: what stands in the place of the product's own parts.
        tracer: takes what the trace file is made of.
        budgets: keeps every camera to its budget.
    """

    in_force: InForce
    models: dict[str, WiredModel]
    pipelines: dict[str, Pipeline]
    triggers: dict[str, Trigger]
    ledger: Ledger
    outbox: Outbox
    clock: UtcClock
    run_id: str
    bell: Condition
    emit: Emit
    tell: Callable[[str, CameraState, str], None]
    swap: Swap
    tracer: Tracer
    budgets: Budgets

    @property
    def loaded(self) -> LoadedConfig:
        """The configuration that is in force."""
        return self.in_force.loaded


@dataclass(frozen=True, slots=True)
class WiredCamera:
    """One camera's places in the path of a frame, and the engines that look at it."""

    channel: Channel
    lane: Lane
    pipeline: Pipeline
    engines: tuple[Engine, ...]
    names: tuple[str, ...]


def build_camera(name: str, section: sections.Camera, shared: Shared) -> WiredCamera:
    """Wire one camera from its source to its verdicts.

    Raises:
        ConfigError: its rules and its models don't fit together.
    """
    pipeline, engines = build_pipeline(name, section, shared)
    allowed_ms = budget_ms(section.budget_ms)
    jitter = build_jitter(name, section.source, allowed_ms, shared.outbox.event)
    handoff = build_handoff(section, shared.bell, shared.ledger, jitter)
    # Each trigger gets its verdict by the deadline, wherever it waits; a frame that may be overwritten must be picked.
    every = queue_of(section) == "every"

    def expect(frame: Frame) -> None:
        if every:
            shared.pipelines[name].expect(frame)
        else:
            jitter.add(frame.picture.exposed_ns)

    def make() -> Source:
        return shared.swap.source(name, build_camera_source(section, shared.loaded.config.models))

    trigger = build_trigger(name, section, shared)
    feed = build_feed(name, section, make, put_in(handoff, shared.ledger, expect, trigger), shared.tell)
    lane = Lane(handoff, _ns(allowed_ms), section.priority)
    return WiredCamera(Channel(feed, handoff), lane, pipeline, engines, names_of(section, shared))


def names_of(section: sections.Camera, shared: Shared) -> tuple[str, ...]:
    """Return the class names that a camera's rules and gate may use."""
    refiner = build_refiner(section, shared.models)
    return shared.models[section.model].names if refiner is None else refiner.names


def build_pipeline(
    name: str,
    section: sections.Camera,
    shared: Shared,
    before: tuple[sections.Camera, Pipeline, tuple[str, ...]] | None = None,
) -> tuple[Pipeline, tuple[Engine, ...]]:
    """Wire how one camera's pictures are judged, and name the engines that look at them.

    Args:
        name: the camera's.
        section: how its pictures are to be judged.
        shared: what all cameras have in common.
        before: the same camera until now: the parts that its gate holds and what was learned of the time that steps
            take stay, where they hold as well now.

    Raises:
        ConfigError: its rules and its models don't fit together.
    """
    swap, refiner = shared.swap, build_refiner(section, shared.models)
    check_small(name, section, shared)
    engines = {key: swap.engine(name, shared.models[key].engine) for key in dict.fromkeys(section.models)}
    names = names_of(section, shared)
    judge = build_judge(shared.loaded, name, names)
    least, margin = judge.min_score(), border_margin(shared.loaded.config, refiner)
    keeps_gate = before is not None and same_gate(before[0], section) and before[2] == names
    keeps_plan = before is not None and same_hurry(before[0], section)
    pipeline = Pipeline(
        run_id=shared.run_id,
        config_hash=shared.in_force.hash,
        budget_ms=budget_ms(section.budget_ms),
        engine=engines[section.model],
        min_score=max(least - margin, MIN_SCORE) if refiner is None else min(least, refiner.min_score),
        gate=before[1].gate if before and keeps_gate else build_gate(section, names),
        judge=swap.judge(name, judge),
        ledger=shared.ledger,
        emit=shared.emit,
        steady=build_steady(name, section.judge.debounce, shared.outbox, shared.clock),
        utc=shared.clock.label,
        small=engines.get(section.small_model or ""),
        second=build_second(name, section, refiner, engines, least, swap),
        coarse_first=section.refine is not None and section.refine.coarse_first,
        second_required=section.refine is not None and section.refine.required,
        on_passed=shared.tracer.passed,
        planner=before[1].planner if before and keeps_plan else build_planner(name, section, shared),
        watch=shared.budgets.watch(section),
        static=Static(section.reuse_static_s) if section.reuse_static else None,
        border=build_border(shared.loaded.config, section, names, least if margin else None),
    )
    if before is not None:
        pipeline.is_paused = before[1].is_paused
    return pipeline, tuple(engines.values())


def build_planner(name: str, section: sections.Camera, shared: Shared) -> Planner:
    """Wire what plans a camera's frames; it knows when the engine that looks at them is only a stand-in."""
    return shared.budgets.planner(name, section, shared.outbox.event, lambda: stands_in(shared.pipelines[name].engine))


def border_margin(config: sections.Config, refiner: Refiner | None) -> float:
    """Return how far below the thresholds the first look has to see, so that a part that is nearly NG is kept.

    A second look has doubts of its own below the thresholds; what it is shown must not depend on what is kept.
    """
    return config.evidence.borderline if config.evidence is not None and refiner is None else 0.0


def build_border(
    config: sections.Config, section: sections.Camera, names: tuple[str, ...], certain: float | None
) -> Border:
    """Wire what says how near a part was to another verdict, where somebody wants to know."""
    if config.evidence is None or not config.evidence.borderline:
        return lambda found: (found, None)
    return BorderOf(section.judge, names, certain)


def build_trigger(name: str, section: sections.Camera, shared: Shared) -> Trigger | None:
    """Wire what lets through the pictures that are asked for, and make it known to the commands."""
    if section.trigger is None:
        return None

    def lost(trigger_id: str) -> None:
        text = f"the trigger {trigger_id} got no picture: the camera gave none within {PATIENCE_NS / 1e9:g} s"
        shared.outbox.event(name, "trigger_lost", text, trigger=trigger_id)

    trigger = shared.triggers[name] = Trigger(lost)
    return trigger


def lane_of(camera: WiredCamera, section: sections.Camera) -> Lane:
    """Return a camera's hand-off with what its frames are allowed now."""
    return Lane(camera.lane.waiting, _ns(budget_ms(section.budget_ms)), section.priority)


def _ns(milliseconds: float) -> int:
    return int(milliseconds * 1e6)


def check_small(name: str, section: sections.Camera, shared: Shared) -> None:
    """See that the network for frames that are short of time, where there is one, knows the same classes.

    Raises:
        ConfigError: it does not.
    """
    if section.small_model is None or shared.models[section.small_model].names == shared.models[section.model].names:
        return
    where = shared.loaded.where("cameras", name, "small_model")
    raise ConfigError(f"{where}: it has other classes than `{section.model}`; the rules need the same in both")


def build_second(
    name: str,
    section: sections.Camera,
    refiner: Refiner | None,
    engines: Mapping[str, Engine],
    min_score: float,
    swap: Swap,
) -> SecondLook | None:
    """Wire the second look with the engine that looks, where there is one."""
    if refiner is None or section.refine is None:
        return None
    model = section.refine.model or section.model
    return swap.second(name, EngineLooks(refiner, engines[model], min_score, is_same=model == section.model))
