"""A network of a few cells as a model, as an engine and as both kinds of engine of the product, for tests without a GPU."""

import functools
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx.parser

from app.config.sections import Model, Nms
from app.decode.base import Head
from app.decode.boxes import Plane
from app.decode.decoder import Decoder
from app.decode.yolov8 import YoloV8
from app.engine import HostEngine
from app.inference.model_file import read_model
from app.inference.onnxruntime import OnnxBackend
from app.picture_memory import PictureMemory
from app.preprocess.cpu import CpuPreprocessor
from app.preprocess.input_spec import InputSpec
from tests.gpu import fake_tensorrt
from tests.gpu.fake_driver import EMULATED, fake_driver, stand_in
from tests.gpu.kernels.host import build

stand_in()

from app.fused.engine import FusedEngine  # noqa: E402 - see `stand_in`
from app.fused.lanes import Lanes  # noqa: E402
from app.fused.network import Network  # noqa: E402

CELLS = """
    <ir_version: 8, opset_import: ["" : 17]>
    agraph (float[n,3,64,64] images) => (float[n,7,64] output0)
    <float[1,4,64] boxes, int64[3] flat = {0, 3, 64}, float[1,1,1] nought = {0.0}>
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


HEAD = YoloV8("output0", 3, Plane((64, 64)))


def cells() -> bytes:
    """The network as an ONNX file."""
    model = onnx.parser.parse_model(CELLS.replace("<float[1,4,64] boxes, ", "<"))
    centres = (np.arange(8) + 0.5) * 8
    across, along = np.meshgrid(centres, centres)
    boxes = np.stack([across.ravel(), along.ravel(), np.full(64, 7.0), np.full(64, 7.0)])[np.newaxis]
    model.graph.initializer.append(onnx.numpy_helper.from_array(boxes.astype(np.float32), "boxes"))
    return model.SerializeToString()


def profiles(most: int) -> list[dict[str, list[tuple[int, ...]]]]:
    """The shapes that the engine takes: batches up to so many."""
    return [{"images": [(1, 3, 64, 64), (1, 3, 64, 64), (most, 3, 64, 64)]}]


def decoder() -> Decoder:
    return Decoder(HEAD, Nms(), NAMES, 3)


def painted(seed: int, size_wh: tuple[int, int] = (160, 120)) -> np.ndarray:
    """A dark picture with a few patches in pure colours."""
    random = np.random.default_rng(seed)
    image = random.integers(0, 40, (size_wh[1], size_wh[0], 3)).astype(np.uint8)
    for _ in range(4):
        x, y = random.integers(0, size_wh[0] - 40), random.integers(0, size_wh[1] - 40)
        image[y : y + 40, x : x + 40, random.integers(0, 3)] = 255
    return image


def pooled(memory: PictureMemory, seed: int, size_wh: tuple[int, int] = (160, 120)) -> np.ndarray:
    """The same in a camera's memory."""
    image = memory.take((size_wh[1], size_wh[0], 3))
    image[...] = painted(seed, size_wh)
    return image


def host_engine(folder: Path) -> HostEngine:
    """The network, step after step on the host."""
    path = folder / "cells.onnx"
    path.write_bytes(cells())
    backend = OnnxBackend(read_model(path, names=NAMES), Model(path=str(path)), input_wh=(64, 64))
    batch = np.zeros((1, *SPEC.sample_shape), np.float32)
    return HostEngine("cells", backend, CpuPreprocessor(SPEC), {"images": batch}, batch[0], decoder().run)


def fused_engine(
    folder: Path,
    *,
    most: int = 1,
    module: SimpleNamespace | None = None,
    faults: dict[str, Any] | None = None,
    head: Head = HEAD,
    spec: InputSpec = SPEC,
    batches: tuple[int, ...] = (1,),
    **options: Any,
) -> FusedEngine:
    """The network in one launch; our kernels and its engine run on the driver on host memory."""
    network = Network(
        name="cells:0123456789ab",
        where="cells.engine",
        load=lambda _trt: fake_tensorrt.plan_of(cells(), profiles(most), **(faults or {})),
        spec=spec,
        head=head,
        decoder=decoder(),
        find=lambda: module or fake_tensorrt.module(),
        compile=lambda *_: EMULATED,
        cache=folder,
        batches=batches,
    )
    return FusedEngine(network.name, Lanes(network, **options))


@functools.cache
def our_kernels() -> None:
    """Let the driver on host memory find our kernels; built once in a process."""
    with tempfile.TemporaryDirectory() as folder:
        fake_driver().add_kernels(build(Path(folder)))
