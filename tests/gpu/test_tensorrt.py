"""Engines that TensorRT can't use, and shapes that they don't take: said at the start, in one line, with the remedy."""

from types import SimpleNamespace

import numpy as np
import onnx.parser
import pytest

from app.errors import GpuError, ModelError
from app.inference.tensorrt_backend import TensorRtBackend
from app.inference.tensorrt_module import check_version
from app.model import TensorSpec
from tests.gpu import fake_tensorrt
from tests.gpu.fake_driver import FakeDriver

TWICE = """
    <ir_version: 8, opset_import: ["" : 17]>
    agraph (float[n,3,8,8] images) => (float[n,3,8,8] doubled) { doubled = Add(images, images) }
"""
MODEL = onnx.parser.parse_model(TWICE).SerializeToString()
SMALL = {"images": [(1, 3, 8, 8), (1, 3, 8, 8), (1, 3, 8, 8)]}
LARGE = {"images": [(2, 3, 8, 8), (4, 3, 8, 8), (8, 3, 8, 8)]}
WHERE = "lid.engine"


def backend(
    *, batch: int = 1, plan: bytes | None = None, module: SimpleNamespace | None = None, **faults: object
) -> TensorRtBackend:
    plan = fake_tensorrt.plan_of(MODEL, [SMALL, LARGE], **faults) if plan is None else plan
    spec = TensorSpec("images", (batch, 3, 8, 8), "float32")
    trt = module or fake_tensorrt.module()

    def find() -> SimpleNamespace:
        check_version(trt)
        return trt

    return TensorRtBackend(plan, [spec], [], find, where=WHERE)


def refusal(of: TensorRtBackend) -> str:
    with pytest.raises(ModelError) as caught, of:
        pass
    assert "\n" not in str(caught.value)
    return str(caught.value)


# ── MDL-12: an engine from another TensorRT or GPU ───────────────────────────────────────────────────────────────────


def test_mdl_12_an_engine_of_another_tensorrt_is_refused_with_what_tensorrt_says(driver: FakeDriver) -> None:
    said = refusal(backend(plan=b"an engine of another version" * 10))
    assert said.startswith("lid.engine: can't be used with this tensorrt 10.3.0 and GPU: Serialization assertion")
    assert said.endswith("build it again on this machine with `taktsight engine build`")


def test_mdl_12_without_a_gpu_tensorrt_is_not_even_looked_for(driver: FakeDriver) -> None:
    driver.reset(present=False)

    def find() -> SimpleNamespace:
        raise AssertionError("it would have ended the process")

    asked = TensorRtBackend(b"", [], [], find, where=WHERE)  # type: ignore[arg-type]
    assert "there is no NVIDIA GPU with a driver here" in refusal(asked)


def test_mdl_12_a_tensorrt_that_cannot_start_is_no_type_error(driver: FakeDriver) -> None:
    def broken(_logger: object) -> None:
        raise TypeError("pybind11::init(): factory function returned nullptr")

    said = refusal(backend(module=fake_tensorrt.module(Runtime=broken)))
    assert "tensorrt 10.3.0 can't start here" in said
    assert "check the driver" in said


# ── MDL-13: the old binding API is gone ──────────────────────────────────────────────────────────────────────────────


def test_mdl_13_the_tensor_api_alone_is_enough(driver: FakeDriver) -> None:
    """The fake module has nothing of what TensorRT 10 took away."""
    names = set(vars(fake_tensorrt.ICudaEngine)) | set(vars(fake_tensorrt.IExecutionContext))
    assert not {name for name in names if "binding" in name or name in ("execute_async_v2", "max_batch_size")}
    with backend() as entered:
        doubled = entered.infer({"images": np.full((1, 3, 8, 8), 4, np.float32)})["doubled"]
        assert (doubled == 8).all()
        assert entered.provider == "tensorrt 10.3.0"


