"""The GPU: its driver, TensorRT, and what ONNX Runtime can really run on."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Mapping
from typing import Any

from app.doctor.child import Answer
from app.doctor.line import Line, fail, ok, warn
from app.inference.ort_versions import LEAST_DRIVER, mismatch, newest_for, release_of
from app.latency.gpu import GpuState
from app.latency.jetson import JetsonProbe
from app.latency.nvml import NvmlProbe

DRIVER_S, RUNTIME_S = 20.0, 120.0

Ask = Callable[..., Answer]
Verdict = Callable[[str, str, str], Line]

_DRIVER = "install NVIDIA's driver (on a Jetson: JetPack), then start the machine again; `nvidia-smi` must answer"
_NO_DRIVER_NEEDED = "models run on the CPU"


def check_driver(found: Answer, *, is_needed: bool, is_jetson: bool = False) -> Line:
    """Say what the driver says of itself.

    Args:
        found: by the child `cuda_driver`.
        is_needed: a model of the configuration wants a GPU.
        is_jetson: the board is one, so that a GPU is there.
    """
    topic = "GPU driver"
    if isinstance(found, str):
        return fail(
            topic, f"it hangs or crashes: {found}", "start the machine again; if it stays so, install the driver anew"
        )
    if "fault" in found:
        if is_needed or is_jetson or found.get("code"):
            return (fail if is_needed else warn)(topic, f"{found['fault']}", _DRIVER)
        return ok(topic, f"no NVIDIA GPU: {_NO_DRIVER_NEEDED}")
    devices = [f"{device['name']} (compute capability {device['capability']})" for device in found["devices"]]
    return ok(topic, f"CUDA {found['cuda']}: {', '.join(devices)}")


def check_state(probe: NvmlProbe | JetsonProbe | None, states: Mapping[str, GpuState], *, has_gpu: bool) -> list[Line]:
    """Say how busy, fast and hot each GPU is, or why that can't be told."""
    topic = "GPU state"
    if isinstance(probe, NvmlProbe) and probe.fault and has_gpu:
        return [warn(topic, f"NVML: {probe.fault}", "driver and kernel module may be of two versions: start anew")]
    if probe is None and has_gpu:
        return [warn(topic, "load, heat and throttling can't be read", "pip install nvidia-ml-py")]
    return [ok(f"{topic} {number}", str(state)) for number, state in states.items()]


def check_runtime(found: Answer, wanted: set[str]) -> list[Line]:
    """Say which ONNX Runtime there is, and on what it really runs.

    Args:
        found: by the child `ort_providers`.
        wanted: devices that the configuration's models ask for.
    """
    topic = "ONNX Runtime"
    if isinstance(found, str):
        return [
            fail(topic, f"it hangs or crashes: {found}", "install it anew: pip install --force-reinstall onnxruntime")
        ]
    packages = found["packages"]
    both = len(packages) > 1
    lines = []
    if both:
        remedy = (
            "pip uninstall both, then install the one that is wanted: they are one module, and overwrite each other"
        )
        lines.append(fail(topic, f"{' and '.join(packages)} are both installed", remedy))
    if "fault" in found:
        remedy = "pip install 'taktsight[cpu]' or 'taktsight[gpu]', never both"
        return [*lines, fail(topic, f"can't be imported: {found['fault']}", remedy)]
    offered = [name.removesuffix("ExecutionProvider") for name in found["offered"]]
    lines.append(ok(topic, f"{found['version']} for Python {platform.python_version()}, offers {', '.join(offered)}"))
    lines += [_tried(device, refusal, found, wanted) for device, refusal in found["tried"].items()]
    missing = sorted(wanted - {"cpu"} - set(found["tried"]))
    lines += [fail(f"device {name}", "this ONNX Runtime does not offer it", _other_package()) for name in missing]
    return lines


def _other_package(python: int = sys.version_info.minor) -> str:
    """Return how to get an ONNX Runtime for the GPU."""
    newest = newest_for(python)
    which = "" if newest is None else f"; for Python 3.{python} up to {'.'.join(map(str, newest.version))}"
    how = "pip uninstall onnxruntime, then pip install 'taktsight[gpu]'"
    return f"{how}{which} (docs/gpu.md: what goes with which CUDA, and where a Jetson finds it), or write device: cpu"


def _tried(device: str, refusal: str, found: Mapping[str, Any], wanted: set[str]) -> Line:
    topic = f"device {device}"
    if not refusal:
        return ok(topic, "a network really runs there")
    level: Verdict = fail if device in wanted else warn
    release = release_of(found["version"])
    if release is None:
        return level(topic, refusal, "see docs/gpu.md for versions that go together")
    needs = f"CUDA {release.cuda}, cuDNN {release.cudnn}"
    if device == "tensorrt":
        needs += f", TensorRT {release.tensorrt_major}"
    remedy = (
        f"install what it needs: {needs} and, on a PC, a driver of {LEAST_DRIVER[release.cuda]} or newer (docs/gpu.md)"
    )
    return level(topic, f"offered, but nothing runs there: {refusal}", remedy)


def check_tensorrt(found: Answer, *, is_wanted: bool, by_ort: bool) -> Line:
    """Say which TensorRT is on this machine, and whether this ONNX Runtime can use it.

    Args:
        found: by the child `ort_providers`.
        is_wanted: a model of the configuration asks for it.
        by_ort: one of them runs by ONNX Runtime's provider and not as a built engine.
    """
    topic = "TensorRT"
    installed = None if isinstance(found, str) else found.get("tensorrt")
    if installed is None:
        if is_wanted:
            remedy = "on a Jetson it comes with JetPack; on a PC pip install tensorrt-cu12 or -cu13 (docs/gpu.md)"
            return fail(topic, "its library libnvinfer is not on this machine", remedy)
        return ok(topic, "not on this machine, and no model asks for it")
    assert not isinstance(found, str), "there is a version only in an answer"
    fault = mismatch(found.get("version", ""), installed)
    if fault is None:
        return ok(topic, installed)
    text, _, remedy = fault.partition(": ")
    if by_ort:
        return warn(topic, text, remedy)
    return ok(topic, f"{installed}, for built engines alone: {text.partition(',')[0]}")
