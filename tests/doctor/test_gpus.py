"""The GPU and its software, by a driver's library in C that has no GPU behind it, and by answers as children give them."""

import os
import sys

import pytest

from app.doctor.child import ask
from app.doctor.gpus import check_driver, check_runtime, check_state, check_tensorrt
from app.doctor.line import Level
from app.doctor.models import line_of
from app.latency.gpu import GpuState
from app.latency.jetson import JetsonProbe
from app.latency.nvml import NvmlProbe


@pytest.fixture
def driver(cuda_folder, monkeypatch):
    """Ask a driver that does what the test says."""

    def answer(fault="0", timeout_s=20.0):
        path = os.pathsep.join(filter(None, (str(cuda_folder), os.environ.get("LD_LIBRARY_PATH"))))
        monkeypatch.setenv("LD_LIBRARY_PATH", path)
        monkeypatch.setenv("FAKE_CUDA", fault)
        return ask("cuda_driver", timeout_s=timeout_s)

    return answer


def test_a_driver_tells_its_version_and_devices(driver):
    line = check_driver(driver(), is_needed=True)
    assert line.level is Level.OK
    assert line.text == "CUDA 13.2: NVIDIA RTX A2000 (compute capability 8.6), NVIDIA A30 (compute capability 8.6)"


FAULTS = [
    ("100", "no device"),
    ("803", "of different versions"),
    ("12345", "error (CUDA error 12345)"),
]


@pytest.mark.parametrize(("code", "text"), FAULTS)
def test_a_driver_that_refuses_is_broken_where_a_gpu_is_needed_and_else_to_be_looked_at(driver, code, text):
    found = driver(code)
    needed, spare = check_driver(found, is_needed=True), check_driver(found, is_needed=False)
    assert (needed.level, spare.level) == (Level.FAIL, Level.WARN)
    assert text in needed.text
    assert "nvidia-smi" in needed.remedy


def test_a_driver_that_crashes_or_hangs_is_told_and_takes_nobody_with_it(driver):
    assert "SIGABRT" in check_driver(driver("crash"), is_needed=False).text
    line = check_driver(driver("hang", timeout_s=1.5), is_needed=False)
    assert line.level is Level.FAIL
    assert "no answer within 2 s" in line.text


NO_DRIVER = {"fault": "no driver: libcuda.so.1: cannot open shared object file"}


def test_a_machine_without_a_gpu_is_fine_until_one_is_needed():
    assert check_driver(NO_DRIVER, is_needed=False).level is Level.OK
    assert check_driver(NO_DRIVER, is_needed=True).level is Level.FAIL
    assert check_driver(NO_DRIVER, is_needed=False, is_jetson=True).level is Level.WARN


def test_the_state_of_each_gpu_is_a_line(tmp_path):
    states = {"0": GpuState(percent=37.0, celsius=61.0)}
    (line,) = check_state(JetsonProbe(tmp_path), states, has_gpu=True)
    assert (line.topic, line.text) == ("GPU state 0", "37 % busy, 61 °C")
    assert check_state(None, {}, has_gpu=False) == []
    assert "nvidia-ml-py" in check_state(None, {}, has_gpu=True)[0].remedy
    nvml = NvmlProbe(None)
    nvml.fault = "Driver/library version mismatch"
    assert check_state(nvml, {}, has_gpu=True)[0].level is Level.WARN
    assert check_state(nvml, {}, has_gpu=False) == []


# ── ONNX Runtime ─────────────────────────────────────────────────────────────────────────────────────────────────────

ALL = ["TensorrtExecutionProvider", "CUDAExecutionProvider", "CPUExecutionProvider"]


def runtime(**changes):
    usual = {
        "packages": ["onnxruntime-gpu"],
        "version": "1.23.2",
        "offered": ALL,
        "tensorrt": None,
        "tried": {"cuda": "", "tensorrt": ""},
    }
    return {**usual, **changes}


def levels(lines):
    return {line.topic: line.level for line in lines}


def test_this_machines_onnx_runtime_is_asked_for_real():
    found = ask("ort_providers", timeout_s=60)
    assert "CPUExecutionProvider" in found["offered"]
    assert found["tried"] == {}
    assert {line.level for line in check_runtime(found, {"cpu"})} == {Level.OK}


