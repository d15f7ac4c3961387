"""The section `refine`: what it refuses, and with which words."""

import pytest
from pydantic import ValidationError

from app.config import load
from app.config.sections import Refine
from app.errors import ConfigError

LINE = """
line: a
cameras:
  front:
    source: {{kind: images, path: pictures}}
    model: covers
    refine: {refine}
    judge:
      regions: {{left: {{unit: fraction, polygon: [[0, 0], [0.5, 1]]}}}}
models:
  covers: {{path: covers.onnx}}
"""


@pytest.mark.parametrize(
    ("refine", "fault"),
    [
        ("{model: cover}", "cameras.front.refine.model: there is no model `cover`; did you mean `covers`?"),
        ("{regions: [lift]}", r"cameras.front.refine.regions\[0\]: there is no region `lift`; did you mean `left`?"),
        ("{uncertain: [0.5, 0.2]}", r"refine.uncertain: .*\[low, high\] with low below high"),
        ("{overlap: 1}", "refine.overlap: must be 0.9 or less"),
        ("{tile: 3}", "refine.tile: unknown key"),
        (
            "{coarse_first: true, required: true}",
            "refine.coarse_first: the first look would say OK before the required second one; remove one of the two",
        ),
        ("{coarse_first: true}\n    gate: {class: a}", "refine.coarse_first: with a gate the first look has no part"),
    ],
)
def test_faults_say_where_and_what(tmp_path, refine, fault):
    (tmp_path / "line.yaml").write_text(LINE.format(refine=refine))
    with pytest.raises(ConfigError, match=fault):
        load(tmp_path / "line.yaml")


def test_mode_regions_needs_a_region(tmp_path):
    text = LINE.format(refine="{mode: regions}")
    (tmp_path / "line.yaml").write_text(text)
    assert load(tmp_path / "line.yaml").config.cameras["front"].refine.mode == "regions"
    (tmp_path / "line.yaml").write_text(text[: text.index("    judge")] + text[text.index("models") :])
    with pytest.raises(ConfigError, match=r"refine\.mode: the camera has no regions; add judge\.regions, or use"):
        load(tmp_path / "line.yaml")


def test_there_is_no_second_look_unless_asked_for(tmp_path):
    (tmp_path / "line.yaml").write_text(LINE.format(refine="null"))
    assert load(tmp_path / "line.yaml").config.cameras["front"].refine is None


def test_section_is_frozen():
    with pytest.raises(ValidationError, match="frozen"):
        Refine().overlap = 0.5
