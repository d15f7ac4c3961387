"""What a calibration found, kept in a file: valid for one model, one set of pictures and one way to prepare them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from app.inference.atomic import write_atomically

FORMAT = 1
"""Of the file; another one is made anew, not guessed at."""


class Recipe(msgspec.Struct, frozen=True, kw_only=True):
    """How to quantise one model.

    Attributes:
        model_sha256: of the ONNX file.
        calibration_sha256: of the pictures and the way they were prepared.
        asked: what might differ from the FP32 model when the layers were chosen.
        calibrator: the name of the threshold that was best.
        ends: where each tensor's symmetric range ends.
        left_out: layers that stay in floating point.
        figures: what the trials gave, for the report.
    """

    format: int = FORMAT
    model_sha256: str
    calibration_sha256: str
    asked: str
    calibrator: str
    ends: dict[str, float]
    left_out: tuple[str, ...]
    figures: dict[str, Any] = {}


def recipe_path(folder: Path, model: str, model_sha256: str, calibration_sha256: str) -> Path:
    """Return where a recipe is kept: its name holds what it is valid for, so that none can be taken for another's."""
    return folder / f"{model}-{model_sha256[:12]}-{calibration_sha256[:12]}.int8.json"


def load_recipe(path: Path, model_sha256: str, calibration_sha256: str, asked: str) -> Recipe | None:
    """Return a recipe; None where there is none, or not for this model, this calibration and these limits."""
    try:
        recipe = msgspec.json.decode(path.read_bytes(), type=Recipe)
    except (OSError, msgspec.DecodeError):
        return None
    found = (recipe.format, recipe.model_sha256, recipe.calibration_sha256, recipe.asked)
    return recipe if found == (FORMAT, model_sha256, calibration_sha256, asked) else None


def save_recipe(path: Path, recipe: Recipe) -> None:
    """Keep a recipe.

    Raises:
        OSError: the folder can't be written to.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, msgspec.json.format(msgspec.json.encode(recipe), indent=1))
