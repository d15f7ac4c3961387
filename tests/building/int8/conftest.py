"""The covers line's pictures, small and few; the small covers model as the product wires it; a real builder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import onnx
import pytest

from app.config import sections
from app.engine import HostEngine
from app.wiring.models import build_model
from tests.building.int8.covers_pictures import ROOT, write_line

COVERS = ROOT / "engines" / "covers_320.onnx"
PICTURES = 24


@pytest.fixture(scope="session")
def line(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of collected pictures, a third as large as the camera's: the small model sees no more of them."""
    return write_line(tmp_path_factory.mktemp("line"), PICTURES, scale=1 / 3)


@pytest.fixture
def engine() -> HostEngine:
    """The small covers model, not entered."""
    wired = build_model("covers", sections.Model(path=str(COVERS)))
    assert isinstance(wired.engine, HostEngine)
    return wired.engine


@pytest.fixture(scope="session")
def covers() -> onnx.ModelProto:
    """The same model's graph; only to be read."""
    return onnx.load(COVERS)


@pytest.fixture
def real_build() -> Callable[[onnx.ModelProto], int]:
    """Build a strongly typed plan with TensorRT for RTX, which needs no GPU for it; the plan's size in bytes."""

    def build(model: onnx.ModelProto) -> int:
        import tensorrt_rtx_bindings as trt  # noqa: PLC0415 - not where this file's other helpers are used

        logger = trt.Logger(trt.Logger.ERROR)
        builder = trt.Builder(logger)
        network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
        parser = trt.OnnxParser(network, logger)
        said = parser.parse(model.SerializeToString()), [str(parser.get_error(i)) for i in range(parser.num_errors)]
        assert said == (True, [])
        plan = builder.build_serialized_network(network, builder.create_builder_config())
        return 0 if plan is None else plan.nbytes

    return build
