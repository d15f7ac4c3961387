"""A calibration as tables, for people and for the report of a build."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from app.building.int8.calibrate import Calibrated
from app.building.int8.figures import figures_of_trial
from app.building.int8.pictures import CalibrationSet
from app.building.int8.sweep import Suspect
from app.building.int8.trial import Trial

_SHOWN = 12
_HEADINGS = ("layers", "lost", "more", "IoU", "Δscore", "same", "escapes", "damage")
EXPLAINED = (
    "layers: in INT8; lost, more: detections that only the FP32 model has, or only this one; IoU, Δscore: means of the "
    "worst class; same: pictures that keep their verdict; escapes: NG no more; damage: see docs/engines.md"
)


def show(calibrated: Calibrated) -> RenderableType:
    """Return what a person should see of a calibration."""
    parts: list[RenderableType] = [Text(line) for line in words(calibrated.pictures)]
    if calibrated.found.tried:
        best = calibrated.found.recipe.calibrator
        rows = [(f"{trial.name} ←" if trial.name == best else trial.name, trial) for trial in calibrated.found.tried]
        parts.append(trials_table(f"Calibrators, all {calibrated.layers} layers in INT8", rows))
        parts.append(sweep_table(calibrated.found.suspects))
        parts.append(
            trials_table("Layers left out, the worst first", [(one.name, one) for one in calibrated.found.steps])
        )
    else:
        parts.append(Text("Calibrated before with these pictures: ranges and layers are those of that time."))
    final = calibrated.final
    parts.append(
        trials_table(f"The INT8 model beside the FP32 model, {calibrated.held_out} pictures", [(final.name, final)])
    )
    parts.append(Text(EXPLAINED, style="dim"))
    parts += [Text(f"refused: {line}", style="red") for line in final.refused]
    return Group(*parts)


def words(pictures: CalibrationSet) -> list[str]:
    """Say which pictures were used, one line each."""
    cameras = ", ".join(name or "without a name" for name in pictures.cameras)
    lines = [
        f"{pictures.found} pictures found: {len(pictures.calibrate)} calibrate, {len(pictures.held_out)} are held out "
        f"to judge, {pictures.duplicates} show what another shows, {len(pictures.skipped)} can't be used",
        f"cameras: {cameras}",
    ]
    return [*lines, *(f"skipped {line}" for line in pictures.skipped[:_SHOWN]), *(f"note: {n}" for n in pictures.notes)]


def trials_table(title: str, trials: Sequence[tuple[str, Trial]]) -> Table:
    """Return ways to quantise, one row each."""
    table = _table(title, "way")
    for name, trial in trials:
        table.add_row(name, str(trial.layers), *_figures(trial))
    return table


def sweep_table(suspects: Sequence[Suspect]) -> Table:
    """Return what each layer, or group that nothing was found in, does when it alone is INT8."""
    table = _table("Sweep, the worst first", "alone in INT8")
    for suspect in suspects[:_SHOWN]:
        table.add_row(suspect.trial.name, str(suspect.trial.layers), *_figures(suspect.trial))
    if len(suspects) > _SHOWN:
        table.add_row(f"and {len(suspects) - _SHOWN} more", *[""] * len(_HEADINGS))
    return table


def _table(title: str, first: str) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(first, overflow="fold")  # a layer's name that is cut off can't be left out by hand
    for heading in _HEADINGS:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def as_json(calibrated: Calibrated) -> dict[str, Any]:
    """Return the calibration as it goes into a build's report."""
    pictures, recipe = calibrated.pictures, calibrated.found.recipe
    return {
        "calibration_sha256": recipe.calibration_sha256,
        "calibrator": recipe.calibrator,
        "left_out": list(recipe.left_out),
        "layers": calibrated.layers,
        "pictures": {
            "found": pictures.found,
            "calibrate": len(pictures.calibrate),
            "held_out": len(pictures.held_out),
            "duplicates": pictures.duplicates,
            "skipped": list(pictures.skipped),
            "cameras": list(pictures.cameras),
            "notes": list(pictures.notes),
        },
        **recipe.figures,
        "final": figures_of_trial(calibrated.final),
    }


def _figures(trial: Trial) -> tuple[str, ...]:
    total = sum(row.reference for row in trial.classes)
    iou = min((row.iou_mean for row in trial.classes), default=1.0)
    score = max((row.score_mean for row in trial.classes), default=0.0)
    verdicts = trial.verdicts
    return (
        f"{trial.lost}/{total}",
        str(trial.invented),
        f"{iou:.3f}",
        f"{score:.3f}",
        "–" if verdicts is None else f"{verdicts.same}/{verdicts.pictures}",
        "–" if verdicts is None else str(verdicts.escapes),
        f"{trial.damage:.3f}",
    )
