"""What the fused engine finds is what the three steps on the host find, in one launch a frame."""

from dataclasses import replace

import numpy as np
import pytest

from app.decode.base import Candidates
from app.detections import Detections
from app.engine import Engine, Look
from app.errors import BadOutput, GpuError, ModelError
from app.frame import PixelFormat, Pixels, crop
from app.preprocess.input_spec import InputSpec
from app.trace import Trace
from tests.fused.cells import HEAD, SPEC, painted
from tests.fused.conftest import Make
from tests.gpu.fake_driver import FakeDriver

WH = (160, 120)
BGR = (PixelFormat.BGR8, WH)


def one(engine: Engine, image, min_score: float = 0.5) -> Detections:
    (found,) = engine.look([Look(image, min_score)])
    assert isinstance(found, Detections)
    return found


def assert_same(found: Detections, expected: Detections) -> None:
    """Scores may differ by the rounding of the host's bytes, so boxes of one score may come in another order."""
    assert len(expected) == len(found)
    mine, its = (np.lexsort((*boxes.xyxy.T.round(1), boxes.classes)) for boxes in (found, expected))
    assert (found.classes[mine] == expected.classes[its]).all()
    np.testing.assert_allclose(found.xyxy[mine], expected.xyxy[its], atol=0.01)
    np.testing.assert_allclose(found.scores[mine], expected.scores[its], atol=1 / 255)


def test_it_finds_what_the_three_steps_find(make: Make, host: Engine) -> None:
    fused, boxes = make(options={"formats": [BGR]}), 0
    with fused.backend:
        for seed in range(6):
            expected = one(host, painted(seed))
            assert_same(one(fused, painted(seed)), expected)
            boxes += len(expected)
    assert boxes > 10, "pictures with something in them"


@pytest.mark.parametrize("min_score", [0.05, 0.4, 0.9])
def test_the_threshold_is_not_frozen_in_the_graph(make: Make, host: Engine, min_score: float) -> None:
    fused = make(options={"formats": [BGR]})
    with fused.backend:
        for seed in range(4):
            one(fused, painted(seed), 0.99)
        assert_same(one(fused, painted(9), min_score), one(host, painted(9), min_score))


def test_every_format_of_a_camera_goes_up_as_it_is(make: Make, host: Engine) -> None:
    grey = painted(1)[:, :, 1].copy()
    as_bgr = np.repeat(grey[:, :, np.newaxis], 3, axis=2)
    fused = make(options={"formats": [(PixelFormat.GRAY8, WH)]})
    with fused.backend:
        for _ in range(3):
            assert_same(one(fused, Pixels(grey, PixelFormat.GRAY8)), one(host, as_bgr))


def test_once_its_graph_is_trusted_a_frame_is_one_launch(make: Make, driver: FakeDriver) -> None:
    fused = make(options={"formats": [BGR]})
    with fused.backend:
        for seed in range(2):
            one(fused, painted(seed))
        driver.forget()
        one(fused, painted(7))
        calls = driver.counted()
    assert calls == {"cuGraphLaunch": 1, "cuStreamSynchronize": 1, "cuEventElapsedTime_v2": 5}


def test_a_graph_is_not_used_before_it_was_right_on_two_different_real_pictures(make: Make, driver: FakeDriver) -> None:
    fused = make(options={"formats": [BGR]})
    with fused.backend:
        for _ in range(3):  # one picture, three times: proves nothing more than one
            driver.forget()
            one(fused, painted(0))
            assert driver.counted()["cuLaunchKernel"] == 6, "by itself, and once more to compare with the graph"
        one(fused, painted(1))
        driver.forget()
        one(fused, painted(2))
        assert driver.counted()["cuLaunchKernel"] == 0


def test_nothing_is_taken_for_a_frame(make: Make, driver: FakeDriver) -> None:
    fused = make(options={"formats": [BGR]})
    with fused.backend:
        one(fused, painted(0))
        before = driver.live()
        for seed in range(4):
            one(fused, painted(seed))
        assert driver.live() == before


