"""What the trials of a calibration gave, as JSON: kept with the recipe and written into a build's report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.building.int8.sweep import Suspect
from app.building.int8.trial import Trial


def figures_of(tried: Sequence[Trial], suspects: Sequence[Suspect], steps: Sequence[Trial]) -> dict[str, Any]:
    """Return the figures of all trials.

    Args:
        tried: the calibrators.
        suspects: the sweep.
        steps: layers left out.
    """
    return {
        "tried": [figures_of_trial(trial) for trial in tried],
        "sweep": [{"nodes": list(suspect.nodes), **figures_of_trial(suspect.trial)} for suspect in suspects],
        "steps": [figures_of_trial(trial) for trial in steps],
    }


def figures_of_trial(trial: Trial) -> dict[str, Any]:
    """Return the figures of one trial."""
    verdicts = trial.verdicts
    return {
        "name": trial.name,
        "int8_layers": trial.layers,
        "damage": round(trial.damage, 6),
        "lost": trial.lost,
        "invented": trial.invented,
        "classes": {
            row.name: {
                "reference": row.reference,
                "lost": row.lost,
                "invented": row.invented,
                "iou": round(row.iou_mean, 6),
                "score_difference": round(row.score_mean, 6),
            }
            for row in trial.classes
        },
        "verdicts": None
        if verdicts is None
        else {"pictures": verdicts.pictures, "same": verdicts.same, "escapes": verdicts.escapes},
        "refused": list(trial.refused),
    }
