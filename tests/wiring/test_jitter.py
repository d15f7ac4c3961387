"""A camera's jitter buffer as it is wired: for network cameras only, within the budget, and told of."""

import logging

import pytest

from app.config.sections import StreamSource, SyntheticSource
from app.wiring.jitter import build_jitter

MS = 1_000_000


def bursts(buffer, count: int) -> None:
    for number in range(count):
        buffer.add(number // 3 * 60 * MS + number % 3 * MS)


@pytest.mark.parametrize(
    ("source", "budget_ms", "wait_ms"),
    [
        (StreamSource(kind="stream", url="rtsp://c/x"), 1000.0, 51),
        (StreamSource(kind="stream", url="rtsp://c/x"), 100.0, 25),  # a quarter of the budget at most
        (StreamSource(kind="stream", url="rtsp://c/x", jitter_buffer="off"), 1000.0, 0),
        (StreamSource(kind="stream", url="rtsp://c/x", jitter_buffer=10.0), 1000.0, 10),
        (SyntheticSource(kind="synthetic"), 1000.0, 0),  # no network lies between
    ],
)
def test_pictures_may_wait_as_the_source_and_the_budget_say(source, budget_ms, wait_ms) -> None:
    buffer = build_jitter("front", source, budget_ms, lambda *_, **__: None)
    bursts(buffer, 300)
    assert buffer.wait_ns() / MS == pytest.approx(wait_ms, abs=4)


def test_beginning_and_end_are_an_event_and_a_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    told = []
    source = StreamSource(kind="stream", url="rtsp://c/x")
    buffer = build_jitter("front", source, 1000.0, lambda *said, **data: told.append((said, data)))
    with caplog.at_level(logging.INFO):
        bursts(buffer, 300)
        buffer.full(0)
    begin, end = told
    assert begin[0][:2] == end[0][:2] == ("front", "link")
    assert begin[1]["wait_ms"] > 0
    assert end[1]["wait_ms"] == 0
    assert "newest picture wins again" in end[0][2]
    assert len(caplog.records) == 2