def test_warm_up_and_waiting_come_before_the_capture_and_addresses_before_all(make: Make, driver: FakeDriver) -> None:
    fused = make(options={"formats": [BGR]})
    driver.forget()
    with fused.backend:
        calls = driver.calls()
    names = [name for name, _ in calls]
    begin, end = names.index("cuStreamBeginCapture_v2"), names.index("cuStreamEndCapture")
    before, inside = names[:begin], {name for name, capturing in calls[begin + 1 : end] if capturing}
    assert before.count("cuLaunchHostFunc") == 1 + 2, "once to see that it runs at all, twice to warm up"
    assert before[-1] == "cuStreamSynchronize"
    assert inside == {
        *("cuStreamIsCapturing", "cuEventRecordWithFlags", "cuMemcpyHtoDAsync_v2", "cuLaunchKernel"),
        *("cuLaunchHostFunc", "cuMemcpyDtoHAsync_v2"),
    }


def test_a_format_that_was_not_announced_gets_its_graph_the_second_time(
    make: Make, host: Engine, driver: FakeDriver
) -> None:
    fused = make()
    with fused.backend:
        assert_same(one(fused, painted(0)), one(host, painted(0)))
        assert driver.live().get("execs", 0) == 0
        assert_same(one(fused, painted(1)), one(host, painted(1)))
        assert driver.live()["execs"] == 1


def test_a_folder_of_pictures_that_all_differ_in_size_needs_no_graph_and_keeps_little(
    make: Make, host: Engine, driver: FakeDriver
) -> None:
    fused = make()
    with fused.backend:
        for side in (100, 200, 150, 90, 201):
            image = painted(side, (side, 80))
            assert_same(one(fused, image), one(host, image))
        assert "execs" not in driver.live()
        assert driver.live()["streams"] == 1


def test_more_formats_than_lanes_are_looked_at_all_the_same(make: Make, host: Engine, driver: FakeDriver) -> None:
    fused = make()
    with fused.backend:
        for _ in range(2):
            for side in range(60, 78):
                image = painted(side, (side, 80))
                assert_same(one(fused, image), one(host, image))
        assert driver.live()["execs"] == 16


# ── parts, batches, pairs ────────────────────────────────────────────────────────────────────────────────────────────

REGIONS = [(0, 0, 80, 60), (40, 30, 140, 110), (7, 5, 60, 99), (100, 60, 160, 120), (3, 3, 63, 63)]


def test_parts_of_a_frame_are_cut_out_on_the_gpu(make: Make, host: Engine) -> None:
    image, fused = painted(3), make()
    with fused.backend:
        for region in REGIONS:
            part = crop(image, region)
            assert_same(one(fused, part), one(host, part))


