"""The ways in which a network's outputs can be read, and what in its file speaks for and against each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from app.decode.anchors import cell_count, cell_counts, may_be_cell_count
from app.decode.outputs import Dense
from app.model import Family, ModelInfo

_ANCHORS_PER_CELL = 3
_END_TO_END_ROWS = 1000
"""No exporter lets networks without suppression give more rows by default."""

_FINISHED_ROTATED = 7
"""Centre, size, score, class, angle."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read the outputs.

    Attributes:
        classes: how many there are; 0 where neither shape nor names tell.
        doubts: how many things in the file speak against it.
        signs: how many speak for it.
    """

    family: Family
    classes: int
    doubts: int = 0
    signs: int = 0

    def weighed(self, evidence: bool | None) -> Reading:
        """Return the reading after one more piece of evidence; None says nothing."""
        if evidence is None:
            return self
        return replace(self, doubts=self.doubts + (not evidence), signs=self.signs + evidence)

    @property
    def weight(self) -> tuple[int, int]:
        """Larger is likelier: first few doubts, then many signs."""
        return -self.doubts, self.signs


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a file says besides its outputs' shapes.

    Attributes:
        names: how many class names there are, or None.
        input_wh: the input's size in pixels where that is fixed or was exported, or None.
        task: such as "detect"; exporters of YOLOv8 and later write it.
        end_to_end: whether the file says that it needs no suppression; None where it says nothing.
    """

    names: int | None
    input_wh: tuple[int, int] | None
    task: str | None
    end_to_end: bool | None

    @classmethod
    def of(cls, info: ModelInfo) -> Evidence:
        """Collect it from a file."""
        end2end = info.metadata.get("end2end", "").strip().lower()
        return cls(
            names=len(info.names) if info.names else None,
            input_wh=_input_wh(info),
            task=info.metadata.get("task") or None,
            end_to_end={"true": True, "false": False}.get(end2end),
        )

    def cells(self, number: int | None, channels: int | None, per_cell: int = 1) -> bool | None:
        """Return whether a network with this input has so many candidates; None where nobody can know."""
        if number is None:
            return None
        if self.input_wh is not None:
            return number in {per_cell * cells for cells in cell_counts(self.input_wh)}
        # Something impossible is telling; something possible is no proof.
        fewer = channels is not None and number < channels
        return None if not fewer and number % per_cell == 0 and may_be_cell_count(number // per_cell) else False


def _input_wh(info: ModelInfo) -> tuple[int, int] | None:
    shape = info.inputs[0].shape if info.inputs else ()
    sides = shape[2:4] if len(shape) == 4 and shape[3] not in (1, 3) else shape[1:3]  # noqa: PLR2004 - NCHW or NHWC
    exported = [int(number) for number in re.findall(r"\d{1,5}", info.metadata.get("imgsz", ""))]
    if len(sides) == 2 and None in sides and len(exported) in (1, 2):  # noqa: PLR2004 - height and width
        sides = (exported[0], exported[-1])
    height, width = sides if len(sides) == 2 else (None, None)  # noqa: PLR2004
    return (width, height) if width and height else None


def dense_readings(dense: Dense, evidence: Evidence, *, rotated: bool) -> Iterator[Reading]:
    """Yield every way to read one tensor [B, a, b], the box numbers and classes along either axis.

    Args:
        dense: the tensor and how many mask coefficients each candidate has.
        evidence: what else the file says.
        rotated: candidates have an angle.
    """
    if rotated:
        _, number, columns = dense.output.shape
        # Finished rows of rotated boxes, [B, 300, 7], have another order.
        finished = columns == _FINISHED_ROTATED and (evidence.end_to_end or evidence.cells(number, columns) is False)
        yield from () if finished else _either_way(Family.OBB, dense, evidence, 4 + 1)
        return
    family = Family.SEGMENT if dense.has_masks else Family.YOLOV8
    yield from _either_way(family, dense, evidence, 4 + dense.masks)
    yield from _with_objectness(dense, evidence)
    yield from _end_to_end(dense, evidence)


def _either_way(family: Family, dense: Dense, evidence: Evidence, others: int) -> Iterator[Reading]:
    _, first, second = dense.output.shape
    for channels, number in ((first, second), (second, first)):
        for reading in _counted(family, channels, others, evidence):
            weighed = reading.weighed(evidence.cells(number, channels)).weighed(True if evidence.task else None)
            yield weighed.weighed(False if evidence.end_to_end else None)


def _with_objectness(dense: Dense, evidence: Evidence) -> Iterator[Reading]:
    _, number, channels = dense.output.shape
    against = False if evidence.end_to_end else None
    for reading in _counted(Family.YOLOV5, channels, 5 + dense.masks, evidence):
        # One candidate per cell is possible too: YOLOv6 writes a constant objectness.
        usual = evidence.cells(number, channels, _ANCHORS_PER_CELL)
        yield reading.weighed(None if not usual and evidence.cells(number, channels) else usual).weighed(against)
    if dense.has_masks:
        return
    for reading in _counted(Family.YOLOX, channels, 5, evidence):
        wh = evidence.input_wh
        exact = number == cell_count(wh) if wh and number else evidence.cells(number, channels)
        yield reading.weighed(exact).weighed(against)


def _end_to_end(dense: Dense, evidence: Evidence) -> Iterator[Reading]:
    _, number, columns = dense.output.shape
    wanted = 6 + dense.masks
    if columns not in (None, wanted):
        return
    reading = Reading(Family.END_TO_END, evidence.names or 0).weighed(evidence.end_to_end)
    if number is not None and (evidence.cells(number, columns) or evidence.cells(number, columns, _ANCHORS_PER_CELL)):
        reading = reading.weighed(False)
    if columns is not None:
        reading = reading.weighed(True).weighed(True if number is not None and number <= _END_TO_END_ROWS else None)
    yield reading


def _counted(family: Family, channels: int | None, others: int, evidence: Evidence) -> Iterator[Reading]:
    """Yield the reading if there is room for a class; counted by the channels, else by the names, else 0."""
    if channels is None:
        yield Reading(family, evidence.names or 0)
        return
    if channels <= others:
        return
    reading = Reading(family, channels - others).weighed(True)
    yield reading.weighed(None if evidence.names is None else reading.classes == evidence.names)
