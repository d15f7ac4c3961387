"""What every step of one camera's line gave for every frame, to be played again in the step's place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Self

from app.detections import Detections
from app.engine import Engine, HostEngine
from app.errors import TaktsightError
from app.frame import AnyImage, Picture
from app.inference.base import Backend, Tensors
from app.letterbox import Letterbox
from app.pipeline import Box, Judge
from app.preprocess.base import Preprocessor
from app.refine.base import Refined, SecondLook
from app.verdict import Judgement, Reason

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class Reel:
    """One camera's recording; only what will be played is kept of what is large.

    Attributes:
        keeps: the stages that will be taken out.
        feeds: what the engine was given, for a line without preprocess.
        outputs: what the engine gave, for a line without inference.
    """

    keeps: frozenset[str]
    pictures: list[Picture] = field(default_factory=list)
    letterboxes: list[Letterbox] = field(default_factory=list)
    feeds: list[Tensors] = field(default_factory=list)
    outputs: list[Tensors] = field(default_factory=list)
    detections: list[Detections] = field(default_factory=list)
    refined: list[Refined] = field(default_factory=list)
    considered: list[Detections] = field(default_factory=list)
    judgements: list[Judgement] = field(default_factory=list)

    @property
    def bytes(self) -> int:
        """How much memory pictures and tensors take."""
        arrays = [picture.data for picture in self.pictures]
        arrays += [array for tensors in (*self.feeds, *self.outputs) for array in tensors.values()]
        return sum(array.nbytes for array in arrays)

    def recorded(self, engine: HostEngine) -> HostEngine:
        """Return the engine with every step's results written down."""
        return replace(
            engine,
            preprocessor=_RecordedPreprocessor(engine.preprocessor.run, self.letterboxes),
            backend=_RecordedBackend(engine.backend, self),
            decode=_noted(engine.decode, self.detections),
        )

    def recorded_judge(self, judge: Judge) -> Judge:
        """Return the judge with its answers written down."""
        return _Judge(_noted(judge.considered, self.considered), _noted(judge.judge, self.judgements))

    def recorded_second(self, second: SecondLook) -> SecondLook:
        """Return the second look with its results written down."""
        return _Second(_noted(second.run, self.refined))

    def turns(self) -> Turns:
        """Return what plays the recording once more, from its beginning."""
        return Turns(self)


def host(engine: Engine) -> HostEngine:
    """Return an engine whose steps can be told apart.

    Raises:
        TaktsightError: it does them all in one launch.
    """
    if isinstance(engine, HostEngine):
        return engine
    raise TaktsightError(f"{engine.label()}: its steps are one launch; for this measurement set device: cpu or cuda")


class Turns:
    """Plays one camera's recording in one run; where two engines take turns, each gets what is due at its call."""

    def __init__(self, reel: Reel) -> None:
        self._letterboxes = _in_turn(reel.letterboxes)
        self._feeds = _in_turn(reel.feeds)
        self._outputs = _in_turn(reel.outputs)
        self._detections = _in_turn(reel.detections)
        self._refined = _in_turn(reel.refined)
        self._considered = _in_turn(reel.considered)
        self._judgements = _in_turn(reel.judgements)

    def engine(self, engine: HostEngine, without: frozenset[str]) -> HostEngine:
        """Return an engine with the recording in the place of some of its steps."""
        if "preprocess" in without:
            engine = replace(
                engine,
                preprocessor=_Preprocessor(self._letterboxes),
                backend=_Fed(engine.backend, self._feeds),
            )
        if "inference" in without:
            engine = replace(engine, backend=_Played(engine.backend, self._outputs))
        if "decode" in without:
            engine = replace(engine, decode=lambda *_: self._detections())
        return engine

    def second(self) -> SecondLook:
        """Return a second look that finds what was found."""
        return _Second(lambda *_: self._refined())

    def judge(self) -> Judge:
        """Return a judge that says what was said."""
        return _Judge(lambda _: self._considered(), lambda *_: self._judgements())


def _noted(step: Callable[..., T], into: list[T]) -> Callable[..., T]:
    def noting(*arguments: object) -> T:
        result = step(*arguments)
        into.append(result)
        return result

    return noting


def _in_turn(items: Sequence[T]) -> Callable[[], T]:
    """Return what gives one recording after the other, and begins again after the last."""
    position = -1

    def following() -> T:
        nonlocal position
        assert items, "nothing was recorded of this stage"
        position = (position + 1) % len(items)
        return items[position]

    return following


def _copied(tensors: Tensors) -> Tensors:
    return {name: np.array(array) for name, array in tensors.items()}


class _Judge:
    def __init__(
        self,
        considered: Callable[[Detections], Detections],
        judge: Callable[[Detections, tuple[int, int], Box | None, Sequence[Reason]], Judgement],
    ) -> None:
        self._considered = considered
        self._judge = judge

    def considered(self, detections: Detections) -> Detections:
        return self._considered(detections)

    def judge(
        self,
        detections: Detections,
        size_wh: tuple[int, int],
        part_xyxy: Box | None = None,
        doubts: Sequence[Reason] = (),
    ) -> Judgement:
        return self._judge(detections, size_wh, part_xyxy, doubts)


class _Second:
    def __init__(self, run: Callable[[AnyImage, Detections, int], Refined]) -> None:
        self._run = run

    def run(self, image: AnyImage, coarse: Detections, max_regions: int) -> Refined:
        return self._run(image, coarse, max_regions)


@dataclass(frozen=True, slots=True)
class _RecordedPreprocessor(Preprocessor):
    inner: Callable[[AnyImage, NDArray[Any]], Letterbox]
    into: list[Letterbox]

    def run(self, image: AnyImage, out: NDArray[Any]) -> Letterbox:
        letterbox = self.inner(image, out)
        self.into.append(letterbox)
        return letterbox


@dataclass(frozen=True, slots=True)
class _Preprocessor(Preprocessor):
    letterbox: Callable[[], Letterbox]

    def run(self, image: AnyImage, out: NDArray[Any]) -> Letterbox:
        return self.letterbox()


class _Around:
    """An engine inside, entered and left with this one."""

    def __init__(self, inner: Backend) -> None:
        self.inner = inner
        self.inputs, self.outputs, self.provider = inner.inputs, inner.outputs, inner.provider

    def __enter__(self) -> Self:
        self.inner.__enter__()
        self.inputs, self.outputs, self.provider = self.inner.inputs, self.inner.outputs, self.inner.provider
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.inner.__exit__(kind, error, traceback)


class _RecordedBackend(_Around):
    def __init__(self, inner: Backend, reel: Reel) -> None:
        super().__init__(inner)
        self._reel = reel

    def infer(self, feeds: Tensors) -> Tensors:
        if "preprocess" in self._reel.keeps:
            self._reel.feeds.append(_copied(feeds))
        outputs = self.inner.infer(feeds)
        if "inference" in self._reel.keeps:
            self._reel.outputs.append(_copied(outputs))
        return outputs


class _Fed(_Around):
    """The real engine on recorded inputs."""

    def __init__(self, inner: Backend, feeds: Callable[[], Tensors]) -> None:
        super().__init__(inner)
        self._feeds = feeds

    def infer(self, feeds: Tensors) -> Tensors:
        return self.inner.infer(self._feeds())


class _Played(_Around):
    """No engine; the inner one is loaded all the same, so that its threads and memory are there as usual."""

    def __init__(self, inner: Backend, outputs: Callable[[], Tensors]) -> None:
        super().__init__(inner)
        self._outputs = outputs

    def infer(self, feeds: Tensors) -> Tensors:
        return self._outputs()
