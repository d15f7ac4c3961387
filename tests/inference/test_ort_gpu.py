"""On a GPU the provider is the one that was asked for, and a CUDA graph is used only where its replay computes anew.

There is no GPU here: sessions are real ones on the CPU that say they run on one (`tests/ort_rig.py`). The memory, its
binding and the check of the graph are the real code over ONNX Runtime's own objects.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from app.errors import ModelError
from app.inference.onnxruntime import _usual_cache
from app.inference.ort_engines import MAX_FOLDERS, engine_folder, gpu_key
from app.inference.ort_providers import providers_for
from app.model import TensorSpec
from tests.ort_rig import GpuRuntime, put_gpu

CUDA, TENSORRT, CPU = "CUDAExecutionProvider", "TensorrtExecutionProvider", "CPUExecutionProvider"


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> GpuRuntime:
    return put_gpu(monkeypatch)


def noise(shape, seed=0):
    return np.random.default_rng(seed).random(shape, np.float32)


def said_of(backend):
    """What it warns of, but for the class names that these small models lack."""
    return [text for text in backend.warnings if "class names" not in text]


@pytest.mark.parametrize(("device", "provider"), [("cuda", CUDA), ("tensorrt", TENSORRT)])
def test_a_graph_is_captured_at_entry_and_replayed_for_every_frame(gpu, open_backend, save_mean, device, provider):
    with open_backend(save_mean("float"), device=device) as backend:
        assert backend.provider == provider
        assert said_of(backend) == []
        assert gpu.runs[:5] == ["eager", "eager", "capture", "replay", "replay"]
        before = len(gpu.runs)
        for seed in range(3):
            picture = noise((1, 3, 8, 8), seed)
            found = backend.infer({"images": picture})["output0"]
            np.testing.assert_allclose(found, picture.mean((2, 3)), rtol=1e-5)
        assert gpu.runs[before:] == ["replay"] * 3
    assert len(gpu.opened) == 1


def elsewhere(do):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(do).result()


def test_another_thread_gets_a_graph_of_its_own_before_its_first_frame(gpu, open_backend, save_mean):
    backend = open_backend(save_mean("float"), device="cuda")

    def enter():
        backend.__enter__()
        backend.hand_over()

    elsewhere(enter)
    gpu.runs.clear()
    backend.take_over()
    assert gpu.runs == ["eager", "eager", "capture", "replay", "replay"]
    backend.infer({"images": noise((1, 3, 8, 8))})
    assert gpu.runs[-1] == "replay"
    backend.close()


@pytest.mark.parametrize(("graph", "said"), [("stale", "not those of the picture"), ("breaks", "stream is capturing")])
def test_a_graph_that_the_other_thread_can_not_have_is_said_and_what_was_loaded_can_be_left(
    gpu, open_backend, save_mean, graph, said
):
    with open_backend(save_mean("float"), device="cuda") as backend:
        gpu.graph = graph
        with pytest.raises(ModelError, match=f"can't be had on the thread that looks: .*{said}"):
            elsewhere(backend.take_over)


def test_without_a_graph_there_is_nothing_to_capture_on_another_thread(gpu, open_backend, save_mean):
    gpu.graph = "refused"
    with open_backend(save_mean("float"), device="cuda") as backend:
        gpu.runs.clear()
        elsewhere(backend.take_over)
        assert gpu.runs == []


FAULTS = [
    ("stale", "its results are not those of the picture it was given"),  # the first frame's result for ever
    ("breaks", "operation not permitted when stream is capturing"),  # the capture fails
    ("refused", "cannot use the graph capture feature"),  # a node that stays on the CPU
]


@pytest.mark.parametrize(("graph", "said"), FAULTS)
def test_a_graph_that_can_not_be_trusted_is_left_and_said_and_no_frame_gets_anothers_result(
    gpu, open_backend, save_mean, caplog, graph, said
):
    gpu.graph = graph
    with open_backend(save_mean("float"), device="cuda") as backend:
        assert backend.provider == CUDA
        (warning,) = said_of(backend)
        assert "no CUDA graph" in warning
        assert said in warning
        assert any(warning in message for message in caplog.messages)
        assert gpu.opened[-1][0][1]["enable_cuda_graph"] == "0"
        before = len(gpu.runs)
        for seed in (1, 2):
            picture = noise((1, 3, 8, 8), seed)
            np.testing.assert_allclose(backend.infer({"images": picture})["output0"], picture.mean((2, 3)), rtol=1e-5)
        assert gpu.runs[before:] == ["eager", "eager"]


def test_a_network_that_answers_everything_alike_gets_no_graph_for_nobody_could_see_it_go_stale(
    gpu, open_backend, save_constant
):
    with open_backend(save_constant(), device="cuda") as backend:
        assert "answers different pictures alike" in said_of(backend)[0]


def test_a_network_that_wants_0_to_255_and_sees_nothing_in_less_is_tried_with_that(gpu, open_backend, save_graph):
    body = "pixels = Floor(images) output0 = ReduceMean<axes = [2, 3], keepdims = 0>(pixels)"
    path = save_graph(f"agraph (float[1,3,8,8] images) => (float[1,n] output0) {{ {body} }}")
    with open_backend(path, device="cuda") as backend:
        assert said_of(backend) == []


def test_bytes_and_a_second_input_are_tried_too(gpu, open_backend, save_graph):
    path = save_graph(
        "agraph (uint8[1,3,4] images, int64[1] row) => (uint8[1,1,4] output0) { output0 = Gather<axis = 1>(images, row) }"
    )
    with open_backend(path, device="cuda") as backend:
        assert said_of(backend) == []
        picture = np.arange(12, dtype=np.uint8).reshape(1, 3, 4)
        found = backend.infer({"images": picture, "row": np.array([2])})["output0"]
        np.testing.assert_array_equal(found, picture[:, 2:])


def test_outputs_whose_size_only_a_run_tells_get_no_graph_and_come_back_in_every_size(gpu, open_backend, save_graph):
    path = save_graph(
        "agraph (float[1,3,4,4] images) => (int64[4,n] where, float[1,3,4,4] same)"
        "{ where = NonZero(images) same = Relu(images) }"
    )
    with open_backend(path, device="cuda") as backend:
        assert "the size of an output" in said_of(backend)[0]
        for count in (0, 3, 48, 1):
            picture = np.zeros((1, 3, 4, 4), np.float32)
            picture.reshape(-1)[:count] = 5
            outputs = backend.infer({"images": picture})
            np.testing.assert_array_equal(outputs["where"], np.nonzero(picture))
            np.testing.assert_array_equal(outputs["same"], picture)


def test_float16_keeps_its_type_in_the_memory_of_the_device(gpu, open_backend, save_graph):
    path = save_graph("agraph (float16[1,3,8,8] images) => (float16[1,3,8,8] output0) { output0 = Relu(images) }")
    picture = noise((1, 3, 8, 8)).astype(np.float16)
    with open_backend(path, device="cuda") as backend:
        found = backend.infer({"images": picture})["output0"]
        assert found.dtype == np.float16
        np.testing.assert_array_equal(found, picture)


# ── what is asked for is what runs ───────────────────────────────────────────────────────────────────────────────────


def test_mdl_11_a_session_that_is_registered_elsewhere_is_refused_with_what_is_missing(
    gpu, open_backend, save_mean, monkeypatch
):
    gpu.registered = [CPU]
    monkeypatch.setattr("app.inference.ort_gpu.missing_libraries", lambda device: ("libcudnn.so.9",))
    backend = open_backend(save_mean("float"), device="cuda")
    with pytest.raises(ModelError, match=r"device 'cuda' can't be had: libcudnn\.so\.9 can't be loaded"), backend:
        pass
    assert len(gpu.opened) == 1  # no second try without a graph: the device itself is not there


def test_mdl_11_a_provider_that_can_not_be_opened_is_refused_with_what_is_missing_rather_than_its_own_words(
    gpu, open_backend, save_mean, monkeypatch
):
    def refuse(path, **options):
        raise ModelError("Please install TensorRT libraries as mentioned in the GPU requirements page")

    monkeypatch.setattr("app.inference.ort_gpu.open_session", refuse)
    monkeypatch.setattr("app.inference.ort_gpu.missing_libraries", lambda device: ("libnvinfer.so.10",))
    backend = open_backend(save_mean("float"), device="tensorrt")
    with pytest.raises(ModelError, match=r"can't be had: libnvinfer\.so\.10 can't be loaded"), backend:
        pass
    monkeypatch.setattr("app.inference.ort_gpu.missing_libraries", lambda device: ())
    with pytest.raises(ModelError, match="can't be had: Please install TensorRT"), backend:
        pass


def test_mdl_11_a_tensorrt_that_is_another_than_this_onnx_runtimes_is_named(gpu, open_backend, save_mean, monkeypatch):
    gpu.registered = [CPU]
    monkeypatch.setattr("app.inference.ort_gpu.tensorrt_version", lambda: "8.6.1")
    monkeypatch.setattr("app.inference.ort_gpu.missing_libraries", lambda device: ("libnvinfer.so.10",))
    with (
        pytest.raises(ModelError, match=r"loads TensorRT 10, and 8\.6\.1 is installed"),
        open_backend(save_mean("float"), device="tensorrt"),
    ):
        pass


def test_mdl_11_cuda_in_the_place_of_tensorrt_is_refused_too(gpu, open_backend, save_mean):
    gpu.registered = [CUDA, CPU]
    backend = open_backend(save_mean("float"), device="tensorrt")
    with pytest.raises(ModelError, match="device 'tensorrt' can't be had"), backend:
        pass


def test_mdl_11_a_provider_that_is_registered_and_takes_no_node_is_refused(gpu, open_backend, save_mean):
    gpu.nodes = {CPU: ["ReduceMean"]}
    backend = open_backend(save_mean("float"), device="cuda")
    with pytest.raises(ModelError, match=f"{CUDA} takes none of this network's nodes"), backend:
        pass


def test_mdl_11_nodes_that_stay_on_the_cpu_are_named(gpu, open_backend, save_mean):
    gpu.nodes = {"asked": ["Conv"] * 97, CPU: ["NonMaxSuppression", "Gather", "Gather"]}
    with open_backend(save_mean("float"), device="cuda") as backend:
        assert said_of(backend) == ["3 of 100 nodes run on the CPU (Gather, NonMaxSuppression)"]


def test_an_onnx_runtime_that_can_not_tell_where_its_nodes_run_is_believed(gpu, open_backend, save_mean):
    gpu.nodes = None
    with open_backend(save_mean("float"), device="cuda") as backend:
        assert said_of(backend) == []


def test_mdl_11_with_leave_the_cpu_takes_over_and_the_provider_says_so(gpu, open_backend, save_mean):
    gpu.registered = [CPU]
    with open_backend(save_mean("float"), device="cuda", allow_cpu_fallback=True) as backend:
        assert backend.provider == CPU
        assert "running on the CPU" in backend.warnings[-1]


# ── TensorRT's engines ───────────────────────────────────────────────────────────────────────────────────────────────


def test_engines_and_timings_are_kept_in_a_folder_of_this_model_and_machine(gpu, open_backend, save_mean, tmp_path):
    with open_backend(save_mean("float"), device="tensorrt"):
        options = dict(gpu.opened[0])[TENSORRT]
    folder = Path(options["trt_engine_cache_path"])
    assert folder.is_relative_to(tmp_path / "cache" / "tensorrt")
    assert folder.is_dir()
    assert options["trt_timing_cache_path"] == str(folder)
    assert options["trt_engine_cache_enable"] == options["trt_timing_cache_enable"] == "1"
    assert [name for name, _ in gpu.opened[0]] == [TENSORRT, CUDA, CPU]


def test_the_cache_folder_of_the_service_holds_them_where_there_is_one(tmp_path, monkeypatch):
    monkeypatch.setenv("CACHE_DIRECTORY", f"{tmp_path}/cache:{tmp_path}/second")
    monkeypatch.setenv("STATE_DIRECTORY", f"{tmp_path}/state")
    assert _usual_cache(tmp_path / "m.onnx") == tmp_path / "cache" / "models"
    monkeypatch.delenv("CACHE_DIRECTORY")
    assert _usual_cache(tmp_path / "m.onnx") == tmp_path / "state" / "models"
    monkeypatch.delenv("STATE_DIRECTORY")
    assert _usual_cache(tmp_path / "m.onnx") == tmp_path / ".cache"


SPEC = (TensorSpec("images", (1, 3, 8, 8), "float32"),)
OTHER = (TensorSpec("images", (1, 3, 16, 16), "float32"),)


def test_another_model_size_tensorrt_or_gpu_gets_another_folder(tmp_path, monkeypatch):
    seen = {engine_folder(tmp_path, "a" * 64, SPEC), engine_folder(tmp_path, "b" * 64, SPEC)}
    seen.add(engine_folder(tmp_path, "a" * 64, OTHER))
    monkeypatch.setattr("app.inference.ort_engines.tensorrt_version", lambda: "10.3.0")
    seen.add(engine_folder(tmp_path, "a" * 64, SPEC))
    monkeypatch.setattr("app.inference.ort_engines.gpu_key", lambda: "another")
    seen.add(engine_folder(tmp_path, "a" * 64, SPEC))
    assert len(seen) == 5
    assert engine_folder(tmp_path, "a" * 64, SPEC) in seen


def test_the_folders_that_were_not_used_for_longest_go(tmp_path):
    for number in range(MAX_FOLDERS + 3):
        engine_folder(tmp_path, f"{number:<064x}", SPEC)
    assert len(list(tmp_path.iterdir())) == MAX_FOLDERS


def test_a_folder_that_can_not_be_made_is_a_warning_and_no_cache(tmp_path, caplog):
    (tmp_path / "file").write_text("")
    assert engine_folder(tmp_path / "file", "a" * 64, SPEC) is None
    assert "each start builds anew" in caplog.messages[-1]
    assert "trt_engine_cache_enable" not in dict(providers_for("tensorrt", graph=True, engines=None)[:1])[TENSORRT]


def test_the_gpus_key_is_its_model_and_driver_not_its_serial_number(tmp_path):
    def machine(model, uuid, driver):
        card = tmp_path / "proc/driver/nvidia/gpus/0000:01:00.0"
        card.mkdir(parents=True, exist_ok=True)
        (card / "information").write_text(f"Model: \t\t {model}\nIRQ: 99\nGPU UUID: \t {uuid}\n")
        (tmp_path / "proc/driver/nvidia/version").write_text(f"NVRM version: {driver}\n")
        return gpu_key(tmp_path)

    one = machine("RTX A2000", "GPU-1", "580.95")
    assert machine("RTX A2000", "GPU-2", "580.95") == one
    assert machine("RTX A4000", "GPU-1", "580.95") != one
    assert machine("RTX A2000", "GPU-1", "535.10") != one
    assert gpu_key(tmp_path / "nothing") != one


def test_an_input_that_its_file_leaves_open_is_built_for_the_one_size_that_is_used(gpu, open_backend, save_mean):
    with open_backend(save_mean("float", "?,3,?,?"), (64, 32), device="tensorrt"):
        options = dict(gpu.opened[0])[TENSORRT]
    for key in ("trt_profile_min_shapes", "trt_profile_opt_shapes", "trt_profile_max_shapes"):
        assert options[key] == "images:1x3x32x64"
