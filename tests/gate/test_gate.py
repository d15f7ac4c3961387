"""One verdict per part of a moving line, on the true boxes of the covers line moved by a belt."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.config.sections import Gate as Section
from app.detections import Detections
from app.gate import Gate

NAMES = ("cover", "screw")
SIZE = (960, 720)
TILE = 960
EDGE = 8.0
COVERS = Section.model_validate({"class": "cover"})
TRUTH = json.loads((Path(__file__).parents[2] / "samples/covers/truth.json").read_text())
TILES = [next(part["bbox_xyxy"] for part in photo["objects"] if part["name"] == "cover") for photo in TRUTH["photos"]]


@dataclass(frozen=True)
class Shot:
    """One picture of the line: where each part is (part number → box), and what a detector says of it."""

    exposed_ns: int
    truth: dict
    detections: Detections


def boxes(rows):
    rows = sorted(rows, key=lambda row: -row[1])
    return Detections(
        np.asarray([box for box, _ in rows], np.float32).reshape(-1, 4),
        np.asarray([score for _, score in rows], np.float32),
        np.zeros(len(rows), np.int64),
        NAMES,
    )


def clean(rng, box):
    return [(box, 0.9)]


def doubtful(rng, box):
    """Boxes as a small network gives them: too small by up to 90 px a side, unsteady, often a second one, often cut."""
    x1, y1, x2, y2 = box
    left, right = rng.uniform(50, 90, 2)
    rows = [((x1 + left, y1, x2 - right, y2), rng.uniform(0.5, 0.9))]
    if rng.random() < 0.4:
        left, right = rng.uniform(20, 150, 2)
        rows.append(((x1 + left, y1 + 5, x2 - right, y2 - 5), rng.uniform(0.3, 0.5)))
    return rows


def shot(belt_px, exposed_ns, *, see, rng, mirrored):
    """Picture the belt with the left edge of the window at `belt_px`, parts coming in from the right."""
    truth, rows = {}, []
    for part in range(int(belt_px // TILE) - 1, int(belt_px // TILE) + 3):
        x1, y1, x2, y2 = TILES[part % len(TILES)]
        offset = part * TILE - belt_px
        if x2 + offset < 0 or x1 + offset > TILE:
            continue
        truth[part] = (x1 + offset, y1, x2 + offset, y2)
        for (left, top, right, bottom), score in see(rng, truth[part]):
            low, high = max(left, 0.0), min(right, float(TILE))
            if high - low > 100:
                rows.append(((TILE - high, top, TILE - low, bottom) if mirrored else (low, top, high, bottom), score))
    return Shot(exposed_ns, truth, boxes(rows))


def run_line(positions_px, fps, *, see=clean, seed=0, lost=(), mirrored=False, gate=None):
    """Show a gate the line at those belt positions; return what it chose as (shot index, part), checking the books."""
    rng = np.random.default_rng(seed)
    gate = gate or Gate(COVERS, NAMES)
    shots = {
        index: shot(px, round(index * 1e9 / fps), see=see, rng=rng, mirrored=mirrored)
        for index, px in enumerate(positions_px)
        if index not in lost
    }
    chosen, returned = [], []
    for index, picture in shots.items():
        step = gate.see(picture.detections, SIZE, picture.exposed_ns, index)
        chosen += step.chosen
        returned += [*step.passed, *(choice.payload for choice in step.chosen)]
        assert all(payload <= index for payload in returned)
    end = gate.flush()
    chosen += end.chosen
    returned += [*end.passed, *(choice.payload for choice in end.chosen)]
    assert sorted(returned) == sorted(shots), "each payload comes back once"
    assert [choice.part for choice in chosen] == list(range(1, len(chosen) + 1))
    return [(choice.payload, part_at(shots[choice.payload], choice, mirrored)) for choice in chosen], shots


def part_at(picture, choice, mirrored):
    x1, _, x2, _ = choice.region_xyxy
    centre = (x1 + x2) / 2
    centre = TILE - centre if mirrored else centre
    return min(picture.truth, key=lambda part: abs((picture.truth[part][0] + picture.truth[part][2]) / 2 - centre))


def off_line(picture, part):
    x1, _, x2, _ = picture.truth[part]
    return abs((x1 + x2) / 2 - TILE / 2)


def nearest(shots):
    """Return for each part the shot in which it is whole and nearest the line, by truth."""
    best = {}
    for index, picture in shots.items():
        for part, (x1, _, x2, _) in picture.truth.items():
            if x1 >= EDGE and x2 <= TILE - EDGE:
                best[part] = min(best.get(part, (1e9, 0)), (off_line(picture, part), index))
    return [(index, part) for part, (_, index) in sorted(best.items())]


def steady(speed_px_s, fps, parts, start_px=-480.0):
    return np.arange(start_px, parts * TILE - TILE / 2, speed_px_s / fps)


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("fps", [10, 15, 30])
@pytest.mark.parametrize("speed_px_s", [480, 960, 1920, 2400])
def test_every_part_is_judged_once_in_order_on_its_nearest_frame(speed_px_s, fps, mirrored):
    chosen, shots = run_line(steady(speed_px_s, fps, 48), fps, mirrored=mirrored)
    assert [part for _, part in chosen] == list(range(48))
    for (index, part), (best, _) in zip(chosen, nearest(shots), strict=True):
        # Deciding early rests on a guess of the next step: where two frames are all but equally near, either may win.
        assert off_line(shots[index], part) < off_line(shots[best], part) + 12, part


@pytest.mark.parametrize("fps", [10, 15, 30])
@pytest.mark.parametrize("speed_px_s", [480, 960, 1920, 2400])
def test_unsteady_second_and_cut_boxes_do_not_change_the_count(speed_px_s, fps):
    gate = Gate(Section.model_validate({"class": "cover", "edge_px": 60.0}), NAMES)
    chosen, shots = run_line(steady(speed_px_s, fps, 48), fps, see=doubtful, gate=gate)
    assert [part for _, part in chosen] == list(range(48))
    for index, part in chosen:
        assert off_line(shots[index], part) < speed_px_s / fps / 2 + 60


@settings(max_examples=150, deadline=None)
@given(
    speed_px_s=st.floats(480, 2400),
    fps=st.sampled_from([10, 15, 30]),
    start_px=st.floats(-480, 480),
    seed=st.integers(0, 10_000),
    loss=st.sampled_from([0.0, 0.1, 0.3]),
)
def test_lost_frames_cost_no_part_that_was_whole_in_another(speed_px_s, fps, start_px, seed, loss):
    positions = steady(speed_px_s, fps, 12, start_px)
    lost = set(np.flatnonzero(np.random.default_rng(seed).random(len(positions)) < loss).tolist())
    # The direction is learned from the first part; until then a gap could be read either way.
    lost -= set(range(int(np.searchsorted(positions, start_px + TILE))))
    chosen, shots = run_line(positions, fps, lost=lost)
    assert [part for _, part in chosen] == [part for _, part in nearest(shots)]


@settings(max_examples=150, deadline=None)
@given(
    speed_px_s=st.floats(480, 2400),
    fps=st.sampled_from([10, 15, 30]),
    stops=st.lists(st.tuples(st.integers(0, 60), st.integers(1, 40)), max_size=3),
    seed=st.integers(0, 10_000),
    see=st.sampled_from([clean, doubtful]),
)
def test_a_belt_that_stops_and_starts_gives_each_part_once(speed_px_s, fps, stops, seed, see):
    steps = np.full(int(8 * TILE / speed_px_s * fps), speed_px_s / fps)
    for at, frames in sorted(stops, reverse=True):
        steps = np.insert(steps, min(at, len(steps)), np.zeros(frames))
    positions = -480 + np.cumsum(steps)
    edge_px = EDGE if see is clean else 60.0
    gate = Gate(Section.model_validate({"class": "cover", "edge_px": edge_px}), NAMES)
    chosen, shots = run_line(positions, fps, see=see, seed=seed, gate=gate)
    parts = [part for _, part in chosen]
    assert parts == sorted(set(parts))
    if see is clean:
        assert parts == [part for _, part in nearest(shots)]
