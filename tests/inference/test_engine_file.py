"""An engine is used only where its manifest says that it fits."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from app.errors import ModelError
from app.inference.engine_file import (
    EngineInput,
    Machine,
    Manifest,
    Range,
    Verified,
    check,
    manifest_path,
    read_engine,
    read_manifest,
    write_manifest,
)
from app.model import TensorSpec

PLAN = b"ftrt" + bytes(range(256))
ORIN = Machine("tensorrt", "10.3.0", "12.6", "36.4.3", "Orin", "8.7")
LAPTOP = Machine("tensorrt_rtx", "1.7.1.116", "13.0", "580.65.06", "NVIDIA GeForce RTX 4070", "8.9")


def range_of(least: int, most: int) -> Range:
    return Range((least, 3, 64, 64), (most, 3, 64, 64), (most, 3, 64, 64))


MANIFEST = Manifest(
    onnx="parts.onnx",
    onnx_sha256="ab" * 32,
    plan_sha256=hashlib.sha256(PLAN).hexdigest(),
    built_on=ORIN,
    compute_capabilities=("8.7",),
    precision="fp16",
    inputs=(EngineInput("images", "float32", (range_of(1, 1), range_of(2, 4))),),
    outputs=(TensorSpec("output0", (None, 9, 84), "float32"),),
    options={"level": "3"},
    calibration_sha256="cd" * 32,
    verified=Verified(48, {"lost": 0.0}, "parts.engine.verify.html"),
    built_at="2026-01-01T00:00:00+00:00",
)


@pytest.fixture
def engine(tmp_path: Path) -> Path:
    """A plan and its manifest."""
    path = tmp_path / "parts.engine"
    path.write_bytes(PLAN)
    write_manifest(path, MANIFEST)
    return path


def test_a_manifest_is_read_as_it_was_written(engine: Path) -> None:
    assert read_manifest(engine) == MANIFEST
    assert bytes(read_engine(engine).plan) == PLAN


def test_an_engine_is_used_on_the_machine_that_it_was_built_on() -> None:
    assert check(MANIFEST, ORIN, onnx_sha256=MANIFEST.onnx_sha256) == ()


# What is another, and what the line must name. One line each.
MISMATCHES = [
    ({"runtime_version": "10.13.3"}, ["tensorrt version: built with 10.3.0, here is 10.13.3"]),  # a newer TensorRT
    ({"gpu": "Orin Nano"}, ["GPU: built with Orin, here is Orin Nano"]),  # a smaller sister of it
    ({"compute_capability": "8.9"}, ["compute capability: built for 8.7, here is 8.9"]),
    ({"cuda": "13.0"}, ["CUDA version: built with 12.6, here is 13.0"]),
    ({"driver": "38.2.0"}, ["driver: built with 36, here is 38"]),  # another JetPack
    ({"driver": "36.4.4"}, []),  # the same branch of the driver
    ({"gpu": None, "cuda": None, "driver": None, "compute_capability": None}, ["GPU", "CUDA", "driver", "compute"]),
    ({"runtime": "tensorrt_rtx", "runtime_version": "1.7"}, ["library", "version"]),
]


@pytest.mark.parametrize(("changed", "said"), MISMATCHES)
def test_mdl_12_an_engine_from_another_tensorrt_or_gpu_is_refused_with_a_line_for_each_reason(
    changed: dict[str, str], said: list[str]
) -> None:
    faults = check(MANIFEST, replace(ORIN, **changed))
    assert len(faults) == len(said)
    assert all(text in fault for text, fault in zip(said, faults, strict=True))


def test_an_engine_of_another_model_is_refused() -> None:
    (fault,) = check(MANIFEST, ORIN, onnx_sha256="ef" * 32)
    assert fault == "model: built with abababababab, here is efefefefefef"


def test_an_engine_that_nobody_ran_is_refused_unless_that_is_allowed() -> None:
    unverified = replace(MANIFEST, verified=None)
    (fault,) = check(unverified, ORIN)
    assert "never run beside its ONNX model" in fault
    assert check(unverified, ORIN, allow_unverified=True) == ()


def test_an_engine_of_tensorrt_for_rtx_fits_every_gpu_that_it_has_kernels_for() -> None:
    portable = replace(
        MANIFEST,
        built_on=Machine("tensorrt_rtx", "1.7.1.116"),
        compute_capabilities=("8.6", "8.9"),
    )
    assert check(portable, LAPTOP) == ()
    assert check(portable, replace(LAPTOP, driver="590.1", cuda="13.1")) == ()
    (fault,) = check(portable, replace(LAPTOP, compute_capability="9.0"))
    assert fault == "compute capability: built for 8.6, 8.9, here is 9.0"


# Shapes, and the optimisation profile that takes them; None where none does.
SHAPES = [((1, 3, 64, 64), 0), ((2, 3, 64, 64), 1), ((4, 3, 64, 64), 1), ((5, 3, 64, 64), None), ((1, 3, 64), None)]


@pytest.mark.parametrize(("shape", "profile"), SHAPES)
def test_mdl_14_a_shape_outside_the_profiles_is_known_from_the_manifest_and_the_range_is_named(
    shape: tuple[int, ...], profile: int | None
) -> None:
    if profile is not None:
        assert MANIFEST.profile_for({"images": shape}) == profile
        return
    with pytest.raises(ModelError, match=r"'images': the engine takes 1 × 3 × 64 × 64 or 2…4 × 3 × 64 × 64.*--batch"):
        MANIFEST.profile_for({"images": shape})


def test_inputs_of_another_model_are_refused_by_name() -> None:
    with pytest.raises(ModelError, match="the engine's inputs are images, not pixels"):
        MANIFEST.profile_for({"pixels": (1, 3, 64, 64)})


def test_an_engine_without_a_manifest_is_refused(engine: Path) -> None:
    manifest_path(engine).unlink()
    with pytest.raises(ModelError, match=r"there is no parts\.engine\.json beside it"):
        read_engine(engine)


# What stands where the manifest should, and what is said.
DAMAGED = [
    (b"", "it is no manifest"),
    (b'{"onnx": "parts.onnx"}', "it is no manifest .*missing required field"),
    (msgspec.json.encode(MANIFEST)[:-20], "it is no manifest"),
    (msgspec.json.encode(replace(MANIFEST, format=2)), "format 2, this version reads up to 1"),
]


@pytest.mark.parametrize(("content", "said"), DAMAGED)
def test_a_damaged_or_newer_manifest_is_refused(engine: Path, content: bytes, said: str) -> None:
    manifest_path(engine).write_bytes(content)
    with pytest.raises(ModelError, match=said):
        read_engine(engine)


WRONG = [
    # what is done to the profiles of the one input, what is said
    (lambda ranges: ranges[1]["most"].append(5), "least, best and most of a range must have as many axes"),
    (lambda ranges: ranges[1]["best"].clear(), "least, best and most of a range must have as many axes"),
    (lambda ranges: ranges.clear(), "its inputs have not all the same profiles"),
]


@pytest.mark.parametrize(("change", "said"), WRONG)
def test_profiles_that_can_not_be_are_refused_and_no_traceback_of_whoever_asks_for_one(
    engine: Path, change: Callable[[list], object], said: str
) -> None:
    tree = msgspec.json.decode(msgspec.json.encode(MANIFEST))
    change(tree["inputs"][0]["ranges"])
    manifest_path(engine).write_bytes(msgspec.json.encode(tree))
    with pytest.raises(ModelError, match=said):
        read_manifest(engine)


def test_a_manifest_without_inputs_or_with_profiles_of_some_of_them_is_refused(engine: Path) -> None:
    other = EngineInput("mask", "float32", (range_of(1, 1),))
    for inputs in ((), (*MANIFEST.inputs, other)):
        write_manifest(engine, replace(MANIFEST, inputs=inputs))
        with pytest.raises(ModelError, match="its inputs have not all the same profiles"):
            read_manifest(engine)


def test_the_manifest_of_another_engine_is_noticed(engine: Path) -> None:
    engine.write_bytes(PLAN[:-1])  # cut off by one byte, or rebuilt without its manifest
    with pytest.raises(ModelError, match="of another engine, or it is cut off"):
        read_engine(engine)


def test_a_missing_engine_says_how_to_build_one(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="there is no such file: build it with `taktsight engine build`"):
        read_engine(tmp_path / "parts.engine")


def test_fields_of_a_later_version_are_no_reason_to_refuse(engine: Path) -> None:
    more = msgspec.json.decode(manifest_path(engine).read_bytes()) | {"colour": "blue"}
    manifest_path(engine).write_bytes(msgspec.json.encode(more))
    assert read_manifest(engine) == MANIFEST
