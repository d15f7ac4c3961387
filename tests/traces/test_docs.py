"""docs/traces.md says what the code does."""

import json
import re

import msgspec
import pytest
import yaml

from app.background import NICENESS
from app.config.sections import TraceFile
from app.latency import trace_writer
from app.latency.gc_pauses import MIN_NS
from app.latency.trace_file import FrameTrace, Run, SystemEvent, decode_record, encode_record
from app.traces.coincidence import SLOW_CLOCK
from app.traces.tail import LEAST_SLOW, MAKES_THE_TAIL
from app.traces.timing import timing_of
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "traces.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```json\n(.*?)\n```", PAGE, re.DOTALL)
TABLES = {kind: text for kind, text in re.findall(r"^\| `type` \| `(\w+)` \|\n((?:\|.*\n)+)", PAGE, re.MULTILINE)}


@pytest.mark.parametrize("example", EXAMPLES, ids=["run", "frame", "event"])
def test_each_example_is_a_line_of_the_file_with_every_key(example: str) -> None:
    assert json.loads(encode_record(decode_record(example.encode()))) == json.loads(example)


@pytest.mark.parametrize(("kind", "record"), [("run", Run), ("frame", FrameTrace), ("event", SystemEvent)])
def test_each_table_has_the_keys_of_its_record(kind: str, record: type) -> None:
    listed = re.findall(r"^\| `(\w+)` \|", TABLES[kind], re.MULTILINE)
    assert listed == [field.encode_name for field in msgspec.structs.fields(record)]


def test_the_example_of_a_frame_is_one_that_adds_up() -> None:
    frame = decode_record(EXAMPLES[1].encode())
    timing = timing_of(frame)
    assert 0 < timing.total_ms < frame.budget_ms
    assert sum(timing.parts_ms.values()) == pytest.approx(timing.total_ms)


def test_the_section_shown_is_one() -> None:
    (shown,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert TraceFile(**yaml.safe_load(shown)["trace"]).path.endswith("trace.jsonl")


def test_the_bounds_told_are_the_real_ones() -> None:
    assert LEAST_SLOW == 5
    assert "five at least" in PAGE
    assert MAKES_THE_TAIL == 0.5
    assert "with half of it or more" in PAGE
    assert f"below {SLOW_CLOCK:.0%}".replace("%", " %") in PAGE
    assert f"collections of {MIN_NS / 1e6:g} ms and more" in PAGE
    assert f"{trace_writer.SHOWN_NS / 1e9:g} s after the broker's, or {trace_writer.SENT_NS / 1e9:g} s" in PAGE
    assert f"At most {trace_writer.MAX_WAITING:,} frames" in PAGE
    assert f"(nice {NICENESS})" in PAGE
