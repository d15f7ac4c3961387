"""How a changed model does beside the FP32 model on pictures that it was not calibrated on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.agreement import (
    ClassAgreement,
    Thresholds,
    VerdictAgreement,
    by_class,
    by_verdict,
    compare,
    refusals,
    verdict_refusals,
)
from app.building.int8.feeds import images_of
from app.building.int8.pictures import CalibrationPicture
from app.building.int8.session import ModelRunner
from app.building.verify_rules import Rules
from app.config.verify import Verify
from app.detections import Detections
from app.engine import HostEngine
from app.errors import BadOutput, ModelError
from app.inference.base import Tensors
from app.letterbox import Letterbox

MOST_PICTURES = 60
"""Held out pictures that a trial looks at; their tensors stay in memory."""
LENIENT = 0.15
"""So far may a score fall before the damage counts a loss: one doubtful scratch must not decide between two ways."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One way to quantise, and what it does.

    Attributes:
        name: of the way.
        layers: how many compute in INT8.
        classes: what both looks have in common, by class.
        verdicts: what the rules say of both; None without rules.
        refused: why its results must not be used; empty where they may.
        damage: one number to compare ways by: 0 where both looks give the same, 1 where all is lost.
    """

    name: str
    layers: int
    classes: tuple[ClassAgreement, ...]
    verdicts: VerdictAgreement | None
    refused: tuple[str, ...]
    damage: float

    @property
    def lost(self) -> int:
        """Detections of the FP32 model that it does not find."""
        return sum(row.lost for row in self.classes)

    @property
    def invented(self) -> int:
        """Detections that the FP32 model does not have."""
        return sum(row.invented for row in self.classes)

    @property
    def rank(self) -> tuple[int, bool, float]:
        """What sorts the better way first: no escapes, then nothing to refuse, then little damage."""
        escapes = self.verdicts.escapes if self.verdicts is not None else 0
        return escapes, bool(self.refused), self.damage

    def meets(self, limits: Verify) -> bool:
        """Whether it would not be refused with other limits either."""
        wrong = [*refusals(self.classes, limits)]
        wrong += verdict_refusals(self.verdicts, limits) if self.verdicts is not None else ()
        return not wrong


def damage_of(classes: Sequence[ClassAgreement]) -> float:
    """Return the mean over classes of what is lost, invented, moved, and said with another score.

    Classes weigh the same, however rare: a line with one scratch in a hundred parts is there for the scratch.
    """
    return float(np.mean([_damage(row) for row in classes])) if classes else 0.0


def _damage(row: ClassAgreement) -> float:
    of = max(row.reference, 1)
    found = 1 - min(row.lost / of, 1)
    return (row.lost + row.invented) / of + found * (1 - row.iou_mean + row.score_mean)


class HeldOut:
    """The pictures that judge, ready to be fed, with what the FP32 model finds in them.

    Args:
        engine: of the FP32 model: its preprocessing and decoding are used, its backend is not.
        reference: the FP32 model's runner.
        pictures: that no range was set by.
        limits: what may differ.
        rules: of a camera; None compares detections alone.
    """

    def __init__(
        self,
        engine: HostEngine,
        reference: ModelRunner,
        pictures: Sequence[CalibrationPicture],
        limits: Verify,
        rules: Rules | None = None,
    ) -> None:
        self._engine, self._limits, self._rules = engine, limits, rules
        self._thresholds = Thresholds(other=limits.score, slack=limits.slack)
        if rules is not None:
            self._thresholds = rules.thresholds(limits.slack)
        self._lenient = replace(self._thresholds, slack=max(LENIENT, limits.slack))
        self._fed: list[tuple[Tensors, Letterbox]] = []
        rows = np.linspace(0, len(pictures) - 1, min(len(pictures), MOST_PICTURES)).round().astype(int).tolist()
        for image in images_of([pictures[row] for row in rows]):
            letterbox = engine.preprocessor.run(image, engine.sample)
            self._fed.append(({name: feed.copy() for name, feed in engine.feeds.items()}, letterbox))
        self._expected = [self._look(reference, *fed) for fed in self._fed]
        if not any(len(found) for found in self._expected):
            raise ModelError(
                "the FP32 model finds nothing on the pictures that were held out, so there is nothing to compare: "
                "calibrate with pictures that show parts"
            )

    def __len__(self) -> int:
        return len(self._fed)

    def trial(self, name: str, layers: int, runner: ModelRunner) -> Trial:
        """Let a changed model look at all pictures and compare.

        Args:
            name: of the way that it was changed.
            layers: how many compute in INT8.
            runner: of the changed model.
        """
        limits = self._limits
        got = [self._look(runner, *fed) for fed in self._fed]
        pairs = list(zip(self._expected, got, strict=True))
        classes, leniently = (
            by_class([compare(before, after, thresholds, limits.overlap) for before, after in pairs])
            for thresholds in (self._thresholds, self._lenient)
        )
        refused = list(refusals(classes, limits))
        verdicts = None
        if self._rules is not None:
            sizes = [letterbox.image_wh for _, letterbox in self._fed]
            judged = [
                (self._rules.judge(before, size).verdict, self._rules.judge(after, size).verdict)
                for (before, after), size in zip(pairs, sizes, strict=True)
            ]
            verdicts = by_verdict(judged)
            refused += verdict_refusals(verdicts, limits)
        return Trial(name, layers, classes, verdicts, tuple(refused), damage_of(leniently))

    def _look(self, runner: ModelRunner, feeds: Tensors, letterbox: Letterbox) -> Detections:
        try:
            return self._engine.decode(runner.infer(feeds), letterbox, self._floor, 0)
        except BadOutput:
            return Detections.none()  # numbers that can't be find nothing

    @property
    def _floor(self) -> float:
        least = self._lenient.floor
        return least if self._rules is None else min(least, self._rules.min_score)
