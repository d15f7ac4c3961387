"""The end of a trace file."""

import pytest

from app.errors import ConfigError
from app.latency.trace_reader import read_trace
from app.traces.window import last_seconds
from tests.traces.conftest import MS, PERIOD_MS, event, make_frame


@pytest.fixture
def log(write):
    at_ns = 90 * PERIOD_MS * MS
    return read_trace(
        write(*(make_frame(seq) for seq in range(1, 101)), event("gc", at_ns - 1, at_ns), event("gc", 0, 1))
    )


def test_the_last_seconds_are_those_before_the_last_exposure(log) -> None:
    end = last_seconds(log, 10 * PERIOD_MS / 1e3)
    assert [frame.seq for frame in end.frames] == [*range(90, 101)]
    assert len(end.events) == 1, "one that reached into them"
    assert end.runs == log.runs


@pytest.mark.parametrize("seconds", [0, 3600])
def test_nothing_and_more_than_there_is_are_all_of_it(log, seconds: float) -> None:
    assert last_seconds(log, seconds) == log


def test_a_time_before_the_beginning_is_refused(log) -> None:
    with pytest.raises(ConfigError, match="--last -1: is before the end"):
        last_seconds(log, -1)
