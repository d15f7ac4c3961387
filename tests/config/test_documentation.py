"""docs/configuration.md: its examples do what it says."""

from __future__ import annotations

import re

import pytest

from app.config import load
from app.config.document import DEEPEST, MOST_BYTES, MOST_VALUES
from app.config.sections import Region
from app.errors import ConfigError


@pytest.fixture
def page(root):
    return (root / "docs" / "configuration.md").read_text()


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


def test_the_faults_shown_are_those_of_the_file_shown(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "line.yaml").write_text(blocks(page, "yaml")[0])
    with pytest.raises(ConfigError) as caught:
        load("line.yaml")
    assert f"{caught.value}\n" == blocks(page, "text")[0]


def test_the_forms_of_a_region_shown_mean_the_same(page, read, small):
    forms = blocks(page, "yaml")[1].splitlines()
    cameras = [small(camera=f"judge: {{regions: {{a: {{unit: pixels, {form}}}}}}}") for form in forms]
    regions = [read(text).config.cameras["front"].judge.regions["a"] for text in cameras]
    assert len(regions) == 4
    assert set(map(repr, regions)) == {repr(Region(unit="pixels", polygon=[(10.0, 20.0), (30.0, 40.0)]))}


def test_the_bounds_told_are_the_real_ones(page):
    assert f"at most {MOST_BYTES // 1024} KiB, {DEEPEST} levels" in page
    assert f"{MOST_VALUES:,} values" in page
