"""An engine's file is told from what is often found in its place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.errors import ModelError
from app.inference.plan import find_plan, ultralytics_header

ROOT = Path(__file__).parents[2]
PLAN = b"ftrt" + bytes(range(200))
HEADER = json.dumps({"names": {"0": "cover"}, "stride": 32, "imgsz": [640, 640]}).encode()


def with_header(header: bytes) -> bytes:
    return len(header).to_bytes(4, "little") + header + PLAN


def rtx_plan(said: int, length: int) -> bytes:
    return b"vtrt".ljust(16, b"\0") + said.to_bytes(8, "little") + bytes(length - 24)


def test_a_plan_is_the_whole_file() -> None:
    assert bytes(find_plan(PLAN)) == PLAN
    assert ultralytics_header(PLAN) is None


def test_the_header_of_ultralytics_is_skipped_and_can_be_read() -> None:
    assert bytes(find_plan(with_header(HEADER))) == PLAN
    assert ultralytics_header(with_header(HEADER)) == json.loads(HEADER)


# How a file begins that only looks as if a header came first.
NO_HEADERS = [
    with_header(b"[1, 2]"),  # JSON, but no object
    with_header(b"{'names': 1}"),  # not JSON
    (1 << 30).to_bytes(4, "little") + HEADER + PLAN,  # longer than the file
    b"\2\0\0",  # no header fits
]


@pytest.mark.parametrize("data", NO_HEADERS)
def test_what_only_looks_like_a_header_is_none(data: bytes) -> None:
    assert ultralytics_header(data) is None


# What is in the file, and what is said of it.
MISTAKEN = [
    (b"", "no plan in it"),
    (with_header(HEADER)[: 4 + len(HEADER)], "no plan in it"),  # cut off behind the header
    (PLAN[:20], "too short"),
    (rtx_plan(500, 300), "cut off: it should have 500 bytes"),
    (b"PK\x03\x04" + bytes(100), "ZIP or PyTorch"),
    (b"<!DOCTYPE html><html>" + bytes(100), "web page"),
    (b"version https://git-lfs.github.com/spec/v1\noid sha256:00", "git lfs pull"),
    (HEADER + bytes(100), "JSON text"),
    ((ROOT / "engines" / "covers_320.onnx").read_bytes(), "an ONNX model, not an engine"),
]


@pytest.mark.parametrize(("data", "said"), MISTAKEN)
def test_what_is_no_engine_is_refused_with_what_it_is(data: bytes, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        find_plan(data)


def test_a_whole_plan_of_tensorrt_for_rtx_is_taken() -> None:
    assert len(find_plan(rtx_plan(300, 300))) == 300


def test_a_header_nested_without_end_is_none() -> None:
    """Found by fuzzing: Python's reader of JSON gives up on it with another error than for bad JSON."""
    assert ultralytics_header((5000).to_bytes(4, "little") + b"[" * 5000 + bytes(200)) is None
