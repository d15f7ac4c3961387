"""Runs a configured line once, on a bounded number of pictures, and says how fast it was."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from app.bench.held import Held, Limited
from app.bench.reel import Reel, host
from app.broker import LocalBroker
from app.capture.base import Source
from app.capture.kinds import is_live
from app.config import LoadedConfig, sections
from app.engine import Engine
from app.errors import TaktsightError
from app.frame import Picture
from app.picture_memory import PictureMemory
from app.pipeline import Emit, Judge
from app.refine.base import SecondLook
from app.trace import COLUMNS
from app.verdict import Outcome
from app.wiring import Watchers, build
from app.wiring.cameras import build_source
from app.wiring.swap import Swap

STAGES = ("capture", "preprocess", "inference", "decode", "refine", "judge", "publish")
"""What can be taken out of a line, in the order of a frame's path; `publish` is all that follows the verdict."""

WARM_UP = 0.1
"""Share of the pictures that comes before the clock is started."""
NO_BUDGET_MS = 600_000.0
"""A line that is full all the time is late all the time; that is not what is asked here."""
READ_TIMEOUT_S = 1.0
IN_MEMORY = sections.SyntheticSource(kind="synthetic", paced=False)
"""What the line takes a camera for whose pictures come from memory: a source that can wait."""
WAITING = 2
"""Pictures that may wait: the engine never lacks one, and none waits for long."""


class NothingJudged(TaktsightError):  # noqa: N818 - named after the event
    """No picture of the line came as far as a verdict, so that there is nothing to measure."""


@dataclass(frozen=True, slots=True)
class LineRun:
    """One run.

    Attributes:
        own_ms: of each judged frame, its stages together without its waiting.
        stages_ms: the median of each stage.
        per_second: pictures a second, over all cameras.
        outcomes: every verdict, in order.
    """

    own_ms: list[float]
    stages_ms: dict[str, float]
    per_second: float
    outcomes: list[Outcome] = field(repr=False)


@contextmanager
def stand(loaded: LoadedConfig) -> Iterator[LoadedConfig]:
    """Give the line a broker of its own and a folder for its files, so that no customer receives what is made up.

    Raises:
        ConfigError: there is no broker on this machine.
    """
    with ExitStack() as stack:
        config, folder = loaded.config, Path(stack.enter_context(TemporaryDirectory(prefix="taktsight-bench-")))
        update: dict[str, object] = {"metrics": None, "collect": None}
        stack.enter_context(quiet())
        if config.mqtt is not None:
            broker = stack.enter_context(LocalBroker())
            mqtt = sections.Mqtt(port=broker.port, version=broker.mqtt_version, encoding=config.mqtt.encoding)
            update["mqtt"] = mqtt
        if config.jsonl is not None:
            update["jsonl"] = config.jsonl.model_copy(update={"path": str(folder / "results.jsonl")})
        if config.evidence is not None:
            update["evidence"] = config.evidence.model_copy(update={"path": str(folder / "evidence")})
        if config.trace is not None:
            update["trace"] = config.trace.model_copy(update={"path": str(folder / "trace.jsonl")})
        yield replace(loaded, config=config.model_copy(update=update))


