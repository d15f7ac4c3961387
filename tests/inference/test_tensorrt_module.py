"""TensorRT is found under its names, and versions that can't be used are refused with the reason."""

from __future__ import annotations

import sys
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from types import ModuleType

import pytest

from app.errors import ModelError
from app.inference.tensorrt_module import NAMES, check_version, find_tensorrt, known_faults, runtime_of, version_of


def a_tensorrt(version: str, *flags: str, rtx: bool = False, name: str = "tensorrt") -> ModuleType:
    module = ModuleType(name)
    module.__version__ = version
    module.NetworkDefinitionCreationFlag = Enum("NetworkDefinitionCreationFlag", flags or ("STRONGLY_TYPED",))
    if rtx:
        module.CudaGraphStrategy = Enum("CudaGraphStrategy", ["DISABLED"])
    return module


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Have these modules installed, and no other TensorRT."""

    def put(**modules: ModuleType) -> None:
        for name in NAMES:
            monkeypatch.setitem(sys.modules, name, modules.get(name))  # None: there is none, for the import system

    return put


def test_mdl_13_an_old_tensorrt_is_refused_with_the_oldest_that_can_be_used() -> None:
    for version in ("8.4.1", "8.5.2", "8.6.2"):
        with pytest.raises(ModelError, match=rf"tensorrt {version} is too old: 10\.0 is the oldest .*JetPack 6\.1"):
            check_version(a_tensorrt(version, "EXPLICIT_BATCH", "EXPLICIT_PRECISION"))


def test_a_module_that_has_no_such_flags_at_all_is_too_old() -> None:
    module = ModuleType("tensorrt")
    module.__version__ = "7.1.3"
    with pytest.raises(ModelError, match="too old"):
        check_version(module)


# Versions that may be used: of JetPack 6.1, 7.0, 7.2, a PC's, and the newest.
USABLE = ["10.0.1", "10.3.0", "10.13.3.9", "10.16.1.11", "11.4.0.106", "12.0"]


@pytest.mark.parametrize("version", USABLE)
def test_a_version_that_is_not_known_to_be_faulty_may_be_used(version: str) -> None:
    check_version(a_tensorrt(version, "EXPLICIT_BATCH", "STRONGLY_TYPED"))


@pytest.mark.parametrize(("version", "source"), [("10.1.0", "17076"), ("10.2.0", "14240")])
def test_a_version_on_the_list_is_refused_with_the_place_where_that_is_written(version: str, source: str) -> None:
    with pytest.raises(ModelError, match=rf"tensorrt {version} can't be used: .*ultralytics#{source}"):
        check_version(a_tensorrt(version))


# A version, a precision, and what is said of both.
DOUBTS = [
    ("10.3.0", "int8", ["23841", "4419", "4248"]),  # JetPack 6.1: the build of YOLO26 fails, and two that hold for all
    ("10.3.0", "fp16", ["4419", "4248"]),
    ("10.13.3.9", "fp16", ["4820", "22873"]),  # JetPack 7.0
    ("10.13.3.9", "fp32", ["22873"]),
    ("10.16.1.11", "int8", []),
    ("11.4.0.106", "fp16", []),
]


@pytest.mark.parametrize(("version", "precision", "sources"), DOUBTS)
def test_what_is_known_against_a_version_is_said_for_the_precisions_that_it_holds_for(
    version: str, precision: str, sources: list[str]
) -> None:
    faults = known_faults(a_tensorrt(version), precision)
    assert [source for fault in faults for source in sources if source in fault.text] == sources
    assert len(faults) == len(sources)


def test_tensorrt_for_rtx_has_numbers_of_its_own_and_is_not_judged_by_them() -> None:
    rtx = a_tensorrt("1.7.1.116", rtx=True, name="tensorrt_rtx")
    check_version(rtx)
    assert known_faults(rtx) == ()
    assert runtime_of(rtx) == "tensorrt_rtx"
    assert runtime_of(a_tensorrt("11.4")) == "tensorrt"


def test_the_first_that_is_installed_is_taken_and_a_named_one_before_it(install: Callable[..., None]) -> None:
    full, rtx = a_tensorrt("10.3.0"), a_tensorrt("1.7", rtx=True, name="tensorrt_rtx_bindings")
    install(tensorrt=full, tensorrt_rtx_bindings=rtx)
    assert find_tensorrt() is full
    assert find_tensorrt("tensorrt_rtx_bindings") is rtx
    install(tensorrt_rtx_bindings=rtx)
    assert find_tensorrt() is rtx
    assert find_tensorrt("tensorrt_rtx") is rtx  # as manifests call it


def test_mdl_12_no_tensorrt_at_all_is_said_with_where_to_get_it(install: Callable[..., None]) -> None:
    install()
    with pytest.raises(
        ModelError, match=r"no TensorRT on this machine: .*--system-site-packages.*pip install tensorrt"
    ):
        find_tensorrt()


def test_a_name_that_is_none_of_its_names_is_refused() -> None:
    with pytest.raises(ModelError, match="'os' is no TensorRT: choose one of tensorrt, tensorrt_rtx"):
        find_tensorrt("os")


def test_a_module_without_its_libraries_is_said_with_the_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tensorrt.py").write_text("raise ImportError('libnvinfer.so.10: cannot open shared object file')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "tensorrt", raising=False)
    with pytest.raises(ModelError, match=r"without its libraries \(libnvinfer\.so\.10"):
        find_tensorrt()


def test_a_module_without_one_of_its_parts_is_said_with_the_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tensorrt.py").write_text("import tensorrt_libs_that_are_missing")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "tensorrt", raising=False)
    with pytest.raises(ModelError, match="tensorrt is installed without tensorrt_libs_that_are_missing"):
        find_tensorrt()


def test_only_the_leading_numbers_of_a_version_count() -> None:
    assert version_of(a_tensorrt("10.3.0.30")) == (10, 3, 0, 30)
    assert version_of(a_tensorrt("10.3.0.post12")) == (10, 3, 0)


def test_the_real_tensorrt_for_rtx_can_be_used() -> None:
    trt = find_tensorrt("tensorrt_rtx_bindings")
    assert runtime_of(trt) == "tensorrt_rtx"
