"""Devices for cameras, by cases that were computed by hand."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from app.building.batch_advice import Measured
from app.cli import app
from app.errors import ConfigError
from app.plan.capacity import Aim, Group, assumptions, plan
from app.plan.figures import engine_times, frame_time
from tests.conftest import ROOT

ONE = (Measured(1, 8.0, 10.0),)
BATCHED = (Measured(1, 8.0, 10.0), Measured(4, 16.0, 20.0))

BY_HAND = [
    # cameras, fps, times, aim; batch, ms a frame, worst ms, cameras on one device, devices without and with spares.
    # 8 + 2 = 10 ms a frame; 10 fps take 10 % each; 6 fill 60 %; 12 cameras fill two. Worst: 2 × 10 + 2.
    (12, 10, ONE, Aim(0.6, 100, 2, 1), 1, 10.0, 22.0, 6, 2, 3),
    # One camera more opens a third.
    (13, 10, ONE, Aim(0.6, 100, 2, 1), 1, 10.0, 22.0, 6, 3, 4),
    # Without spares; at 80 %: 8 on one device.
    (13, 10, ONE, Aim(0.8, 100, 2, 0), 1, 10.0, 22.0, 8, 2, 2),
    # 16 / 4 + 1 = 5 ms a frame; 5 % each; 12 on one device. Worst: 3 / (12 × 10) s = 25, + 2 × 20 + 4 × 1 = 69.
    (12, 10, BATCHED, Aim(0.6, 100, 1, 1), 4, 5.0, 69.0, 12, 1, 2),
    # 69 ms are more than 60: batch 1, 9 ms a frame, 6 on one device. Worst: 2 × 10 + 1.
    (12, 10, BATCHED, Aim(0.6, 60, 1, 1), 1, 9.0, 21.0, 6, 2, 3),
    # Alone a camera fills no batch in time: 3 / 10 s = 300 ms.
    (1, 10, BATCHED, Aim(0.6, 100, 1, 0), 1, 9.0, 21.0, 6, 1, 1),
    # One at 60 fps takes exactly 60 %.
    (3, 60, ONE, Aim(0.6, 100, 2, 2), 1, 10.0, 22.0, 1, 3, 5),
]


@pytest.mark.parametrize(
    ("cameras", "fps", "times", "aim", "batch", "frame_ms", "worst_ms", "fits", "carry", "needed"), BY_HAND
)
def test_a_case_that_was_computed_by_hand(cameras, fps, times, aim, batch, frame_ms, worst_ms, fits, carry, needed):
    made = plan([Group(cameras, fps, "m", times)], aim)
    (share,) = made.shares
    assert (share.batch, share.per_device) == (batch, fits)
    assert share.frame_ms == pytest.approx(frame_ms)
    assert share.worst_ms == pytest.approx(worst_ms)
    assert (len(made.devices), made.needed) == (carry, needed)


def test_groups_share_devices_the_heaviest_cameras_first():
    # 30 fps × 10 ms = 30 % each, twice on one device; 10 fps = 10 % each; 5 × 30 % + 3 × 10 % = 180 %.
    made = plan([Group(3, 10, "light", ONE), Group(5, 30, "heavy", ONE)], Aim(0.6, 100, 2, 1))
    assert made.devices == ((0, 2), (0, 2), (3, 1))
    assert made.busy == pytest.approx((0.6, 0.6, 0.6))
    assert made.needed == 4
    assert made.spread_busy == pytest.approx(0.45)


IMPOSSIBLE = [
    # fps, budget, and what is said
    (61, 100, "takes 61% of a device"),
    (10, 20, "takes 22.0 ms in the worst case, the budget is 20 ms"),
]


@pytest.mark.parametrize(("fps", "budget_ms", "said"), IMPOSSIBLE)
def test_what_no_number_of_devices_can_do_is_said_with_the_remedy(fps, budget_ms, said):
    with pytest.raises(ConfigError, match=f"{said}.*take a faster device"):
        plan([Group(1, fps, "m", ONE)], Aim(0.6, budget_ms, 2, 1))


@given(
    st.lists(st.tuples(st.integers(1, 40), st.floats(0.5, 50), st.floats(0.1, 9)), min_size=1, max_size=4),
    st.floats(0.6, 1.0),
)
def test_every_camera_is_on_one_device_and_no_device_has_too_much(loads, busy):
    groups = [Group(count, fps, f"m{i}", (Measured(1, ms, ms),)) for i, (count, fps, ms) in enumerate(loads)]
    made = plan(groups, Aim(busy, 1000, 1, 1))
    assert [sum(column) for column in zip(*made.devices, strict=True)] == [group.cameras for group in groups]
    assert all(one <= busy + 1e-6 for one in made.busy)
    assert len(made.devices) >= sum(made.busy) / busy - 1e-6  # no fewer than the sum needs


def figures(folder, *rows):
    path = folder / "parts.json"
    whole = [{"batch": batch, "whole": {"p50": p50, "p99": p99}} for batch, p50, p99 in rows]
    path.write_text(json.dumps({"rows": whole, "room": None, "says": []}))
    return path


def test_figures_of_the_benches_are_read_the_fastest_way_of_each_batch(tmp_path):
    path = figures(tmp_path, (4, 20, 30), (1, 9, 12), (1, 8, 10), (4, 16, 20))
    assert engine_times(path, None, 0) == BATCHED
    bench = tmp_path / "bench.json"
    row = {"what": "everything: preprocess to encoded message", "median_ms": 1.25}
    bench.write_text(json.dumps({"machine": {}, "rows": [{"what": "else", "median_ms": 9.0}, row]}))
    assert frame_time(bench) == 1.25


WRONG = [
    # what the file holds, and what is said
    ("{", "is no JSON"),
    ("[]", "no file of a bench"),
    ("{}", "taktsight engine bench MODEL --json"),
    ('{"rows": []}', "measured for no time"),
    ('{"rows": [{"batch": 1, "whole": {"p50": 0, "p99": 0}}]}', "measured for no time"),
]


@pytest.mark.parametrize(("text", "said"), WRONG)
def test_a_file_without_figures_says_how_to_write_one(tmp_path, text, said):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(ConfigError, match=said):
        engine_times(tmp_path / "a.json", None, 0)
    with pytest.raises(ConfigError, match=r"is no JSON|no file of a bench|taktsight bench --json"):
        frame_time(tmp_path / "a.json")
    with pytest.raises(ConfigError, match="can't be read"):
        engine_times(tmp_path / "missing.json", None, 0)


def test_the_command_prints_a_table_and_what_it_takes_for_granted(tmp_path):
    path = figures(tmp_path, (1, 8, 10))
    result = CliRunner().invoke(app, ["plan", f"12x10x{path}", f"2×5×{path}"], env={"COLUMNS": "160"})
    assert result.exit_code == 0, result.output
    assert "3 carry the load, 1 may fail: 4 devices" in result.output
    for text in assumptions(Aim()):
        assert text in result.output


def test_the_command_writes_json(tmp_path):
    path = figures(tmp_path, (1, 8, 10))
    result = CliRunner().invoke(app, ["plan", f"12x10x{path}", "--spares", "2", "--busy", "0.8", "--json"])
    tree = json.loads(result.stdout)
    assert (tree["carry_the_load"], tree["devices_needed"]) == (2, 4)
    assert tree["aim"] == {"busy": 0.8, "budget_ms": 100.0, "host_ms": 2.0, "spares": 2}
    assert tree["groups"][0]["group"]["engine"] == [{"batch": 1, "p50_ms": 8.0, "p99_ms": 10.0}]
    assert tree["assumptions"] == list(assumptions(Aim(0.8, 100.0, 2.0, 2)))


def test_a_model_without_figures_is_measured():
    model = ROOT / "engines" / "covers_320.onnx"
    result = CliRunner().invoke(app, ["plan", f"1x0.1x{model}", "--budget", "100000", "--seconds", "0.1", "--json"])
    assert result.exit_code == 0, result.output
    (group,) = json.loads(result.stdout)["groups"]
    assert group["group"]["engine"][0]["p50_ms"] > 0


@pytest.mark.parametrize("word", ["8x30", "x30xa.json", "8xthirtyxa.json", "0x30xparts.json"])
def test_a_word_that_is_no_load_is_refused(tmp_path, monkeypatch, word):
    figures(tmp_path, (1, 8, 10))
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["plan", word])
    assert isinstance(result.exception, ConfigError)
    assert word.split("x")[0] in str(result.exception)
    assert not Path("a.json").exists()
