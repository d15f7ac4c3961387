"""Clock speed and throttling, from a made-up /sys."""

from pathlib import Path

import pytest

from app.latency.gpu import GpuState
from app.latency.machine import MachineProbe
from app.latency.trace_file import decode_record, encode_record

SECOND = 1_000_000_000


def write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n")


@pytest.fixture
def board(tmp_path: Path) -> Path:
    """Two cores at 1.5 GHz of 2 GHz, a fan that turns, one cooling device of the processor at rest."""
    for core in (0, 1):
        write(tmp_path, f"devices/system/cpu/cpu{core}/cpufreq/scaling_cur_freq", "1500000")
        write(tmp_path, f"devices/system/cpu/cpu{core}/cpufreq/cpuinfo_max_freq", "2000000")
        write(tmp_path, f"devices/system/cpu/cpu{core}/thermal_throttle/core_throttle_count", "7")
    for number, (kind, state) in enumerate([("pwm-fan", "3"), ("cpufreq-cpu0", "0"), ("intel_powerclamp", "-1")]):
        write(tmp_path, f"class/thermal/cooling_device{number}/type", kind)
        write(tmp_path, f"class/thermal/cooling_device{number}/cur_state", state)
    write(tmp_path, "class/thermal/thermal_zone0/temp", "71500")
    return tmp_path


def test_the_clock_speed_is_told_for_the_time_since_the_last_look(board: Path) -> None:
    probe = MachineProbe(board)
    assert probe.sample(SECOND) == []
    (event,) = probe.sample(2 * SECOND)
    assert (event.kind, event.began_ns, event.ended_ns) == ("clock", SECOND, 2 * SECOND)
    assert event.data == {"mhz": 1500, "max_mhz": 2000}


def test_a_processor_that_is_held_back_is_a_throttle_and_a_fan_is_none(board: Path) -> None:
    probe = MachineProbe(board)
    probe.sample(0)
    write(board, "class/thermal/cooling_device1/cur_state", "2")
    event = probe.sample(SECOND)[-1]
    assert event.kind == "throttle"
    assert event.data == {"devices": ["cpufreq-cpu0"], "counted": 0, "hottest_c": 71.5}


def test_a_throttle_counter_that_grows_is_a_throttle_once(board: Path) -> None:
    probe = MachineProbe(board)
    probe.sample(0)
    write(board, "devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "9")
    assert [event.kind for event in probe.sample(SECOND)] == ["clock", "throttle"]
    assert [event.kind for event in probe.sample(2 * SECOND)] == ["clock"]


@pytest.mark.parametrize("content", ["", "unknown", "1.5"])
def test_a_sensor_that_gives_no_number_is_left_out(board: Path, content: str) -> None:
    for core in (0, 1):
        write(board, f"devices/system/cpu/cpu{core}/cpufreq/scaling_cur_freq", content)
    probe = MachineProbe(board)
    probe.sample(0)
    assert probe.sample(SECOND) == []


def test_a_machine_without_any_of_these_files_gives_nothing(tmp_path: Path) -> None:
    probe = MachineProbe(tmp_path)
    probe.sample(0)
    assert probe.sample(SECOND) == []


def test_every_gpu_is_an_event_and_one_that_is_held_back_a_throttle(board: Path) -> None:
    gpus = {"0": GpuState(percent=97.0, mhz=1300, celsius=71.0)}
    probe = MachineProbe(board, lambda: gpus)
    probe.sample(0)
    event = probe.sample(SECOND)[-1]
    assert (event.kind, event.text, event.began_ns) == ("gpu", "gpu 0: 97 % busy, 1300 MHz, 71 °C", 0)
    assert event.data["percent"] == 97.0
    gpus["0"] = GpuState(celsius=96.0, throttle=("thermal",))
    event = probe.sample(2 * SECOND)[-1]
    assert (event.kind, event.text) == ("throttle", "slowed down: gpu 0 (thermal)")
    assert event.data == {"gpu": "0", "reasons": ["thermal"], "celsius": 96.0}
    assert decode_record(encode_record(event)) == event
