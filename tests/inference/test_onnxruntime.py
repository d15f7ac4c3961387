"""ONNX Runtime runs what was asked for, where it was asked to, or says why not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest

from app.config.sections import Model
from app.errors import ModelError
from app.inference import ort_gpu
from app.inference.model_file import read_model
from app.inference.onnxruntime import OnnxBackend
from app.model import TensorSpec

Opener = Callable[..., OnnxBackend]
Saver = Callable[..., Path]


def noise(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random(shape, np.float32)


def test_the_shipped_model_gives_what_a_plain_session_gives(open_backend: Opener, shipped_model: Path) -> None:
    picture = noise((1, 3, 480, 640))
    plain = ort.InferenceSession(shipped_model, providers=["CPUExecutionProvider"])
    (expected,) = plain.run(None, {"images": picture})
    with open_backend(shipped_model) as backend:
        assert backend.provider == "CPUExecutionProvider"
        assert backend.outputs == (TensorSpec("output0", (1, 9, 6300), "float32"),)
        np.testing.assert_allclose(backend.infer({"images": picture})["output0"], expected, rtol=1e-4, atol=1e-4)


def test_mdl_01_a_float16_input_gives_what_float32_gives(open_backend: Opener, save_mean: Saver) -> None:
    picture = noise((1, 3, 8, 8))
    with open_backend(save_mean("float16")) as half:
        assert half.inputs[0].dtype == "float16"
        found = half.infer({"images": picture.astype(np.float16)})["output0"].copy()
    with open_backend(save_mean("float")) as full:
        np.testing.assert_allclose(found, full.infer({"images": picture})["output0"], atol=1e-3)


def test_mdl_01_a_float16_output_comes_back_as_float16(open_backend: Opener, save_graph: Saver) -> None:
    path = save_graph("agraph (float16[1,3,8,8] images) => (float16[1,3,8,8] output0) { output0 = Relu(images) }")
    picture = noise((1, 3, 8, 8)).astype(np.float16)
    with open_backend(path) as backend:
        np.testing.assert_array_equal(backend.infer({"images": picture})["output0"], picture)


def test_mdl_01_the_wrong_type_is_refused_by_us_before_the_engine_sees_it(
    open_backend: Opener, save_mean: Saver
) -> None:
    with open_backend(save_mean("float16")) as backend, pytest.raises(ModelError, match="expected float16"):
        backend.infer({"images": noise((1, 3, 8, 8))})


OPEN = ["batch,3,height,width", "?,3,?,?"]


@pytest.mark.parametrize("shape", OPEN)
def test_mdl_03_open_axes_run_at_the_size_that_is_told(open_backend: Opener, save_mean: Saver, shape: str) -> None:
    picture = noise((1, 3, 32, 64))
    with open_backend(save_mean("float", shape, "batch"), (64, 32)) as backend:
        assert backend.inputs[0].shape == (1, 3, 32, 64)
        found = backend.infer({"images": picture})["output0"]
        np.testing.assert_allclose(found, picture.mean((2, 3)), rtol=1e-5)


def test_mdl_03_named_axes_make_every_output_known_before_the_first_run(open_backend: Opener, save_mean: Saver) -> None:
    with open_backend(save_mean("float", OPEN[0], "batch"), (64, 32)) as backend:
        assert backend.outputs[0].shape == (1, 3)


def test_mdl_03_an_open_size_is_refused_before_anything_is_loaded(open_backend: Opener, save_mean: Saver) -> None:
    with pytest.raises(ModelError, match=r"set input\.width and height"):
        open_backend(save_mean("float", OPEN[0], "batch"))


def test_mdl_04_a_fixed_batch_is_fed_whole_and_only_row_0_is_the_picture(
    open_backend: Opener, save_mean: Saver
) -> None:
    with open_backend(save_mean("float", "4,3,8,8", "4")) as backend:
        batch = np.zeros(backend.inputs[0].shape, np.float32)
        assert batch.shape == (4, 3, 8, 8)
        batch[0] = noise((3, 8, 8))
        rows = backend.infer({"images": batch})["output0"]
        np.testing.assert_allclose(rows[0], batch[0].mean((1, 2)), rtol=1e-5)
        assert not rows[1:].any()  # never four copies of the result


def test_mdl_04_one_picture_is_no_batch_of_four(open_backend: Opener, save_mean: Saver) -> None:
    with (
        open_backend(save_mean("float", "4,3,8,8", "4")) as backend,
        pytest.raises(ModelError, match=r"expected float32 \(4, 3, 8, 8\), got float32 \(1, 3, 8, 8\)"),
    ):
        backend.infer({"images": noise((1, 3, 8, 8))})


@pytest.mark.parametrize("kind", ["uint8", "float"])
def test_mdl_05_channels_last_and_bytes_are_taken_as_they_are(
    open_backend: Opener, save_mean: Saver, kind: str
) -> None:
    with open_backend(save_mean(kind, "1,8,8,3")) as backend:
        assert backend.inputs[0].shape == (1, 8, 8, 3)
        picture = np.full((1, 8, 8, 3), 200, backend.inputs[0].dtype)
        assert backend.infer({"images": picture})["output0"][0, 0] == 200


def test_mdl_05_open_channels_last_are_resolved(open_backend: Opener, save_mean: Saver) -> None:
    backend = open_backend(save_mean("uint8", "batch,h,w,3", "batch"), (16, 8))
    assert backend.inputs[0].shape == (1, 8, 16, 3)


def test_a_layout_that_is_configured_decides_where_the_file_leaves_all_open(
    open_backend: Opener, save_mean: Saver
) -> None:
    backend = open_backend(save_mean("uint8", "b,h,w,c", "b"), (16, 8), input={"layout": "nhwc", "colour": "grey"})
    assert backend.inputs[0].shape == (1, 8, 16, 1)


@pytest.mark.parametrize("device", ["cuda", "tensorrt"])
def test_mdl_11_a_device_that_is_not_there_is_refused(open_backend: Opener, save_mean: Saver, device: str) -> None:
    backend = open_backend(save_mean("float"), device=device)
    with pytest.raises(ModelError, match=f"device '{device}' can't be had") as caught, backend:
        pass
    assert "allow_cpu_fallback" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_mdl_11_with_leave_it_runs_on_the_cpu_and_says_so(
    open_backend: Opener, save_mean: Saver, caplog: pytest.LogCaptureFixture
) -> None:
    with open_backend(save_mean("float"), device="cuda", allow_cpu_fallback=True) as backend:
        assert backend.provider == "CPUExecutionProvider"
        assert "running on the CPU" in backend.warnings[-1]
    assert "running on the CPU" in caplog.messages[-1]


def test_mdl_06_names_that_differ_from_the_files_are_logged(
    shipped_model: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    info = read_model(shipped_model, names=["cover", "screw", "gap", "brass", "scratch"])
    with OnnxBackend(info, Model(path=str(shipped_model)), cache=tmp_path):
        assert "'hole' → 'gap'" in caplog.messages[0]


@pytest.fixture
def _lying_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    """A runtime that offers CUDA and then goes on without it, as one without the CUDA libraries does."""
    monkeypatch.setattr(ort, "get_available_providers", lambda: ["CUDAExecutionProvider", "CPUExecutionProvider"])


@pytest.mark.usefixtures("_lying_runtime")
@pytest.mark.filterwarnings("ignore:Specified provider:UserWarning")
def test_mdl_11_a_session_that_quietly_runs_on_the_cpu_is_refused(open_backend: Opener, save_mean: Saver) -> None:
    backend = open_backend(save_mean("float"), device="cuda")
    with pytest.raises(ModelError, match=r"device 'cuda' can't be had: .*(can't be loaded|are missing)"), backend:
        pass


@pytest.mark.usefixtures("_lying_runtime")
@pytest.mark.parametrize("leave", [False, True])
def test_mdl_11_a_device_that_fails_to_start_is_refused_or_left(
    open_backend: Opener, save_mean: Saver, monkeypatch: pytest.MonkeyPatch, leave: bool
) -> None:
    def failing(path: Path, **options: object) -> ort.InferenceSession:
        raise ModelError("CUDA failure 35: driver too old")

    monkeypatch.setattr(ort_gpu, "open_session", failing)
    monkeypatch.setattr(ort_gpu, "missing_libraries", lambda device: ())
    backend = open_backend(save_mean("float"), device="cuda", allow_cpu_fallback=leave)
    if leave:
        with backend:
            assert "driver too old" in backend.warnings[-1]
        return
    with pytest.raises(ModelError, match="driver too old"), backend:
        pass


def test_mdl_19_what_can_not_run_at_the_real_size_is_refused_at_entry(open_backend: Opener, save_graph: Saver) -> None:
    path = save_graph(
        "agraph (float[b,3,h,w] images) => (float[1,192] output0) <int64[2] flat = {1, 192}>"
        "{ output0 = Reshape(images, flat) }"
    )
    with open_backend(path, (8, 8)) as fits:
        assert fits.outputs[0].shape == (1, 192)
    with pytest.raises(ModelError, match=path.name), open_backend(path, (16, 8)):
        pass


def test_mdl_19_entering_has_run_the_network_before_the_first_frame(
    open_backend: Opener, save_mean: Saver, monkeypatch: pytest.MonkeyPatch
) -> None:
    fed: list[tuple[int, ...]] = []
    monkeypatch.setattr(OnnxBackend, "infer", lambda _self, feeds: fed.append(feeds["images"].shape))
    with open_backend(save_mean("float", OPEN[0], "batch"), (64, 32)):
        assert len(fed) >= 1
        assert set(fed) == {(1, 3, 32, 64)}


def test_a_file_that_changed_after_the_check_is_not_run(open_backend: Opener, save_mean: Saver) -> None:
    backend = open_backend(save_mean("float"))
    save_mean("uint8")
    with pytest.raises(ModelError, match="has changed since it was checked"), backend:
        pass


def test_a_failure_inside_the_engine_is_ours_and_one_line(open_backend: Opener, save_graph: Saver) -> None:
    path = save_graph(
        "agraph (float[1,3,4] images, int64[1] row) => (float[1,3,4] output0) { output0 = Gather<axis = 1>(images, row) }".replace(
            "float[1,3,4] output0", "float[1,1,4] output0"
        )
    )
    with open_backend(path) as backend, pytest.raises(ModelError, match="refuses it") as caught:
        backend.infer({"images": np.zeros((1, 3, 4), np.float32), "row": np.array([9])})
    assert "\n" not in str(caught.value)


def test_entering_says_nothing_on_stderr(
    open_backend: Opener, shipped_model: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):  # the first time it writes the optimised model, the second time it reads it
        with open_backend(shipped_model):
            pass
    assert capfd.readouterr() == ("", "")
