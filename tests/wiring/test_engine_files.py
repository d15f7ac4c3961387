"""A model's engine is used where it fits, refused where it doesn't, and built again where the configuration says so."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from app.config import sections
from app.errors import ModelError
from app.inference.chosen_engine import engine_path
from app.inference.engine_file import EngineInput, Machine, Manifest, Range, Verified, read_manifest, write_manifest
from app.wiring.engine_files import fitting_engine, rebuild_arguments

ROOT = Path(__file__).parents[2]
ORIN = Machine("tensorrt", "10.3.0", "12.6", "36.4.3", "Orin", "8.7")
PLAN = b"ftrt" + bytes(200)
SHAPE = (1, 3, 64, 64)
MANIFEST = Manifest(
    onnx="parts.onnx",
    onnx_sha256="ab" * 32,
    plan_sha256=hashlib.sha256(PLAN).hexdigest(),
    built_on=ORIN,
    compute_capabilities=("8.7",),
    precision="fp16",
    inputs=(EngineInput("images", "float32", (Range(SHAPE, SHAPE, SHAPE),)),),
    outputs=(),
    options={"batch": "1,2", "level": "4", "workspace_bytes": "1073741824"},
    verified=Verified(48, {}),
)


@pytest.fixture
def section(tmp_path: Path) -> sections.Model:
    """A model whose engine lies beside it."""
    (tmp_path / "parts.engine").write_bytes(PLAN)
    write_manifest(tmp_path / "parts.engine", MANIFEST)
    return sections.Model(path=str(tmp_path / "parts.onnx"))


def rebuilding(section: sections.Model, **more: object) -> sections.Model:
    return section.model_copy(update={"engine": sections.BuiltEngine(unfit="rebuild", **more)})


def test_an_engine_that_fits_is_read(section: sections.Model) -> None:
    assert bytes(fitting_engine("parts", section, "ab" * 32, ORIN).plan) == PLAN


def test_an_engine_lies_beside_its_model_or_where_it_is_named(section: sections.Model) -> None:
    assert engine_path(section).name == "parts.engine"
    named = section.model_copy(update={"engine": sections.BuiltEngine(path="/models/a.engine")})
    assert engine_path(named) == Path("/models/a.engine")


def test_mdl_12_an_engine_that_does_not_fit_is_refused_with_every_reason_and_the_remedy(
    section: sections.Model,
) -> None:
    with pytest.raises(ModelError) as caught:
        fitting_engine("parts", section, "ef" * 32, replace(ORIN, runtime_version="10.7.0"))
    said = str(caught.value)
    assert "\n" not in said
    for part in ("models.parts", "10.3.0, here is 10.7.0", "model: built with abab", "set engine.unfit: rebuild"):
        assert part in said


def test_an_engine_that_does_not_fit_is_built_again_as_it_was_where_that_is_set(section: sections.Model) -> None:
    newer, ran = replace(ORIN, runtime_version="10.7.0"), []

    def build(arguments: Sequence[str]) -> None:
        ran.append(list(arguments))
        write_manifest(Path(section.path).with_suffix(".engine"), replace(MANIFEST, built_on=newer))

    engine = fitting_engine("parts", rebuilding(section), "ab" * 32, newer, build)
    assert engine.manifest.built_on == newer
    out = str(Path(section.path).with_suffix(".engine"))
    assert ran == [
        [
            *("engine", "build", section.path, "--out", out),
            *("--runtime", "tensorrt", "--fp16", "--batch", "1,2", "--level", "4"),
        ],
    ]


def test_what_was_built_again_is_looked_at_again(section: sections.Model) -> None:
    newer = replace(ORIN, runtime_version="10.7.0")
    with pytest.raises(ModelError, match="was built again and still can't be used: tensorrt version"):
        fitting_engine("parts", rebuilding(section), "ab" * 32, newer, lambda arguments: None)


def test_pictures_of_the_configuration_go_into_the_build(section: sections.Model) -> None:
    with_pictures = section.model_copy(update={"verify": sections.Verify(pictures="/line")})
    assert rebuild_arguments(MANIFEST, with_pictures, Path("a.engine"), "tensorrt")[-2:] == ["--pictures", "/line"]
    plain = replace(MANIFEST, precision="fp32", options={})
    assert rebuild_arguments(plain, section, Path("a.engine"), "tensorrt_rtx")[3:] == [
        *("--out", "a.engine", "--runtime", "tensorrt_rtx"),
    ]


def test_a_real_engine_is_really_built_again(tmp_path: Path) -> None:
    import tensorrt_rtx_bindings as real  # noqa: PLC0415 - only here

    shutil.copy(ROOT / "engines" / "covers_320.onnx", tmp_path / "parts.onnx")
    sha256 = hashlib.sha256((tmp_path / "parts.onnx").read_bytes()).hexdigest()
    (tmp_path / "parts.engine").write_bytes(PLAN)
    write_manifest(tmp_path / "parts.engine", replace(MANIFEST, options={}))
    section = rebuilding(sections.Model(path=str(tmp_path / "parts.onnx")), allow_unverified=True)
    laptop = Machine("tensorrt_rtx", real.__version__, "13.0", "580.65.06", "NVIDIA GeForce RTX 4070", "8.9")
    engine = fitting_engine("parts", section, sha256, laptop)
    assert len(engine.plan) > 1_000_000
    assert read_manifest(tmp_path / "parts.engine").precision == "fp16"


def test_a_build_that_fails_says_why_in_one_line(section: sections.Model) -> None:
    with pytest.raises(ModelError, match=r"can't be built again: taktsight: .*no such file"):
        fitting_engine("parts", rebuilding(section), "ab" * 32, replace(ORIN, runtime="tensorrt_rtx"))
