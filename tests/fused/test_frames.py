"""Frames in the cameras' own memory go up from there, each exactly as it was when it was looked at."""

import random

import numpy as np
import pytest

from app.detections import Detections
from app.engine import Engine, Look
from app.frame import PixelFormat, Pixels, crop
from app.fused.engine import FusedEngine
from app.fused.lanes import Lanes
from app.fused.picture import part_of
from app.picture_memory import PictureMemory, block_of
from tests.fused.cells import painted, pooled
from tests.fused.conftest import Make
from tests.fused.test_engine import BGR, WH, assert_same, one
from tests.gpu.fake_driver import FakeDriver

SET = "cuGraphExecMemcpyNodeSetParams"
REGISTER = "cuMemHostRegister_v2"


def trusted(fused: FusedEngine, memory: PictureMemory) -> None:
    """Look at two real pictures, after which the graph may be used."""
    for seed in (100, 101):
        one(fused, pooled(memory, seed))


def lanes_frame(lanes: Lanes) -> np.ndarray:
    """The place for frames that have to be copied, of the one lane."""
    (lane,) = lanes._lanes.values()
    return lane.buffers.frame


def look(fused: FusedEngine, images) -> list[Detections]:
    found = fused.look([Look(image, 0.5) for image in images])
    assert len(found) == len(images)
    assert all(isinstance(each, Detections) for each in found)
    return found


# ── one frame ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_frame_in_a_camera_s_memory_is_one_launch_and_is_not_copied_on_the_host(
    make: Make, host: Engine, driver: FakeDriver, memory: PictureMemory, told: list[str]
) -> None:
    fused = make(options={"formats": [BGR]})
    with fused.backend as lanes:
        trusted(fused, memory)
        before = lanes_frame(lanes).copy()
        for seed in range(4):
            driver.forget()
            image = pooled(memory, seed)
            assert_same(one(fused, image), one(host, painted(seed)))
            calls = driver.counted()
            assert (calls["cuGraphLaunch"], calls["cuStreamSynchronize"]) == (1, 1)
            assert calls["cuLaunchKernel"] == calls["cuMemcpyHtoDAsync_v2"] == calls[REGISTER] == 0
            del image
        np.testing.assert_array_equal(lanes_frame(lanes), before)
    assert told == []


def test_two_frames_in_two_blocks_and_new_pixels_in_either_are_never_taken_for_one_another(
    make: Make, host: Engine, driver: FakeDriver
) -> None:
    memory, fused = PictureMemory(most=2), make(options={"formats": [BGR]})
    with fused.backend:
        trusted(fused, memory)
        held: list[np.ndarray] = []
        for seed in range(12):
            if len(held) == 2:
                del held[seed % 3 == 0]  # now one block is written to again, now the other
            held.append(pooled(memory, seed))
            for image in (*held, *reversed(held)):
                assert_same(one(fused, image), one(host, image.copy()))
            del image
        assert driver.live()["registered"] <= 2 + 1, "the camera's two, and one of the rehearsal"
    assert memory.missed == 0


def test_a_frame_that_its_owner_has_changed_is_looked_at_anew(make: Make, host: Engine, memory: PictureMemory) -> None:
    fused, image = make(options={"formats": [BGR]}), memory.take((120, 160, 3))
    with fused.backend:
        for seed in range(5):
            image[:] = painted(seed)
            assert_same(one(fused, image), one(host, painted(seed)))


def test_frames_of_cameras_and_of_other_memory_take_turns(
    make: Make, host: Engine, driver: FakeDriver, memory: PictureMemory
) -> None:
    fused, chosen = make(options={"formats": [BGR]}), random.Random(4)
    other = PictureMemory(most=1)
    with fused.backend:
        trusted(fused, memory)
        driver.forget()
        for seed in range(40):
            kind = chosen.randrange(4)
            image = painted(seed) if kind == 0 else pooled(other if kind == 1 else memory, seed)
            if kind == 3:
                image = crop(image, (10, 5, 150, 115))
            assert_same(one(fused, image), one(host, image.copy()))
            if chosen.random() < 0.2:
                other = PictureMemory(most=1)  # a camera that was opened anew
        calls = driver.counted()
    assert calls["cuGraphLaunch"] + calls["cuLaunchHostFunc"] == 40


