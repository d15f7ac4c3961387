"""Blocks of cameras' memory that the driver doesn't take, and graphs that take no other source."""

import pytest

from app.engine import Engine
from app.frame import PixelFormat
from app.picture_memory import PictureMemory
from tests.fused.cells import painted, pooled
from tests.fused.conftest import Make
from tests.fused.test_engine import BGR, WH, assert_same, one
from tests.fused.test_frames import REGISTER, SET, trusted
from tests.gpu.fake_driver import FakeDriver


@pytest.mark.parametrize("integrated", [False, True])
@pytest.mark.parametrize("code", [1, 2, 712, 801])
def test_a_block_that_the_driver_does_not_take_is_copied_as_other_memory_is_and_told_once(
    make: Make, host: Engine, driver: FakeDriver, memory: PictureMemory, told: list[str], code: int, integrated: bool
) -> None:
    driver.reset(present=True, integrated=integrated)
    fused = make(options={"formats": [BGR]})
    driver.fail(REGISTER, code=code)
    with fused.backend:
        for seed in range(5):
            assert_same(one(fused, pooled(memory, seed)), one(host, painted(seed)))
        calls = driver.counted()
        assert calls[REGISTER] == 1, "not asked again for every frame"
        driver.forget()
        one(fused, pooled(memory, 6))
        assert driver.counted()["cuGraphLaunch"] == 1
    assert len(told) == 1
    assert told[0].startswith("cells.engine: every frame is copied before it goes to the GPU: GPU: cuMemHostRegister: ")
    assert "the context is lost" not in told[0]


def test_a_block_whose_address_on_a_jetson_is_refused_is_copied(
    make: Make, host: Engine, driver: FakeDriver, memory: PictureMemory, told: list[str]
) -> None:
    driver.reset(present=True, integrated=True)
    fused = make()
    with fused.backend:
        one(fused, painted(0))
        driver.fail("cuMemHostGetDevicePointer_v2", code=801)
        assert_same(one(fused, pooled(memory, 1, (64, 64))), one(host, painted(1, (64, 64))))
        assert "registered" not in driver.live()
    assert len(told) == 1


@pytest.mark.parametrize("name", ["cuGraphNodeGetType", "cuGraphMemcpyNodeGetParams", SET])
def test_a_graph_whose_copy_cannot_be_changed_is_used_as_it_was_captured_and_that_is_told_once(
    make: Make, host: Engine, driver: FakeDriver, memory: PictureMemory, told: list[str], name: str
) -> None:
    fused = make(options={"formats": [BGR, (PixelFormat.BGR8, (96, 64))]})
    driver.fail(name, code=801)
    with fused.backend:
        for seed in range(4):
            for size_wh in (WH, (96, 64)):
                image = pooled(memory, seed, size_wh)
                assert_same(one(fused, image), one(host, painted(seed, size_wh)))
        driver.forget()
        one(fused, pooled(memory, 6))
        assert driver.counted()["cuGraphLaunch"] == 1
        assert SET not in driver.names()
    assert len(told) == 1
    assert name.removesuffix("_v2") in told[0]


def test_a_graph_that_refuses_another_source_later_is_given_up_and_the_frame_is_looked_at(
    make: Make, host: Engine, driver: FakeDriver, memory: PictureMemory, told: list[str]
) -> None:
    fused = make(options={"formats": [BGR]})
    with fused.backend:
        trusted(fused, memory)
        held = pooled(memory, 50)  # so that the next one lies elsewhere
        driver.fail(SET, code=1)
        for seed in range(4):
            assert_same(one(fused, pooled(memory, seed)), one(host, painted(seed)))
        del held
        assert driver.counted()["cuGraphLaunch"] > 0
        assert "execs" not in driver.live()
    assert len(told) == 1
    assert told[0].startswith("cells.engine: runs without its CUDA graph: ")
    assert SET in told[0]
