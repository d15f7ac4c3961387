"""Refuses pictures that can't be judged, because silence is never a pass."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.config.sections import Guard as GuardSection
from app.frame import BAYER12_MOST, NO_IMAGE, Picture, PixelFormat
from app.verdict import Code, Reason

HANGS_AFTER = 10
"""A source that has been frozen for so many times the pictures that mean frozen is taken for lost."""

_STEP = 16
"""Every so many rows and columns are looked at first; whatever differs there needs no second look."""


class Guard:
    """Checks the pictures of one camera in their order.

    Args:
        section: what is refused.
        live: pictures come at their own time, so identical ones mean that the camera hangs.
    """

    def __init__(self, section: GuardSection, live: bool) -> None:
        self._section = section
        self._watch_frozen = live if section.frozen is None else section.frozen
        self._last: NDArray[Any] = NO_IMAGE
        self._repeats = 0

    def check(self, picture: Picture) -> Reason | None:
        """Return why the picture can't be judged, or None.

        The last good picture is kept (not copied) to see whether the next one is the same.
        """
        if picture.fault is not None:
            return picture.fault
        if picture.data.size == 0:
            return Reason(Code.UNREADABLE, "the picture is empty")
        return (
            self._wrong_size(picture.size_wh)
            or _too_deep(picture)
            or self._frozen(picture.data)
            or self._black(picture)
        )

    @property
    def hangs(self) -> bool:
        """Whether the same picture has come for so long that the source should be opened again."""
        return self._repeats >= HANGS_AFTER * self._section.frozen_after

    def reset(self) -> None:
        """Forget the last picture: the source was opened again."""
        self._last, self._repeats = NO_IMAGE, 0

    def _wrong_size(self, size_wh: tuple[int, int]) -> Reason | None:
        wanted_wh = (self._section.width or size_wh[0], self._section.height or size_wh[1])
        if size_wh == wanted_wh:
            return None
        sizes = "the picture is {}x{}, expected {}x{}".format(*size_wh, *wanted_wh)
        return Reason(Code.WRONG_SIZE, sizes)

    def _black(self, picture: Picture) -> Reason | None:
        if not self._section.black:
            return None
        level = self._section.black_level
        if not is_black(picture, level):
            return None
        return Reason(Code.BLACK, f"no pixel is brighter than {level}; is the light on and the lens open?")

    def _frozen(self, data: NDArray[Any]) -> Reason | None:
        if not self._watch_frozen:
            return None
        self._repeats = self._repeats + 1 if _same(self._last, data) else 1
        self._last = data
        if self._repeats < self._section.frozen_after:
            return None
        return Reason(Code.FROZEN, f"the same picture came {self._repeats} times in a row; the camera hangs")


def is_black(picture: Picture, level: float) -> bool:
    """Whether no pixel of a picture, whatever its format, is brighter than a grey level of 0…255."""
    light, darkest = _light(picture, level)
    return not (light[::_STEP, ::_STEP].max() > darkest or light.max() > darkest)


def _same(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Whether two pictures are equal in every pixel; sensor noise on a few makes them different."""
    return np.array_equal(one[::_STEP, ::_STEP], other[::_STEP, ::_STEP]) and np.array_equal(one, other)


def _light(picture: Picture, level: float) -> tuple[NDArray[Any], float]:
    """Return what of a picture tells its brightness, and the value there that means a grey `level` of 0…255."""
    match picture.format:
        case PixelFormat.NV12:
            return picture.data[: picture.size_wh[1]], _luma(level)
        case PixelFormat.YUYV:
            return picture.data[..., 0], _luma(level)
        case _:
            return picture.data, level * (BAYER12_MOST if picture.data.dtype == np.uint16 else 255) / 255


def _luma(level: float) -> float:
    """Black is 16 and white 235."""
    return 16 + level * (235 - 16) / 255


def _too_deep(picture: Picture) -> Reason | None:
    """Say where 16 bits hold more than the format's 12: then they are of another format, and would be misread."""
    if picture.data.dtype != np.uint16:
        return None
    highest = int(picture.data[::_STEP, ::_STEP].max())
    if highest <= BAYER12_MOST:
        return None
    return Reason(Code.WRONG_FORMAT, f"a pixel is {highest}, more than {picture.format.value} has ({BAYER12_MOST})")