@pytest.mark.parametrize("most", [1, 2, 4, 8])
def test_parts_of_one_frame_go_together_as_far_as_the_engine_takes_them(
    make: Make, host: Engine, driver: FakeDriver, most: int
) -> None:
    image, fused = painted(3), make(most=most)
    parts = [crop(image, region) for region in REGIONS]
    with fused.backend:
        for _ in range(4):
            driver.forget()
            found = fused.look([Look(part, 0.5) for part in parts])
        launches = driver.counted()["cuGraphLaunch"] + driver.counted()["cuLaunchHostFunc"]
    assert launches <= -(-len(parts) // most) * 3, "proofs included: the parts are of one and the same picture"
    for part, one_found in zip(parts, found, strict=True):
        assert isinstance(one_found, Detections)
        assert_same(one_found, one(host, part))


def test_a_frame_that_its_owner_has_changed_is_looked_at_anew(make: Make, host: Engine) -> None:
    """No source does that; but a verdict on an old picture would be the worst that can be."""
    fused, image = make(options={"formats": [BGR]}), painted(0)
    with fused.backend:
        for seed in range(5):
            image[:] = painted(seed)
            found = fused.look([Look(crop(image, region), 0.5) for region in REGIONS[:3]])
            for region, one_found in zip(REGIONS[:3], found, strict=True):
                assert isinstance(one_found, Detections)
                assert_same(one_found, one(host, crop(image, region)))


def test_several_frames_of_one_size_go_together_in_one_launch(make: Make, host: Engine, driver: FakeDriver) -> None:
    fused = make(most=4)
    with fused.backend:
        for round_ in range(5):
            images = [painted(10 * round_ + number) for number in range(3)]
            driver.forget()
            found = fused.look([Look(image, 0.5) for image in images])
            for image, one_found in zip(images, found, strict=True):
                assert isinstance(one_found, Detections)
                assert_same(one_found, one(host, image))
        assert driver.counted()["cuGraphLaunch"] == 1


def test_the_batches_that_are_configured_are_ready_at_the_start(make: Make, host: Engine, driver: FakeDriver) -> None:
    fused = make(most=4, options={"formats": [BGR], "batches": (1, 2, 4)})
    with fused.backend as lanes:
        assert driver.live()["execs"] == 3
        assert lanes.frames == 4
        for round_ in range(3):
            images = [painted(10 * round_ + number) for number in range(4)]
            for image, found in zip(images, fused.look([Look(image, 0.5) for image in images]), strict=True):
                assert isinstance(found, Detections)
                assert_same(found, one(host, image))
        assert driver.live()["execs"] == 3


def test_mdl_14_a_configured_batch_that_the_engine_does_not_take_is_refused_with_what_it_takes(make: Make) -> None:
    said = "takes 1 × 3 × 64 × 64, not 2 × 3 × 64 × 64: build the engine for it"
    with pytest.raises(ModelError, match=said), make(options={"batches": (1, 2)}).backend:
        pass


def test_frames_of_several_sizes_come_back_in_the_order_they_were_given(make: Make, host: Engine) -> None:
    sizes = [WH, (80, 80), (80, 80), WH, WH, (200, 90)]
    images = [painted(number, size_wh) for number, size_wh in enumerate(sizes)]
    fused = make(most=2, options={"paired": True})
    with fused.backend:
        for _ in range(4):
            found = fused.look([Look(image, 0.5) for image in images])
            assert len(found) == len(images)
            for image, one_found in zip(images, found, strict=True):
                assert isinstance(one_found, Detections)
                assert_same(one_found, one(host, image))


def test_paired_lanes_bring_the_next_frame_up_before_the_last_is_waited_for(
    make: Make, host: Engine, driver: FakeDriver
) -> None:
    fused = make(options={"formats": [BGR], "paired": True})
    images = [painted(seed) for seed in range(6)]
    with fused.backend:
        for _ in range(2):
            fused.look([Look(image, 0.5) for image in images])
        driver.forget()
        found = fused.look([Look(image, 0.5) for image in images])
        order = [name for name in driver.names() if name in ("cuGraphLaunch", "cuStreamSynchronize")]
    for image, one_found in zip(images, found, strict=True):
        assert isinstance(one_found, Detections)
        assert_same(one_found, one(host, image))
    assert order == ["cuGraphLaunch", *["cuGraphLaunch", "cuStreamSynchronize"] * 5, "cuStreamSynchronize"]


# ── what the host has to look at itself ──────────────────────────────────────────────────────────────────────────────


def test_numbers_that_cannot_be_are_no_detections(make: Make) -> None:
    image = painted(0)
    fused = make(options={"formats": [BGR]}, spoilt=7)
    with fused.backend:
        (found,) = fused.look([Look(image, 0.5)])
    assert isinstance(found, BadOutput)
    assert "score" in str(found)


class NoKernel:
    """A head that no kernel stands in for."""

    def candidates(self, outputs, min_score: float, sample: int = 0) -> Candidates:
        return HEAD.candidates(outputs, min_score, sample)


@pytest.mark.parametrize("most", [1, 4])
def test_outputs_that_no_kernel_reads_come_down_whole(make: Make, host: Engine, driver: FakeDriver, most: int) -> None:
    fused = make(most=most, options={"formats": [BGR], "head": NoKernel()})
    with fused.backend:
        for round_ in range(4):
            images = [painted(10 * round_ + number) for number in range(3)]
            for image, found in zip(images, fused.look([Look(image, 0.5) for image in images]), strict=True):
                assert isinstance(found, Detections)
                assert_same(found, one(host, image))
        driver.forget()
        one(fused, painted(99))
        assert driver.counted()["cuGraphLaunch"] == 1


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (replace(SPEC, width=96), "input 'images' takes 1 × 3 × 64 × 64, not 1 × 3 × 64 × 96"),
        (replace(SPEC, dtype="float16"), "its inputs are .*float32.*, expected .*float16"),
    ],
)
def test_mdl_14_an_engine_for_another_input_is_refused_at_entry(make: Make, spec: InputSpec, said: str) -> None:
    with pytest.raises(ModelError, match=said), make(options={"spec": spec}).backend:
        pass


