"""What Triton calls the types of tensors."""

from __future__ import annotations

TYPES = {
    "float32": "FP32",
    "float16": "FP16",
    "float64": "FP64",
    "bool": "BOOL",
    **{f"int{bits}": f"INT{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"UINT{bits}" for bits in (8, 16, 32, 64)},
}
"""Triton's name of a type by NumPy's; in a config.pbtxt `TYPE_` stands before it."""
