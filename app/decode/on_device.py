"""Candidates that a GPU has gathered, in the place of those that a head reads from the whole outputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.decode.base import Candidates
from app.decode.boxes import FAR_PX, UNIT, Plane
from app.decode.obb import long_side_first
from app.gpu.kernels.decode_jobs import CAPACITY

_NEARLY = 1e-4
"""A coordinate so close to a bound is left to the host, which rounds in its own way."""


@dataclass(frozen=True, slots=True, eq=False)
class DeviceHead:
    """How the decode kernels stand in for one head: which one runs, over which tensors, and what its results mean.

    Attributes:
        kind: of kernel, one of `app.gpu.kernels.decode_jobs.KINDS`.
        boxes, scores: names of the outputs; one and the same where both lie in it.
        rows: how many threads each sample takes.
        plane: the unit of the coordinates.
        template: what the kernel is told about every sample and frame.
        values: how many there are in one sample of each output.
        full: so many boxes are all that the network can give; None: nobody can tell.
        final: the network has done its own suppression.
        turned: the boxes have angles.
    """

    kind: str
    boxes: str
    scores: str
    rows: int
    plane: Plane
    template: NDArray[np.void]
    values: tuple[int, int]
    full: int | None = None
    final: bool = False
    turned: bool = False

    def job(self, sample: int, min_score: float, token: int) -> NDArray[np.void]:
        """Return what the kernel is told about one sample of the batch, shape ().

        Args:
            sample: of the outputs, whose results go to the same place of the results.
            min_score: least score.
            token: any number of 32 bits that the last launch had not.
        """
        job = np.array(self.template)
        job["boxes"] += sample * self.values[0]
        job["scores"] += sample * self.values[1]
        job["sample"], job["min_score"], job["token"] = sample, min_score, token
        return job

    def candidates(self, result: NDArray[np.void], token: int) -> Candidates | None:
        """Return what the head would have found, in the same order; None where it has to look for itself.

        That is so where the numbers may be wrong (the head then says what is), where there are more candidates than
        fit, and where the results are those of another launch.

        Args:
            result: one `app.gpu.kernels.decode_jobs.RESULT`, borrowed.
            token: of the job.
        """
        header, count = result["header"], int(result["header"]["count"])
        if header["token"] != token or header["doubts"] or count > CAPACITY:
            return None
        if count and not self._is_plausible(float(header["furthest"])):
            return None
        found = result["candidates"][:count]
        found = found[np.argsort(found["row"])]
        xyxy, angles = np.ascontiguousarray(found["xyxy"]), None
        if self.turned:
            xyxy, angles = long_side_first(xyxy, found["angle"])
        return Candidates(
            xyxy,
            np.ascontiguousarray(found["score"]),
            found["class_index"].astype(np.int64),
            angles,
            final=self.final,
            saturated=self.full is not None and self.rows >= self.full and count == self.rows,
        )

    def _is_plausible(self, furthest: float) -> bool:
        """Whether the largest coordinate surely fits the declared unit, as `Plane` asks."""
        if self.plane.normalised:
            return furthest < UNIT * (1 - _NEARLY)
        return UNIT * (1 + _NEARLY) < furthest < FAR_PX * (1 - _NEARLY)
