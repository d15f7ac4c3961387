"""One camera: its source and thread, its hand-off, its gate and its rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from threading import Condition, Event
from time import monotonic_ns
from typing import Literal

from app.capture.base import Source
from app.capture.feed import Feed
from app.capture.guard import Guard
from app.capture.jitter import JitterBuffer
from app.capture.kinds import default_queue, is_live
from app.capture.state import CameraState
from app.config import LoadedConfig, sections
from app.debounce import Debounce
from app.errors import ConfigError
from app.frame import Frame
from app.gate import Gate
from app.inference.chosen_engine import runs_engine
from app.judge import Judge
from app.latest import Handoff, Line, Slot
from app.ledger import Fate, Ledger
from app.picture_memory import PictureMemory
from app.pipeline import Seen
from app.publish.clock import UtcClock, iso_utc
from app.publish.outbox import Outbox
from app.trigger import Trigger
from app.verdict import Verdict

ISOLATED_S = 60.0
"""How long an isolated source may take besides, to start its process and to end it."""


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


def build_handoff(section: sections.Camera, bell: Condition, ledger: Ledger, jitter: JitterBuffer) -> Handoff:
    """Choose the hand-off: newest wins, or nothing skipped."""

    def overwritten(frame: Frame) -> None:
        ledger.settle(frame.camera, frame.seq, Fate.OVERWRITTEN)
        jitter.full(monotonic_ns())

    if queue_of(section) == "latest":
        return Slot(bell, overwritten, jitter.wait_ns)
    return Line(bell, section.queue_length, source_waits=not is_live(section.source))


def put_in(
    handoff: Handoff, ledger: Ledger, expect: Callable[[Frame], None], trigger: Trigger | None
) -> Callable[[Frame], None]:
    """Return what a feed does with a frame: count it, tell whoever expects it, hand it over if it is wanted."""

    def put(frame: Frame) -> None:
        ledger.capture(frame.camera, frame.seq)
        if trigger is not None:
            wanted = trigger.take(frame)
            if wanted is None:
                ledger.settle(frame.camera, frame.seq, Fate.SKIPPED)
                return
            frame = wanted
        expect(frame)
        handoff.put(frame)

    return put


def build_feed(
    camera: str,
    section: sections.Camera,
    make: Callable[[], Source],
    put: Callable[[Frame], None],
    tell: Callable[[str, CameraState, str], None],
) -> Feed:
    """Wire one camera's thread."""
    return Feed(
        camera,
        make,
        guard=Guard(section.guard, is_live(section.source)),
        reopen=section.reopen,
        put=put,
        on_state=partial(tell, camera),
        # One that hangs in a process of its own is ended with that, and never has to be given up here.
        timeouts_s=timeouts_s(section.source) + (ISOLATED_S if section.isolate else 0.0),
    )


def timeouts_s(section: sections.Source) -> float:
    """Return how long opening or one read may take by the source's own time-outs."""
    return float(max(getattr(section, key, 0.0) for key in ("open_timeout_s", "read_timeout_s")))


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


def build_camera_source(section: sections.Camera, models: Mapping[str, sections.Model]) -> Source:
    """Choose a camera's source, in a process of its own where that is asked for; opens nothing."""
    if not section.isolate:
        on_gpu = any(runs_engine(models[model]) for model in section.models)
        return build_source(section.source, PictureMemory(worth_a_copy=on_gpu))
    from app.capture.isolated import Isolated, python_module

    limit_s = section.reopen.stuck_s + timeouts_s(section.source)
    return Isolated(section.source, python_module("app.wiring.isolate"), limit_s)


def build_source(section: sections.Source, memory: PictureMemory | None = None) -> Source:
    """Choose the source; opens nothing."""
    match section:
        case sections.ImagesSource():
            from app.capture.images import Images

            return Images(section)
        case sections.VideoSource():
            from app.capture.video import Video

            return Video(section, memory)
        case sections.StreamSource():
            from app.capture.stream import Stream

            return Stream(section, memory)
        case sections.V4l2Source():
            from app.capture.v4l2 import V4l2

            return V4l2(section, memory=memory)
        case sections.GstreamerSource():
            from app.capture.gstreamer import Gstreamer

            return Gstreamer(section, memory)
        case sections.SyntheticSource() | sections.ConveyorSource():
            return _build_generated(section)


def _build_generated(section: sections.SyntheticSource | sections.ConveyorSource) -> Source:
    if isinstance(section, sections.SyntheticSource):
        from app.capture.synthetic import Synthetic

        return Synthetic(section)
    from app.capture.conveyor import Conveyor

    return Conveyor(section)
