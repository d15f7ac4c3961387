"""What was said of each picture then and now, and what all of that comes to; pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from app.agreement import ClassAgreement, Compared, Thresholds, by_class, compare
from app.detections import Detections
from app.evidence.boxes import same
from app.replay.rules import Again
from app.replay.stored import Stored
from app.verdict import Verdict

_ALL = Thresholds(other=0.0, slack=0.0)
"""Every box counts: those below the thresholds have been left out already."""


class Kind(str, Enum):
    """What became of a picture, the most remarkable first."""

    FLIPPED = "flipped"  # another verdict
    BOXES = "boxes"  # the same verdict, but not the same boxes to the last bit
    FIRST = "first"  # it was not looked at then (late, paused, …), and is now
    SAME = "same"


@dataclass(frozen=True, slots=True, eq=False)
class Replayed:
    """One picture, then and now.

    Attributes:
        compared: the boxes of both, in pixels of the picture.
    """

    stored: Stored
    again: Again
    kind: Kind
    compared: Compared

    @property
    def before(self) -> Verdict:
        """The verdict then."""
        return self.stored.record.result.verdict

    @property
    def after(self) -> Verdict:
        """The verdict now."""
        return self.again.judgement.verdict

    @property
    def rank(self) -> tuple[int, bool, float]:
        """What sorts the most remarkable first: an NG that is none now, other flips, boxes, scores."""
        kinds = list(Kind)
        pairing = self.compared.pairing
        moved = len(pairing.lost) + len(pairing.invented) + float(np.abs(self.compared.score_differences).sum())
        return kinds.index(self.kind), self.before is not Verdict.NG, -moved

    def words(self) -> str:
        """Say what differs, in one line."""
        verdicts = f"{self.before.value} → {self.after.value}" if self.before is not self.after else self.after.value
        reasons = self.again.judgement.reasons
        pairing = self.compared.pairing
        counts = [
            f"{len(rows)} {word}" for rows, word in ((pairing.lost, "lost"), (pairing.invented, "new")) if len(rows)
        ]
        return "; ".join([verdicts, *counts, *(reason.text for reason in reasons[:1])])


@dataclass(frozen=True, slots=True, eq=False)
class Differences:
    """What a replay comes to.

    Attributes:
        pictures: all that were judged again, the most remarkable first.
        skipped: those that could not be, each with its reason.
        classes: of the pictures that were looked at both times.
    """

    pictures: tuple[Replayed, ...]
    skipped: tuple[str, ...]
    classes: tuple[ClassAgreement, ...]

    @property
    def flips(self) -> Counter[tuple[Verdict, Verdict]]:
        """How many pictures went from which verdict to which."""
        return Counter((one.before, one.after) for one in self.of(Kind.FLIPPED))

    @property
    def differs(self) -> bool:
        """Whether any picture that was looked at then has another verdict or other boxes now."""
        return any(one.kind in (Kind.FLIPPED, Kind.BOXES) for one in self.pictures)

    def of(self, kind: Kind) -> list[Replayed]:
        """Return the pictures of one kind."""
        return [one for one in self.pictures if one.kind is kind]


def differences(pictures: Sequence[Replayed], skipped: Sequence[str]) -> Differences:
    """Sum up."""
    both = [one.compared for one in pictures if one.kind is not Kind.FIRST]
    return Differences(tuple(sorted(pictures, key=lambda one: one.rank)), tuple(skipped), by_class(both))


def replayed(stored: Stored, again: Again, *, was_looked_at: bool) -> Replayed:
    """Compare one picture then and now."""
    before = stored.record.replay.boxes.detections()
    is_flipped = stored.record.result.verdict is not again.judgement.verdict
    if not was_looked_at:
        kind = Kind.FIRST
    elif is_flipped:
        kind = Kind.FLIPPED
    else:
        kind = Kind.SAME if same(before, again.detections) else Kind.BOXES
    after = _in_names_of(before, again.detections)
    return Replayed(stored, again, kind, compare(before, after, _ALL))


def _in_names_of(before: Detections, after: Detections) -> Detections:
    """Return detections whose classes are told by the other's names; those that it has not come after them."""
    if before.names == after.names:
        return after
    names = before.names + tuple(name for name in after.names if name not in before.names)
    index = np.asarray([*(names.index(name) for name in after.names), len(names)], np.int64)
    return replace(after, classes=index[np.minimum(after.classes, len(after.names))], names=names)
