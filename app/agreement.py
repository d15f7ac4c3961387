"""Two looks at the same pictures side by side: which boxes are the same, which were lost, which invented."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from app.boxes import areas, enclosing, shared_areas
from app.config.verify import Verify
from app.detections import Detections
from app.verdict import Verdict

Rows: TypeAlias = NDArray[np.intp]
Floats: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Thresholds:
    """From which score on a detection counts.

    Attributes:
        by_class: the least score of each class; a class beyond the end has `other`.
        other: for classes without one of their own.
        slack: a partner is looked for down to so much below, because a score that fell from 0.51 to 0.49 is no loss.
    """

    by_class: tuple[float, ...] = ()
    other: float = 0.25
    slack: float = 0.05

    @property
    def floor(self) -> float:
        """The least score that a look must give for a comparison; above 0, because a score of 0 is no detection."""
        return max(min((*self.by_class, self.other)) - self.slack, 0.001)

    def of(self, detections: Detections) -> Floats:
        """Return float32 (n,), the threshold of each row's class."""
        least = np.asarray([*self.by_class, self.other], np.float32)
        return least[np.clip(detections.classes, 0, len(self.by_class))]


@dataclass(frozen=True, slots=True, eq=False)
class Pairing:
    """What two looks at one picture have in common.

    Attributes:
        reference, candidate: rows that count for themselves, by look.
        pairs: intp (k, 2), the same object: a row of the reference, a row of the candidate; one of them counts.
        ious: float32 (k,), how much each pair overlaps.
        lost: rows of the reference that count and have no partner.
        invented: rows of the candidate that count and have no partner.
    """

    reference: Rows
    candidate: Rows
    pairs: Rows
    ious: Floats
    lost: Rows
    invented: Rows


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """One picture as two looks saw it."""

    reference: Detections
    candidate: Detections
    pairing: Pairing

    @property
    def score_differences(self) -> Floats:
        """float32 (k,), the candidate's score minus the reference's, for each pair."""
        pairs = self.pairing.pairs
        differences: Floats = self.candidate.scores[pairs[:, 1]] - self.reference.scores[pairs[:, 0]]
        return differences


@dataclass(frozen=True, slots=True)
class ClassAgreement:
    """What two looks at all pictures have in common, for one class.

    Attributes:
        reference, candidate: detections over the threshold.
        lost, invented: those without a partner.
        fell, rose: those whose partner is a little under the threshold, in the candidate and in the reference.
        iou_mean, iou_least: of the pairs' boxes; 1 where there is no pair.
        score_mean, score_most: of the pairs' differences of score, without their sign; 0 where there is no pair.
    """

    name: str
    reference: int
    candidate: int
    lost: int
    invented: int
    fell: int
    rose: int
    iou_mean: float
    iou_least: float
    score_mean: float
    score_most: float

    @property
    def is_paired(self) -> bool:
        """Whether any box has a partner, so that the means mean something."""
        return self.reference > self.lost or self.candidate > self.invented


@dataclass(frozen=True, slots=True)
class VerdictAgreement:
    """What the rules say of both looks.

    Attributes:
        pictures: how many were judged.
        same: how many kept their verdict.
        escapes: NG for the reference and not for the candidate.
        rejects: OK for the reference and NG for the candidate.
    """

    pictures: int
    same: int
    escapes: int
    rejects: int


