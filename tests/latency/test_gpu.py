"""The load of GPUs, from stand-ins: a folder like a Jetson's, a module like NVIDIA's."""

from types import SimpleNamespace

import pytest

from app.latency.gpu import JetsonLoad, NvmlLoad, find_gpu_load


class NvmlError(Exception):
    """As in pynvml."""


class Nvml:
    """The part of pynvml that is used, for so many GPUs; None for one that has no load of its own."""

    NVMLError = NvmlError

    def __init__(self, *loads, has_driver=True):
        self.loads, self.has_driver = loads, has_driver
        self.open = 0

    def nvmlInit(self):  # noqa: N802 - as in pynvml
        if not self.has_driver:
            raise NvmlError("driver not loaded")
        self.open += 1

    def nvmlShutdown(self):  # noqa: N802
        self.open -= 1

    def nvmlDeviceGetCount(self):  # noqa: N802
        return len(self.loads)

    def nvmlDeviceGetHandleByIndex(self, number):  # noqa: N802
        return number

    def nvmlDeviceGetUtilizationRates(self, handle):  # noqa: N802
        if self.loads[handle] is None:
            raise NvmlError("not supported")
        return SimpleNamespace(gpu=self.loads[handle], memory=7)


def no_module(name):
    raise ImportError(name)


def test_nvml_gives_the_load_of_every_gpu_that_has_one():
    nvml = Nvml(37, None, 99)
    with find_gpu_load(load_module=lambda name: {"pynvml": nvml}[name]) as load:
        assert load.percent() == {"0": 37.0, "2": 99.0}
        assert nvml.open == 1
    assert nvml.open == 0


def test_without_a_driver_there_is_no_load_and_nothing_to_close():
    nvml = Nvml(37, has_driver=False)
    with NvmlLoad(nvml) as load:
        assert load.percent() == {}
    assert nvml.open == 0


@pytest.mark.parametrize(
    "path",
    [
        "class/devfreq/17000000.gpu/device/load",  # Orin, JetPack 6
        "class/devfreq/17000000.ga10b/device/load",  # Orin, JetPack 5
        "class/devfreq/17000000.gv11b/device/load",  # Xavier
        "devices/platform/gpu.0/load",  # newer kernels of Nano and Xavier
        "devices/gpu.0/load",  # Nano
    ],
)
def test_a_jetsons_file_gives_thousandths(tmp_path, path):
    file = tmp_path / path
    file.parent.mkdir(parents=True)
    file.write_text("583\n")
    with find_gpu_load(tmp_path, no_module) as load:
        assert isinstance(load, JetsonLoad)
        assert load.percent() == {"0": 58.3}
        file.write_text("nonsense")
        assert load.percent() == {}
        file.unlink()
        assert load.percent() == {}


def test_a_machine_without_a_gpu_has_no_load(tmp_path):
    (tmp_path / "class/devfreq/13e10000.emc/device").mkdir(parents=True)
    (tmp_path / "class/devfreq/13e10000.emc/device/load").write_text("1")
    assert find_gpu_load(tmp_path, no_module) is None
