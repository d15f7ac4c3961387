"""The stages of a configured line one by one, each as a call that can be repeated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import cycle
from time import monotonic_ns, process_time_ns
from typing import TypeVar

from app.bench.line import NothingJudged, full, live_cameras, record
from app.bench.reel import Reel, host
from app.capture.guard import Guard
from app.capture.kinds import is_live
from app.config import LoadedConfig
from app.inference.base import Tensors
from app.letterbox import Letterbox
from app.publish.build import result_of
from app.publish.message import encode
from app.verdict import Outcome
from app.wiring.cameras import build_judge, build_source
from app.wiring.models import build_model

FRAMES = 32
MAX_BYTES = 1 << 29
REFERENCES = {
    "capture": "resize",
    "preprocess": "resize",
    "inference": "engine",
    "decode": "arrays",
    "judge": "python",
    "message": "python",
}
"""The kind of work that most of a stage is, by stage."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of one camera.

    Attributes:
        name: the stage, with the camera before it where there are several.
        reference: the piece of work that it is compared with.
        run: does it once, on the next of the recorded frames.
        clock_ns: processor time, which a neighbour that takes the core away does not add to; for what runs on a GPU,
            the time that passes.
    """

    name: str
    reference: str
    run: Callable[[], object]
    clock_ns: Callable[[], int] = process_time_ns

    def slowed(self, factor: float) -> Stage:
        """Return the same stage with so many times the work, for trying out whether that is noticed."""

        def run() -> None:
            began_ns = self.clock_ns()
            self.run()
            until_ns = began_ns + (self.clock_ns() - began_ns) * factor
            while self.clock_ns() < until_ns:
                pass

        return replace(self, run=run)


def single_threaded(loaded: LoadedConfig) -> LoadedConfig:
    """Return the line with engines of one thread and nothing published.

    A neighbour on one core holds up an engine that runs on all of them, but not the reference, which runs on one.
    """
    models = {name: model.model_copy(update={"threads": 1}) for name, model in loaded.config.models.items()}
    update = {
        "models": models,
        "mqtt": None,
        "jsonl": None,
        "evidence": None,
        "collect": None,
        "trace": None,
        "metrics": None,
    }
    return replace(loaded, config=loaded.config.model_copy(update=update))


@contextmanager
def stages_of(loaded: LoadedConfig) -> Iterator[list[Stage]]:
    """Record a few frames of the line, then give its stages with their engines loaded.

    Raises:
        NothingJudged: no frame came as far as a verdict.
        ModelError, SourceError: the line can't run.
    """
    loaded = single_threaded(loaded)
    outcomes: list[Outcome] = []
    reels = record(loaded, FRAMES, frozenset({"capture", "preprocess", "inference"}), MAX_BYTES, outcomes.append)
    with ExitStack() as stack:
        found: list[Stage] = []
        for camera, reel in reels.items():
            own = [outcome for outcome in outcomes if outcome.camera == camera and outcome.model]
            if not own or not reel.detections:
                raise NothingJudged(f"{camera}: none of {len(reel.pictures)} pictures came as far as a verdict")
            runs = _runs(loaded, camera, reel, own, stack)
            where = f"{camera}: " if len(reels) > 1 else ""
            found += [
                Stage(where + name, REFERENCES[name], run, _clock(loaded, camera, name)) for name, run in runs.items()
            ]
        yield found


def _clock(loaded: LoadedConfig, camera: str, stage: str) -> Callable[[], int]:
    model = loaded.config.models[loaded.config.cameras[camera].model]
    return monotonic_ns if stage == "inference" and model.device != "cpu" else process_time_ns


def _runs(
    loaded: LoadedConfig, camera: str, reel: Reel, outcomes: list[Outcome], stack: ExitStack
) -> Mapping[str, Callable[[], object]]:
    section = loaded.config.cameras[camera]
    model = build_model(section.model, loaded.config.models[section.model])
    engine, judge = host(model.engine), build_judge(loaded, camera, model.names)
    stack.enter_context(engine.backend)
    guard = Guard(full(section).guard, is_live(section.source))
    least = judge.min_score()

    def decode(outputs: Tensors, letterbox: Letterbox) -> object:
        return judge.considered(engine.decode(outputs, letterbox, least, 0))

    def read(outcome: Outcome) -> object:
        return judge.judge(outcome.detections, outcome.size_wh, outcome.region_xyxy)

    healthy = [picture for picture in reel.pictures if picture.fault is None]
    runs: dict[str, Callable[[], object]] = {
        "preprocess": _over(healthy, lambda picture: engine.preprocessor.run(picture.image, engine.sample)),
        "inference": _over(reel.feeds, engine.backend.infer),
        "decode": _over(list(zip(reel.outputs, reel.letterboxes, strict=False)), lambda pair: decode(*pair)),
        "judge": _over(outcomes, read),
        "message": _over(outcomes, lambda outcome: encode(result_of(outcome, loaded.config.line))),
    }
    if camera in live_cameras(loaded):
        return runs
    source = stack.enter_context(build_source(full(section).source))

    def capture() -> None:
        picture = source.read(1.0)
        if picture is not None:
            guard.check(picture)

    return {"capture": capture, **runs}


def _over(items: Sequence[T], step: Callable[[T], object]) -> Callable[[], object]:
    turn = cycle(items)
    return lambda: step(next(turn))
