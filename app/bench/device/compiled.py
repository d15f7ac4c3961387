"""Compiles the kernels for every GPU there is, for a machine that has no compiler."""

from __future__ import annotations

import sys
from pathlib import Path

from app.gpu.compiler import architecture, cached, nvrtc
from app.gpu.kernels.source import FLAGS, PROGRAMS, program

CAPABILITIES = ((7, 5), (8, 0), (8, 6), (8, 7), (8, 9), (9, 0), (10, 0), (11, 0), (12, 0))
"""Turing, A100, desktop Ampere, Orin, Ada, Hopper, Blackwell in servers, Thor, Blackwell on desktops."""


def compile_all(folder: Path) -> None:
    """Fill a folder as the service itself would on each of those GPUs.

    Raises:
        GpuError: NVRTC can't be had, or refuses.
    """
    for capability in CAPABILITIES:
        for name in PROGRAMS:
            cached(program(name), architecture(capability), FLAGS, folder, nvrtc)


if __name__ == "__main__":
    compile_all(Path(sys.argv[1]))
