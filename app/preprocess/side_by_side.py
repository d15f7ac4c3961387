"""The pictures of one call made ready at the same time, by a preprocessor for each thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from numpy.typing import NDArray

from app.frame import AnyImage
from app.letterbox import Letterbox
from app.preprocess.base import Preprocessor
from app.preprocess.helpers import Helpers


class SideBySide(Preprocessor):
    """Shares the pictures of a call out among threads; implements `Preprocessor`.

    A place in the batch belongs to one preprocessor for ever, whoever else has work: it remembers the padding there.

    Args:
        make: makes a preprocessor; each has scratch memory of its own.
        most: pictures in one call, at most.
        helpers: do the other parts.
    """

    def __init__(self, make: Callable[[], Preprocessor], most: int, helpers: Helpers) -> None:
        self._each = [make() for _ in range(min(most, helpers.ways))]
        self._helpers = helpers

    def run(self, image: AnyImage, out: NDArray[Any]) -> Letterbox:
        """See `Preprocessor`."""
        return self._each[0].run(image, out)

    def run_all(self, images: Sequence[AnyImage], outs: Sequence[NDArray[Any]]) -> list[Letterbox]:
        """See `Preprocessor`."""
        ways = min(len(self._each), len(images))
        parts = [partial(each.run_all, images[place::ways], outs[place::ways]) for place, each in enumerate(self._each)]
        shares = self._helpers.share_out(parts[:ways])
        return [shares[row % ways][row // ways] for row in range(len(images))]
