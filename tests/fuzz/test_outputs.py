"""Whatever a network answers: boxes and a verdict that rests on them, or a refusal; never OK for numbers that can't be."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from app.config.sections import CountRule, ForbidRule, Region, RequireRule
from app.config.sections import Judge as Section
from app.detections import Detections
from app.errors import BadOutput
from app.judge import Judge
from app.publish.build import result_of
from app.publish.draw import annotate
from app.publish.message import decode, encode
from app.trace import Trace
from app.verdict import Outcome, Verdict
from tests.contracts.test_head import EXPORTS, NAMES, PICTURE_WH, Export
from tests.fuzz.hunt import Draw, hunt

HOSTILE = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    0.9,
    1e-45,
    94.0,
    1e9,
    -1e9,
    3e38,
    -3e38,
    np.inf,
    -np.inf,
    np.nan,
    2.0**31,
    2.0**63,
    320.0,
]
JUDGE = Judge(
    Section(
        rules=[
            CountRule(count="thing 1", min=0, max=3, region="half"),
            ForbidRule(forbid="thing 2", min_area_px=10),
            RequireRule(require="thing 17", otherwise="UNKNOWN"),
        ],
        regions={"half": Region(unit="fraction", polygon=[(0, 0), (0.5, 0), (0.5, 1), (0, 1)])},
    ),
    NAMES,
)
IMAGE = np.zeros((PICTURE_WH[1] // 4, PICTURE_WH[0] // 4, 3), np.uint8)


def _values(array: np.ndarray, draw: Draw) -> np.ndarray:
    """Write a few hostile numbers, half of them beside those that make a box."""
    changed = array.copy().reshape(-1)
    with np.errstate(over="ignore", invalid="ignore"):
        numbers = np.asarray(HOSTILE, np.float64).astype(array.dtype)
    interesting = np.flatnonzero(changed)
    for _ in range(draw(st.integers(1, 12))):
        near = len(interesting) and draw(st.booleans())
        at = (
            int(interesting[draw(st.integers(0, len(interesting) - 1))])
            if near
            else draw(st.integers(0, changed.size - 1))
        )
        changed[at] = numbers[draw(st.integers(0, len(numbers) - 1))]
    return changed.reshape(array.shape)


def _everywhere(array: np.ndarray, draw: Draw) -> np.ndarray:
    """Fill it with one number, or with noise of one size."""
    number = HOSTILE[draw(st.integers(0, len(HOSTILE) - 1))]
    with np.errstate(over="ignore", invalid="ignore"):
        if draw(st.booleans()):
            return np.full(array.shape, number, np.float64).astype(array.dtype)
        noise = np.random.default_rng(draw(st.integers(0, 1 << 30))).standard_normal(array.shape)
        return (noise * number).astype(array.dtype)


def _shape(array: np.ndarray, draw: Draw) -> np.ndarray:
    """Give it another shape, or none."""
    shapes: list[Callable[[], np.ndarray]] = [
        lambda: np.ascontiguousarray(array.T),
        lambda: array.reshape(-1),
        lambda: array[..., : draw(st.integers(0, array.shape[-1]))],
        lambda: array[:0],
        lambda: np.asarray(array.reshape(-1)[0]),
        lambda: array[None],
        lambda: np.concatenate([array, array], axis=-1),
    ]
    return draw(st.sampled_from(shapes))()


def _kind(array: np.ndarray, draw: Draw) -> np.ndarray:
    """Give it another type of numbers."""
    with np.errstate(over="ignore", invalid="ignore"):
        return array.astype(draw(st.sampled_from(["float16", "float64", "int64", "uint8", "int8", "bool"])))


CHANGES: list[Callable[[np.ndarray, Draw], np.ndarray]] = [_values, _values, _values, _everywhere, _shape, _kind]


@st.composite
def answers(draw: Draw) -> tuple[Export, dict[str, np.ndarray]]:
    """What a network might answer, with its head."""
    export = EXPORTS[draw(st.sampled_from(sorted(EXPORTS)))]
    outputs: dict[str, Any] = dict(export.outputs)
    for _ in range(draw(st.integers(1, 3))):
        name = draw(st.sampled_from(sorted(outputs)))
        if outputs[name].size and outputs[name].ndim:
            outputs[name] = draw(st.sampled_from(CHANGES))(outputs[name], draw)
    if draw(st.integers(0, 30)) == 0:
        del outputs[draw(st.sampled_from(sorted(outputs)))]
    return export, outputs


def published(found: Detections) -> Verdict:
    """Judge, draw and publish what was found; return the verdict that arrives."""
    judgement = JUDGE.judge(found, PICTURE_WH)
    now_ns = time.monotonic_ns()
    trace = Trace("t", now_ns)
    outcome = Outcome(
        trace_id="t",
        camera="top",
        seq=1,
        judgement=judgement,
        size_wh=PICTURE_WH,
        detections=found,
        trace=trace,
        budget_ms=100.0,
        captured_utc_ns=0,
    )
    annotate(outcome, IMAGE)
    arrived = decode(encode(result_of(outcome, "l")))
    assert arrived == decode(encode(result_of(outcome, "l"), "msgpack"))
    return arrived.verdict


def check(case: tuple[Export, dict[str, np.ndarray]]) -> str:
    export, outputs = case
    kept = {name: array.copy() for name, array in outputs.items()}
    try:
        found = export.run(outputs)
    except BadOutput:
        return "refused"
    for name, array in outputs.items():
        np.testing.assert_array_equal(array, kept[name])
    assert np.isfinite(found.scores).all()
    assert ((found.scores > 0) & (found.scores <= 1)).all()
    assert (np.diff(found.scores) <= 0).all(), "best first"
    assert np.isfinite(found.xyxy).all()
    verdict = published(found)
    assert not (len(found) == 0 and verdict is Verdict.OK), "nothing was found, and a thing is required"
    return verdict.value


def test_any_answer_of_a_network_is_judged_or_refused():
    words = hunt("model outputs: decode, judge, publish", answers(), check, usual=100)
    assert words["refused"] > 0


FLOATS = st.sampled_from(HOSTILE) | st.floats(width=32)


@st.composite
def detections(draw: Draw) -> Detections:
    """What no head would give: the judge and the message rely on nobody."""
    count = draw(st.integers(0, 6))
    boxes = draw(st.lists(FLOATS, min_size=4 * count, max_size=4 * count))
    scores = draw(st.lists(FLOATS, min_size=count, max_size=count))
    classes = draw(st.lists(st.integers(-3, 100), min_size=count, max_size=count))
    with np.errstate(over="ignore"):
        return Detections(
            np.asarray(boxes, np.float32).reshape(-1, 4),
            np.asarray(scores, np.float32),
            np.asarray(classes, np.int64),
            NAMES,
        )


def test_any_boxes_are_judged_and_published_and_never_ok_if_they_cannot_be():
    def judged(found: Detections) -> str:
        verdict = published(found)
        is_sound = np.isfinite(found.xyxy).all() and np.isfinite(found.scores).all()
        assert is_sound or verdict is not Verdict.OK
        return verdict.value

    words = hunt("boxes: judge, draw, publish", detections(), judged)
    assert words["UNKNOWN"] > 0
