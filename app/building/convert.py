"""Makes the ONNX carry a precision, where the builder takes it from there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from app.building.precision import PrecisionPlan
from app.errors import ConfigError, ModelError
from app.inference.onnx_graph import op_types

QUANTISING = {"QuantizeLinear", "DequantizeLinear"}

Model: TypeAlias = Any  # onnx.ModelProto: the package is there for whoever builds in FP16 or INT8 only


@dataclass(frozen=True, slots=True)
class Quantised:
    """A model with Q/DQ nodes and what its ranges were taken from.

    Attributes:
        calibration_sha256: of the pictures and the way they were prepared.
    """

    model: Model
    calibration_sha256: str


Quantise: TypeAlias = Callable[[Path, bool], Quantised]
"""Makes an INT8 model of an FP32 file; told whether what is not INT8 must be FP16 in the ONNX."""


@dataclass(frozen=True, slots=True)
class Converted:
    """The file that the builder is given.

    Attributes:
        path: the model's own where nothing had to be done.
        calibration_sha256: None where nothing was calibrated.
    """

    path: Path
    calibration_sha256: str | None = None


def convert(onnx_file: Path, plan: PrecisionPlan, folder: Path, quantise: Quantise | None) -> Converted:
    """Return the file that carries what it must, written to a folder where it is a new one.

    Args:
        onnx_file: the model.
        plan: says what it must carry.
        folder: for the new file.
        quantise: makes the INT8 model; None: the file must be one already.

    Raises:
        ConfigError: INT8 is asked for and there is nothing to calibrate with.
        ModelError: the conversion fails, or the package for it is missing.
    """
    carried = plan.carried
    if carried == "nothing" or (carried == "qdq" and op_types(onnx_file.read_bytes()) >= QUANTISING):
        return Converted(onnx_file)
    if carried == "qdq" and quantise is None:
        raise ConfigError(
            f"--int8: {onnx_file} has no Q/DQ nodes and there are no pictures to calibrate with: name a folder of at "
            "least 100 from the line (--pictures)"
        )
    onnx = _onnx()
    target, calibration = folder / f"{carried}.onnx", None
    if carried == "fp16":
        from app.building.fp16 import to_fp16  # noqa: PLC0415 - needs packages that FP32 engines do without

        model = to_fp16(onnx.load(str(onnx_file)))
    else:
        assert quantise is not None
        quantised = quantise(onnx_file, plan.strongly_typed)
        model, calibration = quantised.model, quantised.calibration_sha256
    onnx.save(model, str(target))
    return Converted(target, calibration)


def _onnx() -> Any:  # noqa: ANN401 - a module that may be missing
    try:
        import onnx  # noqa: PLC0415 - needed for a conversion only
        import onnxconverter_common  # noqa: F401, PLC0415 - so that a missing one is said before the work
    except ImportError as error:
        raise missing(error) from error
    return onnx


def missing(error: ImportError) -> ModelError:
    """Say which package a conversion lacks."""
    return ModelError(
        f"{error.name} is missing, which the conversion to FP16 and INT8 needs: pip install 'taktsight[build]'"
    )