# ── times ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_steps_follow_one_another_without_a_gap(make: Make) -> None:
    fused = make(options={"formats": [BGR]})
    with fused.backend:
        for seed in range(4):
            trace = Trace("t", 0)
            fused.look([Look(painted(seed), 0.5, trace)])
            steps = {step: (began, ended) for step, began, ended in trace.spans}
            assert [step for step, _, _ in trace.spans] == ["preprocess", "inference", "decode"]
            assert steps["preprocess"][0] <= steps["preprocess"][1] == steps["inference"][0]
            assert steps["inference"][0] <= steps["inference"][1] == steps["decode"][0] <= steps["decode"][1]


# ── a Jetson ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_where_the_gpu_shares_the_memory_nothing_goes_up(make: Make, host: Engine, driver: FakeDriver) -> None:
    driver.reset(present=True, integrated=True)
    fused = make(options={"formats": [BGR]})
    with fused.backend:
        for seed in range(4):
            assert_same(one(fused, painted(seed)), one(host, painted(seed)))
        assert "cuMemcpyHtoDAsync_v2" not in driver.names()


# ── what goes wrong ──────────────────────────────────────────────────────────────────────────────────────────────────

REFUSED = [
    ({"refuses_capture": True}, "operation not permitted when stream is capturing"),
    ({"spoils_capture": True}, ": 901 "),
    ({"silent_capture": True}, "other numbers than the calls one by one"),
]


@pytest.mark.parametrize(("fault", "said"), REFUSED, ids=[next(iter(fault)) for fault, _ in REFUSED])
def test_a_capture_that_is_refused_is_told_and_every_frame_is_still_its_own(
    make: Make, host: Engine, driver: FakeDriver, told: list[str], fault: dict, said: str
) -> None:
    fused = make(options={"formats": [BGR]}, **fault)
    with fused.backend:
        for seed in range(5):
            assert_same(one(fused, painted(seed)), one(host, painted(seed)))
        assert "execs" not in driver.live()
    assert len(told) == 1
    assert told[0].startswith("cells.engine: runs without its CUDA graph: ")
    assert said in told[0]


def test_a_graph_that_cannot_be_launched_any_more_is_given_up_and_the_frame_is_looked_at(
    make: Make, host: Engine, driver: FakeDriver, told: list[str]
) -> None:
    fused = make(options={"formats": [BGR]})
    with fused.backend:
        for seed in range(3):
            one(fused, painted(seed))
        driver.fail("cuGraphLaunch", code=1)
        for seed in range(3, 6):
            assert_same(one(fused, painted(seed)), one(host, painted(seed)))
    assert len(told) == 1
    assert "cuGraphLaunch: 1" in told[0]


def test_the_gpu_failing_while_it_looks_is_no_verdict(make: Make, driver: FakeDriver) -> None:
    fused = make(options={"formats": [BGR]})
    with fused.backend:
        for seed in range(3):
            one(fused, painted(seed))
        driver.fail("cuStreamSynchronize", code=700)
        with pytest.raises(GpuError):
            one(fused, painted(3))
        driver.heal()


def test_it_does_not_look_before_it_is_entered_or_after_it_is_left(make: Make) -> None:
    fused = make()
    with pytest.raises(ModelError, match="not loaded"):
        one(fused, painted(0))
    with fused.backend:
        one(fused, painted(0))
    with pytest.raises(ModelError, match="not loaded"):
        one(fused, painted(0))


def test_the_label_names_the_library(make: Make) -> None:
    fused = make()
    with fused.backend:
        assert fused.label() == "cells:0123456789ab:tensorrt 10.3.0"
