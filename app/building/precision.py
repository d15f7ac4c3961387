"""Decides how an engine gets its precision: by the builder's flags where it has them, else by the ONNX itself."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Literal, TypeAlias

from app.inference.engine_file import Precision

Carried: TypeAlias = Literal["nothing", "fp16", "qdq"]
"""What the ONNX must carry before the builder sees it: nothing, FP16 weights, or Q/DQ nodes (INT8)."""


@dataclass(frozen=True, slots=True)
class PrecisionPlan:
    """How to ask one TensorRT for one precision.

    Attributes:
        flags: names of `BuilderFlag` to set; each exists in the TensorRT that was asked.
        carried: what the ONNX must be converted to first.
        strongly_typed: the network is made so that tensors keep the types that the ONNX gives them.
    """

    flags: tuple[str, ...]
    carried: Carried
    strongly_typed: bool


def precision_plan(trt: ModuleType, wanted: Precision) -> PrecisionPlan:
    """Return how this TensorRT is asked for a precision.

    Found by what it has, not by its version: TensorRT for RTX calls itself 1.7 and is strongly typed as TensorRT 11.

    Args:
        trt: the module.
        wanted: what the engine is to run in.
    """
    weakly_typed = hasattr(trt.BuilderFlag, "FP16")
    if wanted == "fp32":
        return PrecisionPlan((), "nothing", not weakly_typed)
    if wanted == "int8":
        # Q/DQ nodes say what is INT8; on a weakly typed network the flags allow it, and FP16 for the rest.
        return PrecisionPlan(("FP16", "INT8") if weakly_typed else (), "qdq", not weakly_typed)
    return PrecisionPlan(("FP16",), "nothing", False) if weakly_typed else PrecisionPlan((), "fp16", True)
