"""Each supported version is asked for a precision in the way that it has."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from app.building.network import network_flags
from app.building.precision import precision_plan

API = json.loads((Path(__file__).parent / "api.json").read_text())


def module_of(version: str) -> ModuleType:
    """A module with the flags that a version has, and nothing else."""
    place = API["versions"].index(version)
    module = ModuleType(version)
    for name in ("BuilderFlag", "NetworkDefinitionCreationFlag"):
        members = [one for mask, names in API["names"][name].items() if mask[place] == "1" for one in names.split()]
        setattr(module, name, SimpleNamespace(**{one: number for number, one in enumerate(members)}))
    return module


WEAK = [version for version in API["versions"] if version.startswith("tensorrt 10.")]
STRONG = [version for version in API["versions"] if version not in WEAK]


@pytest.mark.parametrize("version", WEAK)
def test_a_weakly_typed_tensorrt_has_flags(version: str) -> None:
    trt = module_of(version)
    plans = {wanted: precision_plan(trt, wanted) for wanted in ("fp32", "fp16", "int8")}
    assert [(plan.flags, plan.carried) for plan in plans.values()] == [
        ((), "nothing"),
        (("FP16",), "nothing"),
        (("FP16", "INT8"), "qdq"),
    ]
    assert not any(plan.strongly_typed for plan in plans.values())


@pytest.mark.parametrize("version", STRONG)
def test_a_strongly_typed_tensorrt_takes_the_precision_from_the_onnx(version: str) -> None:
    trt = module_of(version)
    plans = {wanted: precision_plan(trt, wanted) for wanted in ("fp32", "fp16", "int8")}
    assert [plan.carried for plan in plans.values()] == ["nothing", "fp16", "qdq"]
    assert all(plan.flags == () and plan.strongly_typed for plan in plans.values())


@pytest.mark.parametrize("version", API["versions"])
def test_each_flag_of_a_plan_exists_in_the_version_that_it_is_made_for(version: str) -> None:
    trt = module_of(version)
    for wanted in ("fp32", "fp16", "int8"):
        assert all(hasattr(trt.BuilderFlag, flag) for flag in precision_plan(trt, wanted).flags)


def test_both_kinds_are_among_the_supported_versions() -> None:
    assert WEAK
    assert "tensorrt_rtx 1.7.1.116" in STRONG
    assert "tensorrt 11.4.0.106" in STRONG


def test_network_flags_are_taken_by_name_since_their_numbers_mean_different_things() -> None:
    old = SimpleNamespace(NetworkDefinitionCreationFlag=SimpleNamespace(EXPLICIT_BATCH=0, STRONGLY_TYPED=1))
    new = SimpleNamespace(NetworkDefinitionCreationFlag=SimpleNamespace(STRONGLY_TYPED=0))
    assert [network_flags(old, strongly_typed=typed) for typed in (False, True)] == [0b01, 0b11]
    assert [network_flags(new, strongly_typed=typed) for typed in (False, True)] == [0b0, 0b1]
