"""What wiring a network says of it."""

import logging
from pathlib import Path

import pytest

from app.config import sections
from app.wiring.models import build_model


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (["cover", "screw", "hole", "brass"], "there are 4 and the output has 5 class channels"),
        (["cover", "screw", "hole", "brass", "scratch"], ""),
    ],
)
def test_mdl_08_a_number_of_names_that_is_not_the_models_is_said_when_it_is_started(
    names: list[str], says: str, root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    section = sections.Model(path=str(root / "engines" / "covers_640.onnx"), names=names)
    with caplog.at_level(logging.WARNING, logger="app.wiring.models"):
        model = build_model("covers", section)
    assert says in caplog.text
    assert bool(says) is bool(caplog.records)
    assert len(model.names) == 5
