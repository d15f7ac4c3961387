"""A configuration that has nothing wrong, and a way to check changed ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from app.check import Finding, check
from app.config import load

GOOD = """\
line: one
cameras:
  {name}:
    source: {source}
    model: covers
    {camera}
    judge: {judge}
models:
  covers:
    path: {model}
    {more}
mqtt: {mqtt}
"""
RULES = "{rules: [{forbid: hole}]}"


@pytest.fixture
def good(root: Path) -> Callable[..., str]:
    """Return a function that writes a configuration without faults, with some pieces replaced."""

    def write(**pieces: str) -> str:
        usual = {
            "name": "front",
            "source": "{kind: synthetic}",
            "judge": RULES,
            "model": str(root / "engines" / "covers_640.onnx"),
            "camera": "",
            "more": "",
            "mqtt": "{}",
        }
        return GOOD.format(**{**usual, **pieces})

    return write


@pytest.fixture
def found(tmp_path: Path) -> Callable[[str], list[tuple[str, str, str]]]:
    """Return a function that checks a text: level, place from the line number on, text."""

    def check_text(text: str) -> list[tuple[str, str, str]]:
        path = tmp_path / "line.yaml"
        path.write_text(text)
        findings = check(load(path, {}))
        assert all(isinstance(finding, Finding) and "\n" not in finding.text for finding in findings)
        return [(finding.level, finding.where.partition("line.yaml:")[2], finding.text) for finding in findings]

    return check_text
