"""The seam of a first look: pictures in, what is in them out, however the three steps between are done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

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
    """

    image: AnyImage
    min_score: float
    trace: Trace = field(default_factory=lambda: Trace("", 0))


class Engine(Protocol):
    """A network with its preprocessing and decoding; shared by all cameras that use it, on the one inspect thread.

    Attributes:
        backend: what must be entered before the first look and left after the last, once for all engines that share it.
    """

    @property
    def backend(self) -> AbstractContextManager[Any]:
        """What holds the network."""
        ...

    def label(self) -> str:
        """Name, hash and provider, for the results."""
        ...

    def look(self, looks: Sequence[Look]) -> list[Found]:
        """Look at pictures, and return what is in each, in their order."""
        ...


@dataclass(frozen=True, slots=True)
class HostEngine:
    """The three steps one after the other, with pictures and tensors in the host's memory.

    Attributes:
        name: of the network and its hash, for the label.
        feeds: the input tensors, allocated once; `sample` is the first sample of the picture's input.
        decode: borrowed outputs, the letterbox and the least score in, detections in picture pixels out.
    """

    name: str
    backend: Backend
    preprocessor: Preprocessor
    feeds: Tensors
    sample: NDArray[Any]
    decode: Callable[[Tensors, Letterbox, float], Detections]

    def label(self) -> str:
        """See `Engine`."""
        return f"{self.name}:{self.backend.provider}"

    def look(self, looks: Sequence[Look]) -> list[Found]:
        """See `Engine`."""
        return [self._look(look) for look in looks]

    def _look(self, look: Look) -> Found:
        trace = look.trace
        try:
            with trace.step("preprocess"):
                letterbox = self.preprocessor.run(look.image, self.sample)
            with trace.step("inference"):
                outputs = self.backend.infer(self.feeds)
            with trace.step("decode"):
                return self.decode(outputs, letterbox, look.min_score)
        except BadOutput as error:
            return error
