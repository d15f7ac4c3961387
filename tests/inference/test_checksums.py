"""The list of sums beside a model: what it names must be what is there."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

from app.errors import ModelError
from app.inference.checksums import MOST_BYTES, list_of
from app.inference.model_file import read_model

NAMES = {"names": "['a']"}


@pytest.fixture
def model(save_constant: Callable[..., Path]) -> Path:
    return save_constant(output=np.ones((1, 5, 300), np.float32), metadata=NAMES)


def test_a_list_as_sha256sum_writes_it_lets_the_right_file_in_and_no_other(model: Path) -> None:
    written = subprocess.run(["sha256sum", model.name], cwd=model.parent, capture_output=True, check=True)
    list_of(model).write_bytes(written.stdout)
    assert read_model(model).warnings == ()
    model.write_bytes(model.read_bytes() + b"\n")
    with pytest.raises(ModelError, match=r"expected SHA-256 [0-9a-f]{64}, as constant\.onnx\.sha256 says") as caught:
        read_model(model)
    assert hashlib.sha256(model.read_bytes()).hexdigest() in str(caught.value)


def test_another_file_than_listed_is_refused_before_it_is_parsed(model: Path) -> None:
    list_of(model).write_text(f"{'0' * 64}  {model.name}\n")
    model.write_bytes(b"<html>")
    with pytest.raises(ModelError, match="expected SHA-256 0000") as caught:
        read_model(model)
    assert "web page" not in str(caught.value)


@pytest.fixture
def two_files(model: Path) -> Path:
    """A model with its weights in weights.bin."""
    onnx.save_model(onnx.load(model), model, save_as_external_data=True, location="weights.bin", size_threshold=100)
    return model


def sums(*paths: Path) -> str:
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in paths)


def test_weights_in_another_file_are_covered_by_the_list(two_files: Path) -> None:
    weights = two_files.parent / "weights.bin"
    (warning,) = read_model(two_files).warnings
    assert "sha256sum constant.onnx weights.bin > constant.onnx.sha256" in warning
    list_of(two_files).write_text(sums(two_files, weights))
    assert read_model(two_files).warnings == ()
    weights.write_bytes(weights.read_bytes()[:-1] + b"x")
    with pytest.raises(ModelError, match=r"weights\.bin \(SHA-256 [0-9a-f]{64}\): expected SHA-256"):
        read_model(two_files)


def test_a_list_that_leaves_the_weights_out_is_refused(two_files: Path) -> None:
    list_of(two_files).write_text(sums(two_files))
    with pytest.raises(ModelError, match=r"does not name weights\.bin"):
        read_model(two_files)


LISTS = [
    # a list, and what is said of it
    ("", "does not name constant.onnx"),
    (f"{'0' * 64}  other.onnx\n", "does not name constant.onnx"),
    ("hello\n", "no list of SHA-256 sums"),
    (f"{'0' * 32}  constant.onnx\n", "no list of SHA-256 sums"),  # MD5
    ("0" * (MOST_BYTES + 1), "no list of SHA-256 sums"),
    ("\0\xff\n", "no list of SHA-256 sums"),
]


@pytest.mark.parametrize(("text", "said"), LISTS)
def test_what_is_no_list_of_this_model_is_refused_with_the_way_to_write_one(model: Path, text: str, said: str) -> None:
    list_of(model).write_text(text, "latin-1")
    with pytest.raises(ModelError, match=said) as caught:
        read_model(model)
    assert "sha256sum constant.onnx > constant.onnx.sha256" in str(caught.value)


def test_a_binary_mark_and_capitals_are_understood(model: Path) -> None:
    list_of(model).write_text(f"{hashlib.sha256(model.read_bytes()).hexdigest().upper()} *./{model.name}\n")
    assert read_model(model).warnings == ()


def test_a_folder_in_the_lists_place_is_refused(model: Path) -> None:
    list_of(model).mkdir()
    with pytest.raises(ModelError, match="can't be read"):
        read_model(model)
