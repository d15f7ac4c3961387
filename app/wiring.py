"""Configuration to concrete parts: the only file that names them. Leaves are imported where they are chosen."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from threading import Condition, Event
from typing import Any, Literal
from uuid import uuid4

import numpy as np

from app.capture.base import Source
from app.capture.feed import Feed
from app.capture.guard import Guard
from app.capture.kinds import default_queue, is_live
from app.capture.state import CameraState
from app.config import LoadedConfig, sections
from app.debounce import Debounce
from app.decode.decoder import Decoder
from app.decode.family import detect_family
from app.decode.heads import head_for
from app.errors import ConfigError
from app.frame import Frame, Image
from app.gate import Gate
from app.inspector import Inspector
from app.judge import Judge
from app.latency.recorder import Recorder
from app.latest import Handoff, Line, Slot
from app.ledger import Fate, Ledger
from app.model import check_names
from app.pipeline import Emit, Engine, Pipeline, Seen
from app.preprocess.input_spec import input_spec
from app.publish.base import NoStatus, StatusBoard
from app.publish.clock import UtcClock, iso_utc
from app.publish.outbox import Outbox
from app.schedule import Lane, Schedule
from app.service import Service
from app.verdict import Outcome, Verdict

BUDGETS_MS = {"inspection": 100.0, "surveillance": 500.0}
"""The named budgets of a camera."""


@dataclass(frozen=True, slots=True)
class Watchers:
    """Who else hears of outcomes; called on the outbox's threads, must not wait.

    Attributes:
        on_judged: the verdict is known; called on the inspect thread.
        on_done: the broker has it.
        on_shown: a subscriber has shown it.
    """

    on_judged: Callable[[Outcome], None] = field(default=lambda _: None)
    on_done: Callable[[Outcome], None] = field(default=lambda _: None)
    on_shown: Callable[[Outcome], None] = field(default=lambda _: None)


@dataclass(frozen=True, slots=True)
class Product:
    """The wired product and what can be asked of it."""

    service: Service
    ledger: Ledger
    outbox: Outbox
    recorder: Recorder


@dataclass(frozen=True, slots=True)
class WiredModel:
    """A model's engine with the class names that rules may use."""

    engine: Engine
    names: tuple[str, ...]


class Channel:
    """One camera's feed and the hand-off it fills; the body of its capture thread."""

    def __init__(self, feed: Feed, handoff: Handoff) -> None:
        self._feed = feed
        self._handoff = handoff

    def run(self, stop: Event) -> None:
        """Feed until the source ends or `stop` is set, then say that no frame will follow."""
        try:
            self._feed.run(stop)
        finally:
            self._handoff.finish()

    def finish(self) -> None:
        """Free a source that waits for room."""
        self._handoff.finish()