def compare(reference: Detections, candidate: Detections, thresholds: Thresholds, overlap: float = 0.5) -> Compared:
    """Pair the boxes of two looks at one picture; one box of a class has one partner at most.

    Args:
        reference: what should be found, in pixels of the picture, down to `thresholds.floor`.
        candidate: what was found, the same.
        thresholds: from which score on a detection counts.
        overlap: IoU from which two boxes of a class are the same object.
    """
    strong = [found.scores >= thresholds.of(found) for found in (reference, candidate)]
    weak = [
        np.flatnonzero(found.scores >= thresholds.of(found) - np.float32(thresholds.slack))
        for found in (reference, candidate)
    ]
    shared = ious(reference.where(weak[0]), candidate.where(weak[1]))
    shared[reference.classes[weak[0]][:, None] != candidate.classes[weak[1]][None]] = 0
    # Those that count choose first: a doubtful box must not take a sure one's partner away.
    counts = strong[0][weak[0]][:, None].astype(np.float32) + strong[1][weak[1]][None]
    chosen = list(_best_first(shared, counts, overlap))
    pairs = np.asarray([(weak[0][row], weak[1][column]) for row, column in chosen], np.intp).reshape(-1, 2)
    overlaps = np.asarray([shared[row, column] for row, column in chosen], np.float32)
    alone = [np.flatnonzero(mask & ~np.isin(np.arange(len(mask)), pairs[:, side])) for side, mask in enumerate(strong)]
    kept = strong[0][pairs[:, 0]] | strong[1][pairs[:, 1]]
    pairing = Pairing(
        np.flatnonzero(strong[0]), np.flatnonzero(strong[1]), pairs[kept], overlaps[kept], alone[0], alone[1]
    )
    return Compared(reference, candidate, pairing)


def ious(a: Detections, b: Detections) -> Floats:
    """Return float32 (n, m), how much pairs of boxes overlap: their common area by that of both together.

    Rotated boxes are turned. A box with a number that is not finite overlaps nothing.
    """
    if a.angles_rad is not None and b.angles_rad is not None:
        return _rotated_ious(a, b)
    edges = [np.ascontiguousarray(found.xyxy.T.astype(np.float32)) for found in (a, b)]
    with np.errstate(invalid="ignore", over="ignore"):
        shared = shared_areas(edges[0], edges[1])
        united = areas(edges[0])[:, None] + areas(edges[1])[None] - shared
        overlaps: Floats = np.nan_to_num(shared / np.maximum(united, np.float32(1e-9)), nan=0.0, posinf=0.0)
    return overlaps


def by_class(pictures: Sequence[Compared]) -> tuple[ClassAgreement, ...]:
    """Return what the looks at all pictures have in common, one row for each class that any of them found."""
    names = {
        int(index): found.name(row)
        for one in pictures
        for found in (one.reference, one.candidate)
        for row, index in enumerate(found.classes)
    }
    rows = (_one_class(index, names[index], pictures) for index in sorted(names))
    return tuple(row for row in rows if row.reference or row.candidate)


def by_verdict(verdicts: Iterable[tuple[Verdict, Verdict]]) -> VerdictAgreement:
    """Return what the rules say of both looks, from the verdicts of the reference and the candidate."""
    both = list(verdicts)
    return VerdictAgreement(
        pictures=len(both),
        same=sum(before is after for before, after in both),
        escapes=sum(before is Verdict.NG and after is not Verdict.NG for before, after in both),
        rejects=sum(before is Verdict.OK and after is Verdict.NG for before, after in both),
    )


def refusals(classes: Sequence[ClassAgreement], limits: Verify) -> Iterator[str]:
    """Say, in the words of a line, where a class differs more than it may; nothing where all is well."""
    for row in classes:
        where, of = f"class {row.name}:", max(row.reference, 1)
        if row.lost > limits.max_lost * row.reference:
            yield f"{where} {row.lost} of {row.reference} lost, at most {limits.max_lost:.0%} may be (max_lost)"
        # One that falls while another rises is chance; more that fall than rise is a weaker network.
        if row.fell - row.rose > max(1, limits.max_lost * row.reference):
            yield (
                f"{where} {row.fell} of {row.reference} fell under the threshold and {row.rose} rose over it, "
                f"at most {limits.max_lost:.0%} more may fall (max_lost)"
            )
        if row.invented > limits.max_invented * of:
            yield (
                f"{where} {row.invented} invented beside the model's {row.reference}, "
                f"at most {limits.max_invented:.0%} may be (max_invented)"
            )
        if row.iou_mean < limits.min_iou:
            yield (
                f"{where} its boxes overlap the model's by {row.iou_mean:.3f} on average, "
                f"{limits.min_iou:g} is needed (min_iou)"
            )
        if row.score_mean > limits.max_score_difference:
            yield (
                f"{where} its scores differ by {row.score_mean:.3f} on average, "
                f"at most {limits.max_score_difference:g} is allowed (max_score_difference)"
            )


