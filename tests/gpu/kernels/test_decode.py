"""The decode kernels against the heads: the same candidates from the same outputs, and never fewer doubts."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.decode.anchors import cell_count
from app.decode.base import Head
from app.decode.boxes import Plane
from app.decode.device_heads import device_head
from app.decode.end_to_end import EndToEnd
from app.decode.nms_in_graph import NmsInGraph
from app.decode.obb import Obb
from app.decode.segment import Segment
from app.decode.two_outputs import TwoOutputs
from app.decode.yolov5 import YoloV5
from app.decode.yolov7_rows import YoloV7Rows
from app.decode.yolov8 import YoloV8
from app.decode.yolox import YoloX
from app.errors import BadOutput
from app.gpu.kernels.decode_jobs import (
    BLOCK,
    CANDIDATE,
    CAPACITY,
    HEADER,
    JOB,
    NO_SAMPLE,
    RESET,
    RESULT,
    entry_point,
    grid,
)

WH = (96, 64)
PLANE, SHARES = Plane(WH), Plane(WH, normalised=True)
TOKEN = 77
CELLS = cell_count(WH)


@dataclass(frozen=True)
class Case:
    """A head, the shapes of its outputs, and what kind of number stands where in the last axis of each candidate."""

    head: Head
    shapes: dict[str, tuple[int, ...]]
    columns: str  # for each number: b box, s score, c class, m mask, a angle
    rows_last: bool = False
    unit: float = 90.0
    exact: bool = True


CASES = {
    "yolov8": Case(YoloV8("o", 5, PLANE), {"o": (2, 9, 130)}, "bbbbsssss", rows_last=True),
    # one row per candidate
    "yolov8 in rows": Case(YoloV8("o", 5, PLANE), {"o": (2, 130, 9)}, "bbbbsssss"),
    # as many candidates as channels: the file's axes say which is which
    "yolov8 square in rows": Case(YoloV8("o", 5, PLANE, rows=True), {"o": (2, 9, 9)}, "bbbbsssss"),
    # fractions of the input
    "yolov8 in shares": Case(YoloV8("o", 2, SHARES), {"o": (1, 6, 70)}, "bbbbss", rows_last=True, unit=1.0),
    # mask numbers are no scores
    "segment": Case(Segment("o", 3, 4, PLANE), {"o": (2, 11, 65)}, "bbbbsssmmmm", rows_last=True),
    "obb": Case(Obb("o", 3, PLANE), {"o": (1, 8, 65)}, "bbbbsssa", rows_last=True),
    "yolov5": Case(YoloV5("o", 4, PLANE), {"o": (2, 90, 9)}, "bbbbsssss"),
    # mask numbers after the classes
    "yolov5 with masks": Case(YoloV5("o", 4, PLANE, 3), {"o": (2, 90, 12)}, "bbbbsssssmmm"),
    "yolox": Case(YoloX("o", 4, WH), {"o": (2, CELLS, 9)}, "bbbbsssss", unit=1.5, exact=False),
    "end to end": Case(EndToEnd("o", PLANE, 100), {"o": (2, 100, 6)}, "bbbbsc"),
    # an open length, and masks that are not read
    "end to end, open": Case(EndToEnd("o", SHARES, None, 2), {"o": (1, 120, 8)}, "bbbbscmm", unit=1.0),
    # a handful of rows are all that was found
    "end to end, short": Case(EndToEnd("o", PLANE, None), {"o": (1, 7, 6)}, "bbbbsc"),
    "two outputs": Case(TwoOutputs("o", "p", 3, PLANE), {"o": (2, 40, 4), "p": (2, 40, 3)}, "bbbbsss"),
}


def numbers(case, random, most=1.0):
    """Outputs such as the network gives: boxes in their unit, scores up to `most`, whole class numbers."""
    shape = case.shapes["o"]
    rows = shape[2] if case.rows_last else shape[1]
    columns = {
        "b": lambda size: random.uniform(0, case.unit, size),
        "s": lambda size: random.choice([0, 0.25, 0.5, 1.0, 0.7, *random.uniform(0, 1, 20)], size) * most,
        "c": lambda size: random.integers(0, 80, size),
        "m": lambda size: random.normal(0, 9, size),
        "a": lambda size: random.uniform(-3, 3, size),
    }
    data = np.stack([columns[kind]((shape[0], rows)) for kind in case.columns], axis=2).astype(np.float32)
    if isinstance(case.head, EndToEnd | TwoOutputs):  # corners the right way round
        data[..., :4] = np.concatenate(
            [np.minimum(data[..., :2], data[..., 2:4]), np.maximum(data[..., :2], data[..., 2:4])], axis=2
        )
    return data


def outputs_of(case, data, dtype):
    """Candidates in rows as the network's outputs, each in one piece."""
    if "p" in case.shapes:
        parts = {"o": data[..., :4], "p": data[..., 4:]}
    else:
        parts = {"o": data.transpose(0, 2, 1) if case.rows_last else data}
    return {name: np.ascontiguousarray(part, dtype) for name, part in parts.items()}