def test_mdl_13_tensorrt_8_is_refused_with_the_oldest_that_can_be_used(driver: FakeDriver) -> None:
    old = fake_tensorrt.module("8.4.1", NetworkDefinitionCreationFlag=SimpleNamespace(EXPLICIT_BATCH=0))
    said = refusal(backend(module=old))
    assert "tensorrt 8.4.1 is too old: 10.0 is the oldest that can be used" in said
    assert "JetPack 6.1" in said


def test_mdl_13_tensorrt_for_rtx_is_known_by_what_it_has_not_by_its_number(driver: FakeDriver) -> None:
    with backend(module=fake_tensorrt.module("1.7.1", CudaGraphStrategy=SimpleNamespace())) as entered:
        assert entered.provider == "tensorrt_rtx 1.7.1"


# ── MDL-14: a shape outside the engine's profile ─────────────────────────────────────────────────────────────────────


def test_mdl_14_a_batch_between_the_profiles_names_what_the_engine_takes(driver: FakeDriver) -> None:
    said = refusal(backend(batch=16))
    assert "input 'images' takes 1 × 3 × 8 × 8, not 16 × 3 × 8 × 8" in said
    assert "input 'images' takes 2…8 × 3 × 8 × 8, not 16 × 3 × 8 × 8" in said
    assert "--batch" in said


@pytest.mark.parametrize("batch", [1, 2, 8])
def test_mdl_14_a_batch_inside_a_profile_runs_with_it(driver: FakeDriver, batch: int) -> None:
    with backend(batch=batch) as entered:
        assert entered.outputs == (TensorSpec("doubled", (batch, 3, 8, 8), "float32"),)
        images = np.full((batch, 3, 8, 8), 3, np.float32)
        assert (entered.infer({"images": images})["doubled"] == 6).all()


def test_mdl_14_a_fixed_engine_fed_another_size_is_refused(driver: FakeDriver) -> None:
    fixed = onnx.parser.parse_model(TWICE.replace("[n,", "[1,")).SerializeToString()
    said = refusal(backend(batch=2, plan=fake_tensorrt.plan_of(fixed)))
    assert "takes 1 × 3 × 8 × 8, not 2 × 3 × 8 × 8" in said


# ── what else an engine may have ─────────────────────────────────────────────────────────────────────────────────────

UNUSABLE = [
    ({"dtype": "BF16"}, "tensor 'images' is BF16, which NumPy has not"),
    ({"on_host": "doubled"}, "tensor 'doubled' is a shape"),
    ({"rows_as_found": True}, "has as many rows as it finds: export the model without its NMS"),
    ({"no_memory": True}, "no memory to run it: .*OutOfMemory"),
    ({"no_address": "doubled"}, "no address for tensor 'doubled'"),
    ({"refuses": True}, "TensorRT refuses to run it: enqueueV3"),
]


@pytest.mark.parametrize(("fault", "said"), UNUSABLE, ids=[str(fault) for fault, _ in UNUSABLE])
def test_an_engine_that_cannot_be_run_is_refused_at_entry(driver: FakeDriver, fault: dict, said: str) -> None:
    with pytest.raises(ModelError, match=said), backend(batch=2, **fault):
        pass
    assert driver.live() == {}


def test_other_inputs_than_the_model_s_are_refused(driver: FakeDriver) -> None:
    spec = TensorSpec("images", (1, 3, 8, 8), "float16")
    plan = fake_tensorrt.plan_of(MODEL, [SMALL])
    said = refusal(TensorRtBackend(plan, [spec], [], fake_tensorrt.module, where=WHERE))
    assert "its inputs are" in said
    assert "float32" in said


def test_a_fault_while_it_runs_is_no_result(driver: FakeDriver) -> None:
    with backend() as entered:
        driver.fail("cuStreamSynchronize", code=700)
        with pytest.raises(GpuError, match="waiting for a stream"):
            entered.infer({"images": np.zeros((1, 3, 8, 8), np.float32)})
        driver.heal()
