"""Kernels compiled for the GPU that is there, by NVRTC, once for each GPU and source."""

from __future__ import annotations

import hashlib
import logging
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from app.errors import GpuError

log = logging.getLogger(__name__)

Compile: TypeAlias = Callable[[str, str, Sequence[str]], bytes]
"""Source, architecture (`sm_87`) and flags in, a binary for that GPU out."""


def architecture(compute_capability: tuple[int, int]) -> str:
    """Return what compilers call a GPU: `sm_87`."""
    return "sm_{}{}".format(*compute_capability)


def cached(source: str, arch: str, flags: Sequence[str], folder: Path, compile_: Compile) -> bytes:
    """Return the binary of a source, compiled if the folder has none yet.

    A folder that can't be written to costs the time to compile at each start, and a line in the log.

    Raises:
        GpuError: it can't be compiled.
    """
    key = hashlib.sha256("\0".join([source, arch, *flags]).encode()).hexdigest()
    path = folder / f"{key[:24]}-{arch}.cubin"
    try:
        return path.read_bytes()
    except OSError:
        binary = compile_(source, arch, flags)
    try:
        _write(path, binary)
    except OSError as error:
        log.warning("%s: compiled kernels can't be kept (%s): they are compiled at each start", folder, error)
    return binary


def _write(path: Path, binary: bytes) -> None:
    """Write a file whole or not at all: another process may start at the same time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=path.parent, suffix=".draft")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(binary)
        Path(draft).replace(path)
    except OSError:
        Path(draft).unlink(missing_ok=True)
        raise


def nvrtc(source: str, arch: str, flags: Sequence[str]) -> bytes:
    """Compile with NVRTC, which needs no toolkit and no GPU.

    Raises:
        GpuError: NVRTC is not installed, knows no such GPU, or refuses the source.
    """
    from cuda.bindings import nvrtc as rtc  # noqa: PLC0415 - only where nothing is compiled yet

    def call(name: str, *arguments: object) -> Any:  # noqa: ANN401 - whatever that function gives
        code, *values = getattr(rtc, name)(*arguments)
        if code != rtc.nvrtcResult.NVRTC_SUCCESS:
            raise GpuError(f"NVRTC: {name}: {rtc.nvrtcGetErrorString(code)[1].decode()}", int(code))
        return values[0] if values else None

    try:
        program = call("nvrtcCreateProgram", source.encode(), b"taktsight.cu", 0, [], [])
    except RuntimeError as error:  # so says cuda-bindings where the library is missing
        said = str(error).splitlines()[0]
        raise GpuError(f"NVRTC can't be had ({said}): install nvidia-cuda-nvrtc or the CUDA toolkit") from error
    options = [flag.encode() for flag in (f"--gpu-architecture={arch}", *flags)]
    try:
        call("nvrtcCompileProgram", program, len(options), options)
    except GpuError as error:
        raise GpuError(f"{error}: {_log(call, program)}", error.code) from error
    else:
        binary = bytes(call("nvrtcGetCUBINSize", program))
        call("nvrtcGetCUBIN", program, binary)
        return binary
    finally:
        rtc.nvrtcDestroyProgram(program)


def _log(call: Callable[..., Any], program: object) -> str:
    """Return what the compiler says, in one line."""
    text = bytes(call("nvrtcGetProgramLogSize", program))
    call("nvrtcGetProgramLog", program, text)
    return " ".join(text.rstrip(b"\0").decode(errors="replace").split())
