"""`taktsight engine export-triton`: what it writes, and that a real server loads it, warms it up and gathers batches."""

import re
import threading
import urllib.request
from pathlib import Path

import numpy as np
import onnx.numpy_helper
import onnx.parser
import pytest
import tritonclient.grpc as triton_client
from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2
from typer.testing import CliRunner

from app.building.export_triton import Wanted, export_triton, queue_delay_us
from app.cli import app
from app.errors import ConfigError
from tests.conftest import ROOT
from tests.triton_rig import write_model

COVERS = ROOT / "engines" / "covers_640.onnx"


def config(folder, name):
    """The file as the server itself would read it."""
    return text_format.Parse((folder / name / "config.pbtxt").read_text(), model_config_pb2.ModelConfig())


def test_an_open_batch_is_gathered_within_the_budget(tmp_path):
    done = export_triton(
        Wanted(write_model(tmp_path / "parts.onnx"), tmp_path / "repository", budget_ms=35, instances=2)
    )
    assert (done.name, done.max_batch, done.queue_delay_us) == ("parts", 8, 3500)
    found = config(tmp_path / "repository", "parts")
    assert (found.name, found.backend, found.max_batch_size) == ("parts", "onnxruntime", 8)
    assert [(one.name, one.data_type, list(one.dims)) for one in found.input] == [
        ("images", model_config_pb2.TYPE_FP32, [3, 8, 8])
    ]
    assert [list(one.dims) for one in found.output] == [[3, 8, 8], [3, 1, 1]]
    assert [(one.count, one.kind) for one in found.instance_group] == [
        (2, model_config_pb2.ModelInstanceGroup.KIND_AUTO)
    ]
    batching = found.dynamic_batching
    assert batching.max_queue_delay_microseconds == 3500
    assert (batching.priority_levels, batching.default_priority_level) == (2, 2)
    assert batching.default_queue_policy.default_timeout_microseconds == 35_000
    assert batching.default_queue_policy.allow_timeout_override
    assert [one.batch_size for one in found.model_warmup] == [1, 8]
    written = (tmp_path / "repository" / "parts" / "1" / "model.onnx").read_bytes()
    assert written == (tmp_path / "parts.onnx").read_bytes()


def test_a_file_of_one_picture_a_call_is_served_one_by_one_and_that_is_said(tmp_path):
    result = CliRunner().invoke(app, ["engine", "export-triton", str(COVERS), str(tmp_path / "repository")])
    assert result.exit_code == 0, result.output
    assert "export it with an open batch axis" in result.output
    assert "models.*.triton: {url: HOST:8001, model: covers_640}" in result.output
    found = config(tmp_path / "repository", "covers_640")
    assert found.max_batch_size == 0
    assert not found.HasField("dynamic_batching")
    assert [list(one.dims) for one in found.input] == [[1, 3, 480, 640]]


BATCHES = [
    # the axes of input and output, and whether pictures can be gathered
    ("float[B,3,8,8] x", "float[B,3,8,8] y", 8),
    ("float[1,3,8,8] x", "float[1,3,8,8] y", 0),
    ("float[B,3,8,8] x", "float[N,7] y", 0),  # rows of detections of all pictures together
]


@pytest.mark.parametrize(("takes", "gives", "most"), BATCHES)
def test_pictures_are_gathered_where_every_tensor_counts_them(tmp_path, takes, gives, most):
    operation = "Relu(x)" if "8,8]" in gives else "Reshape(x, shape)"
    shape = "<int64[2] shape = {-1, 7}>" if "Reshape" in operation else ""
    text = f'<ir_version: 8, opset_import: ["" : 17]> agraph ({takes}) => ({gives}) {shape} {{ y = {operation} }}'
    path = tmp_path / "one.onnx"
    path.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    assert export_triton(Wanted(path, tmp_path / "repository")).max_batch == most


