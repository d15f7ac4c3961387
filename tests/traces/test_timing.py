"""One frame's time, split over the stages."""

import pytest

from app.latency.trace_file import Span
from app.publish.message import Result, Stages
from app.traces.timing import PARTS, timing_of, timing_of_result, timings_of, went_whole_way
from app.verdict import Verdict
from tests.traces.conftest import MS, make_frame


def test_the_parts_add_up_to_the_total_which_ends_at_the_broker() -> None:
    timing = timing_of(make_frame(1, gap_ms=7))
    assert timing.total_ms == pytest.approx(4 + 0.2 + 0.5 + 2 + 20 + 0.7 + 7 + 0.3 + 0.6 + 2)
    assert sum(timing.parts_ms.values()) == pytest.approx(timing.total_ms)
    assert timing.parts_ms["between"] == pytest.approx(7)
    assert timing.parts_ms["capture"] == pytest.approx(4.2)
    assert timing.parts_ms["wait"] == pytest.approx(0.8)
    assert timing.shown_ms == pytest.approx(1)


def test_a_short_step_inside_a_long_one_opens_no_gap() -> None:
    at_ns = make_frame(1).exposed_ns
    bounds_ms = {"inference": (0, 30), "decode": (5, 10), "judge": (35, 40)}
    spans = [
        Span(step, "inspect", at_ns + began * MS, at_ns + ended * MS) for step, (began, ended) in bounds_ms.items()
    ]
    assert timing_of(make_frame(1, spans=spans)).parts_ms["between"] == 5


def test_a_step_of_a_later_version_counts_as_between() -> None:
    frame = make_frame(1)
    last = frame.spans[-1].ended_ns
    spans = [*frame.spans[:-1], Span("novelty", "inspect", last - 1_000_000, last + 2_000_000)]
    assert timing_of(make_frame(1, spans=spans)).parts_ms["between"] == pytest.approx(3)


def test_a_frame_without_any_step_took_no_time() -> None:
    timing = timing_of(make_frame(1, spans=[]))
    assert (timing.total_ms, set(timing.parts_ms.values()), timing.shown_ms) == (0, {0.0}, None)


def test_of_two_revisions_the_last_one_counts_and_passed_over_frames_do_not() -> None:
    late = make_frame(1, inference=None, publish=None, present=None)
    real = make_frame(1, inference=200, rev=2, late=True)
    passed = make_frame(2, fate="skipped", verdict=None)
    for frames in ([late, real, passed], [real, late, passed]):
        (timing,) = timings_of(frames)
        assert timing.late
        assert timing.parts_ms["inference"] == 200


def test_frames_that_no_engine_saw_have_nothing_to_compare() -> None:
    seen, late = timing_of(make_frame(1)), timing_of(make_frame(2, inference=None))
    assert went_whole_way([seen, late]) == [seen]
    assert went_whole_way([late]) == [late]


def result(total_ms: float | None) -> Result:
    return Result(
        id="a", trace_id="t", line="l", camera="c", seq=1, rev=1, verdict=Verdict.NG, reasons=[], part=3, label="",
        width=1, height=1, detections=[], region=None,
        stages_ms=Stages(capture=4.0, wait=1.0, preprocess=2.0, inference=20.0, postprocess=3.0),
        total_ms=total_ms, budget_ms=100.0, skipped=[], captured_utc="", clock="ok", late=True, level="full", looked=[], model="", config="",
        invalid_fields=[], truncated=False,
    )  # fmt: skip


def test_a_published_result_gives_its_time_but_not_its_way_to_the_broker() -> None:
    timing = timing_of_result(result(32.0), arrived_ns=1_000_000_000)
    assert timing is not None
    assert set(timing.parts_ms) == set(PARTS)
    assert (timing.parts_ms["inference"], timing.parts_ms["network"], timing.parts_ms["between"]) == (20.0, 0.0, 2.0)
    assert (timing.name, timing.verdict, timing.total_ms) == ("part 3", "NG", 32.0)
    assert timing.late


def test_a_result_that_says_nothing_of_its_time_is_left_out() -> None:
    assert timing_of_result(result(None), arrived_ns=0) is None
