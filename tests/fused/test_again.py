"""A frame that is looked at again lies on the GPU already: it goes up once, and what is seen is never another frame."""

import weakref
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from app.detections import Detections
from app.engine import Look
from app.errors import GpuError
from app.frame import AnyImage, Image, PixelFormat, Pixels, crop
from app.fused.engine import FusedEngine
from app.picture_memory import PictureMemory
from tests.fused.cells import painted, pooled
from tests.fused.conftest import Make
from tests.fused.test_engine import BGR, REGIONS, WH, one
from tests.gpu.fake_driver import FakeDriver, fake_driver

ENABLE = "cuGraphNodeSetEnabled"
FRAME = WH[0] * WH[1] * 3
"""Bytes of a BGR frame; what else goes up for a launch is smaller than a tenth of it."""

ROUNDS = 6
"""After so many frames each graph was tried on enough of them, those that go up and those that are there."""


@pytest.fixture
def anew(make: Make) -> Iterator[FusedEngine]:
    """The same network, every picture of which goes up: what is found there has to be found everywhere, bit by bit."""
    fused = make(most=8)
    with fused.backend:
        yield fused


def parts_of(
    image: AnyImage, *, again: bool = True, regions: Sequence[tuple[int, int, int, int]] = REGIONS
) -> list[Look]:
    return [Look(crop(image, region), 0.4, again=again) for region in regions]


def found_in(fused: FusedEngine, looks: Sequence[Look]) -> list[Detections]:
    found = fused.look(looks)
    assert len(found) == len(looks)
    return [each for each in found if isinstance(each, Detections)]


def assert_equal(found: Sequence[Detections], expected: Sequence[Detections]) -> None:
    """To the last bit."""
    assert len(found) == len(expected)
    for mine, its in zip(found, expected, strict=True):
        np.testing.assert_array_equal(mine.xyxy, its.xyxy)
        np.testing.assert_array_equal(mine.scores, its.scores)
        np.testing.assert_array_equal(mine.classes, its.classes)


def assert_seen(fused: FusedEngine, anew: FusedEngine, image: Image, *, again: bool = True) -> int:
    """Look at parts of a picture; what is found is what is found in a copy of it that nobody has seen before.

    Returns:
        How often a frame went up for it.
    """
    before = fake_driver().ups(FRAME)
    found = found_in(fused, parts_of(image, again=again))
    ups = fake_driver().ups(FRAME) - before
    assert sum(map(len, found)) > 0, "parts with something in them"
    assert_equal(found, found_in(anew, parts_of(image.copy(), again=False)))
    return ups


def trusted(fused: FusedEngine, memory: PictureMemory) -> None:
    """Take a line through enough frames that all its graphs are used."""
    for seed in range(100, 100 + ROUNDS):
        image = pooled(memory, seed)
        one(fused, image)
        found_in(fused, parts_of(image))
        found_in(fused, parts_of(painted(seed), again=False))


