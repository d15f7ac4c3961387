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
from app.errors import ConfigError
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


RECORDED = Path(__file__).parent / "covers_640.npz"
"""Cover boxes (picture, x1, y1, x2, y2, score in thousandths) that engines/covers_640.onnx gave at 16 px steps of the belt
over all tiles, the first with the middle of the picture where tile 0 begins; scores from 0.15 on."""


@pytest.fixture(scope="module")
def recorded():
    with np.load(RECORDED) as file:
        rows, pictures = file["boxes"].astype(np.float32), int(file["pictures"])
    return [boxes([(tuple(row[1:5]), row[5] / 1000) for row in rows[rows[:, 0] == index]]) for index in range(pictures)]


@pytest.mark.parametrize("stride", [1, 2, 3, 4, 5, 6, 8, 10, 12, 15])
def test_the_boxes_of_the_shipped_model_give_the_exact_count_at_every_step(recorded, stride):
    for phase in {0, stride // 3, stride // 2, stride - 1}:
        gate, chosen = Gate(COVERS, NAMES), []
        for index in range(phase, len(recorded), stride):
            chosen += gate.see(recorded[index], SIZE, index * 1_000_000, index).chosen
        chosen += gate.flush().chosen
        centres = [(c.region_xyxy[0] + c.region_xyxy[2]) / 2 + 16 * c.payload - TILE / 2 for c in chosen]
        assert [int(centre // TILE) for centre in centres] == list(range(48)), phase
        assert gate.judged == 48
        assert gate.missed == 0


def line_of(*rows, length=100, width=SIZE[0]):
    """One picture with whole or cut boxes at those centres."""
    spans = [(max(centre - length / 2, 0.0), min(centre + length / 2, float(width))) for centre in rows]
    return boxes([((low, 10.0, high, 90.0), 0.9) for low, high in spans])


def flat(steps):
    return [payload for step in steps for payload in step]


def show(gate, series, *, times=None, **shape):
    """Show centres by frame; return for each frame the payloads chosen by it, and what the flush chose."""
    times = times or [index * 10 for index in range(len(series))]
    steps = [
        [choice.payload for choice in gate.see(line_of(*rows, **shape), SIZE, time, index).chosen]
        for index, (rows, time) in enumerate(zip(series, times, strict=True))
    ]
    return steps, [choice.payload for choice in gate.flush().chosen]


def test_a_known_step_lets_the_nearest_frame_be_judged_when_it_comes():
    gate = Gate(COVERS, NAMES)
    first = [[x] for x in (100, 200, 300, 400, 500, 600, 700, 800, 900)]
    second = [[x] for x in (60, 160, 260, 360, 460, 560, 660)]
    steps, rest = show(gate, [*first, *second])
    assert steps[4] == [4]  # 500 is 20 off the line at 480, the next would be 120 off
    assert steps[9 + 4] == [13]  # 460: the next would be 80 off
    assert (flat(steps), rest) == ([4, 13], [])


def test_the_first_part_waits_for_the_next_frame_because_its_step_is_unknown():
    gate = Gate(COVERS, NAMES)
    steps, rest = show(gate, [[470], [570], [670]])
    assert steps == [[], [], [0]]
    assert rest == []


def test_parts_that_move_further_in_a_frame_than_they_are_long_are_followed_too():
    gate = Gate(COVERS, NAMES)
    series = [[x] for _ in range(5) for x in range(80, 960, 220)]
    show(gate, series, length=100)
    assert gate.judged == 5


def test_the_end_of_the_stream_chooses_what_is_still_held():
    assert show(Gate(COVERS, NAMES), [[200], [300]]) == ([[], []], [1])
    assert show(Gate(COVERS, NAMES), [[480]]) == ([[]], [0])
    assert show(Gate(COVERS, NAMES), [[], []]) == ([[], []], [])


def test_several_parts_in_view_are_judged_in_the_order_of_the_belt():
    parts = [[centre for centre in range(-2000, 3000, 150) if -50 < centre + 40 * k < 1010] for k in range(60)]
    gate = Gate(COVERS, NAMES)
    steps, _ = show(gate, [[centre + 40 * k for centre in row] for k, row in enumerate(parts)])
    chosen = flat(steps)
    assert chosen == sorted(set(chosen))
    travelled = 60 * 40
    assert abs(gate.judged - travelled / 150) <= 3
    assert gate.missed == 0


def test_a_part_still_in_its_place_after_lost_frames_is_the_same_one_because_the_belt_stopped():
    gate = Gate(COVERS, NAMES)
    moving = [[x] for x in range(60, 541, 60)]
    steps, rest = show(gate, [*moving, [540], [540], [600]], times=[*range(9), 12, 15, 16])
    assert flat(steps) + rest == [7]


def test_a_part_in_the_same_place_after_the_travel_of_a_whole_distance_is_the_next_one():
    gate = Gate(COVERS, NAMES)
    moving = [[x] for x in range(60, 541, 60)]
    steps, rest = show(gate, [*moving, [540], [600]], times=[*range(9), 9 + 15, 9 + 16])
    assert flat(steps) + rest == [7, 9]


def test_a_belt_that_settles_back_a_little_does_not_make_a_new_part():
    series = [[x] for x in (200, 250, 300, 350, 400, 450, 500, 550, 542, 540, 540, 550, 560, 610, 660, 710)]
    steps, rest = show(Gate(COVERS, NAMES), series)
    assert flat(steps) + rest == [6]


def test_a_belt_that_runs_the_other_way_from_now_on_is_learned():
    right = [[x] for x in range(100, 900, 50)]
    left = [[x] for x in range(900, 60, -50)]
    gate = Gate(COVERS, NAMES)
    show(gate, [*right, *[[]] * 6, *left, *[[]] * 6, *left, *[[]] * 6, *left])
    assert gate.judged == 4


def test_a_part_that_is_whole_in_no_frame_is_counted_as_missed():
    gate = Gate(COVERS, NAMES)
    known = [[x] for x in range(60, 1000, 90)]
    long_step = [[20], [940], [], [], [], [], []]
    steps, rest = show(gate, [*known, *[[]] * 6, *long_step], times=[*range(17), 17, 27, *range(28, 33)])
    assert len(flat(steps) + rest) == 1
    assert gate.missed == 1


def test_where_no_frame_is_left_out_times_do_not_matter():
    """A folder is read as fast as it goes: times are irregular, steps are not."""
    series = [[x] for _ in range(4) for x in range(60, 960, 60)]
    times = list(np.cumsum(np.random.default_rng(3).integers(1, 1000, len(series))))
    gate = Gate(COVERS, NAMES, every_frame=True)
    show(gate, series, times=times)
    assert gate.judged == 4


def test_boxes_under_the_least_score_other_classes_and_numbers_that_are_none_are_no_part():
    gate = Gate(COVERS, NAMES, min_score=0.5)
    weak = boxes([((430.0, 0.0, 530.0, 50.0), 0.49)])
    screw = Detections(weak.xyxy, np.ones(1, np.float32), np.ones(1, np.int64), NAMES)
    broken = Detections(np.full((1, 4), np.nan, np.float32), np.ones(1, np.float32), np.zeros(1, np.int64), NAMES)
    for time, detections in enumerate((weak, screw, broken, Detections.none(NAMES))):
        step = gate.see(detections, SIZE, time, time)
        assert step.passed == (time,)
    assert gate.flush().chosen == ()


def test_the_region_is_the_best_box_and_its_margin_within_the_picture():
    section = Section.model_validate({"class": "cover", "margin_px": 30.0})
    gate = Gate(section, NAMES)
    gate.see(boxes([((20.0, 50.0, 620.0, 700.0), 0.4), ((10.0, 40.0, 600.0, 690.0), 0.8)]), SIZE, 0, "first")
    (chosen,) = gate.flush().chosen
    assert chosen.region_xyxy == (0.0, 10.0, 630.0, 720.0)
    assert (chosen.part, chosen.payload, len(chosen.detections)) == (1, "first", 2)


def test_the_belt_may_run_along_the_picture_s_height_with_the_line_anywhere():
    section = Section.model_validate({"class": "cover", "axis": "y", "line": 0.25})
    gate, chosen = Gate(section, NAMES), []
    for index, y in enumerate(range(-30, 800, 40)):
        low, high = max(y - 50.0, 0.0), min(y + 50.0, 720.0)
        seen = boxes([((0.0, low, 960.0, high), 0.9)] if high > low else [])
        chosen += gate.see(seen, SIZE, index, y).chosen
    assert [choice.payload for choice in (*chosen, *gate.flush().chosen)] == [170]


def test_a_class_that_the_model_does_not_have_is_refused():
    with pytest.raises(ConfigError, match="no class 'cover'; there are: screw"):
        Gate(COVERS, ("screw",))
