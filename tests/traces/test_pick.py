"""Finding one frame."""

import re

import pytest

from app.errors import ConfigError
from app.latency.trace_reader import read_trace
from app.traces.pick import pick
from tests.traces.conftest import make_frame


@pytest.fixture
def log(write):
    frames = [make_frame(seq, inference=20.0 + seq) for seq in range(1, 12)]
    late = make_frame(5, inference=None, publish=None)
    passed = make_frame(99, inference=500.0, fate="skipped", verdict=None)
    return read_trace(write(late, *frames[:4], make_frame(5, inference=25.0, rev=2), *frames[5:], passed))


@pytest.mark.parametrize(
    ("wanted", "seq"),
    [
        ("run-front-000007", 7),  # its id
        ("front-000007", 7),  # a part of it
        ("0007", 7),
        ("slowest", 11),  # the slowest verdict, not the slowest frame that was passed over
        ("typical", 6),
        ("000099", 99),  # one that the gate passed over
    ],
)
def test_a_frame_is_found_by_what_a_person_would_type(log, wanted: str, seq: int) -> None:
    assert pick(log, wanted).seq == seq


def test_of_two_revisions_the_one_with_every_step_is_shown(log) -> None:
    assert pick(log, "000005").rev == 2


def test_part_of_several_ids_is_refused_with_some_of_them(log) -> None:
    with pytest.raises(ConfigError, match=re.escape("12 frames have 'front' in their id (run-front-000005, ")):
        pick(log, "front")


def test_an_id_that_is_not_there_is_refused_with_the_nearest(log) -> None:
    with pytest.raises(ConfigError, match=r"no frame has '000070' in its id; there are, for example, run-front-0000"):
        pick(log, "000070")


def test_a_file_without_a_verdict_has_no_slowest_one(write) -> None:
    log = read_trace(write(make_frame(1, fate="skipped", verdict=None)))
    with pytest.raises(ConfigError, match="no frame in it has a verdict, so none is slowest"):
        pick(log, "slowest")
