"""The text of the kernels, ready for a compiler: one piece, with every file in it once."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

PROGRAMS = ("letterbox", "decode")
"""What is compiled: one module on the device each."""

FLAGS = ("--std=c++17", "--fmad=false")
"""For NVRTC. Products and sums are merged only where a kernel says so: every compiler gives the same numbers."""

_INCLUDE = re.compile(r'^#include "(\w+)\.cuh"$')


@cache
def program(name: str) -> str:
    """Return the source of one of `PROGRAMS`; no header of CUDA and no other file is needed to compile it."""
    return "\n".join(_lines(name, set()))


def _lines(name: str, seen: set[str]) -> list[str]:
    if name in seen:
        return []
    seen.add(name)
    lines: list[str] = []
    for line in _read(name).splitlines():
        included = _INCLUDE.match(line)
        lines += _lines(included[1], seen) if included else [line]
    return lines


def _read(name: str) -> str:
    return resources.files(__package__).joinpath(f"{name}.cuh").read_text(encoding="utf-8")
