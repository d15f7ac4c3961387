"""What a comparison of a candidate with its model found."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

import numpy as np

from app.agreement import ClassAgreement, Compared, VerdictAgreement
from app.building.verify_precision import Precision
from app.config.verify import Verify
from app.verdict import Verdict

_NAMED = 3  # boxes of one kind in one line


@dataclass(frozen=True, slots=True, eq=False)
class PictureReport:
    """One picture as both saw it.

    Attributes:
        compared: boxes in pixels of the picture.
        verdicts: of the reference and the candidate; None without rules.
        fault: why the candidate's numbers can't be; "" where they can.
    """

    path: Path
    compared: Compared
    verdicts: tuple[Verdict, Verdict] | None = None
    fault: str = ""

    @property
    def flipped(self) -> bool:
        """Whether the verdict is another one."""
        return self.verdicts is not None and self.verdicts[0] is not self.verdicts[1]

    @property
    def badness(self) -> tuple[float, ...]:
        """What sorts the worst picture last: an escape, another verdict, boxes lost and invented, boxes moved."""
        escaped = self.flipped and self.verdicts is not None and self.verdicts[0] is Verdict.NG
        pairing = self.compared.pairing
        moved = 1 - float(pairing.ious.min(initial=1.0)) + float(np.abs(self.compared.score_differences).max(initial=0))
        return (
            float(bool(self.fault)),
            float(escaped),
            float(self.flipped),
            len(pairing.lost) + len(pairing.invented),
            moved,
        )

    def words(self) -> str:
        """Say what differs, in one line."""
        pairing, parts = self.compared.pairing, []
        if self.verdicts is not None:
            before, after = (verdict.value for verdict in self.verdicts)
            parts.append(f"{before} → {after}" if self.flipped else f"{before} both")
        parts += [self.fault] if self.fault else []
        for word, rows, found in (
            ("lost", pairing.lost, self.compared.reference),
            ("invented", pairing.invented, self.compared.candidate),
        ):
            parts += [f"{word}: {found.name(row)} {found.scores[row]:.2f}" for row in rows.tolist()[:_NAMED]]
            parts += [f"and {len(rows) - _NAMED} more {word}"] if len(rows) > _NAMED else []
        if len(pairing.ious):
            most = float(np.abs(self.compared.score_differences).max())
            parts.append(f"least IoU {pairing.ious.min():.3f}, scores differ by up to {most:.3f}")
        return "; ".join(parts)


@dataclass(frozen=True, slots=True, eq=False)
class VerifyReport:
    """How a candidate did beside its model.

    Attributes:
        reference, candidate: what was compared.
        pictures: how many.
        skipped: pictures that could not be read, each with its reason.
        classes: by class what was kept, lost, invented.
        verdicts: what the rules say; None without rules.
        precision: of the reference and the candidate; None where no picture has labels.
        limits: what was allowed.
        worst: pictures that differ most, the worst first.
        refused: why the candidate must not be used, in the user's terms; empty where it may.
        notes: what a person should know who trusts this.
        made_at: UTC, a label only.
    """

    reference: str
    candidate: str
    pictures: int
    skipped: tuple[str, ...]
    classes: tuple[ClassAgreement, ...]
    verdicts: VerdictAgreement | None
    precision: tuple[Precision, Precision] | None
    limits: Verify
    worst: tuple[PictureReport, ...]
    refused: tuple[str, ...]
    notes: tuple[str, ...] = ()
    made_at: str = field(default_factory=lambda: datetime.now(timezone.utc).isoformat(timespec="seconds"))

    @property
    def passed(self) -> bool:
        """Whether the candidate may be used."""
        return not self.refused

    def figures(self) -> dict[str, float]:
        """Return the figures that a manifest keeps, by name."""
        rows = self.classes
        found = {
            "lost": float(sum(row.lost for row in rows)),
            "invented": float(sum(row.invented for row in rows)),
            "least_iou_mean": min((row.iou_mean for row in rows), default=1.0),
            "most_score_difference_mean": max((row.score_mean for row in rows), default=0.0),
        }
        if self.verdicts is not None and self.verdicts.pictures:
            found["same_verdicts"] = self.verdicts.same / self.verdicts.pictures
        if self.precision is not None:
            found |= {"map_model": self.precision[0].mean, "map": self.precision[1].mean}
        return {name: round(value, 6) for name, value in found.items()}
