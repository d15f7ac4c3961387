"""The bench of late verdicts: its sums, and one short run."""

from __future__ import annotations

import pytest

from app.bench.lateness import Load, exactness, loads, measure, table


def test_what_is_summed_up_is_by_nearest_rank_and_before_the_deadline_is_in_time():
    late_ms = [*(-1.0 for _ in range(995)), *(2.0 for _ in range(4)), 9.0]
    found = exactness("a load", late_ms, 3.0, [0.5] * 100)
    assert (found.frames, found.in_time) == (1000, 99.5)
    assert (found.p50_ms, found.p99_ms, found.p999_ms, found.max_ms) == (-1.0, -1.0, 2.0, 9.0)
    assert (found.lead_ms, found.bare_p99_ms, found.bare_p999_ms) == (3.0, 0.5, 0.5)


def test_it_is_measured_with_and_without_the_real_time_class_and_with_every_core_burning():
    assert [(load.works, load.burners, load.realtime) for load in loads(2)] == [
        (False, 0, True),
        (True, 0, True),
        (True, 2, True),
        (True, 0, False),
        (True, 2, False),
    ]


@pytest.mark.broker
def test_a_short_run_measures_frames_that_were_late_while_the_engine_hung():
    found = measure(Load("short", works=False, burners=0), 20)
    assert found.frames >= 10
    assert found.p50_ms >= -25.0, "never more than a quarter of the budget early"
    assert table([found]).row_count == 1
