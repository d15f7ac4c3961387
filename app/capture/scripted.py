"""The fake source that ships: it plays what a test wrote down."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import Event
from time import monotonic_ns
from types import TracebackType
from typing import TypeAlias

import numpy as np
from typing_extensions import Self

from app.errors import EndOfStream
from app.frame import Picture


@dataclass(frozen=True, slots=True)
class Block:
    """A read that hangs for so many seconds, whatever its time-out, then gives nothing."""

    seconds: float


Step: TypeAlias = Picture | Block | Exception | None


class Scripted:
    """Plays one script for each time it is entered; the last script is used again.

    A picture is returned as it is, None stands for a read in which nothing came, an exception is raised, a `Block`
    hangs. After the last step comes `EndOfStream`.

    Args:
        scripts: what each read does, one sequence for each entering.

    Attributes:
        entered, left: how often that happened.
    """

    def __init__(self, *scripts: Sequence[Step]) -> None:
        self._scripts = scripts
        self._steps: Iterator[Step] = iter(())
        self.entered = 0
        self.left = 0

    def __enter__(self) -> Self:
        """Take up the next script."""
        script = self._scripts[min(self.entered, len(self._scripts) - 1)]
        self.entered += 1
        self._steps = iter(script)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Drop the rest of the script."""
        self._steps = iter(())
        self.left += 1

    def read(self, timeout_s: float) -> Picture | None:
        """Do the next step."""
        try:
            step = next(self._steps)
        except StopIteration:
            raise EndOfStream("the script has ended") from None
        if isinstance(step, Exception):
            raise step
        if isinstance(step, Block):
            Event().wait(step.seconds)
            return None
        return step


def picture_of(value: int, size_wh: tuple[int, int] = (64, 48), label: str = "") -> Picture:
    """Return a picture of one grey value, but for its last pixel: all even, it would be no picture. Exposed now."""
    now_ns = monotonic_ns()
    image_hwc = np.full((size_wh[1], size_wh[0], 3), value, np.uint8)
    image_hwc[-1, -1] = value // 2
    return Picture(image_hwc, now_ns, now_ns, label)
