"""What holds the machine back is remembered for a moment, by part and reason."""

import pytest

from app.latency.gpu import GpuState
from app.latency.throttle import CpuThrottle, Throttle


@pytest.fixture
def sys(tmp_path):
    """A processor that is not held back, at 94 °C."""
    cooler = tmp_path / "class/thermal/cooling_device0"
    zone = tmp_path / "class/thermal/thermal_zone0"
    counter = tmp_path / "devices/system/cpu/cpu0/thermal_throttle"
    for folder in (cooler, zone, counter):
        folder.mkdir(parents=True)
    (cooler / "type").write_text("cpufreq-cpu0\n")
    (cooler / "cur_state").write_text("0\n")
    (zone / "temp").write_text("94000\n")
    (counter / "core_throttle_count").write_text("3\n")
    return tmp_path


@pytest.fixture
def gpus():
    return {}


@pytest.fixture
def throttle(sys, gpus, clock):
    return Throttle(CpuThrottle(sys), lambda: gpus, clock)


def test_nothing_holds_back_a_machine_that_is_well(throttle, gpus):
    gpus["0"] = GpuState(percent=99.0)
    throttle.look()
    assert throttle.reasons() == ()
    assert throttle.parts() == {"cpu": False, "gpu 0": False}


def test_processors_and_gpus_are_told_with_their_reason_and_for_five_seconds_more(throttle, gpus, sys, clock):
    (sys / "class/thermal/cooling_device0/cur_state").write_text("2\n")
    gpus["0"] = GpuState(throttle=("thermal", "power_cap"))
    throttle.look()
    assert throttle.reasons() == ("cpu: cpufreq-cpu0 at 94 °C", "gpu 0: thermal, power_cap")
    (sys / "class/thermal/cooling_device0/cur_state").write_text("0\n")
    gpus["0"] = GpuState()
    clock.advance(4)
    throttle.look()
    assert throttle.parts() == {"cpu": True, "gpu 0": True}
    clock.advance(1)
    throttle.look()
    assert throttle.reasons() == ()


def test_a_count_that_grows_between_two_looks_is_told(throttle, sys):
    throttle.look()
    (sys / "devices/system/cpu/cpu0/thermal_throttle/core_throttle_count").write_text("5\n")
    throttle.look()
    assert throttle.reasons() == ("cpu: 2 throttle counts at 94 °C",)


def test_a_machine_without_such_files_is_never_held_back(tmp_path, clock):
    throttle = Throttle(CpuThrottle(tmp_path / "none"), dict, clock)
    throttle.look()
    assert throttle.reasons() == ()
