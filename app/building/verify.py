"""A candidate against the ONNX model in float32 on pictures of the line: what the rules would notice of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TypeAlias

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
from app.building.verify_labels import Labels
from app.building.verify_precision import SCORE_FLOOR, Labelled, Precision, precision_of
from app.building.verify_result import PictureReport, VerifyReport
from app.building.verify_rules import Rules
from app.capture.picture_file import SUFFIXES, load
from app.config.verify import Verify
from app.detections import Detections
from app.engine import Engine, Found, Look
from app.errors import BadOutput, ConfigError, ModelError
from app.frame import Image
from app.verdict import Reason, Verdict

WORST_KEPT = 12

Looks: TypeAlias = Callable[[Sequence[Image], float], list[Found]]
"""Pictures and a least score in, what is in each out."""


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """One of the two that are compared.

    Attributes:
        label: what it is, for people: file, hash, where it runs.
        names: its class names.
        look: how it looks at pictures.
    """

    label: str
    names: tuple[str, ...]
    look: Looks

    @classmethod
    def of(cls, engine: Engine, names: tuple[str, ...]) -> Side:
        """Return the side that an engine is; it must be entered already."""
        return cls(engine.label(), names, lambda images, least: engine.look([Look(image, least) for image in images]))


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a candidate besides the pictures.

    Attributes:
        rules: of a camera; None compares detections alone.
        labels: what is really in the pictures; None where nobody knows.
        together: pictures that are given to the candidate at once, so that its larger batches are verified too.
        on_picture: called after each picture, for a progress bar.
    """

    limits: Verify = field(default_factory=Verify)
    rules: Rules | None = None
    labels: Labels | None = None
    together: int = 1
    on_picture: Callable[[], None] = lambda: None

    @property
    def thresholds(self) -> Thresholds:
        """From which score on a detection counts."""
        if self.rules is not None:
            return self.rules.thresholds(self.limits.slack)
        return Thresholds(other=self.limits.score, slack=self.limits.slack)

    @property
    def floor(self) -> float:
        """The least score that both looks are asked for."""
        asked = [self.thresholds.floor]
        asked += [] if self.labels is None else [SCORE_FLOOR]
        asked += [] if self.rules is None else [self.rules.min_score]
        return min(asked)


@dataclass(frozen=True, slots=True, eq=False)
class _Seen:
    """One picture, both looks at it, and its labels."""

    report: PictureReport
    labelled: tuple[Labelled, Labelled] | None


def verify(
    reference: Side, candidate: Side, pictures: Sequence[Path], question: Question | None = None
) -> VerifyReport:
    """Run both on the same pictures, through the product's own steps, and say whether the candidate may be used.

    Both must be entered already and stay so. Pictures are read one after the other; only boxes are kept.

    Args:
        reference: the ONNX model in float32 on ONNX Runtime.
        candidate: an engine built from it, or any other way to run it.
        pictures: files, of the line and not of a data set where that can be had.
        question: limits, rules, labels.

    Raises:
        ModelError: the two have other classes, or the reference itself fails on a picture.
    """
    question = question or Question()
    if candidate.names != reference.names:
        raise ModelError(
            f"{candidate.label}: its classes are {', '.join(candidate.names)}, those of {reference.label} "
            f"{', '.join(reference.names)}: it was not made from that model"
        )
    skipped: list[str] = []
    seen = list(_see(reference, candidate, _readable(pictures, skipped, question), question))
    reports = [one.report for one in seen]
    classes = by_class([one.compared for one in reports])
    verdicts = by_verdict(one.verdicts for one in reports if one.verdicts is not None) if question.rules else None
    precision = _precisions([one.labelled for one in seen if one.labelled is not None])
    return VerifyReport(
        reference.label,
        candidate.label,
        len(reports),
        tuple(skipped),
        classes,
        verdicts,
        precision,
        question.limits,
        worst=tuple(sorted(reports, key=lambda one: one.badness, reverse=True)[:WORST_KEPT]),
        refused=tuple(_refused(reports, classes, verdicts, precision, question.limits)),
        notes=tuple(_notes(reference.names, classes, question, skipped)),
    )


def pictures_in(folder: Path) -> list[Path]:
    """Return the picture files of a folder and the folders in it, by name.

    Raises:
        ConfigError: there is no such folder, or no picture in it.
    """
    if not folder.is_dir():
        raise ConfigError(f"{folder}: there is no such folder; name one with pictures of the line (--pictures)")
    found = sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file())
    if not found:
        raise ConfigError(f"{folder}: there is no picture in it; name a folder with pictures of the line (--pictures)")
    return found


