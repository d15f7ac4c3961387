"""Finds TensorRT under one of its names, and says which versions of it can't be used, and why."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from types import ModuleType

from app.errors import ModelError
from app.inference.engine_file import Precision

NAMES = ("tensorrt", "tensorrt_rtx", "tensorrt_rtx_bindings")
"""The modules that are looked for, in this order; the last is TensorRT for RTX without its package of one line."""

DTYPES = {
    "FLOAT": "float32",
    "HALF": "float16",
    "INT8": "int8",
    "UINT8": "uint8",
    "INT32": "int32",
    "INT64": "int64",
    "BOOL": "bool",
}
"""TensorRT's data types that NumPy has, as NumPy names them; TensorRT's own table fails with some versions of NumPy,
and knows no name for BF16 and FP8."""

Version = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class KnownFault:
    """What is known against versions of TensorRT.

    Attributes:
        since, before: the first version that has it, and the first that no longer has.
        text: what goes wrong, where it is written, and what to do.
        refused: never build or run with it; else it is said, and the comparison with the model decides.
        precision: only engines of this precision; None: all.
    """

    since: Version
    before: Version
    text: str
    refused: bool = False
    precision: Precision | None = None


KNOWN_FAULTS = (
    KnownFault(
        (10, 1), (10, 2), "excluded by Ultralytics for faulty YOLO engines (ultralytics#17076): use 10.3 or newer", True
    ),
    KnownFault(
        (10, 2), (10, 3), "excluded by Ultralytics for a known bug (ultralytics#14240): use 10.3 or newer", True
    ),
    KnownFault(
        (10, 3),
        (10, 4),
        "the INT8 build of YOLO26 fails in checkLinks (ultralytics#23841): TensorRT 10.7 runs on JetPack 6, too",
        precision="int8",
    ),
    KnownFault((10, 3), (10, 5), "wrong results of transformers with open axes (TensorRT#4419): use 10.5 or newer"),
    KnownFault((10, 0), (10, 7), "slow NMS in the graph (TensorRT#4248): export the model without its NMS"),
    KnownFault(
        (10, 13), (10, 14), "wrong FP16 results of YOLOv10 (TensorRT#4820): compare, or use fp32", precision="fp16"
    ),
    KnownFault((10, 13), (10, 15), "wrong boxes of RT-DETR on JetPack 7 (ultralytics#22873): use 10.15 or newer"),
)


def find_tensorrt(wanted: str | None = None) -> ModuleType:
    """Import TensorRT, or TensorRT for RTX.

    Args:
        wanted: the module's name, where "tensorrt_rtx" also means its bindings alone; None: the first of `NAMES`
            that is installed.

    Raises:
        ModelError: none is installed, or its libraries are missing, or its version can't be used.
    """
    if wanted is not None and wanted not in NAMES:
        raise ModelError(f"{wanted!r} is no TensorRT: choose one of {', '.join(NAMES)}")
    for name in (name for name in NAMES if wanted is None or name in (wanted, f"{wanted}_bindings")):
        try:
            trt = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name not in NAMES:
                raise ModelError(f"{name} is installed without {error.name}: install it again") from error
        except (ImportError, OSError) as error:  # libnvinfer.so.10: cannot open shared object file
            raise ModelError(f"{name} is installed without its libraries ({error}): install them, too") from error
        else:
            check_version(trt)
            return trt
    raise ModelError(
        f"there is no {wanted or 'TensorRT'} on this machine: a Jetson has it in the system's Python (make the virtual "
        "environment with --system-site-packages), a PC gets it by `pip install tensorrt`"
    )


def runtime_of(trt: ModuleType) -> str:
    """Return which of the two libraries this is, whatever the module is called: their engines are not alike."""
    return "tensorrt_rtx" if hasattr(trt, "CudaGraphStrategy") else "tensorrt"


def check_version(trt: ModuleType) -> None:
    """See that this TensorRT can be used at all.

    Raises:
        ModelError: it is older than 10, or known to be faulty.
    """
    text = f"{runtime_of(trt)} {trt.__version__}"
    flags = getattr(trt, "NetworkDefinitionCreationFlag", None)
    if not hasattr(flags, "STRONGLY_TYPED"):
        raise ModelError(
            f"{text} is too old: 10.0 is the oldest that can be used. On a Jetson install JetPack 6.1 or newer "
            "(5 and 6.0 have TensorRT 8, whose networks, flags and results differ)"
        )
    for fault in known_faults(trt):
        if fault.refused:
            raise ModelError(f"{text} can't be used: {fault.text}")


def known_faults(trt: ModuleType, precision: Precision | None = None) -> tuple[KnownFault, ...]:
    """Return what is known against this version.

    Args:
        trt: the module.
        precision: of the engine; None: only what holds for all.
    """
    if runtime_of(trt) != "tensorrt":  # numbers of its own
        return ()
    version = version_of(trt)
    return tuple(
        fault
        for fault in KNOWN_FAULTS
        if fault.since <= version < fault.before and fault.precision in (None, precision)
    )


def version_of(trt: ModuleType) -> Version:
    """Return a version's leading numbers: (10, 3, 0) of "10.3.0.post1"."""
    numbers = []
    for part in str(trt.__version__).split("."):
        if not part.isdecimal():
            break
        numbers.append(int(part))
    return tuple(numbers)
