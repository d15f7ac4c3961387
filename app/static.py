"""What was found in the last picture, for one that is the same in every pixel."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic_ns

import numpy as np
from numpy.typing import NDArray

from app.engine import Found
from app.errors import BadOutput
from app.frame import AnyImage, Image, Pixels

STEP = 16
"""Every so many rows and columns are compared first: whatever differs there needs no second look."""


class Static:
    """Remembers one camera's last picture; on the inspect thread only.

    Args:
        expiry_s: how long what was found may be used again; then the network looks anew.
        clock: monotonic, in nanoseconds.
    """

    def __init__(self, expiry_s: float, clock: Callable[[], int] = monotonic_ns) -> None:
        self._expiry_ns = expiry_s * 1e9
        self._clock = clock
        self._last: AnyImage | None = None
        self._found: Found | None = None
        self._by = ""
        self._seen_ns = 0

    def known(self, image: AnyImage, by: str) -> Found | None:
        """Return what a network found in the same picture a moment ago, or None.

        Args:
            image: in the camera's own format.
            by: the network's label; another one has to look itself.
        """
        if self._found is None or by != self._by or self._clock() - self._seen_ns > self._expiry_ns:
            return None
        return self._found if self._last is not None and _same(self._last, image) else None

    def keep(self, image: AnyImage, by: str, found: Found) -> None:
        """Remember what was found; the picture is kept, not copied. Numbers that can't be are not remembered."""
        if isinstance(found, BadOutput):
            self._last = self._found = None
            return
        self._last, self._found, self._by, self._seen_ns = image, found, by, self._clock()


def _same(one: AnyImage, other: AnyImage) -> bool:
    if (
        isinstance(one, Pixels)
        and isinstance(other, Pixels)
        and (one.format, one.region) != (other.format, other.region)
    ):
        return False
    if isinstance(one, Pixels) != isinstance(other, Pixels):
        return False
    first, second = _data(one), _data(other)
    return np.array_equal(first[::STEP, ::STEP], second[::STEP, ::STEP]) and np.array_equal(first, second)


def _data(image: AnyImage) -> Image | NDArray[np.generic]:
    return image.data if isinstance(image, Pixels) else image