def launch(kernels, case, outputs, min_score):
    """What the kernels find in every sample of the batch; None where the head has to look."""
    head = device_head(case.head, {name: array.shape for name, array in outputs.items()})
    samples = len(outputs["o"])
    jobs = np.array([head.job(sample, min_score, TOKEN) for sample in range(samples)], JOB)
    results = np.full(samples * RESULT.itemsize, 0xA5, np.uint8)  # what an earlier launch may have left
    kernels.launch(RESET, (1, samples, 1), (1, 1, 1), results, jobs)
    name = entry_point(head.kind, str(outputs["o"].dtype))
    arrays = outputs[head.boxes], outputs[head.scores]
    kernels.launch(name, grid(head.rows, samples), BLOCK, *arrays, results, jobs)
    return [head.candidates(result, TOKEN) for result in results.view(RESULT)]


def assert_same(found, expected, *, exact=True):
    np.testing.assert_array_equal(found.scores, expected.scores)
    np.testing.assert_array_equal(found.classes, expected.classes)
    np.testing.assert_allclose(found.xyxy, expected.xyxy, rtol=0 if exact else 1e-5, atol=0 if exact else 1e-4)
    assert (found.angles_rad is None) == (expected.angles_rad is None)
    if expected.angles_rad is not None:
        np.testing.assert_array_equal(found.angles_rad, expected.angles_rad)
    assert (found.final, found.saturated) == (expected.final, expected.saturated)
    for array in (found.xyxy, found.scores, found.classes):
        assert array.flags.c_contiguous


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("name", CASES)
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32 - 1), min_score=st.sampled_from([0.0, 0.25, 0.5, 0.9, 1.0]))
def test_the_kernels_find_what_the_head_finds(kernels, name, dtype, seed, min_score):
    case = CASES[name]
    outputs = outputs_of(case, numbers(case, np.random.default_rng(seed)), dtype)

    for sample, found in enumerate(launch(kernels, case, outputs, min_score)):
        expected = case.head.candidates(outputs, min_score, sample)
        assert_same(found, expected, exact=case.exact)


ODD = [np.nan, np.inf, -np.inf, -1.0, 1.5, 1.0009, -0.0009, -0.0, 2e6, -2e6, 0.5, 70000.0, 1e-40, 7.0]
# not a number; no ends; impossible; more than rounding; by rounding; minus zero; far away; no whole class; no class; tiny


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_odd_numbers_anywhere_are_refused_by_the_head_or_read_the_same(kernels, name, data, seed):
    """A kernel may leave a case to the head, but where the head refuses, the kernel may not answer."""
    case = CASES[name]
    rows = numbers(case, np.random.default_rng(seed))
    for _ in range(data.draw(st.integers(1, 3))):
        place = tuple(data.draw(st.integers(0, side - 1)) for side in rows.shape)
        rows[place] = data.draw(st.sampled_from(ODD))
    outputs = outputs_of(case, rows, "float32")

    for sample, found in enumerate(launch(kernels, case, outputs, 0.3)):
        try:
            expected = case.head.candidates(outputs, 0.3, sample)
        except BadOutput:
            assert found is None
            continue
        if found is not None:
            assert_same(found, expected, exact=case.exact)


