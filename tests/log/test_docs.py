"""docs/logging.md says what the code does."""

import json
import re

import yaml

from app.config.sections import Log
from app.log.frames import FrameLog
from app.log.render import Renderer
from app.log.waiting import DETAIL_SHARE, INFO_SHARE, Waiting
from app.verdict import Verdict
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "logging.md").read_text(encoding="utf-8")


def test_the_example_has_the_keys_of_a_real_line_in_their_order(outcome_of) -> None:
    waiting = Waiting(100)
    FrameLog(waiting, 1.0).judged(outcome_of(Verdict.NG, part=12))
    (line,) = waiting.take(1)
    real = json.loads(Renderer(str, as_json=True)(line))
    example = json.loads(re.search(r"```json\n(.*?)```", PAGE, re.DOTALL)[1])
    assert list(example) == list(real)


def test_the_keys_of_the_section_are_all_there_with_their_defaults() -> None:
    shown = yaml.safe_load(re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[1])["log"]
    assert shown == Log().model_dump()


def test_the_shares_of_the_queue_are_those_of_the_code() -> None:
    assert f"| less than {DETAIL_SHARE:.0%}".replace("%", " %") in PAGE
    assert f"| {DETAIL_SHARE:.0%} … {INFO_SHARE:.0%}".replace("50%", "50").replace("75%", "75 %") in PAGE