def test_mdl_11_a_provider_that_is_offered_and_runs_nothing_is_broken_where_it_is_wanted():
    found = runtime(tried={"cuda": "libcudnn.so.9 can't be loaded", "tensorrt": ""})
    wanted = levels(check_runtime(found, {"cuda"}))
    assert wanted == {"ONNX Runtime": Level.OK, "device cuda": Level.FAIL, "device tensorrt": Level.OK}
    assert levels(check_runtime(found, {"cpu"}))["device cuda"] is Level.WARN
    (line,) = [line for line in check_runtime(found, {"cuda"}) if line.topic == "device cuda"]
    assert line.text == "offered, but nothing runs there: libcudnn.so.9 can't be loaded"
    assert "CUDA 12, cuDNN 9 and, on a PC, a driver of 525 or newer" in line.remedy


def test_mdl_11_a_device_that_this_onnx_runtime_has_not_is_broken_where_it_is_wanted():
    found = runtime(packages=["onnxruntime"], offered=["CPUExecutionProvider"], tried={})
    lines = check_runtime(found, {"cpu", "tensorrt"})
    assert levels(lines) == {"ONNX Runtime": Level.OK, "device tensorrt": Level.FAIL}
    assert "taktsight[gpu]" in lines[-1].remedy
    assert f"for Python 3.{sys.version_info.minor} up to 1." in lines[-1].remedy


def test_both_packages_at_once_none_at_all_and_a_crash_are_broken():
    both = check_runtime(runtime(packages=["onnxruntime", "onnxruntime-gpu"]), set())
    assert both[0].level is Level.FAIL
    assert "overwrite each other" in both[0].remedy
    none = check_runtime({"packages": [], "fault": "No module named 'onnxruntime'"}, set())
    assert [line.level for line in none] == [Level.FAIL]
    assert check_runtime("the attempt was ended by SIGSEGV", set())[0].level is Level.FAIL


def test_an_onnx_runtime_of_no_known_line_gets_the_page_as_a_remedy():
    (*_, line) = check_runtime(runtime(version="dev", tried={"cuda": "why"}), set())
    assert "docs/gpu.md" in line.remedy


TENSORRT = [
    # installed, wanted, by ONNX Runtime, level, text
    (None, False, False, Level.OK, "no model asks for it"),
    (None, True, True, Level.FAIL, "libnvinfer is not on this machine"),
    ("10.3.0", True, True, Level.OK, "10.3.0"),
    ("11.4.0", True, True, Level.WARN, "loads TensorRT 10, and 11.4.0 is installed"),
    # a built engine needs no ONNX Runtime, whose own provider can't use this one
    ("11.4.0", True, False, Level.OK, "11.4.0, for built engines alone: onnxruntime-gpu 1.23.2 loads TensorRT 10"),
    ("11.4.0", False, False, Level.OK, "11.4.0, for built engines alone: onnxruntime-gpu 1.23.2 loads TensorRT 10"),
]


@pytest.mark.parametrize(("installed", "wanted", "by_ort", "level", "text"), TENSORRT)
def test_tensorrt_is_told_with_whether_this_onnx_runtime_can_use_it(installed, wanted, by_ort, level, text):
    line = check_tensorrt(runtime(tensorrt=installed), is_wanted=wanted, by_ort=by_ort)
    assert line.level is level
    assert text in line.text


MODELS = [
    # the child's answer, the device asked for, level, text
    ({"provider": "CPUExecutionProvider", "look_ms": 21.5, "load_s": 0.4, "warnings": []}, "cpu", Level.OK, "on CPU"),
    (
        {"provider": "CPUExecutionProvider", "look_ms": 21.5, "load_s": 0.4, "warnings": ["x"]},
        "cuda",
        Level.WARN,
        "device cuda was asked for",
    ),
    (
        {"provider": "CUDAExecutionProvider", "look_ms": 2.5, "load_s": 4.0, "warnings": ["no CUDA graph"]},
        "cuda",
        Level.WARN,
        "no CUDA graph",
    ),
    ({"fault": "m.onnx: there is no such file"}, "cpu", Level.FAIL, "no such file"),
    ("the attempt was ended by SIGSEGV", "tensorrt", Level.FAIL, "SIGSEGV"),
]


@pytest.mark.parametrize(("found", "device", "level", "text"), MODELS)
def test_mdl_11_a_model_is_told_with_where_it_really_runs(found, device, level, text):
    line = line_of("covers", device, found)
    assert line.level is level
    assert text in line.text