def build(loaded: LoadedConfig, watchers: Watchers | None = None) -> Product:
    """Wire a configuration; loads no engine and opens no camera yet.

    Raises:
        ModelError: a model file can't be used as configured.
        ConfigError: rules and model don't fit together.
    """
    import cv2

    cv2.setNumThreads(1)  # the capture threads and the engine share the cores already; see docs/performance.md
    config, watchers, clock = loaded.config, watchers or Watchers(), UtcClock()
    ledger, recorder = Ledger(config.cameras), Recorder()
    models = {name: build_model(name, section) for name, section in config.models.items()}
    outbox, status = build_outbox(config, clock, recorder, watchers)
    parts: list[AbstractContextManager[Any]] = [outbox]
    keep = build_evidence(config.evidence, parts) if config.evidence else lambda *_: None

    def tell(camera: str, state: CameraState, text: str) -> None:
        status.set_camera(camera, state is CameraState.ONLINE)
        outbox.event(camera, "camera", text, state=state.value)

    def emit(outcome: Outcome, image_hwc: Image) -> None:
        watchers.on_judged(outcome)
        keep(outcome, image_hwc)
        outbox.put(outcome)

    run_id, bell = uuid4().hex[:8], Condition()
    pipelines, lanes, channels = {}, {}, {}
    for camera, section in config.cameras.items():
        model = models[section.model]
        judge = build_judge(loaded, camera, model.names)
        budget_ms = BUDGETS_MS[section.budget_ms] if isinstance(section.budget_ms, str) else section.budget_ms
        pipelines[camera] = Pipeline(
            run_id=run_id,
            config_hash=loaded.sha256[:12],
            budget_ms=budget_ms,
            engine=model.engine,
            min_score=judge.min_score(),
            gate=build_gate(section, model.names),
            judge=judge,
            ledger=ledger,
            emit=emit,
            steady=build_steady(camera, section.judge.debounce, outbox, clock),
            utc=clock.label,
        )
        handoff = build_handoff(section, bell, ledger)
        lanes[camera] = Lane(handoff, int(budget_ms * 1e6))
        channels[camera] = Channel(build_feed(camera, section, put_in(handoff, ledger), tell), handoff)
    inspector = Inspector(
        {name: model.engine.backend for name, model in models.items()},
        pipelines,
        Schedule(lanes, bell),
        on_ready=lambda: status.set_models([model.engine.label() for model in models.values()]),
    )
    return Product(Service(parts, inspector, channels), ledger, outbox, recorder)


def build_model(name: str, section: sections.Model) -> WiredModel:
    """Wire one network: reads the file, loads nothing."""
    from pathlib import Path

    from app.inference.model_file import read_model
    from app.inference.onnxruntime import OnnxBackend
    from app.preprocess.cpu import CpuPreprocessor

    info = read_model(Path(section.path), sha256=section.sha256, names=section.names)
    family, classes = detect_family(info, section.decode)
    names, _ = check_names(info.names, classes)
    spec = input_spec(info, section.input, family)
    backend = OnnxBackend(info, section, input_wh=spec.network_wh)
    head = head_for(family, info, classes, spec.network_wh, section.decode)
    decoder = Decoder(head, section.nms, names, classes)
    batch = np.zeros((spec.batch, *spec.sample_shape), spec.dtype)
    engine = Engine(
        label=lambda: f"{name}:{info.sha256[:12]}:{backend.provider}",
        backend=backend,
        preprocessor=CpuPreprocessor(spec),
        feeds={spec.name: batch},
        sample=batch[0],
        decode=decoder.run,
    )
    return WiredModel(engine, decoder.names)


def build_judge(loaded: LoadedConfig, camera: str, names: tuple[str, ...]) -> Judge:
    """Compile a camera's rules; a fault says where in the file it stands."""
    try:
        return Judge(loaded.config.cameras[camera].judge, names)
    except ConfigError as error:
        where = loaded.where("cameras", camera, "judge")
        raise ConfigError(*(f"{where}: {fault}" for fault in error.faults)) from error


def build_gate(section: sections.Camera, names: tuple[str, ...]) -> Gate[Seen] | None:
    """Wire the gate of a moving line, where there is one."""
    if section.gate is None:
        return None
    # Where no frame is left out and none comes at its own time, frames measure the belt's travel better than clocks.
    return Gate(section.gate, names, every_frame=queue_of(section) == "every" and not is_live(section.source))


def queue_of(section: sections.Camera) -> Literal["latest", "every"]:
    """Return the hand-off that is in effect."""
    return section.queue or default_queue(section.source)


def build_handoff(section: sections.Camera, bell: Condition, ledger: Ledger) -> Handoff:
    """Choose the hand-off: newest wins, or nothing skipped."""
    if queue_of(section) == "latest":
        return Slot(bell, lambda frame: ledger.settle(frame.camera, frame.seq, Fate.OVERWRITTEN))
    return Line(bell, section.queue_length, source_waits=not is_live(section.source))


def put_in(handoff: Handoff, ledger: Ledger) -> Callable[[Frame], None]:
    """Return what a feed does with a frame: count it, hand it over."""

    def put(frame: Frame) -> None:
        ledger.capture(frame.camera, frame.seq)
        handoff.put(frame)

    return put


