"""Where ONNX Runtime's TensorRT provider keeps the engines that it has built: one folder for each combination."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import onnxruntime as ort

from app.inference.ort_libraries import tensorrt_version
from app.model import TensorSpec

logger = logging.getLogger(__name__)

MAX_FOLDERS = 8

# What names the GPU and its driver, without asking a library for it; absent files are left out.
_GPU_FILES = (
    "proc/driver/nvidia/version",
    "proc/driver/nvidia/gpus/*/information",
    "proc/device-tree/model",
    "etc/nv_tegra_release",
)
_OWN_LINES = ("GPU UUID", "IRQ", "Bus", "Device Minor", "Video BIOS")


def engine_folder(root: Path, sha256: str, inputs: Sequence[TensorSpec]) -> Path | None:
    """Make the folder for one network on this machine; None where it can't be written, which costs minutes a start.

    ONNX Runtime itself would load an engine of another TensorRT or driver from the same folder and fail, or worse. So
    the folder's name holds everything that an engine depends on, and its engines are only found again by the same.

    Args:
        root: the folder of all of them.
        sha256: of the model file.
        inputs: with every axis resolved.
    """
    versions = (ort.__version__, tensorrt_version() or "none", gpu_key())
    key = hashlib.sha256(repr((versions, tuple(inputs))).encode()).hexdigest()[:12]
    folder = root / f"{sha256[:16]}-{key}"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.utime(folder)  # the one that is used now is the newest
    except OSError as error:
        logger.warning("%s: TensorRT's engines can't be kept (%s): each start builds anew", folder, error.strerror)
        return None
    if not os.access(folder, os.W_OK | os.X_OK):
        logger.warning("%s: TensorRT's engines can't be kept (not writable): each start builds anew", folder)
        return None
    _prune(root)
    return folder


def is_empty(folder: Path) -> bool:
    """Tell whether a folder has no engine yet, so that one will be built."""
    return not any(folder.glob("*.engine"))


def gpu_key(root: Path = Path("/")) -> str:
    """Return what the kernel says of this machine's GPUs and their driver, 12 hex digits.

    Args:
        root: stands for /.
    """
    seen = []
    for pattern in _GPU_FILES:
        for file in sorted(root.glob(pattern)):
            with contextlib.suppress(OSError):
                lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
                seen += [line for line in lines if not line.lstrip().startswith(_OWN_LINES)]
    return hashlib.sha256("\n".join(seen).encode()).hexdigest()[:12]


def _prune(root: Path) -> None:
    """Remove the folders that were not used for longest."""
    with contextlib.suppress(OSError):
        folders = sorted((path for path in root.iterdir() if path.is_dir()), key=lambda path: path.stat().st_mtime_ns)
        for folder in folders[:-MAX_FOLDERS]:
            shutil.rmtree(folder, ignore_errors=True)
