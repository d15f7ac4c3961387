"""The driver is asked what the machine is; without one there is no GPU, and nothing crashes."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from app.inference import machine
from app.inference.engine_file import Machine
from app.inference.machine import Gpu, driver_version, find_gpu, this_machine


class Driver:
    """What libcuda answers, with one call that fails where that is asked for."""

    def __init__(self, fails: str = "", attributes: dict[int, int] | None = None) -> None:
        self.fails = fails
        self.attributes = attributes or {75: 8, 76: 7, 18: 1}
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        answer = getattr(type(self), f"do_{name}", lambda self, *arguments: None)

        def call(*arguments: Any) -> int:
            self.calls.append(name)
            if name == self.fails:
                return 100
            answer(self, *arguments)
            return 0

        call.__name__ = name
        return call

    def do_cuDeviceGetName(self, name: Any, size: int, device: Any) -> None:  # noqa: N802 - the driver's names
        name.value = b"Orin"

    def do_cuDriverGetVersion(self, version: Any) -> None:  # noqa: N802
        version._obj.value = 12060

    def do_cuDeviceGetAttribute(self, value: Any, number: int, device: Any) -> None:  # noqa: N802
        value._obj.value = self.attributes[number]

    def do_cuMemGetInfo_v2(self, free: Any, total: Any) -> None:  # noqa: N802
        free._obj.value, total._obj.value = 3 << 30, 8 << 30


@pytest.fixture
def with_driver(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Have a driver answer."""

    def put(driver: Driver) -> Driver:
        monkeypatch.setattr(machine.ctypes, "CDLL", lambda name: driver)
        return driver

    return put


def test_the_first_gpu_is_described_as_its_driver_does(with_driver: Any) -> None:
    driver = with_driver(Driver())
    assert find_gpu() == Gpu("Orin", "8.7", "12.6", integrated=True, free_bytes=3 << 30)
    assert driver.calls[-1] == "cuDevicePrimaryCtxRelease_v2"  # what was taken to ask is given back


@pytest.mark.parametrize("call", ["cuInit", "cuDeviceGet", "cuDeviceGetName", "cuDeviceGetAttribute"])
def test_a_driver_that_refuses_is_no_gpu(with_driver: Any, call: str) -> None:
    with_driver(Driver(fails=call))
    assert find_gpu() is None


@pytest.mark.parametrize("call", ["cuDevicePrimaryCtxRetain", "cuCtxPushCurrent_v2", "cuMemGetInfo_v2"])
def test_memory_that_can_t_be_told_is_not_told(with_driver: Any, call: str) -> None:
    driver = with_driver(Driver(fails=call))
    gpu = find_gpu()
    assert gpu is not None
    assert gpu.free_bytes is None
    assert driver.calls.count("cuDevicePrimaryCtxRetain") - (call == "cuDevicePrimaryCtxRetain") == driver.calls.count(
        "cuDevicePrimaryCtxRelease_v2"
    )
    assert driver.calls.count("cuCtxPopCurrent_v2") == (call == "cuMemGetInfo_v2")


def test_without_a_driver_there_is_no_gpu() -> None:
    assert find_gpu("libcuda-that-is-not-there.so.1") is None


# What a release file says, and the version in it.
RELEASES = [
    ("# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic, EABI: aarch64", "36.4.3"),  # JetPack 6.2
    ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 27 07:12:50 UTC 2025", "580.65.06"),
    (
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.124.04  Release Build\nGCC version: 12.3.0",
        "570.124.04",
    ),
    ("540.4.0\n", "540.4.0"),  # of a kernel module's own version file
    ("nothing of the kind", None),
]


@pytest.mark.parametrize(("text", "version"), RELEASES)
def test_the_driver_s_version_is_read_where_it_is_written(tmp_path: Path, text: str, version: str | None) -> None:
    (tmp_path / "version").write_text(text)
    assert driver_version([tmp_path / "not_there", tmp_path / "version"]) == version


def test_a_machine_is_described_with_and_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    trt = ModuleType("tensorrt")
    trt.__version__ = "10.3.0"
    monkeypatch.setattr(machine, "driver_version", lambda: "36.4.3")
    orin = Gpu("Orin", "8.7", "12.6", integrated=True, free_bytes=None)
    assert this_machine(trt, orin) == Machine("tensorrt", "10.3.0", "12.6", "36.4.3", "Orin", "8.7")
    assert this_machine(trt, None) == Machine("tensorrt", "10.3.0")
