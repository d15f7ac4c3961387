"""What the numbers were measured on."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import cv2

PACKAGES = ("numpy", "opencv-python-headless", "onnxruntime", "onnxruntime-gpu")


def describe() -> dict[str, str]:
    """Return the processor, the system and the versions, and how busy the machine was."""
    found = {
        "processor": _processor(),
        "cpus": f"{len(os.sched_getaffinity(0))} of {os.cpu_count()}",
        "system": platform.platform(),
        "python": platform.python_version(),
        "load": " ".join(f"{load:.2f}" for load in os.getloadavg()),
        "opencv threads": str(cv2.getNumThreads()),
    }
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _processor(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """Return the model's name; the architecture where the kernel does not give it (most ARM boards)."""
    try:
        lines = cpuinfo.read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    facts = dict(line.split(":", 1) for line in reversed(lines) if ":" in line)
    facts = {key.strip(): value.strip() for key, value in facts.items()}
    if "model name" not in facts:
        return platform.machine()
    return f"{facts['model name']} (family {facts.get('cpu family', '?')}, model {facts.get('model', '?')})"