@pytest.mark.parametrize("pixels", [PixelFormat.GRAY8, PixelFormat.NV12, PixelFormat.YUYV, PixelFormat.BAYER_RGGB12])
def test_every_format_goes_up_from_where_it_is(make: Make, driver: FakeDriver, pixels: PixelFormat) -> None:
    fused, numbers = make(options={"formats": [(pixels, WH)]}), np.random.default_rng(3)
    memory, highest = PictureMemory(), 1 << pixels.bits
    with fused.backend as lanes:
        for _ in range(5):
            data = memory.take(pixels.shape(WH), pixels.dtype)
            data[...] = numbers.integers(0, highest, data.shape)
            before = lanes_frame(lanes).copy()
            found = one(fused, Pixels(data, pixels), 0.4)
            np.testing.assert_array_equal(lanes_frame(lanes), before)
            copied = one(fused, Pixels(data.copy(), pixels), 0.4)
            np.testing.assert_array_equal(found.xyxy, copied.xyxy)
            np.testing.assert_array_equal(found.scores, copied.scores)


def test_parts_of_a_frame_are_cut_out_of_it_where_it_lies(
    make: Make, host: Engine, driver: FakeDriver, memory: PictureMemory
) -> None:
    regions = [(0, 0, 80, 60), (40, 30, 140, 110), (7, 5, 60, 99)]
    fused = make(most=4)
    with fused.backend:
        for seed in range(5):
            image = pooled(memory, seed)
            driver.forget()
            found = look(fused, [crop(image, region) for region in regions])
            for region, each in zip(regions, found, strict=True):
                assert_same(each, one(host, crop(painted(seed), region)))
        assert driver.counted()["cuGraphLaunch"] == 1


# ── several frames ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_frames_of_several_blocks_go_together_in_one_launch(
    make: Make, host: Engine, driver: FakeDriver, memory: PictureMemory
) -> None:
    fused = make(most=4, options={"formats": [BGR], "batches": (1, 4)})
    with fused.backend:
        for round_ in range(6):
            count = (4, 3, 4, 4, 3, 4)[round_]
            images = [pooled(memory, 10 * round_ + number) for number in range(count)]
            images[1] = painted(10 * round_ + 1)  # one from elsewhere among them
            driver.forget()
            found = look(fused, images)
            for image, each in zip(images, found, strict=True):
                assert_same(each, one(host, image.copy()))
        assert driver.counted()["cuGraphLaunch"] == 1


def test_a_place_that_no_frame_takes_does_not_read_the_frame_that_was_there_before(
    make: Make, host: Engine, driver: FakeDriver, told: list[str]
) -> None:
    """Its camera may have been closed since, and the memory be gone."""
    fused, memory = make(most=4, options={"formats": [BGR], "batches": (1, 4)}), PictureMemory()
    with fused.backend:
        for round_ in range(3):
            look(fused, [pooled(memory, 10 * round_ + number) for number in range(4)])
        assert driver.live()["registered"] >= 4
        memory = PictureMemory()
        for round_ in range(3):
            images = [pooled(memory, 50 + 10 * round_ + number) for number in range(3)]
            for image, each in zip(images, look(fused, images), strict=True):
                assert_same(each, one(host, image.copy()))
            del images, image
        assert driver.live()["registered"] <= 3, "those of the camera that is gone were let go"
        assert driver.live()["execs"] == 2
    assert told == []


def test_paired_lanes_read_two_blocks_at_once(
    make: Make, host: Engine, driver: FakeDriver, memory: PictureMemory
) -> None:
    fused = make(options={"formats": [BGR], "paired": True})
    with fused.backend:
        for round_ in range(4):
            images = [pooled(memory, 10 * round_ + number) for number in range(6)]
            driver.forget()
            found = look(fused, images)
            for image, each in zip(images, found, strict=True):
                assert_same(each, one(host, image.copy()))
        order = [name for name in driver.names() if name in ("cuGraphLaunch", "cuStreamSynchronize")]
    assert order == ["cuGraphLaunch", *["cuGraphLaunch", "cuStreamSynchronize"] * 5, "cuStreamSynchronize"]