# ── it goes up once ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("integrated", [False, True], ids=["pc", "jetson"])
@pytest.mark.parametrize("fault", [{}, {"refuses_capture": True}], ids=["graph", "calls"])
@pytest.mark.parametrize("most", [1, 2, 4, 8])
def test_a_frame_goes_up_once_for_both_looks_and_both_see_what_is_there(
    make: Make, driver: FakeDriver, memory: PictureMemory, most: int, fault: dict[str, bool], integrated: bool
) -> None:
    driver.reset(present=True, integrated=integrated)
    fused, anew = make(most=most, options={"formats": [BGR]}, **fault), make(most=most)
    with fused.backend, anew.backend:
        for seed in range(ROUNDS + 4):
            image = painted(seed) if seed % 2 else pooled(memory, seed)
            driver.forget()
            whole, parts = one(fused, image), found_in(fused, parts_of(image))
            ups, calls = driver.ups(FRAME), driver.counted()
            assert_equal([whole], [one(anew, image.copy())])
            assert_equal(parts, found_in(anew, parts_of(image.copy(), again=False)))
            if seed >= ROUNDS:
                assert ups == (0 if integrated else 1)
                launches = 1 + -(-len(REGIONS) // most)
                assert calls["cuGraphLaunch"] == (0 if fault else launches)
                assert calls["cuStreamSynchronize"] == launches


@pytest.mark.parametrize(
    "pixels", [PixelFormat.GRAY8, PixelFormat.NV12, PixelFormat.YUYV, PixelFormat.BAYER_RGGB8, PixelFormat.BAYER_RGGB12]
)
def test_every_format_is_cut_out_of_where_it_lies(
    make: Make, driver: FakeDriver, memory: PictureMemory, pixels: PixelFormat
) -> None:
    fused, numbers = make(most=8, options={"formats": [(pixels, WH)]}), np.random.default_rng(5)
    regions = [(0, 0, 80, 60), (40, 30, 140, 110), (6, 4, 60, 100)]
    with fused.backend:
        for round_ in range(ROUNDS):
            data = memory.take(pixels.shape(WH), pixels.dtype)
            data[...] = numbers.integers(0, 1 << pixels.bits, data.shape)
            image = Pixels(data, pixels)
            driver.forget()
            one(fused, image)
            found = found_in(fused, parts_of(image, regions=regions))
            assert round_ < ROUNDS - 1 or driver.ups(data.nbytes) == 1
            copied = Pixels(data.copy(), pixels)
            assert_equal(found, found_in(fused, parts_of(copied, again=False, regions=regions)))


def test_frames_that_went_up_together_are_looked_at_again_one_by_one(
    make: Make, driver: FakeDriver, anew: FusedEngine, memory: PictureMemory
) -> None:
    fused = make(most=4, options={"formats": [BGR], "batches": (1, 4)})
    with fused.backend:
        for round_ in range(ROUNDS):
            images = [pooled(memory, 10 * round_ + number) for number in range(4)]
            driver.forget()
            found_in(fused, [Look(image, 0.5) for image in images])
            seen = [found_in(fused, parts_of(image, regions=REGIONS[:4])) for image in images]
            ups = driver.ups(FRAME)
            for image, found in zip(images, seen, strict=True):
                assert_equal(found, found_in(anew, parts_of(image.copy(), again=False, regions=REGIONS[:4])))
            del images, image
        assert ups == 4


def test_paired_lanes_read_the_frame_that_one_of_them_has(
    make: Make, driver: FakeDriver, anew: FusedEngine, memory: PictureMemory
) -> None:
    fused = make(options={"formats": [BGR], "paired": True})
    with fused.backend:
        for round_ in range(ROUNDS):
            images = [pooled(memory, 10 * round_ + number) for number in range(2)]
            driver.forget()
            found_in(fused, [Look(image, 0.5) for image in images])
            seen = [found_in(fused, parts_of(image)) for image in images]
            ups = driver.ups(FRAME)
            for image, found in zip(images, seen, strict=True):
                assert_equal(found, found_in(anew, parts_of(image.copy(), again=False)))
        assert ups == 2


def test_parts_of_a_frame_that_nobody_has_seen_go_up_once_though_they_take_several_launches(
    make: Make, driver: FakeDriver, anew: FusedEngine, memory: PictureMemory
) -> None:
    """So a second look by another model than the first one's has its frame go up once more, and no oftener."""
    fused = make()
    with fused.backend:
        for seed in range(ROUNDS):
            image = pooled(memory, seed)
            ups = assert_seen(fused, anew, image, again=False)
        assert ups == 1


# ── never another frame ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("most", [1, 8])
def test_with_another_frame_in_between_it_goes_up_again(
    make: Make, driver: FakeDriver, anew: FusedEngine, memory: PictureMemory, most: int
) -> None:
    fused = make(most=most, options={"formats": [BGR]})
    with fused.backend:
        trusted(fused, memory)
        for seed in range(4):
            image, other = pooled(memory, seed), pooled(memory, 50 + seed)
            one(fused, image)
            one(fused, other)
            assert assert_seen(fused, anew, image) == 1
            assert assert_seen(fused, anew, image) == 0
            assert_seen(fused, anew, other)


@pytest.mark.parametrize("most", [1, 2, 8])
def test_frames_that_are_looked_at_again_in_turns_are_never_taken_for_one_another(
    make: Make, anew: FusedEngine, memory: PictureMemory, most: int
) -> None:
    """No look in between says that anything has changed: only which frame a lane has now tells them apart."""
    fused = make(most=most, options={"formats": [BGR]})
    with fused.backend:
        trusted(fused, memory)
        images = [pooled(memory, seed) for seed in range(3)] + [painted(3)]
        one(fused, images[0])
        for number in (0, 1, 0, 0, 2, 3, 1, 3, 3, 0, 2):
            assert_seen(fused, anew, images[number])


@pytest.mark.parametrize("most", [1, 4])
def test_a_frame_that_its_owner_has_changed_goes_up_again_with_its_next_first_look(
    make: Make, anew: FusedEngine, memory: PictureMemory, most: int
) -> None:
    """No source does that. Lanes that had it as it was must not be asked, whichever of them has it as it is."""
    fused = make(most=most, options={"formats": [BGR], "batches": (1, most)})
    with fused.backend:
        trusted(fused, memory)
        image = pooled(memory, 0)
        for seed in range(8):
            image[:] = painted(seed)
            others = [pooled(memory, 50 + number) for number in range(3)] if seed % 2 else []
            found_in(fused, [Look(each, 0.5) for each in (*others, image)])
            assert_seen(fused, anew, image)
            image[:] = painted(20 + seed)
            assert_seen(fused, anew, image, again=False)


def test_a_new_picture_in_the_memory_of_the_last_one_is_another_picture(
    make: Make, driver: FakeDriver, anew: FusedEngine
) -> None:
    fused, memory = make(most=8, options={"formats": [BGR]}), PictureMemory(most=1)
    with fused.backend:
        trusted(fused, PictureMemory())
        for seed in range(4):
            image = pooled(memory, seed)
            one(fused, image)
            gone, address = weakref.ref(image), image.__array_interface__["data"][0]
            del image
            assert gone() is None, "no lane holds it"
            image = pooled(memory, 50 + seed)
            assert image.__array_interface__["data"][0] == address
            assert assert_seen(fused, anew, image) == 1
            del image
    assert memory.missed == 0


def test_a_frame_whose_lane_is_gone_goes_up_again(
    make: Make, driver: FakeDriver, anew: FusedEngine, memory: PictureMemory
) -> None:
    """Sixteen lanes of other formats take its place, while nothing says that the frame has changed."""
    fused = make(most=8, options={"formats": [BGR]})
    with fused.backend:
        trusted(fused, memory)
        image = pooled(memory, 1)
        one(fused, image)
        for side in [side for side in range(60, 77) for _ in range(2)]:
            found_in(fused, [Look(painted(side, (side, 80)), 0.5, again=True)])
        assert driver.live()["execs"] == 16
        assert_seen(fused, anew, image)


def test_a_frame_whose_lane_had_to_grow_goes_up_again(make: Make, driver: FakeDriver, anew: FusedEngine) -> None:
    fused = make(most=8)
    with fused.backend:
        for seed in range(3):
            image = painted(seed, (100 + seed, 80))
            one(fused, image)
            found_in(fused, [Look(painted(seed, (200, 200 + 10 * seed)), 0.5, again=True)])
            found = found_in(fused, parts_of(image, regions=[(5, 5, 90, 75)]))
            assert_equal(found, found_in(anew, parts_of(image.copy(), again=False, regions=[(5, 5, 90, 75)])))


def test_a_graph_that_was_right_on_frames_that_were_there_is_still_tried_on_those_that_go_up(
    make: Make, driver: FakeDriver, memory: PictureMemory
) -> None:
    fused = make(most=8, options={"formats": [BGR]})
    with fused.backend:
        for seed in range(10, 10 + ROUNDS):
            image = pooled(memory, seed)
            one(fused, image)
            driver.forget()
            found_in(fused, parts_of(image))
        assert driver.counted()["cuLaunchKernel"] == 0
        for seed in range(2, 5):
            driver.forget()
            found_in(fused, parts_of(pooled(memory, seed)))
            assert driver.counted()["cuLaunchKernel"] == (6 if seed < 4 else 0), "its calls, and those to compare with"


# ── what goes wrong ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("nth", [1, 2])
@pytest.mark.parametrize("code", [1, 2, 500, 801])
def test_where_the_driver_leaves_no_copy_out_every_look_brings_its_frame_up_and_that_is_told_once(
    make: Make, driver: FakeDriver, memory: PictureMemory, anew: FusedEngine, told: list[str], code: int, nth: int
) -> None:
    fused = make(most=8, options={"formats": [BGR]})
    driver.fail(ENABLE, nth=nth, code=code)
    with fused.backend:
        trusted(fused, memory)
        for seed in range(3):
            image = pooled(memory, seed)
            driver.forget()
            one(fused, image)
            found = found_in(fused, parts_of(image))
            assert (driver.ups(FRAME), driver.counted()["cuGraphLaunch"]) == (2, 2)
            assert_equal(found, found_in(anew, parts_of(image.copy(), again=False)))
    assert len(told) == 1
    assert told[0].startswith("cells.engine: a frame goes to the GPU again for each look at parts of it: GPU: cuGraph")


@pytest.mark.parametrize("nth", [1, 2])
@pytest.mark.parametrize("most", [1, 8])
@pytest.mark.parametrize("code", [1, 2, 801])
def test_a_copy_that_is_not_left_out_or_made_again_costs_the_graph_and_no_frame(
    make: Make,
    driver: FakeDriver,
    memory: PictureMemory,
    anew: FusedEngine,
    told: list[str],
    code: int,
    most: int,
    nth: int,
) -> None:
    fused = make(most=most, options={"formats": [BGR]})
    with fused.backend:
        trusted(fused, memory)
        driver.fail(ENABLE, nth=nth, code=code)
        for seed in range(3):
            image = pooled(memory, seed)
            one(fused, image)
            assert assert_seen(fused, anew, image) == 0
            assert_seen(fused, anew, image, again=False)
    (line,) = told
    assert line.startswith("cells.engine: runs without its CUDA graph: ")
    assert ENABLE in line


@pytest.mark.parametrize("most", [1, 8])
def test_a_second_look_that_failed_is_waited_for_before_its_frame_makes_room_for_the_next(
    make: Make, driver: FakeDriver, memory: PictureMemory, anew: FusedEngine, most: int
) -> None:
    fused = make(most=most, options={"formats": [BGR]})
    with fused.backend:
        trusted(fused, memory)
        image, other = pooled(memory, 1), pooled(memory, 2)
        one(fused, image)
        driver.fail("cuStreamSynchronize", code=999)
        with pytest.raises(GpuError, match="waiting for a stream"):
            found_in(fused, parts_of(image))
        driver.heal()
        driver.forget()
        one(fused, other)
        assert driver.names().index("cuStreamSynchronize") < driver.names().index("cuGraphLaunch")
        assert_seen(fused, anew, other)
        assert_seen(fused, anew, image)


@pytest.mark.parametrize(
    ("name", "ups"),
    [
        ("cuEventElapsedTime_v2", 1),
        ("cuStreamSynchronize", 2),  # with that of the first look, which this driver makes when it is waited for
    ],
)
def test_a_frame_whose_first_look_failed_goes_up_with_the_second(
    make: Make, driver: FakeDriver, memory: PictureMemory, anew: FusedEngine, name: str, ups: int
) -> None:
    fused = make(most=8, options={"formats": [BGR]})
    with fused.backend:
        trusted(fused, memory)
        image = pooled(memory, 1)
        driver.fail(name, code=999)
        with pytest.raises(GpuError):
            one(fused, image)
        driver.heal()
        assert assert_seen(fused, anew, image) == ups


def test_a_thousand_frames_with_a_second_look_leave_nothing(make: Make, driver: FakeDriver) -> None:
    fused, memory = make(most=2, options={"formats": [BGR]}), PictureMemory(most=2)
    with fused.backend as lanes:
        trusted(fused, memory)
        before, ups = driver.live(), []
        image = pooled(memory, 0)
        for _ in range(1000):
            driver.forget()
            image = memory.take(image.shape)
            look = [Look(image, 0.9)], parts_of(image, regions=REGIONS[:2])
            fused.look(look[0])
            fused.look(look[1])
            ups.append(driver.ups(FRAME))
            del look
        assert set(ups) == {1}
        assert driver.live() == before
        assert all(len(lane.frames._copies) <= 1 for lane in lanes._all())
