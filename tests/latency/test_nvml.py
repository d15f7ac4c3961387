"""The GPUs of a PC: the real pynvml over a library of the same name that has no driver behind it (nvml.c)."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.latency.nvml import reasons
from tests.conftest import ROOT

READ = """
import json, pynvml
from dataclasses import asdict
from app.latency.nvml import NvmlProbe
probe = NvmlProbe(pynvml)
with probe:
    states = [{number: asdict(state) for number, state in probe.read().items()} for _ in range(2)]
probe.__exit__(None, None, None)
assert states[0] == states[1]
print(json.dumps({"driver": probe.driver, "names": probe.names, "fault": probe.fault, "states": states[0]}))
"""


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    """Folders with the library as newer and as older drivers have it."""
    folders = {}
    for name, options in (("new", []), ("old", ["-DOLD"])):
        folders[name] = tmp_path_factory.mktemp(name)
        library = folders[name] / "libnvidia-ml.so.1"
        source = Path(__file__).with_name("nvml.c")
        subprocess.run(["gcc", "-shared", "-fPIC", "-Wall", "-Werror", *options, "-o", library, source], check=True)
    return folders


def read(folder, fault=""):
    """Read the GPUs in a process of its own: a library that is loaded once stays."""
    environment = {**os.environ, "LD_LIBRARY_PATH": str(folder), "FAKE_NVML": fault}
    said = subprocess.run([sys.executable, "-c", READ], cwd=ROOT, env=environment, capture_output=True, check=True)
    return json.loads(said.stdout)


@pytest.mark.parametrize("driver", ["new", "old"])
def test_a_gpu_tells_load_memory_clocks_heat_and_what_holds_it_back_whatever_the_drivers_age(libraries, driver):
    found = read(libraries[driver])
    assert (found["driver"], found["names"]) == ("580.95.05", ["NVIDIA RTX A2000", "NVIDIA A30 MIG"])
    assert found["states"]["0"] == {
        "percent": 37.0, "used_mb": 1500.0, "total_mb": 6000.0, "mhz": 1200, "max_mhz": 2100, "celsius": 71,
        "throttle": ["power_cap", "thermal"],
    }  # fmt: skip


def test_what_one_gpu_does_not_tell_is_none_and_an_idle_one_is_not_held_back(libraries):
    state = read(libraries["new"])["states"]["1"]
    assert (state["percent"], state["celsius"], state["throttle"]) == (None, 71, [])


def test_a_gpu_that_is_lost_has_an_empty_state(libraries):
    for state in read(libraries["new"], "lost")["states"].values():
        assert set(map(str, state.values())) == {"None", "[]"}


def test_without_a_driver_there_is_no_gpu_and_the_reason_is_kept(libraries, tmp_path):
    assert read(libraries["new"], "no driver") == {
        "driver": "", "names": [], "fault": "Driver Not Loaded", "states": {}
    }  # fmt: skip
    assert "not found" in read(tmp_path)["fault"].lower()


WORDS = [
    (0x001, ()),  # idle
    (0x002, ()),  # clocks that somebody has set
    (0x010, ()),  # boards in step
    (0x008, ("hardware",)),
    (0x020, ("thermal",)),  # by the driver
    (0x040, ("thermal",)),  # by the hardware
    (0x084, ("power_cap", "power_brake")),
]


@pytest.mark.parametrize(("bits", "words"), WORDS)
def test_bits_become_words(bits, words):
    assert reasons(bits) == words
