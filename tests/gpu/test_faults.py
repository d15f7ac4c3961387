"""Every error of the driver at every call: said in one line, nothing kept, no old result taken for a new one."""

from collections.abc import Iterator

import pytest

from app.errors import GpuError
from app.gpu.context import Context
from app.gpu.memory import DeviceMemory
from tests.conftest import ROOT
from tests.gpu.fake_driver import FakeDriver
from tests.gpu.tiny_work import whole_life

CODES = (1, 2, 201, 400, 700, 719, 900, 901, 906, 999)
"""Wrong value, no memory, no context, wrong handle, illegal address, launch failed, three of capturing, unknown."""

BREAKING = (700, 719)


def failed_life() -> str:
    """Live once and return the error's line; empty where there was none, and the result is right."""
    try:
        assert (whole_life() == 42).all()
    except GpuError as error:
        return str(error)
    return ""


def calls_of_a_life() -> Iterator[str]:
    yield from (
        *("cuInit", "cuDeviceGet", "cuDeviceComputeCapability", "cuDeviceGetAttribute", "cuDevicePrimaryCtxRetain"),
        *("cuCtxPushCurrent_v2", "cuStreamCreate", "cuMemHostAlloc", "cuMemAlloc_v2", "cuModuleLoadData"),
        *("cuModuleGetFunction", "cuEventCreate", "cuMemsetD8Async", "cuEventRecord", "cuMemcpyHtoDAsync_v2"),
        *("cuLaunchKernel", "cuMemcpyDtoHAsync_v2", "cuStreamSynchronize", "cuStreamIsCapturing"),
        *("cuStreamBeginCapture_v2", "cuEventRecordWithFlags", "cuStreamEndCapture", "cuGraphGetNodes"),
        *("cuGraphInstantiateWithFlags", "cuGraphLaunch", "cuEventElapsedTime_v2", "cuMemHostRegister_v2"),
        *("cuGraphNodeGetType", "cuGraphMemcpyNodeGetParams", "cuGraphExecMemcpyNodeSetParams"),
        *("cuGraphNodeSetEnabled",),
    )


def test_every_call_of_a_life_is_tried(driver: FakeDriver) -> None:
    whole_life()
    given_back = {
        *(
            "cuGraphDestroy",
            "cuGraphExecDestroy",
            "cuStreamDestroy_v2",
            "cuMemFree_v2",
            "cuMemFreeHost",
            "cuModuleUnload",
            "cuMemHostUnregister",
        ),
        *("cuEventDestroy_v2", "cuCtxPopCurrent_v2", "cuCtxGetCurrent", "cuDevicePrimaryCtxRelease_v2"),
    }
    assert set(driver.names()) - given_back == set(calls_of_a_life())


@pytest.mark.parametrize("name", list(calls_of_a_life()))
def test_each_error_at_each_call_is_one_line_leaks_nothing_and_gives_no_stale_result(
    driver: FakeDriver, name: str
) -> None:
    whole_life()
    total = driver.counted()[name]
    for code in CODES:
        for nth in {1} if name == "cuCtxPushCurrent_v2" else {1, total}:  # PyCUDA pushes once more to give back
            driver.reset(present=True)
            driver.fail(name, nth=nth, code=code)
            # An event's record and its time may fail without harm, nothing else may be survived in silence.
            said = failed_life()
            if (name, code) == ("cuMemAlloc_v2", 2):
                assert said == "", "PyCUDA collects garbage and asks once more"
            else:
                assert said.startswith("GPU: ")
                assert "\n" not in said
            driver.heal()
            if code in BREAKING:  # nothing can be given back any more: the process has to end
                driver.forgive()
            assert driver.live() == {}, (name, code, nth)
    driver.reset(present=True)
    assert (whole_life() == 42).all()


@pytest.mark.parametrize(
    "name",
    [
        "cuMemFree_v2",
        "cuMemFreeHost",
        "cuGraphDestroy",
        "cuGraphExecDestroy",
        "cuEventDestroy_v2",
        "cuMemHostUnregister",
    ],
)
def test_an_error_while_one_thing_is_given_back_keeps_nothing_else_from_being_given_back(
    driver: FakeDriver, name: str
) -> None:
    driver.fail(name, code=1)
    failed_life()
    driver.heal()
    assert sum(driver.live().values()) <= 1, driver.live()
    lost = driver.live()
    assert (whole_life() == 42).all()
    assert driver.live() == lost
    driver.forgive()


def test_no_memory_says_what_to_do(context, driver: FakeDriver) -> None:
    driver.limit(1000)
    with pytest.raises(
        GpuError, match=r"taking 2,000 bytes of its memory: .*out of memory.*: close other programs"
    ) as e:
        DeviceMemory(context, 2000)
    assert e.value.code == 2


def test_without_a_gpu_the_context_is_refused(driver: FakeDriver) -> None:
    driver.reset(present=False)
    with pytest.raises(GpuError, match="opening GPU 0"), Context():
        pass


def test_a_second_gpu_that_is_not_there_is_refused(driver: FakeDriver) -> None:
    with pytest.raises(GpuError, match="opening GPU 1"), Context(1):
        pass


def test_a_gpu_that_fails_ends_the_service_so_that_systemd_starts_it_again() -> None:
    unit = (ROOT / "systemd" / "taktsight.service").read_text(encoding="utf-8")
    never = next(line for line in unit.splitlines() if line.startswith("RestartPreventExitStatus="))
    assert str(GpuError.exit_code) not in never.partition("=")[2].split()
