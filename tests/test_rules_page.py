"""The examples of docs/rules.md do what the page says."""

import re

import numpy as np
import pytest
import yaml

from app.config.sections import Judge as Section
from app.debounce import Debounce
from app.detections import Detections
from app.judge import Judge
from app.verdict import Verdict
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
NAMES = ("cover", "screw", "scratch", "brass")
EXAMPLES = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if re.match(r"\| .* \| (OK|NG|UNKNOWN) \|", line)
]
SERIES = re.findall(r"^raw +(.+)\nsteady +(.+)$", PAGE, re.MULTILINE)


def detections(text):
    """Read '4 screw, 1 scratch, capped' as boxes, ten times ten pixels each, side by side."""
    words = [word.split() for word in text.split(", ")]
    names = [name for *n, name in words if name in NAMES for _ in range(int(n[0]) if n else 1)]
    left = np.arange(len(names), dtype=np.float32) * 20 + 500
    xyxy = np.stack([left, left, left + 10, left + 10], axis=1)
    classes = np.asarray([NAMES.index(name) for name in names], np.int64)
    return Detections(xyxy, np.full(len(names), 0.9, np.float32), classes, NAMES, saturated="capped" in text)


@pytest.mark.parametrize(("shown", "verdict", "reason"), EXAMPLES)
def test_the_rules_of_the_page_judge_as_its_table_says(shown, verdict, reason):
    (block,) = re.findall(r"```yaml\n(.+?)```", PAGE, re.DOTALL)
    judge = Judge(Section.model_validate(yaml.safe_load(block)), NAMES)
    judgement = judge.judge(detections(shown), (960, 720))
    assert judgement.verdict == verdict
    assert [found.code.value for found in judgement.reasons][:1] == ([reason] if reason else [])


@pytest.mark.parametrize(("raw", "steady"), SERIES)
def test_roi_07_the_series_of_the_page_are_the_debounced_ones(raw, steady):
    debounce, found = Debounce(3), []
    for index, word in enumerate(raw.split()):
        if word != "-":
            debounce.see(Verdict(word), index)
        found.append("-" if debounce.verdict is None else debounce.verdict.value)
    assert found == steady.split()


def test_the_page_has_the_examples_that_are_tested():
    assert len(EXAMPLES) == 9
    assert len(SERIES) == 4