def verdict_refusals(verdicts: VerdictAgreement, limits: Verify) -> Iterator[str]:
    """Say where the rules' verdicts differ more than they may."""
    if verdicts.escapes > limits.max_escapes:
        yield (
            f"verdicts: {verdicts.escapes} of {verdicts.pictures} pictures are NG for the model and not for the "
            f"candidate, at most {limits.max_escapes} may be (max_escapes)"
        )
    if verdicts.same < limits.min_same_verdicts * verdicts.pictures:
        yield (
            f"verdicts: {verdicts.same} of {verdicts.pictures} pictures keep theirs, "
            f"{limits.min_same_verdicts:.0%} must (min_same_verdicts)"
        )


def _best_first(shared: Floats, counts: Floats, overlap: float) -> Iterator[tuple[int, int]]:
    """Yield the pairs that overlap enough, the surest and closest first, no row and no column twice."""
    rows, columns = np.nonzero(shared >= np.float32(overlap))
    order = np.lexsort((-shared[rows, columns], -counts[rows, columns]))
    free_rows, free_columns = set(rows.tolist()), set(columns.tolist())
    for row, column in zip(rows[order].tolist(), columns[order].tolist(), strict=True):
        if row in free_rows and column in free_columns:
            free_rows.remove(row)
            free_columns.remove(column)
            yield row, column


def _rotated_ious(a: Detections, b: Detections) -> Floats:
    """Return the same for boxes that are turned; only those whose upright frames touch are worked out."""
    corners = [found.corners().astype(np.float32) for found in (a, b)]
    frames = [np.ascontiguousarray(enclosing(some).T) for some in corners]
    with np.errstate(invalid="ignore", over="ignore"):
        touching = shared_areas(frames[0], frames[1]) > 0
        own = [areas(np.ascontiguousarray(found.xyxy.T)) for found in (a, b)]
    overlaps = np.zeros(touching.shape, np.float32)
    for row, column in np.argwhere(touching).tolist():
        common, _ = cv2.intersectConvexConvex(corners[0][row], corners[1][column])
        overlaps[row, column] = common / max(own[0][row] + own[1][column] - common, 1e-9)
    return overlaps


def _one_class(index: int, name: str, pictures: Sequence[Compared]) -> ClassAgreement:
    reference, candidate, lost, invented, fell, rose = np.sum([_counts(one, index) for one in pictures], axis=0)
    of_class = [one.reference.classes[one.pairing.pairs[:, 0]] == index for one in pictures]
    overlaps = np.concatenate([one.pairing.ious[mask] for one, mask in zip(pictures, of_class, strict=True)])
    differences = np.abs(
        np.concatenate([one.score_differences[mask] for one, mask in zip(pictures, of_class, strict=True)])
    )
    return ClassAgreement(
        name=name,
        reference=int(reference),
        candidate=int(candidate),
        lost=int(lost),
        invented=int(invented),
        fell=int(fell),
        rose=int(rose),
        iou_mean=float(overlaps.mean()) if len(overlaps) else 1.0,
        iou_least=float(overlaps.min(initial=1.0)),
        score_mean=float(differences.mean()) if len(differences) else 0.0,
        score_most=float(differences.max(initial=0.0)),
    )


def _counts(one: Compared, index: int) -> tuple[int, ...]:
    """Return how many boxes of a class there are in one picture: both looks, lost, invented, fell, rose."""
    pairing = one.pairing
    before, after = pairing.pairs[:, 0], pairing.pairs[:, 1]
    chosen = (
        (one.reference, pairing.reference),
        (one.candidate, pairing.candidate),
        (one.reference, pairing.lost),
        (one.candidate, pairing.invented),
        (one.reference, before[~np.isin(after, pairing.candidate)]),
        (one.candidate, after[~np.isin(before, pairing.reference)]),
    )
    return tuple(int(np.count_nonzero(found.classes[rows] == index)) for found, rows in chosen)