# one number of an otherwise good output, and whether the head refuses it
FAULTS = [
    ("yolov8", (0, 60, 4), np.nan, True),  # a score under every threshold would be
    ("yolov8", (0, 60, 5), 1.5, True),
    ("yolov8", (0, 60, 1), np.inf, True),
    ("yolov8", (0, 60, 6), 1.0005, False),  # rounding of half precision
    ("yolov5", (0, 60, 4), -0.5, True),  # objectness
    ("yolox", (0, 60, 2), 9.0, True),  # e^9 cells wide
    ("end to end", (0, 60, 5), 3.5, True),  # no class
    ("end to end", (0, 60, 2), -50.0, True),  # inside out
    ("obb", (0, 60, 7), 99.0, True),  # degrees
]


@pytest.mark.parametrize(("name", "place", "value", "is_refused"), FAULTS)
def test_one_bad_number_sends_the_sample_to_the_head_and_a_rounded_one_does_not(
    kernels, name, place, value, is_refused
):
    case = CASES[name]
    rows = numbers(case, np.random.default_rng(3))
    rows[..., [column for column, kind in enumerate(case.columns) if kind == "s"]] = 0.9  # every row is a candidate
    rows[place] = value
    found = launch(kernels, case, outputs_of(case, rows, "float32"), 0.25)

    assert (found[0] is None) is is_refused
    assert all(other is not None for other in found[1:])  # the batch's other samples are none the worse


def test_a_score_a_little_over_one_is_one(kernels):
    case = CASES["yolov8"]
    rows = numbers(case, np.random.default_rng(3))
    rows[0, 60, 6] = 1.0005
    (found, _) = launch(kernels, case, outputs_of(case, rows, "float32"), 0.99)

    assert found.scores.max() == 1


@pytest.mark.parametrize("beside", [0.0, -0.0, -1e-40])
def test_a_minus_zero_beside_it_does_not_hide_a_box_that_is_far_away(kernels, beside):
    """Its bits are larger than those of every number, and the largest is found by its bits."""
    case = CASES["yolov8 in shares"]
    rows = numbers(case, np.random.default_rng(3))
    rows[..., [column for column, kind in enumerate(case.columns) if kind == "s"]] = 0.9
    rows[0, 60, :2] = beside, 70000.0

    (found, *_) = launch(kernels, case, outputs_of(case, rows, "float32"), 0.25)

    assert found is None


def test_boxes_in_the_other_unit_are_left_to_the_head(kernels):
    case = CASES["yolov8"]
    rows = numbers(case, np.random.default_rng(3))
    rows[..., :4] /= 90

    assert launch(kernels, case, outputs_of(case, rows, "float32"), 0.25) == [None, None]


def test_more_candidates_than_fit_are_left_to_the_head_and_a_full_house_is_not(kernels):
    case = Case(YoloV8("o", 1, PLANE), {"o": (1, 5, CAPACITY + 1)}, "bbbbs", rows_last=True)
    rows = numbers(case, np.random.default_rng(3))
    rows[..., 4] = 0.9
    outputs = outputs_of(case, rows, "float32")
    assert launch(kernels, case, outputs, 0.25) == [None]

    outputs["o"][0, 4, 17] = 0.1
    (found,) = launch(kernels, case, outputs, 0.25)
    assert len(found.scores) == CAPACITY
    assert_same(found, case.head.candidates(outputs, 0.25))


