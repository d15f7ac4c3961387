"""A recipe is taken again for the same model, pictures and preprocessing only."""

from pathlib import Path

import msgspec
import pytest

from app.building.int8.recipe import Recipe, load_recipe, recipe_path, save_recipe

MODEL, CALIBRATION, ASKED = "a" * 64, "c" * 64, "e" * 64
RECIPE = Recipe(
    model_sha256=MODEL,
    calibration_sha256=CALIBRATION,
    asked=ASKED,
    calibrator="entropy",
    ends={"images": 1.0},
    left_out=("first",),
    figures={"tried": []},
)


def test_what_was_kept_comes_back(tmp_path: Path) -> None:
    path = recipe_path(tmp_path / "new", "covers", MODEL, CALIBRATION)
    save_recipe(path, RECIPE)
    assert load_recipe(path, MODEL, CALIBRATION, ASKED) == RECIPE


def test_mdl_15_the_name_holds_the_model_and_the_calibration(tmp_path: Path) -> None:
    assert recipe_path(tmp_path, "covers", MODEL, CALIBRATION).name == f"covers-{'a' * 12}-{'c' * 12}.int8.json"


@pytest.mark.parametrize(
    ("model", "calibration", "asked"),
    [
        ("b" * 64, CALIBRATION, ASKED),  # another model
        (MODEL, "d" * 64, ASKED),  # other pictures or another preprocessing
        ("a" * 12 + "b" * 52, CALIBRATION, ASKED),  # another model whose hash begins alike
        (MODEL, CALIBRATION, "f" * 64),  # other limits
    ],
)
def test_mdl_15_a_recipe_of_another_model_or_calibration_is_not_taken(
    model: str, calibration: str, asked: str, tmp_path: Path
) -> None:
    path = tmp_path / "renamed.json"
    save_recipe(path, RECIPE)
    assert load_recipe(path, model, calibration, asked) is None


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"format": 1}', b"\xff\x00"])
def test_a_damaged_recipe_is_made_anew(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "recipe.json").write_bytes(content)
    assert load_recipe(tmp_path / "recipe.json", MODEL, CALIBRATION, ASKED) is None


def test_a_recipe_of_another_format_is_made_anew(tmp_path: Path) -> None:
    save_recipe(tmp_path / "recipe.json", msgspec.structs.replace(RECIPE, format=2))
    assert load_recipe(tmp_path / "recipe.json", MODEL, CALIBRATION, ASKED) is None
