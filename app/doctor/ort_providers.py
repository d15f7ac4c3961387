"""What ONNX Runtime can really run on: each provider it offers is asked to run a network; a child of the doctor."""

from __future__ import annotations

import base64
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from app.doctor.child import answer

PACKAGES = ("onnxruntime", "onnxruntime-gpu")
DEVICES = {"cuda": "CUDAExecutionProvider", "tensorrt": "TensorrtExecutionProvider"}

# A network of one multiplication of two matrices of 16 × 16, opset 13: small, and no provider passes it over.
NETWORK = base64.b64decode(
    "CAg6QgoTCgFhCgFhEgFiIgZNYXRNdWw6ABIBZ1oTCgFhEg4KDAgBEggKAggQCgIIEGITCgFiEg4KDAgBEggKAggQCgIIEEIECgAQDQ=="
)


def describe() -> dict[str, Any]:
    """Return the packages, the version, what is offered, and what each GPU provider says to a real network."""
    packages = [name for name in PACKAGES if _is_installed(name)]
    try:
        import onnxruntime as ort  # noqa: PLC0415 - where it is missing, that is the answer
    except ImportError as error:
        return {"packages": packages, "fault": str(error)}
    from app.inference.ort_libraries import tensorrt_version  # noqa: PLC0415 - as above

    offered = ort.get_available_providers()
    return {
        "packages": packages,
        "version": ort.__version__,
        "offered": offered,
        "tensorrt": tensorrt_version(),
        "tried": {device: attempt(device) for device, name in DEVICES.items() if name in offered},
    }


def attempt(device: str) -> str:
    """Run the network there; return why that failed, or an empty text."""
    from app.config.sections import Model  # noqa: PLC0415 - loaded only where there is something to try
    from app.errors import ModelError  # noqa: PLC0415
    from app.inference.model_file import read_model  # noqa: PLC0415
    from app.inference.onnxruntime import OnnxBackend  # noqa: PLC0415

    with tempfile.TemporaryDirectory(prefix="taktsight-doctor-") as folder:
        path = Path(folder) / "network.onnx"
        path.write_bytes(NETWORK)
        section = Model(path=str(path), device="cuda" if device == "cuda" else "tensorrt")
        try:
            with OnnxBackend(read_model(path), section, cache=Path(folder)):
                return ""
        except ModelError as error:
            # The line has its own remedy, and the file is a folder's that is gone by then.
            return str(error).partition("can't be had: ")[2].partition(": install what it needs")[0] or str(error)


def _is_installed(name: str) -> bool:
    try:
        return bool(version(name))
    except PackageNotFoundError:
        return False


if __name__ == "__main__":
    answer(describe())
