"""What can be wrong with one picture by its pixels alone; each check looks at a sample first and so costs little."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.capture.sample import Sample, sample_of
from app.config.sections import Guard as GuardSection
from app.frame import BAYER12_MOST, Picture
from app.verdict import Code, Reason


def wrong_size(size_wh: tuple[int, int], section: GuardSection) -> Reason | None:
    """Refuse a picture of another size than asked for."""
    wanted_wh = (section.width or size_wh[0], section.height or size_wh[1])
    if size_wh == wanted_wh:
        return None
    sizes = "the picture is {}x{}, expected {}x{}".format(*size_wh, *wanted_wh)
    return Reason(Code.WRONG_SIZE, sizes)


def too_deep(picture: Picture, sample: Sample) -> Reason | None:
    """Say where 16 bits hold more than the format's 12: then they are of another format, and would be misread."""
    if picture.data.dtype != np.uint16:
        return None
    highest = int(sample.grid.max())
    if highest <= BAYER12_MOST:
        return None
    return Reason(Code.WRONG_FORMAT, f"a pixel is {highest}, more than {picture.format.value} has ({BAYER12_MOST})")


def black(sample: Sample, level: float) -> Reason | None:
    """Refuse a picture without a pixel that is brighter than a grey level of 0…255."""
    darkest = sample.value(level)
    if sample.grid.max() > darkest or sample.whole.max() > darkest:
        return None
    return Reason(Code.BLACK, f"no pixel is brighter than {level:g}; is the light on and the lens open?")


def is_black(picture: Picture, level: float) -> bool:
    """Whether no pixel of a picture, whatever its format, is brighter than a grey level of 0…255."""
    return black(sample_of(picture), level) is not None


def overexposed(sample: Sample, level: float, share: float) -> Reason | None:
    """Refuse a picture of which a share is as bright as a grey level of 0…255, or brighter."""
    least = math.ceil(sample.value(level))  # a whole number, because pixels compare faster with one
    bright = np.count_nonzero(sample.grid >= least) / sample.grid.size
    if bright < share:
        return None
    return Reason(Code.OVEREXPOSED, f"{bright:.1%} of the picture is {level:g} or brighter; is the exposure too long?")


def blank(sample: Sample, spread: float) -> Reason | None:
    """Refuse a picture in which all pixels are alike but for so many grey levels."""
    most = spread * sample.unit
    green = sample.grid if sample.grid.ndim == 2 else sample.grid[..., 1]  # noqa: PLR2004 - one colour
    # What takes least time first: nearly every picture is known by it.
    if any(_spread(some) > most for some in chain((green, sample.grid), _colours(sample))):
        return None
    return Reason(Code.BLANK, "the picture is one even tone; the camera gives no picture yet, or nothing is before it")


def torn(sample: Sample, rows: int) -> Reason | None:
    """Refuse a picture whose lowest rows are one flat colour, as a decoder fills up what it did not get."""
    lowest = sample.whole[-rows:]
    corner = lowest[-1, 0]
    if (lowest[:, :: sample.step] != corner).any() or (lowest != corner).any():
        return None
    return Reason(Code.TORN, f"the lowest {len(lowest)} rows are one flat colour; the rest of the picture is missing")


def blurred(sample: Sample, least: float) -> Reason | None:
    """Refuse a picture that is less sharp than a limit."""
    measured = sharpness(sample)
    if measured >= least:
        return None
    return Reason(Code.BLURRED, f"the sharpness is {measured:.2f}, less than {least:g}; is it in focus and clean?")


def sharpness(sample: Sample) -> float:
    """Return the variance of the second difference along the sampled rows, in grey levels².

    A picture out of focus has soft edges and little noise, so that neighbours lie on straight lines.
    """
    rows = sample.rows.astype(np.float32)
    if rows.shape[1] < 3:  # noqa: PLR2004 - pixels that a second difference needs
        return 0.0
    bends = rows[:, :-2] + rows[:, 2:] - 2 * rows[:, 1:-1]
    return float(bends.var()) / sample.unit**2


def _spread(values: NDArray[Any]) -> float:
    """Return how far the values of one colour lie apart, at most."""
    if values.ndim == 2:  # noqa: PLR2004 - one colour
        return float(values.max()) - float(values.min())
    rows = values.reshape(len(values), -1)  # over whole rows first: NumPy compares neighbours many at a time
    most, least = (of(of(rows, axis=0).reshape(-1, values.shape[2]), axis=0) for of in (np.max, np.min))
    return float((most.astype(np.int32) - least).max())


def _colours(sample: Sample) -> Iterator[NDArray[Any]]:
    """Yield all pixels; of a Bayer picture those of each place in the pattern by themselves."""
    places = range(sample.apart)
    yield from (sample.whole[row :: sample.apart, column :: sample.apart] for row in places for column in places)
