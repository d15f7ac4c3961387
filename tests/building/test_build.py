"""Engines are built for real, by TensorRT for RTX, whose builder needs no GPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

from app.building.build import Workshop, build_engine, cache_file, check_gpu, workspace_bytes
from app.building.convert import Quantised
from app.building.options import BuildOptions
from app.building.request import PhaseStarted, Report
from app.errors import ConfigError, ModelError
from app.inference.engine_file import Machine, Range, Verified, check, read_engine, read_manifest
from app.inference.machine import Gpu

ROOT = Path(__file__).parents[2]
RTX = Machine("tensorrt_rtx", "1.7.1.116", "13.0", "580.65.06", "NVIDIA GeForce RTX 4070", "8.9")


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_demo_model_becomes_an_engine_with_a_manifest(tmp_path: Path, rtx: Workshop) -> None:
    options = BuildOptions(ROOT / "engines" / "covers_320.onnx", tmp_path / "covers.engine")
    manifest = build_engine(options, rtx)
    engine = read_engine(options.out)
    assert engine.manifest == manifest
    assert len(engine.plan) > 1_000_000
    assert manifest.inputs[0].ranges == (Range((1, 3, 320, 320), (1, 3, 320, 320), (1, 3, 320, 320)),)
    assert [(spec.name, spec.shape, spec.dtype) for spec in manifest.outputs] == [("output0", (1, 9, 2100), "float32")]
    assert manifest.precision == "fp32"
    assert names_in(tmp_path) == ["covers.engine", "covers.engine.json"]


def test_fp16_is_carried_by_the_onnx_where_the_builder_has_no_flag_for_it(options: BuildOptions, rtx: Workshop) -> None:
    plain, half = build_engine(options, rtx), build_engine(replace(options, precision="fp16"), rtx)
    assert half.plan_sha256 != plain.plan_sha256
    assert half.onnx_sha256 == plain.onnx_sha256  # of the file that the user has, not of the converted one
    assert half.inputs[0].dtype == "float32"  # what goes in and out stays as the line feeds it
    assert half.options["flags"] == "none"


def quantised(file: Path, activations: QuantType = QuantType.QInt8, **changed: bool) -> Path:
    """Return the model with Q/DQ nodes, by default as TensorRT reads them: symmetric, biases left alone."""

    class Pictures(CalibrationDataReader):
        def __init__(self) -> None:
            self.left = [np.random.default_rng(seed).random((1, 3, 64, 64), np.float32) for seed in range(3)]

        def get_next(self) -> dict[str, np.ndarray] | None:
            return {"images": self.left.pop()} if self.left else None

    target = file.with_name("quantised.onnx")
    quantize_static(
        file,
        target,
        Pictures(),
        quant_format=QuantFormat.QDQ,
        activation_type=activations,
        weight_type=QuantType.QInt8,
        extra_options={"ActivationSymmetric": True, "WeightSymmetric": True, "QuantizeBias": False, **changed},
    )
    return target


def test_int8_is_built_of_a_model_that_has_q_dq_nodes_already(options: BuildOptions, rtx: Workshop) -> None:
    manifest = build_engine(replace(options, onnx=quantised(options.onnx), precision="int8"), rtx)
    assert manifest.precision == "int8"
    assert manifest.calibration_sha256 is None


def test_int8_is_built_of_what_the_pictures_make_of_the_model(options: BuildOptions, rtx: Workshop) -> None:
    ready = onnx.load(str(quantised(options.onnx)))
    shop = replace(rtx, quantise=lambda file, rest_fp16: Quantised(ready if rest_fp16 else None, "ab" * 32))
    assert build_engine(replace(options, precision="int8"), shop).calibration_sha256 == "ab" * 32


def test_int8_without_pictures_is_refused_before_anything_is_built(options: BuildOptions, rtx: Workshop) -> None:
    with pytest.raises(ConfigError, match=r"no Q/DQ nodes .*--pictures"):
        build_engine(replace(options, precision="int8"), rtx)
    assert names_in(options.out.parent) == []


def test_each_named_batch_has_a_range_of_its_own_and_all_in_between_are_taken(
    tmp_path: Path, save_yolo: Callable[..., Path], rtx: Workshop
) -> None:
    options = BuildOptions(save_yolo(("batch", 3, 64, 64)), tmp_path / "tiny.engine", batches=(1, 2, 4, 8))
    manifest = build_engine(options, rtx)
    assert [str(span) for span in manifest.inputs[0].ranges] == [
        "1 × 3 × 64 × 64",
        "2 × 3 × 64 × 64",
        "3…4 × 3 × 64 × 64",
        "5…8 × 3 × 64 × 64",
    ]
    assert [manifest.profile_for({"images": (batch, 3, 64, 64)}) for batch in range(1, 9)] == [0, 1, 2, 2, 3, 3, 3, 3]
    assert manifest.outputs[0].shape == (None, 6, 256)


def test_an_open_size_is_what_the_option_says(tmp_path: Path, save_yolo: Callable[..., Path], rtx: Workshop) -> None:
    options = BuildOptions(save_yolo((1, 3, "h", "w")), tmp_path / "tiny.engine", input_wh=(96, 64))
    assert build_engine(options, rtx).inputs[0].ranges[0].best == (1, 3, 64, 96)


# What can't be built of the model, and what is said.
IMPOSSIBLE = [
    ((1, 3, "h", "w"), {}, r"leaves its size open"),  # nobody says how large
    ((1, 3, 64, 64), {"input_wh": (96, 96)}, r"can't take pictures of 96 × 96"),  # it is fixed
    ((1, 3, 64, 64), {"batches": (1, 4)}, r"fixes its batch at 1: export it with an open batch axis"),
]


@pytest.mark.parametrize(("shape", "more", "said"), IMPOSSIBLE)
def test_a_shape_that_the_model_does_not_allow_is_refused(
    tmp_path: Path, save_yolo: Callable[..., Path], rtx: Workshop, shape: tuple, more: dict, said: str
) -> None:
    with pytest.raises(ModelError, match=said):
        build_engine(BuildOptions(save_yolo(shape), tmp_path / "tiny.engine", **more), rtx)


def test_the_builder_s_phases_are_told(options: BuildOptions, rtx: Workshop) -> None:
    reports: list[Report] = []
    steps: list[str] = []
    build_engine(options, replace(rtx, on_report=reports.append, on_step=steps.append))
    phases = [report.name for report in reports if isinstance(report, PhaseStarted)]
    assert phases[0] == "Building engine"
    assert len(phases) > 5
    assert steps == ["building"]


def test_what_nobody_has_run_is_not_verified_and_is_refused(options: BuildOptions, rtx: Workshop) -> None:
    manifest = build_engine(options, rtx)
    assert manifest.verified is None
    assert any("never run beside its ONNX model" in fault for fault in check(manifest, RTX))
    assert check(manifest, RTX, allow_unverified=True) == ()


def test_a_verified_engine_says_so(options: BuildOptions, rtx: Workshop) -> None:
    seen: list[tuple[str, bool]] = []

    def verify(draft: Path) -> Verified:
        seen.append((draft.name, read_engine(draft).manifest.verified is None))  # it is whole when it is looked at
        return Verified(48, {"lost": 0.0})

    build_engine(options, replace(rtx, verify=verify))
    assert seen == [("tiny.engine", True)]
    assert read_manifest(options.out).verified == Verified(48, {"lost": 0.0})
    assert check(read_manifest(options.out), RTX) == ()


def test_an_engine_that_finds_less_than_its_model_is_not_put_in_place(options: BuildOptions, rtx: Workshop) -> None:
    def verify(draft: Path) -> Verified:
        raise ModelError(f"{draft.name}: 3 of 40 scratches are lost")

    before = build_engine(options, rtx)
    with pytest.raises(ModelError, match="scratches are lost"):
        build_engine(replace(options, precision="fp16"), replace(rtx, verify=verify))
    assert read_engine(options.out).manifest == before  # the one from before is still there
    assert names_in(options.out.parent) == ["tiny.engine", "tiny.engine.json"]


def test_a_model_that_the_parser_refuses_is_refused_with_the_parser_s_reason(
    options: BuildOptions, rtx: Workshop
) -> None:
    asymmetric = quantised(options.onnx, ActivationSymmetric=False, activations=QuantType.QUInt8)
    with pytest.raises(ModelError, match=r"the parser refuses the model: .*zero.?point"):
        build_engine(replace(options, onnx=asymmetric, precision="int8"), rtx)
    assert names_in(options.out.parent) == []


def test_tensorrt_is_not_touched_without_a_gpu(rtx: Workshop) -> None:
    class Full:
        __version__ = "10.3.0"

    with pytest.raises(ModelError, match="the driver finds none: build on the machine that will run"):
        check_gpu(Full, None)  # type: ignore[arg-type]
    check_gpu(rtx.trt, None)


def test_the_workspace_is_half_of_what_is_free_unless_it_is_named(options: BuildOptions) -> None:
    orin = Gpu("Orin", "8.7", "12.6", integrated=True, free_bytes=3 << 30)
    assert workspace_bytes(options, orin) == 3 << 29
    assert workspace_bytes(replace(options, workspace_mb=256), orin) == 256 << 20
    assert workspace_bytes(options, replace(orin, free_bytes=1 << 20)) == 64 << 20
    assert workspace_bytes(options, None) == 1 << 30


def test_the_timing_cache_of_another_gpu_or_version_is_another_file(options: BuildOptions, rtx: Workshop) -> None:
    class Full:
        __version__ = "10.3.0"

    class Newer:
        __version__ = "10.7.0"

    orin = Gpu("Orin", "8.7", "12.6", integrated=True, free_bytes=None)
    files = {
        cache_file(options, trt, gpu)  # type: ignore[arg-type]
        for trt in (Full, Newer)
        for gpu in (orin, replace(orin, name="Thor"))
    }
    assert len(files) == 4
    assert cache_file(options, rtx.trt, orin) is None  # TensorRT for RTX measures nothing while it builds
