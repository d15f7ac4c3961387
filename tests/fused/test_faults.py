"""Every error of the driver at every call of a line's life: told or raised, never an old result, nothing kept."""

from collections import Counter

import numpy as np
import pytest

from app.detections import Detections
from app.engine import Look
from app.errors import ModelError
from app.frame import crop
from app.picture_memory import PictureMemory
from tests.fused.cells import painted, pooled
from tests.fused.conftest import Make
from tests.fused.test_engine import BGR, WH
from tests.gpu.fake_driver import FakeDriver

CODES = (1, 2, 700, 901)
"""Wrong value, no memory, illegal address (the end of the context), a spoilt capture."""

CALLS = (
    *("cuInit", "cuDeviceGet", "cuDevicePrimaryCtxRetain", "cuCtxPushCurrent_v2", "cuModuleLoadData"),
    *("cuModuleGetFunction", "cuStreamCreate", "cuMemAlloc_v2", "cuMemHostAlloc", "cuEventCreate", "cuMemsetD8Async"),
    *("cuStreamIsCapturing", "cuEventRecord", "cuMemcpyHtoDAsync_v2", "cuLaunchKernel", "cuLaunchHostFunc"),
    *("cuMemcpyDtoHAsync_v2", "cuStreamSynchronize", "cuStreamBeginCapture_v2", "cuEventRecordWithFlags"),
    *("cuStreamEndCapture", "cuGraphGetNodes", "cuGraphInstantiateWithFlags", "cuGraphLaunch", "cuEventElapsedTime_v2"),
    *("cuMemHostRegister_v2", "cuGraphNodeGetType", "cuGraphMemcpyNodeGetParams", "cuGraphExecMemcpyNodeSetParams"),
    "cuGraphNodeSetEnabled",
)


def corners(image: np.ndarray) -> set[int]:
    """Which of the classes a picture of one bright patch shows: what a look at it has to find."""
    return {2 - channel for channel in range(3) if (image[:, :, channel] == 255).any()}


def line(make: Make) -> list[set[int]]:
    """Enter, look at four pictures, every other one in a camera's memory, twice, leave; return the classes found in each.

    The second look is at parts of the picture, of which the first is all of it.
    """
    fused = make(options={"formats": [BGR]})
    memory = PictureMemory()
    with fused.backend:
        results = []
        for seed in range(4):
            image = painted(seed) if seed % 2 else pooled(memory, seed)
            (found,) = fused.look([Look(image, 0.5)])
            again, _ = fused.look([Look(crop(image, (0, 0, *corner)), 0.5, again=True) for corner in (WH, (80, 60))])
            assert isinstance(found, Detections)
            assert isinstance(again, Detections)
            results += [set(found.classes.tolist()), set(again.classes.tolist())]
    return results


def test_every_call_of_a_line_s_life_is_tried(make: Make, driver: FakeDriver) -> None:
    driver.forget()
    line(make)
    asides = ("cuDeviceGetName", "cuDriverGetVersion", "cuDeviceGetAttribute", "cuDeviceComputeCapability")
    given_back = ("Destroy", "Free", "Unload", "Unregister", "Release", "Pop", "GetCurrent", "MemGetInfo")
    left = {name for name in driver.names() if not any(word in name for word in given_back)}
    assert left - set(asides) == set(CALLS)


@pytest.mark.parametrize("name", CALLS)
def test_an_error_at_any_call_is_raised_or_survived_with_the_right_result(
    make: Make, driver: FakeDriver, told: list[str], name: str
) -> None:
    driver.forget()
    expected = line(make)
    assert expected == [corners(painted(seed)) for seed in range(4) for _ in range(2)], WH
    total = driver.counted()[name]
    outcomes: Counter[str] = Counter()
    for number, code in enumerate(CODES):
        driver.reset(present=True)
        driver.fail(name, nth=(1, max(total // 2, 1), max(total - 1, 1), total)[number], code=code)
        try:
            assert line(make) == expected
            outcomes["survived"] += 1
        except ModelError as error:
            outcomes["raised" if "\n" not in str(error) else "raised in several lines"] += 1
        driver.heal()
        if code == 700:  # nothing can be given back after that: the process has to end
            driver.forgive()
        assert driver.live() == {}, (name, code)
    assert outcomes["survived"] + outcomes["raised"] == len(CODES)