def _readable(pictures: Sequence[Path], skipped: list[str], question: Question) -> Iterator[tuple[Path, Image]]:
    for path in pictures:
        image = load(path)
        if isinstance(image, Reason):
            skipped.append(f"{path.name}: {image.text}")
            question.on_picture()
        else:
            yield path, image


def _see(
    reference: Side, candidate: Side, pictures: Iterable[tuple[Path, Image]], question: Question
) -> Iterator[_Seen]:
    waiting = iter(pictures)
    while group := list(islice(waiting, max(question.together, 1))):
        images = [image for _, image in group]
        # One by one: what the model alone says of a picture is what the line was set up with.
        expected = [reference.look([image], question.floor)[0] for image in images]
        got = candidate.look(images, question.floor)
        for (path, image), before, after in zip(group, expected, got, strict=True):
            if isinstance(before, BadOutput):
                raise ModelError(f"{reference.label}: {path.name}: {before}: the model itself can't be used")
            yield _one(path, image, (reference, candidate), (before, after), question)
            question.on_picture()


def _one(
    path: Path, image: Image, sides: tuple[Side, Side], looks: tuple[Detections, Found], question: Question
) -> _Seen:
    before, after = looks
    fault = str(after) if isinstance(after, BadOutput) else ""
    found = Detections.none(sides[0].names) if isinstance(after, BadOutput) else after
    compared = compare(before, found, question.thresholds, question.limits.overlap)
    verdicts = None
    if question.rules is not None:
        verdict = _verdict(before, image, sides[0], question.rules)
        # Numbers that can't be make the product say UNKNOWN, whatever the rules would say of no boxes.
        verdicts = verdict, Verdict.UNKNOWN if fault else _verdict(found, image, sides[1], question.rules)
    label = question.labels.of(path, _size_wh(image)) if question.labels is not None else None
    labelled = None if label is None else ((before, label), (found, label))
    return _Seen(PictureReport(path, compared, verdicts, fault), labelled)


def _verdict(found: Detections, image: Image, side: Side, rules: Rules) -> Verdict:
    """Judge what the product would have been given: nothing below what the rules ask for."""
    given = found.where(found.scores >= np.float32(rules.min_score))
    if found.truncated or found.saturated:
        # Only because so much was asked for, perhaps: a cap must not make a verdict UNKNOWN that the line would give.
        again = side.look([image], rules.min_score)[0]
        if isinstance(again, BadOutput):
            return Verdict.UNKNOWN
        given = again
    return rules.judge(given, _size_wh(image)).verdict


def _size_wh(image: Image) -> tuple[int, int]:
    return image.shape[1], image.shape[0]


def _precisions(labelled: Sequence[tuple[Labelled, Labelled]]) -> tuple[Precision, Precision] | None:
    before, after = (precision_of([pair[side] for pair in labelled]) for side in (0, 1))
    return None if before is None or after is None else (before, after)


def _refused(
    reports: Sequence[PictureReport],
    classes: Sequence[ClassAgreement],
    verdicts: VerdictAgreement | None,
    precision: tuple[Precision, Precision] | None,
    limits: Verify,
) -> Iterator[str]:
    if len(reports) < limits.least_pictures:
        yield f"{len(reports)} pictures prove nothing, {limits.least_pictures} are needed (least_pictures)"
    faulty = [one for one in reports if one.fault]
    if faulty:
        yield f"{len(faulty)} of {len(reports)} pictures: the candidate's numbers can't be ({faulty[0].fault})"
    if not any(row.reference for row in classes):
        yield "the model finds nothing on these pictures, so nothing was compared; name pictures that show parts"
    yield from refusals(classes, limits)
    if verdicts is not None:
        yield from verdict_refusals(verdicts, limits)
    if precision is not None and precision[0].mean - precision[1].mean > limits.max_map_drop:
        yield (
            f"mAP: {precision[1].mean:.3f}, the model has {precision[0].mean:.3f}, "
            f"at most {limits.max_map_drop:g} less is allowed (max_map_drop)"
        )


def _notes(
    names: Sequence[str], classes: Sequence[ClassAgreement], question: Question, skipped: Sequence[str]
) -> Iterator[str]:
    unseen = sorted(set(names) - {row.name for row in classes if row.reference}, key=list(names).index)
    if unseen:
        yield f"the model finds no {', '.join(unseen)} on these pictures, so nothing is known about it"
    if question.rules is None:
        yield "no camera's rules were named (--config, --camera), so verdicts were not compared"
    if skipped:
        yield f"{len(skipped)} pictures could not be read and were left out, first {skipped[0]}"
