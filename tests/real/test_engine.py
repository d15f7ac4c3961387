"""Engines of a public YOLOX network that nobody here made are really built (outside the repository; else skipped)."""

from __future__ import annotations

from pathlib import Path

import pytest
import tensorrt_rtx_bindings

from app.building.build import Workshop, build_engine
from app.building.options import BuildOptions
from app.inference.engine_file import read_engine

ROOT = Path(__file__).resolve().parents[2]
NETWORK = ROOT.parent / "shared" / "models" / "yolox_nano_coco_416.onnx"

pytestmark = pytest.mark.skipif(not NETWORK.exists(), reason=f"needs {NETWORK.name}, which is not part of the project")


@pytest.mark.parametrize("precision", ["fp32", "fp16"])
def test_a_public_network_becomes_an_engine(tmp_path: Path, precision: str) -> None:
    options = BuildOptions(NETWORK, tmp_path / "yolox.engine", precision)
    manifest = build_engine(options, Workshop(tensorrt_rtx_bindings))
    assert [str(span) for span in manifest.inputs[0].ranges] == ["1 × 3 × 416 × 416"]
    assert manifest.outputs[0].shape == (1, 3549, 85)
    assert len(read_engine(options.out).plan) > 1_000_000
