"""What the kernel's files say of a machine: rights, clocks, heat, room."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from app.doctor.clock import Sync, check_clock, read_sync
from app.doctor.line import Level
from app.doctor.permissions import CAMERAS, GPU, check_permissions, group_of
from app.doctor.power import check_power, is_jetson, power_mode
from app.doctor.room import Usage, check_disk, check_huge_pages, check_memory
from app.doctor.thermal import check_thermal
from app.doctor.unit import check_unit
from app.latency.gpu import GpuState
from tests.conftest import ROOT


def said(lines):
    return {line.topic: (line.level.value, line.text, line.remedy) for line in lines}


# ── permissions ──────────────────────────────────────────────────────────────────────────────────────────────────────


def nobody_may(path, mode):
    return False


GROUPS = [
    # a device file, the group that is named
    ("dev/video0", "video"),
    ("dev/nvidia0", "video"),
    ("dev/nvmap", "video"),
    ("dev/nvhost-ctrl-gpu", "video"),
    ("dev/dri/renderD128", "render"),
    ("dev/gpiochip0", "gpio"),
]


@pytest.mark.parametrize(("path", "group"), GROUPS)
def test_ops_02_a_device_that_may_not_be_used_names_the_group(tmp_path, write, path, group):
    write(path)
    (line,) = check_permissions(tmp_path, access=nobody_may, user="anna")
    assert line.level is Level.WARN
    assert line.text.startswith(f"anna has no permission to use {tmp_path / path}")
    assert line.remedy == f"put the user into the group {group}: sudo usermod -aG {group} anna; then log in again"


def test_ops_02_a_device_that_is_needed_is_broken_and_one_that_is_not_is_to_be_looked_at(tmp_path, write):
    write("dev/video0")
    write("dev/video1")
    write("dev/gpiochip0")
    lines = check_permissions(tmp_path, needed=[CAMERAS, GPU], access=nobody_may, user="anna")
    assert [line.level for line in lines] == [Level.FAIL, Level.WARN]
    assert "video0 and 1 more (cameras)" in lines[0].text


AS_NOBODY = """
import os, pathlib, sys
from app.doctor.permissions import check_permissions
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
print(check_permissions(pathlib.Path(sys.argv[1]))[0].remedy)
"""


def test_ops_02_it_is_so_for_a_real_user_and_a_file_that_nobody_may_read():
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        node = Path(folder) / "dev" / "video0"
        node.parent.mkdir(mode=0o755)
        node.touch(mode=0o000)
        command = [sys.executable, "-c", AS_NOBODY, folder]
        found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "put the user into the group video" in found.stdout, found.stderr


def test_the_files_own_group_is_named_where_it_is_another_than_the_usual(write):
    node = write("dev/video0")
    assert group_of(node, "video") == "video"  # root's: the usual one
    if os.getuid() == 0:
        os.chown(node, 0, 20)
        assert group_of(node, "video") == "dialout"


def test_devices_that_may_be_used_and_none_at_all_are_fine(tmp_path, write):
    (line,) = check_permissions(tmp_path, user="anna")
    assert (line.level, line.text) == (Level.OK, "there are no device files of cameras, GPU or digital lines")
    write("dev/video0")
    (line,) = check_permissions(tmp_path, access=lambda path, mode: True, user="anna")
    assert line.text == "anna may use all 1 device files of cameras, GPU and digital lines"


# ── power ────────────────────────────────────────────────────────────────────────────────────────────────────────────

CONF = (
    "< POWER_MODEL ID=0 NAME=MAXN >\nCPU_ONLINE CORE_0 1\n< POWER_MODEL ID=2 NAME=MODE_30W >\n< PM_CONFIG DEFAULT=2 >"
)


@pytest.fixture
def jetson(write):
    """A Jetson in its mode of 30 W, with jetson_clocks off."""
    write("proc/device-tree/model", "NVIDIA Jetson AGX Orin Developer Kit\0")
    write("etc/nvpmodel.conf", CONF)
    write("var/lib/nvpmodel/status", "pmode:0002")
    cpu = "sys/devices/system/cpu/cpu0/cpufreq"
    for name, value in (("scaling_min_freq", 115200), ("scaling_max_freq", 1728000), ("scaling_governor", "schedutil")):
        write(f"{cpu}/{name}", value)
    write("sys/class/devfreq/17000000.gpu/min_freq", 306000000)
    write("sys/class/devfreq/17000000.gpu/max_freq", 612000000)


@pytest.mark.usefixtures("jetson")
def test_a_jetson_that_saves_power_is_told_with_the_commands(tmp_path):
    found = said(check_power(tmp_path))
    assert is_jetson(tmp_path)
    assert power_mode(tmp_path) == (2, "MODE_30W")
    level, text, remedy = found["power mode"]
    assert (level, text) == ("warn", "MODE_30W (2) holds the clocks down")
    assert remedy.endswith("sudo nvpmodel -m 0 (MAXN)")
    level, text, remedy = found["jetson_clocks"]
    assert (level, text) == ("warn", "off: 2 of 2 clocks sink while nothing is to be done")
    assert "sudo jetson_clocks" in remedy
    assert found["governor"][0] == "warn"


@pytest.mark.usefixtures("jetson")
def test_a_jetson_at_full_power_with_its_clocks_held_is_fine(tmp_path, write):
    write("var/lib/nvpmodel/status", "pmode:0000")
    write("sys/devices/system/cpu/cpu0/cpufreq/scaling_min_freq", 1728000)
    write("sys/class/devfreq/17000000.gpu/min_freq", 612000000)
    write("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance")
    assert {level for level, _, _ in said(check_power(tmp_path)).values()} == {"ok"}


def test_a_jetson_that_does_not_tell_its_mode_is_to_be_asked_by_hand(tmp_path, write):
    write("etc/nv_tegra_release", "# R36 (release), REVISION: 4.3")
    found = said(check_power(tmp_path))
    assert "sudo nvpmodel -q" in found["power mode"][2]
    assert "jetson_clocks --show" in found["jetson_clocks"][2]


GOVERNORS = [
    # of four CPUs, the level
    (["performance"] * 4, "ok"),
    (["powersave"] * 4, "warn"),
    (["performance"] * 3 + ["schedutil"], "warn"),
]


@pytest.mark.parametrize(("governors", "level"), GOVERNORS)
def test_a_pc_has_no_line_of_a_jetson_and_its_governor_is_told(tmp_path, write, governors, level):
    for number, governor in enumerate(governors):
        write(f"sys/devices/system/cpu/cpu{number}/cpufreq/scaling_governor", governor)
    found = said(check_power(tmp_path))
    assert set(found) == {"governor"}
    assert found["governor"][0] == level
    assert f"{governors[0]} on" in found["governor"][1]


def test_a_virtual_machine_has_no_clocks_to_speak_of(tmp_path):
    assert said(check_power(tmp_path))["governor"][0] == "ok"


# ── heat ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def warm(write):
    """A board at 71 °C that slows down from 99 °C on; a trip point that only starts the fan, and one that is none."""
    zone = "sys/class/thermal/thermal_zone0"
    for name, value in (("type", "cpu-thermal"), ("temp", 71000)):
        write(f"{zone}/{name}", value)
    trips = (("active", 60000), ("passive", 99000), ("critical", 105000), ("hot", 0))
    for number, (kind, milli) in enumerate(trips):
        write(f"{zone}/trip_point_{number}_type", kind)
        write(f"{zone}/trip_point_{number}_temp", milli)
    write("sys/class/thermal/thermal_zone1/type", "broken")
    write("sys/class/thermal/thermal_zone1/temp", "")


@pytest.mark.usefixtures("warm")
def test_heat_is_told_and_is_fine_until_it_is_near_where_the_machine_slows_down(tmp_path, write):
    line = check_thermal(tmp_path)
    assert (line.level, line.text) == (Level.OK, "71 °C at the hottest of 1 sensors (cpu-thermal)")
    write("sys/class/thermal/thermal_zone0/temp", 95000)
    line = check_thermal(tmp_path)
    assert (line.level, line.text) == (
        Level.WARN, "cpu-thermal has 95 °C and slows the machine down from 99 °C on"
    )  # fmt: skip
    assert "cooling" in line.remedy


@pytest.mark.usefixtures("warm")
def test_what_is_held_back_now_is_told_with_its_reason(tmp_path, write):
    write("sys/class/thermal/cooling_device0/type", "cpufreq-cpu0")
    write("sys/class/thermal/cooling_device0/cur_state", 3)
    line = check_thermal(tmp_path, gpus={"0": GpuState(throttle=("power_cap",)), "1": GpuState()})
    assert line.level is Level.WARN
    assert "cpu: cpufreq-cpu0 at 71 °C; gpu 0: power_cap" in line.text


def test_a_machine_without_sensors_is_fine(tmp_path):
    assert check_thermal(tmp_path).level is Level.OK


# ── room ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

DISKS = [
    # bytes free, bytes in all, level
    (50e6, 1e12, Level.FAIL),
    (500e6, 4e9, Level.WARN),
    (20e9, 1e12, Level.WARN),  # a share of 2 %
    (200e9, 1e12, Level.OK),
]


@pytest.mark.parametrize(("free", "total", "level"), DISKS)
def test_room_on_a_disk(tmp_path, free, total, level):
    (line,) = check_disk([tmp_path / "not" / "there" / "yet"], lambda path: Usage(total, total - free, free))
    assert line.level is level
    assert f"{free / 1e9:.1f} of {total / 1e9:.1f} GB free" in line.text


def test_a_folder_that_can_not_be_made_is_broken_and_each_is_told_once(tmp_path):
    (tmp_path / "file").write_text("")
    line, other = check_disk([tmp_path / "file" / "below", tmp_path, tmp_path])
    assert line.level is Level.FAIL
    assert line.remedy == "move it away or choose another path"
    assert other.topic == f"disk {tmp_path}"


def test_memory_that_runs_out_is_told(tmp_path, write):
    write("proc/meminfo", "MemTotal:        7812500 kB\nMemFree: 1 kB\nMemAvailable:     300000 kB")
    assert check_memory(tmp_path).level is Level.WARN
    write("proc/meminfo", "MemTotal:        7812500 kB\nMemFree: 1 kB\nMemAvailable:    3000000 kB")
    assert check_memory(tmp_path).text == "3,000 of 7,812 MB available"
    assert check_memory().level in Level
    assert check_memory(tmp_path / "none").level is Level.WARN


HUGE_PAGES = [
    # the kernel's file, a model on the processor, what is said
    ("always [madvise] never", True, Level.OK, "allowed (madvise)"),
    ("[always] madvise never", True, Level.OK, "allowed (always)"),
    (
        "always madvise [never]",
        True,
        Level.WARN,
        "switched off, so that a model on the processor may take a fifth longer",
    ),
    ("always madvise [never]", False, Level.OK, "switched off; no model runs on the processor"),
    (None, True, Level.OK, "this system has none"),
]


@pytest.mark.parametrize(("text", "on_cpu", "level", "says"), HUGE_PAGES)
def test_huge_pages_that_are_switched_off_are_told_with_the_remedy(tmp_path, write, text, on_cpu, level, says):
    if text is not None:
        write("sys/kernel/mm/transparent_hugepage/enabled", text)
    line = check_huge_pages(tmp_path, on_cpu=on_cpu)
    assert (line.level, line.text) == (level, says)
    assert ("transparent_hugepage=madvise" in line.remedy) == (level is Level.WARN)


# ── clock, service ───────────────────────────────────────────────────────────────────────────────────────────────────

CLOCKS = [
    (Sync(True, 0.8), Level.OK, "at most 0.8 ms off"),
    (Sync(True, 250.0), Level.WARN, "250 ms off"),
    (Sync(False, 16_000.0), Level.WARN, "not synchronised"),
]


@pytest.mark.parametrize(("sync", "level", "text"), CLOCKS)
def test_a_clock_that_nobody_sets_is_told(sync, level, text):
    line = check_clock(lambda: sync)
    assert line.level is level
    assert text in line.text


def test_this_kernel_answers():
    assert read_sync().max_error_ms >= 0


def test_a_sandbox_that_forbids_to_ask_is_no_fault():
    def refuse():
        raise OSError(1, "the kernel's clock can't be asked")

    assert check_clock(refuse).level is Level.WARN


UNITS = [
    # what systemd says, level, text
    ("", Level.OK, "not installed"),
    ("LoadState=not-found\nActiveState=inactive", Level.OK, "not installed"),
    (
        "LoadState=loaded\nActiveState=active\nSubState=running\nResult=success\nNRestarts=0\nUnitFileState=enabled\nStatusText=12/s",
        Level.OK,
        "active (running): 12/s",
    ),
    ("LoadState=loaded\nActiveState=active\nNRestarts=4\nUnitFileState=enabled", Level.WARN, "4 times"),
    ("LoadState=loaded\nActiveState=inactive\nNRestarts=\nUnitFileState=disabled", Level.WARN, "not start at boot"),
    ("LoadState=loaded\nActiveState=failed\nResult=exit-code", Level.FAIL, "exit-code"),
    ("LoadState=loaded\nActiveState=failed\nResult=start-limit-hit", Level.FAIL, "given up"),
]


@pytest.mark.parametrize(("answer", "level", "text"), UNITS)
def test_ops_01_a_service_that_systemd_has_given_up_is_told_with_the_way_back(answer, level, text):
    line = check_unit(lambda: answer)
    assert line.level is level
    assert text in line.text
    assert bool(line.remedy) is (level is not Level.OK)
    if "given up" in text:
        assert "systemctl reset-failed" in line.remedy
