"""Which of the two ways to ask for the GPUs this machine has."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from app.latency.gpu import GpuProbe
from app.latency.jetson import JetsonProbe, load_files
from app.latency.nvml import NvmlProbe


def find_gpu_probe(
    root: Path = Path("/"), load_module: Callable[[str], Any] = importlib.import_module
) -> GpuProbe | None:
    """Return what reads the GPUs of this machine; None where there is none, or nothing to ask it with.

    Args:
        root: stands for /, for tests.
        load_module: imports `pynvml`, which is the package `nvidia-ml-py`, where that is installed.
    """
    if load_files(root):
        return JetsonProbe(root)
    try:
        return NvmlProbe(load_module("pynvml"))
    except ImportError:
        return None
