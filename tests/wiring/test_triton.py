"""Where a model with a Triton server is run here all the same, and what can't go together with a server."""

import pytest

from app.building.verify_command import reference_section
from app.config.sections import BuiltEngine, Model, Triton
from app.errors import ModelError
from app.inference.onnxruntime import OnnxBackend
from app.inference.triton_backend import TritonBackend
from app.wiring.models import build_model
from tests.conftest import ROOT

MODEL = str(ROOT / "engines" / "covers_320.onnx")


def test_a_model_with_a_server_asks_the_server_and_every_other_runs_here():
    assert isinstance(build_model("covers", Model(path=MODEL, triton=Triton())).engine.backend, TritonBackend)
    assert isinstance(build_model("covers", Model(path=MODEL)).engine.backend, OnnxBackend)


def test_what_all_else_is_measured_by_is_the_file_itself_not_what_a_server_makes_of_it():
    section = reference_section(Model(path=MODEL, triton=Triton()))
    assert isinstance(build_model("covers", section).engine.backend, OnnxBackend)


def test_a_server_and_a_built_engine_exclude_one_another():
    section = Model(path=MODEL, device="tensorrt", engine=BuiltEngine(path="a.engine"), triton=Triton())
    with pytest.raises(ModelError, match="exclude one another: remove triton"):
        build_model("covers", section)


def test_the_engine_tells_its_backend_until_when_a_result_is_of_use():
    wired = build_model("covers", Model(path=MODEL, triton=Triton()))
    wired.engine.due(17)
    assert wired.engine.backend._deadline_ns == 17