def test_the_count_says_how_many_there_were(kernels):
    case = Case(YoloV8("o", 1, PLANE), {"o": (1, 5, 3000)}, "bbbbs", rows_last=True)
    rows = numbers(case, np.random.default_rng(3))
    rows[..., 4] = 0.9
    outputs = outputs_of(case, rows, "float32")
    head = device_head(case.head, {"o": outputs["o"].shape})
    jobs, results = np.array([head.job(0, 0.25, TOKEN)], JOB), np.zeros(1, RESULT)

    kernels.launch("decode_scores_float32", grid(3000, 1), BLOCK, outputs["o"], outputs["o"], results, jobs)

    assert results["header"]["count"] == [3000]


def test_results_of_an_earlier_launch_are_not_taken_for_this_one_s(kernels):
    case = CASES["yolov8"]
    outputs = outputs_of(case, numbers(case, np.random.default_rng(3)), "float32")
    head = device_head(case.head, {"o": outputs["o"].shape})
    jobs, results = np.array([head.job(0, 0.25, TOKEN)], JOB), np.zeros(1, RESULT)
    kernels.launch(RESET, (1, 1, 1), (1, 1, 1), results, jobs)
    kernels.launch("decode_scores_float32", grid(130, 1), BLOCK, outputs["o"], outputs["o"], results, jobs)

    assert head.candidates(results[0], TOKEN) is not None
    assert head.candidates(results[0], TOKEN + 1) is None


def test_candidates_come_in_the_order_of_their_rows_whichever_thread_was_first(kernels):
    case = CASES["yolov8"]
    outputs = outputs_of(case, numbers(case, np.random.default_rng(3)), "float32")
    head = device_head(case.head, {"o": outputs["o"].shape})
    jobs, results = np.array([head.job(0, 0.25, TOKEN)], JOB), np.zeros(1, RESULT)
    kernels.launch(RESET, (1, 1, 1), (1, 1, 1), results, jobs)
    kernels.launch("decode_scores_float32", grid(130, 1), BLOCK, outputs["o"], outputs["o"], results, jobs)
    count = results["header"]["count"][0]
    np.random.default_rng(4).shuffle(results["candidates"][0][:count])

    assert_same(head.candidates(results[0], TOKEN), case.head.candidates(outputs, 0.25))


def test_a_job_without_a_sample_writes_nothing(kernels):
    case = CASES["yolov8"]
    outputs = outputs_of(case, numbers(case, np.random.default_rng(3)), "float32")
    jobs, results = np.zeros(1, JOB), np.full(RESULT.itemsize, 99, np.uint8)
    jobs["sample"], jobs["rows"], jobs["capacity"] = NO_SAMPLE, 130, CAPACITY

    kernels.launch(RESET, (1, 1, 1), (1, 1, 1), results, jobs)
    kernels.launch("decode_scores_float32", grid(130, 1), BLOCK, outputs["o"], outputs["o"], results, jobs)

    assert (results == 99).all()


# heads of few rows, which come back whole, and tensors that the head itself will refuse
WITHOUT = [
    (YoloV7Rows("o", PLANE), {"o": (20, 7)}),
    (NmsInGraph("b", "s", "c", None, PLANE, 100), {"b": (1, 100, 4), "s": (1, 100), "c": (1, 100)}),
    (YoloV8("o", 5, PLANE), {"o": (1, 10, 130)}),
    (YoloV8("o", 5, PLANE, rows=False), {"o": (1, 130, 9)}),
    (YoloV5("o", 4, PLANE), {"o": (1, 90, 10)}),
    (YoloX("o", 4, WH), {"o": (1, CELLS + 1, 9)}),
    (EndToEnd("o", PLANE, 100), {"o": (1, 100, 7)}),
    (TwoOutputs("o", "p", 3, PLANE), {"o": (1, 40, 4), "p": (1, 41, 3)}),
]


@pytest.mark.parametrize(("head", "shapes"), WITHOUT, ids=lambda value: type(value).__name__)
def test_what_no_kernel_reads_is_left_to_the_host(head, shapes):
    assert device_head(head, shapes) is None


def test_records_are_as_long_as_the_kernels_take_them():
    assert (JOB.itemsize, HEADER.itemsize, CANDIDATE.itemsize) == (88, 32, 32)
    assert RESULT.itemsize == 32 + CAPACITY * 32