def build_feed(
    camera: str,
    section: sections.Camera,
    put: Callable[[Frame], None],
    tell: Callable[[str, CameraState, str], None],
) -> Feed:
    """Wire one camera's thread."""
    return Feed(
        camera,
        build_source(section.source),
        guard=Guard(section.guard, is_live(section.source)),
        reopen=section.reopen,
        put=put,
        on_state=partial(tell, camera),
    )


def build_steady(camera: str, needed: int, outbox: Outbox, clock: UtcClock) -> Callable[[Verdict, int], None]:
    """Return what takes a camera's verdicts and publishes an event when the debounced one changes."""
    if needed == 1:
        return lambda verdict, exposed_ns: None
    debounce = Debounce(needed)

    def steady(verdict: Verdict, exposed_ns: int) -> None:
        change = debounce.see(verdict, exposed_ns)
        if change is None:
            return
        outbox.event(
            camera,
            "verdict",
            f"{change.verdict.value} for {needed} pictures in a row",
            verdict=change.verdict.value,
            before=None if change.before is None else change.before.value,
            since_utc=iso_utc(clock.label(change.since_ns).utc_ns),
            until_utc=None if change.until_ns is None else iso_utc(clock.label(change.until_ns).utc_ns),
        )

    return steady


def build_source(section: sections.Source) -> Source:
    """Choose the source; opens nothing."""
    match section:
        case sections.ImagesSource():
            from app.capture.images import Images

            return Images(section)
        case sections.VideoSource():
            from app.capture.video import Video

            return Video(section)
        case sections.StreamSource():
            from app.capture.stream import Stream

            return Stream(section)
        case sections.V4l2Source():
            from app.capture.v4l2 import V4l2

            return V4l2(section)
        case sections.SyntheticSource():
            from app.capture.synthetic import Synthetic

            return Synthetic(section)
        case sections.ConveyorSource():
            from app.capture.conveyor import Conveyor

            return Conveyor(section)


def build_outbox(
    config: sections.Config, clock: UtcClock, recorder: Recorder, watchers: Watchers
) -> tuple[Outbox, StatusBoard]:
    """Wire the outbox and its sinks; the broker first, because its acknowledgement ends the network stage.

    Returns:
        The outbox, and what keeps the retained status true.
    """

    def done(outcome: Outcome) -> None:
        recorder.add(outcome.camera, outcome.trace.columns_ms(), outcome.trace.total_ms, outcome.budget_ms)
        watchers.on_done(outcome)

    def shown(outcome: Outcome) -> None:
        recorder.add_shown(outcome.camera, outcome.trace.columns_ms()["presentation"] or 0.0)
        watchers.on_shown(outcome)

    limits = config.mqtt or sections.Mqtt()
    outbox = Outbox(
        config.line,
        max_waiting=limits.max_waiting,
        max_waiting_bytes=limits.max_waiting_bytes,
        max_age_s=limits.max_age_s,
        on_done=done,
        on_shown=shown,
        clock=clock,
    )
    status: StatusBoard = NoStatus()
    if config.mqtt is not None:
        from app.publish.mqtt import MqttSink

        sink = MqttSink(
            config.mqtt,
            config.line,
            tuple(config.cameras),
            outbox,
            on_ack=outbox.shown,
            version=version("taktsight"),
            clock=clock,
        )
        outbox.add("mqtt", sink, answers=True)
        status = sink
    if config.jsonl is not None:
        from app.publish.jsonl import JsonlSink

        outbox.add("jsonl", JsonlSink(config.jsonl))
    return outbox, status


def build_evidence(section: sections.Evidence, parts: list[AbstractContextManager[Any]]) -> Emit:
    """Wire the writer of annotated pictures, and add it to what the service enters."""
    from app.publish.evidence import Evidence

    evidence = Evidence(section)
    parts.append(evidence)
    return evidence.put
