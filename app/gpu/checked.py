"""The one place where the answers of CUDA are looked at: all calls of PyCUDA and cuda-bindings go through here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pycuda.driver as cuda
from cuda.bindings import driver

from app.errors import GpuError

OUT_OF_MEMORY = 2
_REMEDIES = {
    OUT_OF_MEMORY: "close other programs on this GPU, or use a smaller model or input",
    35: "the driver is older than CUDA here: update the driver",
    100: "there is no GPU for this user: look at nvidia-smi, and at the groups video and render",
    209: "the kernels are built for another GPU: delete the folder of compiled kernels",
    803: "driver and library don't fit: restart the machine after the update",
}
_BROKEN = "the context is lost: this process has to be started again"
_BREAKING = frozenset({700, 702, 709, 710, *range(714, 720)})
"""Faults of running kernels: every later call fails as well. Those between are refusals like others."""


def call(name: str, *arguments: object) -> Any:  # noqa: ANN401 - whatever that function gives
    """Call a function of the driver by its name.

    Returns:
        What it gives beside its code: nothing, one value or a tuple.

    Raises:
        GpuError: its code is not success, or this driver has no such function.
    """
    try:
        code, *values = getattr(driver, name)(*arguments)
    except (AttributeError, RuntimeError) as error:  # so says cuda-bindings of a function that the driver has not
        raise GpuError(f"{name}: this driver or cuda-bindings lacks it ({error}): update it") from error
    if code != driver.CUresult.CUDA_SUCCESS:
        raise GpuError(_said(name, int(code)), int(code))
    return values[0] if len(values) == 1 else tuple(values) or None


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Turn the errors that PyCUDA raises in the block into ours.

    Args:
        doing: what is being done, for the text.

    Raises:
        GpuError: PyCUDA raised one.
    """
    try:
        yield
    except UnicodeDecodeError as error:  # PyCUDA's words for a module hold the driver's log, written or not
        raise GpuError(f"GPU: {doing}: the driver refuses, and what it says of it can't be read") from error
    except cuda.Error as error:
        text = " ".join(str(error).split())
        remedy = f": {_REMEDIES[OUT_OF_MEMORY]}" if isinstance(error, cuda.MemoryError) else ""
        code = OUT_OF_MEMORY if isinstance(error, cuda.MemoryError) else None
        raise GpuError(f"GPU: {doing}: {text}{remedy}", code) from error


def _said(name: str, code: int) -> str:
    """Return the line for a code, with the remedy where one is known."""
    texts = (driver.cuGetErrorName(driver.CUresult(code)), driver.cuGetErrorString(driver.CUresult(code)))
    words = " ".join(text.decode() for _, text in texts if text)
    remedy = _BROKEN if code in _BREAKING else _REMEDIES.get(code)
    return f"GPU: {name}: {code} {words}" + (f": {remedy}" if remedy else "")
