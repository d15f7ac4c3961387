"""The seam of a first look: pictures in, what is in them out, however the three steps between are done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from time import monotonic_ns
from typing import Any, Protocol, TypeAlias, runtime_checkable

from numpy.typing import NDArray

from app.detections import Detections
from app.errors import BadOutput
from app.frame import AnyImage
from app.inference.base import Backend, Tensors
from app.letterbox import Letterbox
from app.preprocess.base import Preprocessor
from app.trace import Trace

Found: TypeAlias = Detections | BadOutput
"""What is in one picture, in its own pixels; or why the network's numbers can't be."""


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """One picture that an engine is asked to look at.

    Attributes:
        image: a picture in the camera's own format, or a part of one; not kept and not written to.
        min_score: what scores less is left out.
        trace: gets the steps `preprocess`, `inference` and `decode`, each as it ends.
        deadline_ns: until when the result is of use, on `time.monotonic_ns`; None where nobody knows.
        again: of a picture whose pixels are what they were at every earlier look at it or at a part of it: an engine
            that still has them where it looks need not fetch them anew.
    """

    image: AnyImage
    min_score: float
    trace: Trace = field(default_factory=lambda: Trace("", 0))
    deadline_ns: int | None = None
    again: bool = False


class Engine(Protocol):
    """A network with its preprocessing and decoding; shared by all cameras that use it, on the one inspect thread.

    Attributes:
        backend: what must be entered before the first look and left after the last, once for all engines that share it.
    """

    @property
    def backend(self) -> AbstractContextManager[Any]:
        """What holds the network."""
        ...

    @property
    def most(self) -> int:
        """How many pictures it looks at in one call; more are looked at in several. Known once it is entered."""
        ...

    def label(self) -> str:
        """Name, hash and provider, for the results."""
        ...

    def look(self, looks: Sequence[Look]) -> list[Found]:
        """Look at pictures, and return what is in each, in their order."""
        ...


@runtime_checkable
class ThreadBound(Protocol):
    """A backend that only the thread may use that has entered it, until it is handed over to another one."""

    def hand_over(self) -> None:
        """Belong to this thread no more; until another one takes it over, nobody may use it.

        Raises:
            ModelError: another thread has it, or what it runs on has failed.
        """
        ...

    def take_over(self) -> None:
        """Belong to this thread from now on.

        Raises:
            ModelError: it can't run on this thread.
        """
        ...


def hand_over(backend: AbstractContextManager[Any]) -> None:
    """Let another thread go on with a backend that was entered on this one, whatever kind it is of."""
    if isinstance(backend, ThreadBound):
        backend.hand_over()


def take_over(backend: AbstractContextManager[Any]) -> None:
    """Go on with a backend that another thread has handed over."""
    if isinstance(backend, ThreadBound):
        backend.take_over()


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """The input tensors for several pictures in one call, allocated once.

    Attributes:
        samples: views of the picture's input, one for each picture.
    """

    feeds: Tensors
    samples: tuple[NDArray[Any], ...]


@dataclass(frozen=True, slots=True)
class HostEngine:
    """The three steps one after the other, with pictures and tensors in the host's memory.

    Attributes:
        name: of the network and its hash, for the label.
        feeds: the input tensors for one picture, allocated once; `sample` is the first sample of the picture's input.
        decode: borrowed outputs, the letterbox, the least score and the row of the batch in, detections in picture
            pixels out.
        batches: for several pictures in one call, smallest first; empty where they are looked at one by one.
        due: told before each call until when its result is of use; for a network on another machine.
        stands_in: whether the network here stands in for that one now.
        pads: as many pictures as there are go in one call, though places stay empty: for that one as well.
    """

    name: str
    backend: Backend
    preprocessor: Preprocessor
    feeds: Tensors
    sample: NDArray[Any]
    decode: Callable[[Tensors, Letterbox, float, int], Detections]
    batches: tuple[Batch, ...] = ()
    due: Callable[[int | None], None] = lambda _: None
    stands_in: Callable[[], bool] = lambda: False
    pads: bool = False

    @property
    def most(self) -> int:
        """See `Engine`."""
        return len(self.batches[-1].samples) if self.batches else 1

    def label(self) -> str:
        """See `Engine`."""
        return f"{self.name}:{self.backend.provider}"

    def look(self, looks: Sequence[Look]) -> list[Found]:
        """See `Engine`."""
        found: list[Found] = []
        while len(found) < len(looks):
            now = looks[len(found) : len(found) + self._together(len(looks) - len(found))]
            found += [self._look(now[0])] if len(now) == 1 else self._look_at_several(now)
        return found

    def _together(self, left: int) -> int:
        """Return how many pictures the next call takes: an empty place takes a processor as long as a full one."""
        sizes = [len(next(iter(self.feeds.values()))), *(len(batch.samples) for batch in self.batches)]
        whole = [size for size in sizes if size <= left and not self.pads]
        return max(whole, default=min(left, self.most))

    def _look_at_several(self, looks: Sequence[Look]) -> list[Found]:
        """Look at as many as the smallest batch takes that has room for all; all of them share its time."""
        batch = next(batch for batch in self.batches if len(batch.samples) >= len(looks))
        began_ns = monotonic_ns()
        letterboxes = self.preprocessor.run_all([look.image for look in looks], batch.samples[: len(looks)])
        fed_ns = monotonic_ns()
        self.due(min((look.deadline_ns for look in looks if look.deadline_ns is not None), default=None))
        try:
            outputs = self.backend.infer(batch.feeds)
        except BadOutput as error:
            return [error for _ in looks]
        inferred_ns = monotonic_ns()
        found = []
        for row, look in enumerate(looks):
            look.trace.add("preprocess", began_ns, fed_ns)
            look.trace.add("inference", fed_ns, inferred_ns)
            found.append(self._decode(look, outputs, letterboxes[row], row))
        return found

    def _decode(self, look: Look, outputs: Tensors, letterbox: Letterbox, row: int) -> Found:
        try:
            with look.trace.step("decode"):
                return self.decode(outputs, letterbox, look.min_score, row)
        except BadOutput as error:
            return error

    def _look(self, look: Look) -> Found:
        trace = look.trace
        try:
            with trace.step("preprocess"):
                letterbox = self.preprocessor.run(look.image, self.sample)
            self.due(look.deadline_ns)
            with trace.step("inference"):
                outputs = self.backend.infer(self.feeds)
        except BadOutput as error:
            return error
        return self._decode(look, outputs, letterbox, 0)


def stands_in(engine: Engine) -> bool:
    """Tell whether an engine looks here because that on another machine is away."""
    return isinstance(engine, HostEngine) and engine.stands_in()