@contextmanager
def quiet() -> Iterator[None]:
    """Log errors only while the block runs: that cameras come and go, and that a full line is late, is no news here."""
    logger = logging.getLogger("app")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def record(
    loaded: LoadedConfig,
    frames: int,
    keeps: frozenset[str],
    max_bytes: int,
    on_judged: Callable[[Outcome], None] = lambda _: None,
) -> dict[str, Reel]:
    """Run the line once and write down what every step gave; fewer frames where memory does not hold them all."""
    cameras = loaded.config.cameras
    reels = {camera: Reel(keeps) for camera in cameras}
    share = max_bytes // len(reels)
    held = live_cameras(loaded)
    for camera in held:
        reels[camera].pictures += filmed(cameras[camera].source, frames, share // 2)

    def source(camera: str, inner: Source) -> Source:
        reel = reels[camera]

        def watch(picture: Picture) -> bool:
            if "capture" in keeps and camera not in held:
                reel.pictures.append(picture)
            return reel.bytes < share

        return Limited(Held(reel.pictures) if camera in held else inner, frames, watch)

    swap = Swap(
        source=source,
        engine=lambda camera, engine: reels[camera].recorded(host(engine)),
        judge=lambda camera, judge: reels[camera].recorded_judge(judge),
        second=lambda camera, second: reels[camera].recorded_second(second),
    )
    run_line(unpaced(loaded), swap, Watchers(on_judged))
    return reels


def filmed(section: sections.Source, frames: int, max_bytes: int) -> list[Picture]:
    """Return pictures of a camera, taken at its own pace, in memory as cameras have it.

    Raises:
        SourceError: it can't be opened, or is lost.
    """
    pictures: list[Picture] = []
    memory = PictureMemory(frames, worth_a_copy=True)
    with build_source(section) as source:
        while len(pictures) < frames and sum(picture.data.nbytes for picture in pictures) < max_bytes:
            picture = source.read(READ_TIMEOUT_S)
            if picture is not None and picture.fault is None:
                pictures.append(replace(picture, data=memory.keep(picture.data)))
    return pictures


def live_cameras(loaded: LoadedConfig) -> frozenset[str]:
    """Return the cameras whose pictures come at their own time and no faster: they are measured from memory."""
    cameras = loaded.config.cameras.items()
    return frozenset(name for name, camera in cameras if is_live(_endless(camera.source, camera.source)))


def run_once(
    loaded: LoadedConfig, frames: int, reels: Mapping[str, Reel], without: frozenset[str] = frozenset()
) -> LineRun:
    """Run the line, as fast as it goes, with the recording in the place of some stages.

    Raises:
        NothingJudged: no verdict came out.
    """
    limits: list[Limited] = []
    live = live_cameras(loaded)

    def source(camera: str, inner: Source) -> Source:
        held = "capture" in without or camera in live
        limits.append(Limited(Held(reels[camera].pictures) if held else inner, frames))
        return limits[-1]

    turns = {camera: reel.turns() for camera, reel in reels.items()}

    def engine(camera: str, inner: Engine) -> Engine:
        return turns[camera].engine(host(inner), without)

    def second(camera: str, inner: SecondLook) -> SecondLook:
        return turns[camera].second() if "refine" in without else inner

    def judge(camera: str, inner: Judge) -> Judge:
        return turns[camera].judge() if "judge" in without else inner

    outcomes: list[Outcome] = []

    def emit(inner: Emit) -> Emit:
        return (lambda outcome, _: outcomes.append(outcome)) if "publish" in without else inner

    run_line(unpaced(loaded), Swap(source, engine, judge, second, emit), Watchers(outcomes.append))
    return _measured(outcomes, limits)


def run_line(loaded: LoadedConfig, swap: Swap, watchers: Watchers) -> None:
    """Run a line until its sources have ended."""
    build(loaded, watchers, swap).service.run()


def unpaced(loaded: LoadedConfig) -> LoadedConfig:
    """Return the line with sources that give pictures as fast as they are wanted, for as long as they are wanted."""
    cameras = {name: full(camera) for name, camera in loaded.config.cameras.items()}
    return replace(loaded, config=loaded.config.model_copy(update={"cameras": cameras}))


def full(camera: sections.Camera) -> sections.Camera:
    """Return the camera with a source that never waits, and never late."""
    queue: dict[str, object] = {"queue": "every", "queue_length": WAITING, "budget_ms": NO_BUDGET_MS}
    # Pictures that come round again are the same; no camera is frozen for that.
    guard = camera.guard.model_copy(update={"frozen": False})
    return camera.model_copy(update={**queue, "source": _endless(camera.source, IN_MEMORY), "guard": guard})


def _endless(source: sections.Source, otherwise: sections.Source) -> sections.Source:
    match source:
        case sections.ImagesSource():
            return source.model_copy(update={"on_end": "loop", "watch": False})
        case sections.VideoSource():
            return source.model_copy(update={"on_end": "loop", "paced": False})
        case sections.SyntheticSource():
            return source.model_copy(update={"frames": 0, "paced": False})
        case sections.ConveyorSource():
            return source.model_copy(update={"parts": 0, "paced": False})
        case _:
            return otherwise


def _measured(outcomes: list[Outcome], limits: list[Limited]) -> LineRun:
    columns = [outcome.trace.columns_ms() for outcome in outcomes]
    looked = [spent for spent in columns if spent["inference"] is not None]
    if not looked:
        why = outcomes[0].judgement.reasons[0].text if outcomes else "the gate let no part through; try more --frames"
        raise NothingJudged(f"no verdict to measure: {why}")
    looked = looked[int(len(looked) * WARM_UP) :]
    stages = [name for name in COLUMNS if name not in ("wait", "presentation")]
    return LineRun(
        own_ms=[sum(spent[name] or 0.0 for name in stages) for spent in looked],
        stages_ms={name: median(spent[name] or 0.0 for spent in looked) for name in stages},
        per_second=sum(_rate(limit.asked_ns) for limit in limits),
        outcomes=outcomes,
    )


def _rate(asked_ns: list[int]) -> float:
    first = int(len(asked_ns) * WARM_UP)
    return (len(asked_ns) - 1 - first) / max(1, asked_ns[-1] - asked_ns[first]) * 1e9
