"""`engine bench` on an engine: real PyCUDA and graphs on a driver on host memory, an engine that is an ONNX model."""

import onnx.parser
import pytest

from app.building.engine_bench import measure
from app.building.engine_bench_tensorrt import tensorrt_subjects
from app.errors import ModelError
from tests.gpu import fake_tensorrt
from tests.gpu.fake_driver import FakeDriver

TWICE = """
    <ir_version: 8, opset_import: ["" : 17]>
    agraph (float[n,3,8,8] images) => (float[n,3,8,8] doubled) { doubled = Add(images, images) }
"""
MODEL = onnx.parser.parse_model(TWICE).SerializeToString()
RANGE = {"images": [(1, 3, 8, 8), (4, 3, 8, 8), (8, 3, 8, 8)]}


def subjects(batch: int = 4, **faults: object):
    plan = fake_tensorrt.plan_of(MODEL, [RANGE], **faults)
    return tensorrt_subjects(plan, {"images": (batch, 3, 8, 8)}, fake_tensorrt.module, "lid.engine")


def test_an_engine_is_measured_eagerly_and_as_one_graph_and_gives_everything_back(driver: FakeDriver) -> None:
    with subjects() as ways:
        assert [(one.way, one.batch) for one in ways] == [("TensorRT, eager", 4), ("TensorRT, CUDA graph", 4)]
        rows = measure(ways, 0.0)
    assert [row.whole.count >= 30 for row in rows] == [True, True]
    assert all(row.enqueue is not None and row.gpu is not None and row.overhead_ms is not None for row in rows)


@pytest.mark.parametrize("fault", ["refuses_capture", "spoils_capture", "silent_capture"])
def test_an_engine_that_can_not_be_captured_is_measured_eagerly_alone(driver: FakeDriver, fault: str) -> None:
    with subjects(**{fault: True}) as ways:
        assert [one.way for one in ways] == ["TensorRT, eager"]
        ways[0].run()


def test_a_batch_that_the_engine_does_not_take_is_refused(driver: FakeDriver) -> None:
    with pytest.raises(ModelError, match="takes"), subjects(batch=9):
        pass


def test_without_a_gpu_nothing_is_touched(driver: FakeDriver) -> None:
    driver.reset(present=False)
    with pytest.raises(ModelError, match="no NVIDIA GPU"), subjects():
        pass
