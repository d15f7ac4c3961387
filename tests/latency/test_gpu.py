"""The GPU of a Jetson, from made-up files of a board, and which way of asking a machine has."""

import pytest

from app.latency.gpu import GpuState
from app.latency.gpu_find import find_gpu_probe
from app.latency.jetson import JetsonProbe
from app.latency.nvml import NvmlProbe


def no_module(name):
    raise ImportError(name)


@pytest.fixture
def write(tmp_path):
    """Write a file of a machine; the fixture's folder stands for /."""

    def put(path, text):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")

    return put


@pytest.fixture
def orin(write):
    """An Orin with JetPack 6: 58.3 % busy at 918 of 1300 MHz and 61.5 °C, with 8 GB of which 3 are used."""
    write("sys/class/devfreq/17000000.gpu/device/load", "583")
    write("sys/class/devfreq/17000000.gpu/cur_freq", "918000000")
    write("sys/class/devfreq/17000000.gpu/max_freq", "1300000000")
    for number, (kind, milli) in enumerate([("cpu-thermal", 88000), ("gpu-thermal", 61500), ("tj-thermal", 88000)]):
        write(f"sys/class/thermal/thermal_zone{number}/type", kind)
        write(f"sys/class/thermal/thermal_zone{number}/temp", milli)
    coolers = ["pwm-fan", "devfreq-17000000.gpu", "gpu-throttle-alert", "cpufreq-cpu0"]
    for number, kind in enumerate(coolers):
        write(f"sys/class/thermal/cooling_device{number}/type", kind)
        write(f"sys/class/thermal/cooling_device{number}/cur_state", 1 if kind == "pwm-fan" else 0)
    write("sys/class/hwmon/hwmon3/oc1_event_cnt", 0)
    write("sys/class/hwmon/hwmon3/oc3_event_cnt", 7)
    write("proc/meminfo", "MemTotal:        7812500 kB\nMemFree:          100000 kB\nMemAvailable:    4882812 kB")


@pytest.mark.usefixtures("orin")
def test_an_orin_tells_load_clock_heat_and_the_memory_that_it_shares(tmp_path):
    with find_gpu_probe(tmp_path, no_module) as probe:
        assert isinstance(probe, JetsonProbe)
        (state,) = probe.read().values()
    assert (state.percent, state.mhz, state.max_mhz, state.celsius) == (58.3, 918, 1300, 61.5)
    assert (round(state.total_mb), round(state.used_mb)) == (8000, 3000)
    assert state.throttle == ()
    assert str(state) == "58 % busy, 918 MHz, 62 °C"


@pytest.mark.usefixtures("orin")
def test_a_cooling_device_of_the_gpu_is_heat_and_neither_a_fan_nor_a_mere_alert_is(tmp_path, write):
    probe = JetsonProbe(tmp_path)
    write("sys/class/thermal/cooling_device2/cur_state", 1)
    assert probe.read()["0"].throttle == ()
    write("sys/class/thermal/cooling_device1/cur_state", 2)
    assert probe.read()["0"].throttle == ("thermal",)


@pytest.mark.usefixtures("orin")
def test_a_current_that_was_too_high_since_the_last_look_is_told_once(tmp_path, write):
    probe = JetsonProbe(tmp_path)
    assert probe.read()["0"].throttle == ()
    write("sys/class/hwmon/hwmon3/oc3_event_cnt", 9)
    assert probe.read()["0"].throttle == ("over_current",)
    assert probe.read()["0"].throttle == ()


BOARDS = [
    # the load's file, the folder with the clock
    ("sys/class/devfreq/17000000.gpu/device/load", "sys/class/devfreq/17000000.gpu"),  # Orin, JetPack 6
    ("sys/class/devfreq/17000000.ga10b/device/load", "sys/class/devfreq/17000000.ga10b"),  # Orin, JetPack 5
    ("sys/class/devfreq/17000000.gv11b/device/load", "sys/class/devfreq/17000000.gv11b"),  # Xavier
    ("sys/devices/platform/gpu.0/load", "sys/devices/platform/gpu.0/devfreq/17000000.gv11b"),  # newer kernels
    ("sys/devices/gpu.0/load", "sys/devices/gpu.0/devfreq/57000000.gpu"),  # Nano
]


@pytest.mark.parametrize(("path", "clock"), BOARDS)
def test_every_boards_file_gives_thousandths_and_the_clock_is_found_beside_it(tmp_path, write, path, clock):
    write(path, 583)
    write(f"{clock}/cur_freq", 600000000)
    probe = find_gpu_probe(tmp_path, no_module)
    assert probe.read() == {"0": GpuState(percent=58.3, mhz=600)}
    write(path, "nonsense")
    assert probe.read() == {"0": GpuState(mhz=600)}
    (tmp_path / path).unlink()  # a GPU that sleeps
    assert probe.read() == {"0": GpuState(mhz=600)}


def test_a_machine_without_a_gpu_has_no_probe(tmp_path, write):
    write("sys/class/devfreq/13e10000.emc/device/load", 1)
    assert find_gpu_probe(tmp_path, no_module) is None


def test_a_pc_is_asked_by_nvml_where_its_package_is_installed(tmp_path):
    assert isinstance(find_gpu_probe(tmp_path), NvmlProbe)


def test_nothing_known_is_said_so():
    assert str(GpuState()) == "nothing can be read"
    assert str(GpuState(throttle=("thermal",))) == "held back: thermal"
