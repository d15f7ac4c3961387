"""What every engine promises, tried on all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import onnx.parser
import pytest

from app.config.sections import Model, Triton
from app.errors import ModelError
from app.inference.base import Backend
from app.inference.fake import FakeBackend
from app.inference.model_file import read_model
from app.inference.onnxruntime import OnnxBackend
from app.inference.triton_backend import TritonBackend
from app.model import TensorSpec
from tests.gpu import fake_tensorrt
from tests.gpu.fake_driver import fake_driver
from tests.ort_rig import put_gpu
from tests.triton_rig import Server

SHAPE = (1, 3, 8, 8)
DOUBLING = """
    <ir_version: 8, opset_import: ["" : 17]>
    agraph (float[1,3,8,8] images) => (float[1,3,8,8] doubled, float[1,3,1,1] most)
    { doubled = Add(images, images) most = ReduceMax<axes = [2, 3], keepdims = 1>(images) }
"""


def scripted(_folder: Path) -> Backend:
    def double(feeds: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {"doubled": feeds["images"] * 2, "most": feeds["images"].max((2, 3), keepdims=True)}

    return FakeBackend([TensorSpec("images", SHAPE, "float32")], double)


def onnx_file(folder: Path) -> Backend:
    path = folder / "doubling.onnx"
    path.write_bytes(onnx.parser.parse_model(DOUBLING).SerializeToString())
    return OnnxBackend(read_model(path), Model(path=str(path)))


def onnx_file_on_a_gpu(folder: Path) -> Backend:
    """By a CUDA graph, on a GPU that is not there: see `tests/ort_rig.py`."""
    path = folder / "doubling.onnx"
    path.write_bytes(onnx.parser.parse_model(DOUBLING).SerializeToString())
    return OnnxBackend(read_model(path), Model(path=str(path), device="cuda"))


def tensorrt_on_fakes(_folder: Path) -> Backend:
    """The real backend and the real PyCUDA, on a driver on host memory and a TensorRT that is ONNX Runtime."""
    fake_driver().reset(present=True)
    from app.inference.tensorrt_backend import TensorRtBackend  # noqa: PLC0415 - PyCUDA needs the driver

    plan = fake_tensorrt.plan_of(onnx.parser.parse_model(DOUBLING).SerializeToString())
    outputs = [TensorSpec("doubled", SHAPE, "float32"), TensorSpec("most", (1, 3, 1, 1), "float32")]
    return TensorRtBackend(plan, [TensorSpec("images", SHAPE, "float32")], outputs, fake_tensorrt.module)


def triton_server(folder: Path, server: Server) -> Backend:
    """On a real Triton server, which has the model with an open batch."""
    # A busy machine may be slow to answer.
    section = Triton(url=server.url, model="doubling", fail_over=False, timeout_ms=20_000)
    path = folder / "doubling.onnx"
    path.write_bytes(onnx.parser.parse_model(DOUBLING).SerializeToString())
    return TritonBackend(path, section, OnnxBackend(read_model(path), Model(path=str(path))))


def triton_server_that_is_away(folder: Path) -> Backend:
    """The local engine in the place of a server that nobody has started."""
    path = folder / "doubling.onnx"
    path.write_bytes(onnx.parser.parse_model(DOUBLING).SerializeToString())
    section = Triton(url="127.0.0.1:9")
    return TritonBackend(path, section, OnnxBackend(read_model(path), Model(path=str(path))))


ENGINES = [scripted, onnx_file, onnx_file_on_a_gpu, tensorrt_on_fakes, triton_server, triton_server_that_is_away]


@pytest.fixture(params=ENGINES, ids=lambda make: make.__name__)
def backend(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Backend]:
    """Doubles a picture and tells its brightest values; not entered yet."""
    make: Callable[[Path], Backend] = request.param
    if make is onnx_file_on_a_gpu:
        put_gpu(monkeypatch)
    yield triton_server(tmp_path, request.getfixturevalue("triton")) if make is triton_server else make(tmp_path)
    if make is tensorrt_on_fakes:
        fake_driver().reset(present=False)
        assert fake_driver().live() == {}


def picture(value: float) -> np.ndarray:
    return np.full(SHAPE, value, np.float32)


def test_tensors_are_known_by_name_shape_and_type(backend: Backend) -> None:
    with backend:
        assert backend.inputs == (TensorSpec("images", SHAPE, "float32"),)
        assert [spec.name for spec in backend.outputs] == ["doubled", "most"]
        outputs = backend.infer({"images": picture(3)})
        assert {name: (array.shape, array.dtype.name) for name, array in outputs.items()} == {
            spec.name: (spec.shape, spec.dtype) for spec in backend.outputs
        }
        assert (outputs["doubled"] == 6).all()
        assert (outputs["most"] == 3).all()


def test_the_inputs_are_known_before_it_is_entered(backend: Backend) -> None:
    assert backend.inputs == (TensorSpec("images", SHAPE, "float32"),)


def test_entered_it_says_where_it_runs(backend: Backend) -> None:
    assert backend.provider == ""
    with backend as entered:
        assert entered is backend
        assert backend.provider != ""


def test_it_can_be_left_twice_and_entered_again(backend: Backend) -> None:
    for _ in range(2):
        with backend:
            assert (backend.infer({"images": picture(1)})["doubled"] == 2).all()
        backend.__exit__(None, None, None)


def test_entering_twice_loads_once(backend: Backend) -> None:
    with backend:
        lent = backend.infer({"images": picture(1)})["doubled"]
        backend.__enter__()
        assert backend.infer({"images": picture(2)})["doubled"] is lent


def test_it_does_not_run_before_it_is_entered_or_after_it_is_left(backend: Backend) -> None:
    with pytest.raises(ModelError, match="not loaded"):
        backend.infer({"images": picture(1)})
    with backend:
        pass
    with pytest.raises(ModelError, match="not loaded"):
        backend.infer({"images": picture(1)})


def test_outputs_are_borrowed_until_the_next_run(backend: Backend) -> None:
    with backend:
        lent = backend.infer({"images": picture(1)})["doubled"]
        kept = lent.copy()
        backend.infer({"images": picture(5)})
        assert (kept == 2).all()
        assert (lent == 10).all()


def test_feeds_are_not_changed_and_not_kept(backend: Backend) -> None:
    with backend:
        fed = picture(4)
        lent = backend.infer({"images": fed})["doubled"]
        assert (fed == 4).all()
        fed[:] = 0
        assert (lent == 8).all()


WRONG = [
    ({}, "expected"),  # nothing
    ({"image": picture(1)}, "expected"),  # another name
    ({"images": picture(1), "more": picture(1)}, "expected"),  # one too many
    ({"images": picture(1).astype(np.float64)}, "float64"),  # another type
    ({"images": picture(1)[0]}, r"\(3, 8, 8\)"),  # without its batch
    ({"images": np.ones((1, 3, 8, 9), np.float32)}, r"\(1, 3, 8, 9\)"),  # another size
    ({"images": np.ones((1, 8, 8, 3), np.float32).transpose(0, 3, 1, 2)}, "C-contiguous"),  # a view the wrong way round
]


@pytest.mark.parametrize(("feeds", "said"), WRONG)
def test_wrong_feeds_are_refused_in_one_line_and_harm_nothing(
    backend: Backend, feeds: dict[str, np.ndarray], said: str
) -> None:
    with backend:
        with pytest.raises(ModelError, match=said) as caught:
            backend.infer(feeds)
        assert "\n" not in str(caught.value)
        assert (backend.infer({"images": picture(1)})["doubled"] == 2).all()
