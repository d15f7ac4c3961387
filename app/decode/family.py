"""Which family a network's head belongs to, from its file; refused where that is ambiguous."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from app.config.sections import Decode
from app.decode.outputs import are_raw_grids, dense_output
from app.decode.readings import Evidence, Reading, dense_readings
from app.decode.roles import box_and_score_outputs, finished_roles
from app.decode.tensors import fits
from app.errors import ModelError
from app.model import Family, ModelInfo

_TASKS = ("detect", "segment", "obb")

_CLASS_COLUMN = (Family.END_TO_END, Family.YOLOV7_ROWS, Family.NMS_IN_GRAPH)
"""Families whose outputs hold class numbers and so don't tell how many there are."""


def detect_family(info: ModelInfo, section: Decode) -> tuple[Family, int]:
    """Tell a network's family and its number of classes.

    Names, task, input size and the outputs' shapes are weighed together, so that no single coincidence (an 84-cell
    input beside 84 channels) decides. `decode.family` settles what the file leaves open; where the file is clear and
    says otherwise, that is an error and not a silent choice.

    Args:
        info: the file, with the configuration's names where it has them.
        section: of the configuration.

    Returns:
        The family, and how many classes the outputs have; where shapes can't tell, as many as there are names,
        or 0 where there are none.

    Raises:
        ModelError: the outputs are raw grids, of an unknown layout, of more than one possible layout, or not of the
            family that the configuration names. The text names the key to set.
    """
    where = f"{info.path.name}: {_described(info)}"
    evidence = Evidence.of(info)
    if evidence.task not in (None, *_TASKS):
        raise ModelError(f"{where}: a network for {evidence.task!r} can't be used; use one for {', '.join(_TASKS)}")
    if are_raw_grids(info.outputs):
        raise ModelError(f"{where}: exported without the detection head; re-export the whole network with its head")
    readings = _readings(info, evidence, section)
    if not readings:
        raise ModelError(f"{where}: no known layout; {_remedy(evidence)}")
    likeliest = max(reading.weight for reading in readings)
    chosen = [reading for reading in readings if reading.weight == likeliest]
    if section.family is not None:
        family, classes = _asked(Family(section.family), readings, chosen, where)
    else:
        family, classes = _only(chosen, where)
    if classes == 0 and family not in _CLASS_COLUMN:
        raise ModelError(f"{where}: read as {family.value}, its number of classes is open: set names")
    return family, classes


def _only(chosen: Sequence[Reading], where: str) -> tuple[Family, int]:
    found = {(reading.family, reading.classes) for reading in chosen}
    if len(found) > 1:
        ways = " or ".join(f"{family.value} with {classes or '?'} classes" for family, classes in sorted(found))
        raise ModelError(f"{where}: ambiguous, it can be {ways}: set decode.family (or names)")
    return found.pop()


def _asked(family: Family, readings: Sequence[Reading], chosen: Sequence[Reading], where: str) -> tuple[Family, int]:
    """Return the reading that the configuration asks for, unless the file contradicts it."""
    possible = [reading for reading in readings if reading.family is family]
    certain = chosen[0].doubts == 0
    best = max(possible, key=lambda reading: reading.weight, default=None)
    if best is None or (certain and best.doubts > 0):
        others = _families(reading.family for reading in chosen)
        raise ModelError(
            f"{where}: decode.family is {family.value}, but the file is {others}: correct it or leave it out"
        )
    return best.family, best.classes


def _readings(info: ModelInfo, evidence: Evidence, section: Decode) -> list[Reading]:
    named = evidence.names or 0
    if len(info.outputs) == 1 and fits(info.outputs[0].shape, (None, 7)):
        return [Reading(Family.YOLOV7_ROWS, named)]
    if finished_roles(info.outputs) is not None:
        return [Reading(Family.NMS_IN_GRAPH, named)]
    pair = box_and_score_outputs(info.outputs)
    if pair is not None:
        return [Reading(Family.TWO_OUTPUTS, pair[1].shape[2] or named)]
    dense = dense_output(info.outputs)
    if dense is None:
        return []
    rotated = evidence.task == "obb" or (evidence.task is None and section.family == Family.OBB.value)
    return list(dense_readings(dense, evidence, rotated=rotated))


def _remedy(evidence: Evidence) -> str:
    if evidence.task == "obb":
        return "rotated boxes are read as [B, 4 + classes + 1, N]: export with end2end=False"
    return f"known families are {_families(Family)}: see docs/heads.md"


def _described(info: ModelInfo) -> str:
    outputs = ", ".join(
        f"{output.name} [{', '.join('?' if axis is None else str(axis) for axis in output.shape)}]"
        for output in info.outputs
    )
    return f"output{'s' if len(info.outputs) > 1 else ''} {outputs or 'none'}"


def _families(families: Iterable[Family]) -> str:
    return ", ".join(dict.fromkeys(family.value for family in families))
