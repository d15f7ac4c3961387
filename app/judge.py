"""Rules over detections: OK, NG or UNKNOWN, and why.

What is seen proves a fault; what is not seen proves nothing while there is a doubt. So a forbidden or surplus object is
NG whatever else is unclear, a doubt (a cap was reached, no part, a number that is none) is UNKNOWN, and only without
either does a missing object mean NG. OK is what is left.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from app.config.sections import CountRule, ForbidRule, RequireRule, Rule
from app.config.sections import Judge as JudgeSection
from app.detections import Detections
from app.errors import ConfigError
from app.regions import RegionShape
from app.verdict import Code, Judgement, Reason, Verdict

Box: TypeAlias = tuple[float, float, float, float]
Rows: TypeAlias = NDArray[np.intp]

PART = "part"
"""The name of the region that the gate found."""

_SIZES_KEPT = 4
_PLACES_NAMED = 6


@dataclass(frozen=True, slots=True)
class Tally:
    """How many objects lie where; one in two regions counts in both, and once in `unique`."""

    regions: Mapping[str, int]
    unique: int


@dataclass(slots=True)
class _Findings:
    """What the rules found so far, by weight."""

    proofs: list[Reason] = field(default_factory=list)
    doubts: list[Reason] = field(default_factory=list)
    lacks: list[Reason] = field(default_factory=list)

    def judgement(self) -> Judgement:
        if self.proofs:
            return Judgement(Verdict.NG, (*self.proofs, *self.lacks, *self.doubts))
        if self.doubts:
            return Judgement(Verdict.UNKNOWN, tuple(self.doubts))
        if self.lacks:
            return Judgement(Verdict.NG, tuple(self.lacks))
        return Judgement(Verdict.OK)


@dataclass(frozen=True, slots=True)
class _View:
    """One picture's detections and the regions in it; a region that can't be used has a doubt instead of a shape."""

    detections: Detections
    size_wh: tuple[int, int]
    shapes: Mapping[str, RegionShape | Reason]
    finite: NDArray[np.bool_]

    @property
    def capped(self) -> bool:
        return self.detections.truncated or self.detections.saturated


class Judge:
    """The rules of one camera, checked against the model's class names once.

    Args:
        section: rules, regions and thresholds.
        names: the model's class names by index.

    Raises:
        ConfigError: with all faults: no rule at all, a class or region that is not there, a polygon of no area, …
    """

    def __init__(self, section: JudgeSection, names: tuple[str, ...]) -> None:
        faults = list(_faults(section, names))
        if faults:
            raise ConfigError(*faults)
        self._section = section
        self._names = names
        self._least = np.asarray([_least(section, name) for name in names], np.float32)
        # By a name: which classes have it; the last place is that of all classes without a name.
        self._called = {name: np.asarray([*(known == name for known in names), False]) for name in names}
        self._shapes: dict[tuple[int, int], dict[str, RegionShape | Reason]] = {}

    @property
    def needs_part(self) -> bool:
        """Whether a rule looks into the region `part`, which only a gate can give."""
        return any(rule.region == PART for rule in self._section.rules)

    def threshold(self, name: str) -> float:
        """Return the least score of a class."""
        return self._section.scores.get(name, self._section.score)

    def min_score(self) -> float:
        """Return the least score that any rule or class asks for: the decoder needs to give nothing below it."""
        return min([self._section.score, *(_least(self._section, name) for name in self._names)])

    def considered(self, detections: Detections) -> Detections:
        """Return the detections that score enough for their class to take part in the judgement."""
        least = np.append(self._least, np.float32(self._section.score))
        # What is not finite stays, and makes the verdict UNKNOWN; a class without a name has the common threshold.
        return detections.where(~(detections.scores < least[np.minimum(detections.classes, len(self._least))]))

    def warnings(self, size_wh: tuple[int, int]) -> tuple[str, ...]:
        """Return one line for each region that does not lie wholly inside a picture of that size."""
        lines = []
        for name, shape in self._placed(size_wh).items():
            if isinstance(shape, Reason):
                lines.append(shape.text)
            elif shape.lost > 0:
                lines.append(
                    f"regions.{name}: {shape.lost:.1%} of its area lies outside the {size_wh[0]}×{size_wh[1]} picture"
                )
        return tuple(lines)

    def judge(
        self,
        detections: Detections,
        size_wh: tuple[int, int],
        part_xyxy: Box | None = None,
        doubts: Sequence[Reason] = (),
    ) -> Judgement:
        """Say OK, NG or UNKNOWN of one set of detections.

        Args:
            detections: in pixels of the picture; the reasons' `boxes` are rows of it.
            size_wh: the picture's width and height in pixels.
            part_xyxy: the region `part`, where a gate found one.
            doubts: why something may be there that the detections do not show.
        """
        found = _Findings(doubts=list(doubts))
        view = self._view(detections, size_wh, part_xyxy)
        if not view.finite.all():
            found.doubts.append(_bad_output(view))
        for rule in self._section.rules:
            self._apply(rule, view, found)
        return found.judgement()

    def tally(self, detections: Detections, size_wh: tuple[int, int], part_xyxy: Box | None = None) -> Tally:
        """Count the objects over their thresholds in each region and, once each, in all of them."""
        least = np.asarray([self.threshold(detections.name(row)) for row in range(len(detections))], np.float32)
        view = self._view(detections, size_wh, part_xyxy)
        rows = np.flatnonzero((detections.scores >= least) & view.finite)
        inside = {
            name: set(self._inside(rows, name, view).tolist())
            for name, shape in view.shapes.items()
            if isinstance(shape, RegionShape)
        }
        return Tally({name: len(members) for name, members in inside.items()}, len(set().union(*inside.values())))

    def _view(self, detections: Detections, size_wh: tuple[int, int], part_xyxy: Box | None) -> _View:
        shapes = dict(self._placed(size_wh))
        shapes[PART] = Reason(Code.NO_PART, "no part was found, a rule looks inside it")
        if part_xyxy is not None and np.isfinite(part_xyxy).all():
            x1, y1, x2, y2 = part_xyxy
            if x1 < x2 and y1 < y2:
                shapes[PART] = RegionShape.box(part_xyxy)
        finite = np.isfinite(detections.scores) & np.isfinite(detections.xyxy).all(axis=1)
        return _View(detections, size_wh, shapes, finite)

    def _placed(self, size_wh: tuple[int, int]) -> dict[str, RegionShape | Reason]:
        if size_wh not in self._shapes:
            if len(self._shapes) >= _SIZES_KEPT:
                self._shapes.clear()
            self._shapes[size_wh] = {name: _place(name, self._section, size_wh) for name in self._section.regions}
        return self._shapes[size_wh]

    def _apply(self, rule: Rule, view: _View, found: _Findings) -> None:
        shape = view.shapes[rule.region] if rule.region is not None else None
        if isinstance(shape, Reason):
            if shape not in found.doubts:
                found.doubts.append(shape)
            return
        if isinstance(rule, ForbidRule):
            self._forbid(rule, view, found)
        elif isinstance(rule, CountRule):
            self._count(rule, view, found)
        else:
            self._require(rule, view, found)

    def _rows(self, name: str, least: float, region: str | None, view: _View) -> Rows:
        """Return the rows of a class with at least that score inside a region."""
        mask = self._called[name][np.minimum(view.detections.classes, len(self._names))]
        # Scores are float32: 0.35 must pass a threshold of 0.35, so compare in float32.
        mask &= view.detections.scores >= np.float32(least)
        return self._inside(np.flatnonzero(mask & view.finite), region, view)

    def _inside(self, rows: Rows, region: str | None, view: _View) -> Rows:
        if region is None or len(rows) == 0:
            return rows
        shape = view.shapes[region]
        assert isinstance(shape, RegionShape), region
        return rows[shape.holds(view.detections.xyxy[rows], self._section.membership)]

    def _forbid(self, rule: ForbidRule, view: _View, found: _Findings) -> None:
        least = self.threshold(rule.forbid) if rule.min_score is None else rule.min_score
        rows = self._rows(rule.forbid, least, rule.region, view)
        # In float64: the area of a box can be more than float32 holds.
        sides = np.subtract(view.detections.xyxy[rows, 2:], view.detections.xyxy[rows, :2], dtype=np.float64)
        rows = rows[sides.prod(axis=1) >= rule.min_area_px]
        found.proofs.extend(
            Reason(Code.FORBIDDEN, f"{_described(view.detections, row)}{_in(rule.region)}", (row,))
            for row in rows.tolist()
        )
        if view.capped and len(rows) == 0:
            found.doubts.append(_cap(f"can't say that there is no {rule.forbid}{_in(rule.region)}"))

    def _count(self, rule: CountRule, view: _View, found: _Findings) -> None:
        rows = self._rows(rule.count, self.threshold(rule.count), rule.region, view)
        low, high = _bounds(rule)
        boxes = tuple(rows.tolist())
        places = f": {_places(view, rows, rule.region)}" if 0 < len(rows) <= _PLACES_NAMED else ""
        text = f"{len(rows)} × {rule.count}{_in(rule.region)}, needs {_needs(rule)}"
        reason = Reason(Code.COUNT, text + places, boxes)
        if high is not None and len(rows) > high:
            found.proofs.append(reason)
        elif view.capped and (len(rows) < low or high is not None):
            found.doubts.append(_cap(f"at least {text}", boxes))
        elif len(rows) < low:
            found.lacks.append(reason)

    def _require(self, rule: RequireRule, view: _View, found: _Findings) -> None:
        if len(self._rows(rule.require, self.threshold(rule.require), rule.region, view)) > 0:
            return
        text = f"no {rule.require}{_in(rule.region)}, one is required"
        if rule.otherwise == "UNKNOWN":
            found.doubts.append(Reason(Code.NO_PART, text))
        elif view.capped:
            found.doubts.append(_cap(text))
        else:
            found.lacks.append(Reason(Code.MISSING, text))


def _least(section: JudgeSection, name: str) -> float:
    """Return the least score at which a class can matter: its threshold, or what a rule asks of it."""
    own = [rule.min_score for rule in section.rules if isinstance(rule, ForbidRule) and rule.forbid == name]
    return min([section.scores.get(name, section.score), *(score for score in own if score is not None)])


def _place(name: str, section: JudgeSection, size_wh: tuple[int, int]) -> RegionShape | Reason:
    try:
        return RegionShape.of(section.regions[name], size_wh, name)
    except ConfigError as error:
        return Reason(Code.WRONG_SIZE, str(error))


def _bad_output(view: _View) -> Reason:
    bad = np.flatnonzero(~view.finite)
    first = view.detections.name(int(bad[0]))
    text = f"{len(bad)} of {len(view.detections)} detections hold a number that is not finite, first {first}"
    return Reason(Code.BAD_OUTPUT, text, tuple(bad.tolist()))


def _cap(text: str, boxes: tuple[int, ...] = ()) -> Reason:
    return Reason(Code.CAP_REACHED, f"{text}, but the most boxes that the model or NMS can give were given", boxes)


def _bounds(rule: CountRule) -> tuple[int, int | None]:
    if rule.equals is not None:
        return rule.equals, rule.equals
    return rule.min or 0, rule.max


def _needs(rule: CountRule) -> str:
    low, high = _bounds(rule)
    if low == high:
        return str(low)
    if high is None:
        return f"at least {low}"
    return f"{low} to {high}" if low else f"at most {high}"


def _in(region: str | None) -> str:
    return f" in {region}" if region is not None else ""


def _described(detections: Detections, row: int) -> str:
    x1, y1, x2, y2 = (float(value) for value in detections.xyxy[row])
    score = float(detections.scores[row])
    return (
        f"{detections.name(row)} {score:.2f} at {round((x1 + x2) / 2)},{round((y1 + y2) / 2)} "
        f"({round(x2 - x1)}×{round(y2 - y1)} px)"
    )


def _places(view: _View, rows: Rows, region: str | None) -> str:
    """Name each row's place in words, in thirds of the region (else of the picture)."""
    shape = view.shapes[region] if region is not None else None
    low, high = np.zeros(2), np.asarray(view.size_wh, np.float64)
    if isinstance(shape, RegionShape):
        low, high = shape.corners_xy.min(axis=0), shape.corners_xy.max(axis=0)
    centres = view.detections.centres()[rows]
    thirds = np.clip(((centres - low) / np.maximum(high - low, 1.0) * 3).astype(int), 0, 2)
    return ", ".join(_WORDS[int(y)][int(x)] for x, y in thirds)


_WORDS = (
    ("top left", "top", "top right"),
    ("left", "middle", "right"),
    ("bottom left", "bottom", "bottom right"),
)


def _faults(section: JudgeSection, names: tuple[str, ...]) -> Iterable[str]:
    if not section.rules:
        yield "judge.rules: there is none, so nothing could ever be found wrong; write at least one rule"
    for name in section.scores:
        yield from _unknown("judge.scores", "class", name, names)
    if PART in section.regions:
        yield f"judge.regions.{PART}: this name is the gate's; choose another one"
    for index, rule in enumerate(section.rules):
        where = f"judge.rules[{index}]"
        yield from _unknown(where, "class", _class_of(rule), names)
        if rule.region is not None:
            yield from _unknown(f"{where}.region", "region", rule.region, (*section.regions, PART))


def _class_of(rule: Rule) -> str:
    if isinstance(rule, CountRule):
        return rule.count
    return rule.forbid if isinstance(rule, ForbidRule) else rule.require


def _unknown(where: str, what: str, name: str, known: tuple[str, ...]) -> Iterable[str]:
    if name not in known:
        near = difflib.get_close_matches(name, known, 1)
        remedy = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(known) or 'none'}"
        yield f"{where}: there is no {what} {name!r}; {remedy}"
