"""The bytes of an engine file: TensorRT's plan, alone or behind the header that Ultralytics writes."""

from __future__ import annotations

import json

from app.errors import ModelError

LENGTH_BYTES = 4
"""Ultralytics' header: its length as a little-endian number, then JSON, then the plan."""

LEAST_BYTES = 64
MAX_HEADER_BYTES = 1 << 20

# What people save as .engine by mistake: how it begins, and what to do.
_MISTAKEN = (
    (b"PK\x03\x04", "it is a ZIP or PyTorch file, not an engine: export it to ONNX and build the engine from that"),
    (b"<", "it is a web page, not an engine: the download gave a page instead"),
    (b"version https://git-lfs", "it is a Git LFS pointer, not the engine: run `git lfs pull`"),
    (b"{", "it is a JSON text, not an engine: its manifest, perhaps"),
)

# An ONNX file begins with its field 1, the IR version: a small number.
_ONNX_FIRST_FIELD, _MAX_IR_VERSION = 0x08, 0x40

# TensorRT for RTX says how long its plan is: a little-endian number at this place.
_RTX_TAG, _RTX_LENGTH = b"vtrt", slice(16, 24)


def find_plan(data: bytes) -> memoryview:
    """Return the plan in an engine file's bytes: all of them, or what follows Ultralytics' header.

    Raises:
        ModelError: empty, cut off, or no engine; the text doesn't name the file.
    """
    header = ultralytics_header(data)
    plan = memoryview(data)[0 if header is None else _header_end(data) :]
    _refuse_mistakes(plan)
    return plan


def ultralytics_header(data: bytes) -> dict[str, object] | None:
    """Return what Ultralytics wrote before the plan (names, stride, image size); None where there is no such header."""
    size = int.from_bytes(data[:LENGTH_BYTES], "little")
    if not 2 <= size <= min(MAX_HEADER_BYTES, len(data) - LENGTH_BYTES):  # noqa: PLR2004 - "{}" is the shortest
        return None
    try:
        header = json.loads(data[LENGTH_BYTES : _header_end(data)])
    except (ValueError, RecursionError):  # nested so deep that nobody wrote it
        return None
    return header if isinstance(header, dict) else None


def _header_end(data: bytes) -> int:
    return LENGTH_BYTES + int.from_bytes(data[:LENGTH_BYTES], "little")


def _refuse_mistakes(plan: memoryview) -> None:
    """Raise where these bytes can't be a plan."""
    start = bytes(plan[:LEAST_BYTES])
    if not start:
        raise ModelError("there is no plan in it: copy it again")
    for beginning, said in _MISTAKEN:
        if start.lstrip().startswith(beginning):
            raise ModelError(said)
    if start[0] == _ONNX_FIRST_FIELD and start[1:2] and start[1] < _MAX_IR_VERSION:
        raise ModelError("it is an ONNX model, not an engine: build one from it with `taktsight engine build`")
    if len(plan) < LEAST_BYTES:
        raise ModelError("it is too short for an engine: copy it again, or build it again")
    if start.startswith(_RTX_TAG) and (size := int.from_bytes(start[_RTX_LENGTH], "little")) > len(plan):
        raise ModelError(f"it is cut off: it should have {size:,} bytes: copy it again, or build it again")
