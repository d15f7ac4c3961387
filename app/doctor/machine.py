"""The checks of the machine itself, in their order; what a child finds out is asked for once and used by several."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable
from functools import cache
from importlib.metadata import version
from pathlib import Path

from app.config import LoadedConfig
from app.config.state import cache_folder, state_folder
from app.doctor.cameras import check_cameras, device_of
from app.doctor.child import Answer, ask
from app.doctor.clock import check_clock
from app.doctor.configuration import folders_of
from app.doctor.gpus import DRIVER_S, RUNTIME_S, check_driver, check_runtime, check_state, check_tensorrt
from app.doctor.line import Line, ok
from app.doctor.permissions import CAMERAS, GPU, Kind, check_permissions
from app.doctor.power import check_power, is_jetson
from app.doctor.room import check_disk, check_huge_pages, check_memory
from app.doctor.thermal import check_thermal
from app.doctor.unit import check_unit
from app.inference.chosen_engine import runs_engine
from app.latency.gpu_find import find_gpu_probe
from app.latency.jetson import JetsonProbe
from app.latency.nvml import NvmlProbe
from app.latency.throttle import CpuThrottle, read_text

Check = tuple[str, Callable[[], Iterable[Line]]]


def machine_checks(root: Path, loaded: LoadedConfig | None) -> list[Check]:
    """Return the checks that need no configuration; with one they know what is needed.

    Args:
        root: stands for /, where files of the machine are read.
        loaded: the configuration, if there is one.
    """
    models = [] if loaded is None else list(loaded.config.models.values())
    devices = {f"{model.device}" for model in models}
    by_ort = {f"{model.device}" for model in models if not runs_engine(model)}  # the others run without ONNX Runtime
    on_cpu = loaded is None or "cpu" in devices or any(model.allow_cpu_fallback for model in models)
    # Made first, so that its counters tell of what happens while the other checks run.
    cpu = CpuThrottle(root / "sys")
    driver = cache(lambda: ask("cuda_driver", timeout_s=DRIVER_S))
    runtime = cache(lambda: ask("ort_providers", timeout_s=RUNTIME_S))
    found: list[Check] = [
        ("machine", lambda: [about(root)]),
        ("permissions", lambda: check_permissions(root, needed=needed(loaded))),
        ("service", lambda: [check_unit()]),
        ("clock", lambda: [check_clock()]),
        ("room", lambda: [*check_disk(folders(loaded)), check_memory(root), check_huge_pages(root, on_cpu=on_cpu)]),
        ("power", lambda: check_power(root)),
        ("GPU driver", lambda: [check_driver(driver(), is_needed=bool(devices - {"cpu"}), is_jetson=is_jetson(root))]),
        ("TensorRT", lambda: [check_tensorrt(runtime(), is_wanted="tensorrt" in devices, by_ort="tensorrt" in by_ort)]),
        ("ONNX Runtime", lambda: check_runtime(runtime(), by_ort)),
        ("GPU and heat", lambda: state_and_heat(root, driver(), cpu)),
    ]
    if loaded is None:
        found.append(("cameras", lambda: check_cameras(None)))
    return found


def about(root: Path) -> Line:
    """Say what this machine is."""
    board = read_text(root / "proc/device-tree/model").rstrip("\0")
    release = read_text(root / "etc/nv_tegra_release").partition(", GCID")[0].lstrip("# ")
    parts = (board, release and f"L4T {release}", f"{platform.machine()}, {os.cpu_count()} CPUs", platform.release())
    return ok("machine", f"taktsight {version('taktsight')} on {', '.join(filter(None, parts))}")


def state_and_heat(root: Path, driver: Answer, cpu: CpuThrottle) -> list[Line]:
    """Say how the GPUs are, and how hot all is."""
    probe = find_gpu_probe(root)
    has_gpu = not isinstance(driver, str) and "fault" not in driver
    if probe is None:
        return [*check_state(None, {}, has_gpu=has_gpu), check_thermal(root, cpu=cpu)]
    with probe:
        states = probe.read()
    known = probe if isinstance(probe, NvmlProbe | JetsonProbe) else None
    return [*check_state(known, states, has_gpu=has_gpu), check_thermal(root, gpus=states, cpu=cpu)]


def needed(loaded: LoadedConfig | None) -> set[Kind]:
    """Return the kinds of device files without which a configuration can't run."""
    if loaded is None:
        return set()
    kinds = set()
    if any(device_of(camera.source) is not None for camera in loaded.config.cameras.values()):
        kinds.add(CAMERAS)
    if any(model.device != "cpu" and not model.allow_cpu_fallback for model in loaded.config.models.values()):
        kinds.add(GPU)
    return kinds


def folders(loaded: LoadedConfig | None) -> list[Path]:
    """Return the folders that are written to."""
    service = [folder for folder in (state_folder(), cache_folder()) if folder is not None]
    return [*(service or [Path.cwd()]), *([] if loaded is None else folders_of(loaded))]
