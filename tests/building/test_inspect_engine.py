"""What `engine inspect` says of an engine: by its files alone, and by what TensorRT tells of it where there is a GPU."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from app.building.inspect_engine import inspect_engine
from app.cli import app
from app.errors import ModelError

PLAN = b"ftrt" + bytes(5000)
LAYERS = {
    "Layers": [
        {"Name": "conv0", "LayerType": "CaskConvolution", "Outputs": [{"Format/Datatype": "Half row major"}]},
        {"Name": "Reformatting CopyNode for conv0", "LayerType": "Reformat", "Outputs": [{"Format/Datatype": "Float"}]},
        "just a name",
    ]
}


class Engine:
    """What TensorRT's engine says of itself."""

    num_io_tensors, num_optimization_profiles, device_memory_size = 2, 1, 4096

    def get_tensor_name(self, number):
        return ("images", "output0")[number]

    def get_tensor_mode(self, name):
        return "in" if name == "images" else "out"

    def get_tensor_dtype(self, name):
        return "DataType.FLOAT"

    def get_tensor_shape(self, name):
        return (-1, 3, 64, 64) if name == "images" else (-1, 6, 84)

    def get_tensor_profile_shape(self, name, number):
        return [(1, 3, 64, 64), (4, 3, 64, 64), (8, 3, 64, 64)]

    def create_engine_inspector(self):
        return SimpleNamespace(get_engine_information=lambda how: json.dumps(LAYERS))


def tensorrt(engine):
    return SimpleNamespace(
        __name__="tensorrt",
        __version__="10.3.0",
        Logger=type("Logger", (), {"ERROR": 1, "__init__": lambda self, level: None}),
        Runtime=lambda logger: SimpleNamespace(deserialize_cuda_engine=lambda plan: engine),
        TensorIOMode=SimpleNamespace(INPUT="in"),
        LayerInformationFormat=SimpleNamespace(JSON=1),
    )


@pytest.fixture
def plan(tmp_path):
    path = tmp_path / "covers.engine"
    path.write_bytes(PLAN)
    return path


def test_an_engine_without_a_gpu_is_known_by_its_files_and_tensorrt_is_not_touched(plan):
    def touched(wanted):
        raise AssertionError

    found = inspect_engine(plan, gpu=lambda: None, tensorrt=touched)
    assert [finding.kind for finding in found.findings] == ["manifest", "not_loaded"]
    assert found.as_json()["loaded"] is None
    said = CliRunner().invoke(app, ["engine", "inspect", str(plan)])
    assert said.exit_code == 0
    assert "there is no covers.engine.json beside it" in said.output


def test_an_engine_on_its_device_tells_tensors_and_layers(plan):
    found = inspect_engine(plan, gpu=object, tensorrt=lambda wanted: tensorrt(Engine()))
    images, output = found.loaded.tensors
    assert (images.mode, images.dtype, images.profiles[0][2]) == ("input", "float", (8, 3, 64, 64))
    assert (output.mode, output.shape, output.profiles) == ("output", (-1, 6, 84), ())
    assert [(layer.kind, layer.precision) for layer in found.loaded.layers] == [
        ("CaskConvolution", "Half"),
        ("Reformat", "Float"),
        ("", ""),
    ]
    assert found.loaded.memory_bytes == 4096
    assert "reformats" in {finding.kind for finding in found.findings}
    assert json.dumps(found.as_json())


def test_an_engine_that_tensorrt_does_not_load_says_so(plan):
    found = inspect_engine(plan, gpu=object, tensorrt=lambda wanted: tensorrt(None))
    assert "tensorrt 10.3.0 can't load it" in found.findings[-1].text


def test_a_file_that_is_no_engine_is_refused(tmp_path):
    (tmp_path / "empty.engine").write_bytes(b"")
    with pytest.raises(ModelError, match=r"empty\.engine"):
        inspect_engine(tmp_path / "empty.engine")
