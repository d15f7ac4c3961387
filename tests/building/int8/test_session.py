"""Models in memory: what can't run says so in one line."""

import numpy as np
import pytest

from app.building.int8.session import ModelRunner
from app.errors import ModelError
from tests.building.int8.networks import network, node, numbers


def test_what_onnx_runtime_does_not_know_is_one_line() -> None:
    with pytest.raises(ModelError, match="the changed model can't be run") as refused:
        ModelRunner(network([node("NoSuchOperator", "images", "out")], []))
    assert "\n" not in str(refused.value)


def test_a_run_that_fails_is_one_line() -> None:
    runner = ModelRunner(network([node("Reshape", "images shape", "out")], [numbers("shape", [5, 5], np.int64)]))
    with pytest.raises(ModelError, match="the changed model can't be run") as refused:
        runner.infer({"images": np.zeros((1, 3, 16, 16), np.float32)})
    assert "\n" not in str(refused.value)
