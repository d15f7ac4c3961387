"""The seam that turns a picture into a network's input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from numpy.typing import NDArray

from app.frame import AnyImage
from app.letterbox import Letterbox


class Preprocessor(Protocol):
    """Resizes, pads and normalises into a buffer that it does not allocate."""

    def run(self, image: AnyImage, out: NDArray[Any]) -> Letterbox:
        """Fill `out` from a picture.

        Args:
            image: a picture or a part of one, in any pixel format; not written to.
            out: one sample without the batch axis, in the network's own layout and dtype: (c, h, w) or (h, w, c);
                overwritten whole, pads included. From the first call on it belongs to this preprocessor: others read
                it, and whoever writes to it all the same may find old padding in it.

        Returns:
            The geometry that maps boxes back to the picture.
        """
        ...

    def run_all(self, images: Sequence[AnyImage], outs: Sequence[NDArray[Any]]) -> list[Letterbox]:
        """Fill one sample from each picture; see `run`. One after the other, where a preprocessor knows no better.

        Args:
            images: one at least.
            outs: the first samples of a batch, as many as there are pictures.
        """
        return [self.run(image, out) for image, out in zip(images, outs, strict=True)]
