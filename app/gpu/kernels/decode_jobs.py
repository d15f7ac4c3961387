"""What the decode kernels are told, and what they give back: the records of decode.cuh and candidates.cuh."""

from __future__ import annotations

import numpy as np

BLOCK = (64, 1, 1)
"""Threads of one block, few so that 8,400 rows keep a large GPU busy; `decode_reset` has one thread."""

CAPACITY = 1024
"""Candidates of one picture that come back; where there are more, the host reads the whole output itself."""

NO_SAMPLE = -1
"""As `sample`: this job does nothing."""

KINDS = ("scores", "objectness", "yolox", "finished")

_INTEGERS = (
    *("rows", "classes", "box_step", "box_row", "score_step", "score_row", "corners", "angle"),
    *("input_w", "input_h", "capacity", "sample"),
)

JOB = np.dtype(
    [("boxes", np.int64), ("scores", np.int64)]
    + [(name, np.int32) for name in _INTEGERS]
    + [("token", np.uint32), ("min_score", np.float32), ("unit_x", np.float32), ("unit_y", np.float32)]
    + [("unused", np.int32, 2)]
)
"""88 bytes, as the kernels have it."""

HEADER = np.dtype(
    {
        "names": ["count", "doubts", "furthest", "token"],
        "formats": [np.uint32, np.uint32, np.float32, np.uint32],
        "itemsize": 32,
    }
)
"""32 bytes before a sample's candidates."""

CANDIDATE = np.dtype(
    [
        ("xyxy", np.float32, 4),
        ("score", np.float32),
        ("class_index", np.int32),
        ("row", np.int32),
        ("angle", np.float32),
    ]
)
"""32 bytes."""

RESULT = np.dtype([("header", HEADER), ("candidates", CANDIDATE, CAPACITY)])
"""32,800 bytes: all that comes back of one sample."""

RESET = "decode_reset"
"""The kernel that begins a sample's results; runs before the others with one block of one thread for each job."""


def entry_point(kind: str, dtype: str) -> str:
    """Return the name of the kernel for one of `KINDS` and the outputs' `float32` or `float16`."""
    return f"decode_{kind}_{dtype}"


def grid(rows: int, jobs: int) -> tuple[int, int, int]:
    """Return how many blocks of `BLOCK` a launch has; `decode_reset` has (1, jobs, 1)."""
    return -(-rows // BLOCK[0]), jobs, 1
