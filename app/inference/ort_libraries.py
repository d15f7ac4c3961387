"""Shared libraries of the GPU: those that ONNX Runtime needs, whether they can be loaded, and TensorRT's version."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import io
import logging
from collections.abc import Callable, Sequence
from typing import Any

import onnxruntime as ort

from app.inference.ort_versions import libraries, release_of

logger = logging.getLogger(__name__)

TENSORRT_MAJORS = (11, 10, 8)
PIP_TENSORRT = "tensorrt_libs"
"""The module of pip's package with TensorRT's libraries; importing it loads them."""
_FIRST_OF_10 = 100_000

Load = Callable[[str], Any]


def preload(runtime: Any = ort) -> None:  # noqa: ANN401 - the module, or a test's stand-in
    """Load CUDA and cuDNN from pip's nvidia packages, where this ONNX Runtime can (1.21 and newer).

    Without it the provider finds only what the system's loader knows, and pip's packages are not among that.
    """
    load = getattr(runtime, "preload_dlls", None)
    if load is None:
        return
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said):  # it prints what it can't find; the refusal names that, too
            load()
    except (OSError, RuntimeError) as error:
        logger.info("CUDA's libraries could not be loaded beforehand: %s", error)
    for line in said.getvalue().splitlines():
        logger.debug("%s", line)


def preload_tensorrt() -> None:
    """Load TensorRT's libraries from pip's package, where there is one: the system's loader does not know its folder.

    Works without a driver: it is the first call into them that would end the process.
    """
    try:
        importlib.import_module(PIP_TENSORRT)
    except ImportError:
        return
    except OSError as error:
        logger.info("TensorRT's libraries could not be loaded beforehand: %s", error)


def missing_libraries(device: str, *, version: str = ort.__version__, load: Load = ctypes.CDLL) -> tuple[str, ...]:
    """Return the libraries that a device's provider needs and that can't be loaded; empty where that isn't known.

    Args:
        device: "cuda" or "tensorrt".
        version: of ONNX Runtime.
        load: opens a library, for tests.
    """
    release = release_of(version)
    return () if release is None else not_loadable(libraries(release, device), load)


def not_loadable(names: Sequence[str], load: Load = ctypes.CDLL) -> tuple[str, ...]:
    """Return those libraries that can't be loaded."""
    return tuple(name for name in names if _open(name, load) is None)


def tensorrt_version(load: Load = ctypes.CDLL, *, ort_version: str = ort.__version__) -> str | None:
    """Return the version of TensorRT's libraries on this machine, e.g. "10.3.0"; None without any.

    Where there are several, the one that this ONNX Runtime loads counts, else the newest. The library is asked for its
    number only: that works without a driver, where everything else of it crashes.
    """
    preload_tensorrt()
    release = release_of(ort_version)
    own = () if release is None else (release.tensorrt_major,)
    for major in dict.fromkeys((*own, *TENSORRT_MAJORS)):
        library = _open(f"libnvinfer.so.{major}", load)
        if library is not None:
            return _version(int(library.getInferLibVersion()))
    return None


def _version(number: int) -> str:
    """Read the number: 8601 is 8.6.1, and since 10 there are two digits for the minor version: 100300 is 10.3.0."""
    whole = 1_000 if number < _FIRST_OF_10 else 10_000
    return f"{number // whole}.{number % whole // 100}.{number % 100}"


def _open(name: str, load: Load) -> Any:  # noqa: ANN401 - a ctypes library has no type for its symbols
    try:
        return load(name)
    except OSError:
        return None
