"""Detections as they were, to the last bit, in a form that JSON can hold."""

from __future__ import annotations

import msgspec
import numpy as np

from app.detections import Detections


class Boxes(msgspec.Struct, frozen=True, kw_only=True):
    """Detections; arrays as bytes in the machine's own order (little-endian), in JSON as Base64.

    The message beside it has the same boxes rounded, for people.
    """

    names: list[str]
    xyxy: bytes
    scores: bytes
    classes: bytes
    angles_rad: bytes | None = None
    truncated: bool = False
    saturated: bool = False
    dropped_outside: int = 0

    @classmethod
    def of(cls, found: Detections) -> Boxes:
        """Return what holds these detections."""
        return cls(
            names=list(found.names),
            xyxy=found.xyxy.astype("<f4").tobytes(),
            scores=found.scores.astype("<f4").tobytes(),
            classes=found.classes.astype("<i8").tobytes(),
            angles_rad=None if found.angles_rad is None else found.angles_rad.astype("<f4").tobytes(),
            truncated=found.truncated,
            saturated=found.saturated,
            dropped_outside=found.dropped_outside,
        )

    def detections(self) -> Detections:
        """Return the detections.

        Raises:
            ValueError: the arrays do not belong together.
        """
        angles = None if self.angles_rad is None else np.frombuffer(self.angles_rad, "<f4").astype(np.float32)
        return Detections(
            np.frombuffer(self.xyxy, "<f4").astype(np.float32).reshape(-1, 4),
            np.frombuffer(self.scores, "<f4").astype(np.float32),
            np.frombuffer(self.classes, "<i8").astype(np.int64),
            tuple(self.names),
            angles,
            self.truncated,
            self.saturated,
            self.dropped_outside,
        )


def same(one: Detections, other: Detections) -> bool:
    """Whether two sets of detections are the same to the last bit."""
    a, b = Boxes.of(one), Boxes.of(other)
    return a == b
