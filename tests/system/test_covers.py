"""The covers line through the whole product: every part judged right, exactly once."""

from dataclasses import replace

import pytest

from app.config import load
from app.verdict import Code
from tests.system.lines import CONFIGS, demo_line, run


@pytest.mark.parametrize(
    ("fps", "parts"),
    [
        (10.0, 48),  # all that there are, with the fewest looks at each
        (15.0, 12),
        (30.0, 12),  # as the demo
    ],
)
def test_every_part_of_the_moving_line_is_judged_right_and_once(
    fps: float, parts: int, covers_truth: list[dict]
) -> None:
    outcomes, product = run(demo_line(fps=fps, parts=parts, paced=False))
    right = [tile["verdict"] for tile in covers_truth[:parts]]
    assert [outcome.judgement.verdict.value for outcome in outcomes] == right
    assert [outcome.part for outcome in outcomes] == list(range(1, parts + 1))
    counts = product.ledger.counts("covers")
    assert counts.balanced
    assert (counts.judged, counts.overwritten, counts.failed, counts.waiting) == (parts, 0, 0, 0)


def test_every_tile_by_itself_is_judged_right(covers_truth: list[dict]) -> None:
    loaded = load(CONFIGS / "folder.yaml")
    config = loaded.config.model_copy(update={"mqtt": None, "jsonl": None, "evidence": None})
    outcomes, product = run(replace(loaded, config=config))
    said = {outcome.label: outcome.judgement.verdict.value for outcome in outcomes}
    assert said == {tile["file"]: tile["verdict"] for tile in covers_truth}
    assert product.ledger.counts("covers").judged == 48


def test_the_reason_names_what_is_wrong_and_where_it_is(covers_truth: list[dict]) -> None:
    outcomes, _ = run(demo_line(fps=15.0, parts=9, paced=False))
    for outcome, tile in zip(outcomes, covers_truth, strict=False):
        defects = {o["name"] for o in tile["objects"]} & {"hole", "brass", "scratch"}
        named = {r.text.split()[0] for r in outcome.judgement.reasons if r.code is Code.FORBIDDEN}
        assert named == defects
        for reason in outcome.judgement.reasons:
            assert reason.boxes, "the boxes that decided are named"


def test_every_result_carries_the_times_of_every_stage_that_ran() -> None:
    outcomes, product = run(demo_line(fps=15.0, parts=3, paced=False))
    for outcome in outcomes:
        columns = outcome.trace.columns_ms()
        ran = {name: spent for name, spent in columns.items() if spent is not None}
        assert set(ran) == {"capture", "wait", "preprocess", "inference", "postprocess", "network"}
        assert all(spent >= 0 for spent in ran.values())
        assert sum(ran.values()) == pytest.approx(outcome.trace.total_ms, rel=0.1), "no time is left out"
    rows = {row.column: row.percentiles.count for row in product.recorder.summary().rows}
    assert rows["inference"] == rows["total"] == 3
