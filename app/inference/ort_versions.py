"""Which ONNX Runtime is linked to which CUDA, cuDNN and TensorRT; data, for the start, `doctor` and docs/gpu.md."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OrtRelease:
    """One release line of the package onnxruntime-gpu, as it is published.

    Attributes:
        version: major and minor.
        cuda: major version whose libraries it loads.
        cudnn: major version.
        tensorrt: major and minor that it was built with; its provider loads that major version's libraries.
        python: least minor version of Python 3 with wheels.
        evidence: "documented" in ONNX Runtime's own table; "published" in the package's metadata; "read" from the
            libraries themselves.
    """

    version: tuple[int, int]
    cuda: int
    cudnn: int
    tensorrt: tuple[int, int | None]
    python: int
    evidence: str

    @property
    def tensorrt_major(self) -> int:
        """The major version of TensorRT's libraries that its provider loads."""
        return self.tensorrt[0]


# Newest first. A release between two lines is as the older one of them.
RELEASES = (
    OrtRelease((1, 31), 13, 9, (10, None), 11, "read"),
    OrtRelease((1, 27), 13, 9, (10, None), 11, "published"),
    OrtRelease((1, 24), 12, 9, (10, None), 11, "published"),
    OrtRelease((1, 23), 12, 9, (10, None), 10, "published"),
    OrtRelease((1, 22), 12, 9, (10, 9), 10, "documented"),
    OrtRelease((1, 21), 12, 9, (10, 8), 10, "documented"),
    OrtRelease((1, 20), 12, 9, (10, 4), 10, "documented"),
    OrtRelease((1, 19), 12, 9, (10, 2), 8, "documented"),
    OrtRelease((1, 18), 11, 8, (10, 0), 8, "documented"),
)

LEAST_DRIVER = {11: 450, 12: 525, 13: 580}
"""Least major version of NVIDIA's driver for PCs, by the major version of CUDA."""


def release_of(version: str) -> OrtRelease | None:
    """Return the line that a version such as "1.23.2" belongs to; None where it is older than all, or no version."""
    found = re.match(r"(\d+)\.(\d+)", version)
    if found is None:
        return None
    asked = (int(found[1]), int(found[2]))
    return next((release for release in RELEASES if release.version <= asked), None)


def newest_for(python: int) -> OrtRelease | None:
    """Return the newest line with wheels for a Python 3 of this minor version; None where there is none."""
    return next((release for release in RELEASES if release.python <= python), None)


def libraries(release: OrtRelease, device: str) -> tuple[str, ...]:
    """Return the shared libraries that a provider needs besides ONNX Runtime's own.

    Args:
        release: from `release_of`.
        device: "cuda" or "tensorrt", as configured.
    """
    blas = (f"libcublas.so.{release.cuda}", f"libcublasLt.so.{release.cuda}")
    cuda = ("libcuda.so.1", f"libcudart.so.{_cudart(release)}", *blas, f"libcudnn.so.{release.cudnn}")
    if device == "cuda":
        return cuda
    return (*cuda, f"libnvinfer.so.{release.tensorrt_major}", f"libnvonnxparser.so.{release.tensorrt_major}")


def _cudart(release: OrtRelease) -> str:
    # The runtime of CUDA 11 carries a minor version in its name, those of 12 and 13 do not.
    return {11: "11.0"}.get(release.cuda, f"{release.cuda}")


def mismatch(ort: str, tensorrt: str) -> str | None:
    """Return why an ONNX Runtime can't use an installed TensorRT, with the remedy; None where it can, or isn't known.

    Args:
        ort: its version.
        tensorrt: the version of TensorRT's libraries on this machine, e.g. "10.3.0".
    """
    release = release_of(ort)
    found = re.match(r"\d+", tensorrt)
    if release is None or found is None or int(found[0]) == release.tensorrt_major:
        return None
    fitting = [".".join(map(str, one.version)) for one in RELEASES if one.tensorrt_major == int(found[0])]
    other = f", or an onnxruntime-gpu of {fitting[-1]} to {fitting[0]}" if fitting else ""
    return (
        f"onnxruntime-gpu {ort} loads TensorRT {release.tensorrt_major}, and {tensorrt} is installed: "
        f"install TensorRT {release.tensorrt_major} beside it{other}, or write device: cuda"
    )
