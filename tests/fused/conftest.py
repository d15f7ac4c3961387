"""What the tests of the fused engine share: our kernels and a TensorRT that is ONNX Runtime, on a driver on host memory."""

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx.parser
import pytest

from tests.gpu import fake_tensorrt
from tests.gpu.fake_driver import EMULATED, FakeDriver, fake_driver
from tests.gpu.kernels.host import build

fake_driver()  # before PyCUDA is imported, which needs a driver to be imported at all

from app.config.sections import Nms  # noqa: E402 - see above
from app.decode.boxes import Plane  # noqa: E402
from app.decode.decoder import Decoder  # noqa: E402
from app.decode.yolov8 import YoloV8  # noqa: E402
from app.fused.engine import FusedEngine  # noqa: E402
from app.fused.lanes import Lanes  # noqa: E402
from app.fused.network import Network  # noqa: E402
from app.preprocess.input_spec import InputSpec  # noqa: E402

CELLS = """
    <ir_version: 8, opset_import: ["" : 17]>
    agraph (float[n,3,64,64] images) => (float[n,7,64] output0)
    <float[1,4,64] boxes, int64[3] flat = {0, 3, 64}, int64[3] many = {0, 4, 64}, float[1,1,1] nought = {0.0}>
    {
        mean = AveragePool<kernel_shape = [8, 8], strides = [8, 8]>(images)
        scores = Reshape(mean, flat)
        one = ReduceMean<axes = [1, 2], keepdims = 1>(scores)
        zero = Mul(one, nought)
        everywhere = Add(zero, boxes)
        output0 = Concat<axis = 1>(everywhere, scores)
    }
"""
"""A network of three classes that sees how red, green and blue each of 8 x 8 cells is; its boxes are the cells."""

NAMES = ("red", "green", "blue")
SPEC = InputSpec("images", 64, 64)


def cells() -> bytes:
    """The network as an ONNX file."""
    model = onnx.parser.parse_model(CELLS.replace("<float[1,4,64] boxes, ", "<"))
    centres = (np.arange(8) + 0.5) * 8
    across, along = np.meshgrid(centres, centres)
    boxes = np.stack([across.ravel(), along.ravel(), np.full(64, 7.0), np.full(64, 7.0)])[np.newaxis]
    model.graph.initializer.append(onnx.numpy_helper.from_array(boxes.astype(np.float32), "boxes"))
    return model.SerializeToString()


Make = Callable[..., FusedEngine]


@pytest.fixture(scope="session")
def our_kernels(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Our kernels can be found by the driver on host memory."""
    fake_driver().add_kernels(build(tmp_path_factory.mktemp("kernels")))


@pytest.fixture
def driver(our_kernels: None) -> Iterator[FakeDriver]:
    """A machine that seems to have a GPU; whatever a test takes there, it has given back in the end."""
    fake = fake_driver()
    fake.reset(present=True)
    yield fake
    fake.reset(present=False)
    left = fake.live()
    fake.forgive()
    assert left == {}


@pytest.fixture
def told() -> list[str]:
    """What an engine told."""
    return []


@pytest.fixture
def make(driver: FakeDriver, tmp_path: Path, told: list[str]) -> Make:
    """Make an engine that is not entered yet."""

    def engine(
        *,
        most: int = 1,
        module: SimpleNamespace | None = None,
        options: dict[str, Any] | None = None,
        **faults: object,
    ) -> FusedEngine:
        least, largest = (1, 3, 64, 64), (most, 3, 64, 64)
        network = Network(
            name="cells:0123456789ab",
            where="cells.engine",
            load=lambda _trt: fake_tensorrt.plan_of(cells(), [{"images": [least, least, largest]}], **faults),
            spec=SPEC,
            head=YoloV8("output0", 3, Plane((64, 64))),
            decoder=Decoder(YoloV8("output0", 3, Plane((64, 64))), Nms(), NAMES, 3),
            find=lambda: module or fake_tensorrt.module(),
            compile=lambda *_: EMULATED,
            cache=tmp_path,
        )
        return FusedEngine(network.name, Lanes(network, tell=told.append, **(options or {})))

    return engine