# ── held as long as it is read, and no longer ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("integrated", [False, True])
def test_a_picture_is_held_until_the_gpu_is_done_with_it(
    make: Make, host: Engine, driver: FakeDriver, integrated: bool
) -> None:
    """The driver on host memory reads nothing before it is waited for: as late as a real one may."""
    driver.reset(present=True, integrated=integrated)
    memory, fused = PictureMemory(most=1), make(options={"formats": [BGR]})
    with fused.backend as lanes:
        trusted(fused, memory)
        (lane,) = lanes._lanes.values()
        for seed in range(3):
            image = pooled(memory, seed)
            block = block_of(image)
            lane.start([Look(image, 0.5)], [part_of(image)])
            del image
            assert block_of(pooled(memory, 50 + seed)) is None, "the next picture goes elsewhere"
            (found,) = lanes.finish(lane)
            assert isinstance(found, Detections)
            assert_same(found, one(host, painted(seed)))
            assert block is not None
            assert not block.is_held


def test_a_picture_is_held_while_a_graph_is_compared_with_the_calls(make: Make, host: Engine) -> None:
    memory, fused = PictureMemory(most=1), make(options={"formats": [BGR]})
    with fused.backend as lanes:
        (lane,) = lanes._lanes.values()
        seen = []
        launch = lane.run

        def run() -> None:
            launch()
            seen.append(block_of(memory.take((120, 160, 3))))

        lane.run = run  # type: ignore[method-assign]  # looks who may write while it is looked at
        for seed in range(4):
            assert_same(one(fused, pooled(memory, seed)), one(host, painted(seed)))
    assert seen == [None] * 4


def test_an_error_keeps_the_picture_until_the_lane_starts_anew_or_is_closed(make: Make, driver: FakeDriver) -> None:
    memory, fused = PictureMemory(most=1), make(options={"formats": [BGR]})
    with fused.backend as lanes:
        trusted(fused, memory)
        (lane,) = lanes._lanes.values()
        image = pooled(memory, 1)
        block = block_of(image)
        assert block is not None
        lane.start([Look(image, 0.5)], [part_of(image)])
        driver.fail("cuStreamSynchronize", code=999)
        with pytest.raises(Exception, match="waiting for a stream"):
            lanes.finish(lane)
        del image
        assert block.is_held
        driver.heal()
    assert not block.is_held


def test_blocks_are_let_go_before_the_context_and_pictures_outlive_it(
    make: Make, driver: FakeDriver, memory: PictureMemory
) -> None:
    fused = make(options={"formats": [BGR]})
    with fused.backend:
        images = [pooled(memory, seed) for seed in range(3)]
        for image in images:
            one(fused, image)
        driver.forget()
    names = driver.names()
    last_release = len(names) - 1 - names[::-1].index("cuMemHostUnregister")
    assert names.index("cuGraphExecDestroy") < names.index("cuMemHostUnregister")
    assert last_release < names.index("cuDevicePrimaryCtxRelease_v2")
    assert driver.live() == {}
    for seed, image in enumerate(images):
        np.testing.assert_array_equal(image, painted(seed))


def test_two_networks_look_at_frames_of_one_camera(
    make: Make, host: Engine, driver: FakeDriver, memory: PictureMemory, told: list[str]
) -> None:
    """The driver takes a block but once: the engines share it, and the last one lets it go."""
    first, second = make(options={"formats": [BGR]}), make(options={"formats": [BGR]})
    with first.backend:
        with second.backend:
            for number in range(10):
                image = pooled(memory, number // 2)
                assert_same(one((first, second)[number % 2], image), one(host, painted(number // 2)))
                del image
        for seed in range(5, 8):
            assert_same(one(first, pooled(memory, seed)), one(host, painted(seed)))
    assert told == []
    assert driver.live() == {}


# ── a Jetson ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_where_the_gpu_shares_the_memory_it_reads_the_camera_s_block_and_nothing_is_copied_at_all(
    make: Make, host: Engine, driver: FakeDriver, memory: PictureMemory
) -> None:
    driver.reset(present=True, integrated=True)
    fused = make(most=4, options={"formats": [BGR], "batches": (1, 4)})
    with fused.backend as lanes:
        before = {lane: lane.buffers.frame.copy() for lane in lanes._lanes.values()}
        for round_ in range(5):
            images = [pooled(memory, 10 * round_ + number) for number in range((1, 4, 3, 4, 1)[round_])]
            driver.forget()
            found = look(fused, images)
            for image, each in zip(images, found, strict=True):
                assert_same(each, one(host, image.copy()))
            assert SET not in driver.names()
            assert "cuMemcpyHtoDAsync_v2" not in driver.names()
        assert driver.counted()["cuGraphLaunch"] == 1
        for lane, copied in before.items():
            np.testing.assert_array_equal(lane.buffers.frame, copied)