DELAYS = [
    # budget in ms, and the microseconds that a picture may wait for others: a tenth, 5 ms at most
    (10, 1000),
    (35, 3500),
    (100, 5000),
    (1000, 5000),
]


@pytest.mark.parametrize(("budget_ms", "delay_us"), DELAYS)
def test_the_delay_comes_of_the_budget(budget_ms, delay_us):
    assert queue_delay_us(budget_ms) == delay_us


REFUSED = [
    # options, and what is said
    (["--backend", "torch"], "must be onnxruntime or python"),
    (["--device", "tpu"], "must be one of auto, cpu, gpu"),
    (["--name", "../away"], "letters, digits"),
]


@pytest.mark.parametrize(("options", "said"), REFUSED)
def test_what_the_server_would_not_know_is_refused(tmp_path, options, said):
    result = CliRunner().invoke(app, ["engine", "export-triton", str(COVERS), str(tmp_path), *options])
    assert isinstance(result.exception, ConfigError)
    assert said in str(result.exception)


def test_a_folder_that_is_none_of_ours_is_left_alone(tmp_path):
    (tmp_path / "covers_640").mkdir()
    (tmp_path / "covers_640" / "holiday.jpg").write_bytes(b"x")
    with pytest.raises(ConfigError, match="choose another DIR"):
        export_triton(Wanted(COVERS, tmp_path))
    assert (tmp_path / "covers_640" / "holiday.jpg").exists()


def test_exported_again_it_takes_the_place_of_what_was_there(tmp_path):
    for budget_ms in (50, 20):
        export_triton(Wanted(write_model(tmp_path / "a.onnx"), tmp_path / "repository", budget_ms=budget_ms))
    assert config(tmp_path / "repository", "a").dynamic_batching.max_queue_delay_microseconds == 2000


def test_weights_that_lie_beside_the_model_go_with_it(tmp_path):
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> agraph (float[B,3,8,8] x) => (float[B,3,8,8] y) { y = Add(x, w) }'
    )
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.ones((1, 3, 8, 8), np.float32), "w"))
    onnx.save(model, tmp_path / "a.onnx", save_as_external_data=True, location="a.weights", size_threshold=0)
    export_triton(Wanted(tmp_path / "a.onnx", tmp_path / "repository"))
    assert (tmp_path / "repository" / "a" / "1" / "a.weights").read_bytes() == (tmp_path / "a.weights").read_bytes()


def test_a_real_server_loads_it_warms_it_up_and_gathers_calls_into_batches(triton):
    before = counted(triton, "nv_inference_exec_count"), counted(triton, "nv_inference_count")
    client = triton_client.InferenceServerClient(triton.url)
    done, wrong = threading.Semaphore(0), []
    for value in range(32):
        feed = triton_client.InferInput("images", [1, 3, 8, 8], "FP32")
        feed.set_data_from_numpy(np.full((1, 3, 8, 8), value, np.float32))

        def take(result, error, value=value):
            if error is not None or not (result.as_numpy("doubled") == 2 * value).all():
                wrong.append((value, error))
            done.release()

        client.async_infer("doubling", [feed], take)
    assert all(done.acquire(timeout=30) for _ in range(32))
    client.close()
    assert wrong == []  # what was cut apart again went to whoever had asked
    runs, pictures = (
        counted(triton, "nv_inference_exec_count") - before[0],
        counted(triton, "nv_inference_count") - before[1],
    )
    assert pictures == 32
    assert runs < 32


def counted(server, name):
    page = urllib.request.urlopen(f"http://127.0.0.1:{server.metrics_port}/metrics", timeout=10).read().decode()
    return sum(float(value) for value in re.findall(rf'^{name}{{model="doubling"[^}}]*}} (\S+)', page, re.MULTILINE))


def test_what_runs_in_the_server_imports_nothing_of_ours():
    text = Path(ROOT / "app" / "building" / "triton_model.py").read_text()
    assert not re.search(r"^\s*(from|import) app", text, re.MULTILINE)
