"""Which ONNX Runtime goes with which CUDA and TensorRT, and which libraries are missing."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from app.inference.ort_libraries import missing_libraries, not_loadable, preload, tensorrt_version
from app.inference.ort_versions import LEAST_DRIVER, RELEASES, libraries, mismatch, newest_for, release_of
from tests.conftest import ROOT

LINES = [
    # an ONNX Runtime, its CUDA, TensorRT's major version, least Python
    ("1.31.1", 13, 10, 11),
    ("1.29.0", 13, 10, 11),  # between two lines: as the older one
    ("1.26.0", 12, 10, 11),
    ("1.23.2", 12, 10, 10),  # the last one for JetPack 6's Python 3.10
    ("1.18.1", 11, 10, 8),
]


@pytest.mark.parametrize(("version", "cuda", "tensorrt", "python"), LINES)
def test_a_version_belongs_to_a_line(version, cuda, tensorrt, python):
    release = release_of(version)
    assert (release.cuda, release.tensorrt_major, release.python) == (cuda, tensorrt, python)


def test_older_ones_and_nonsense_belong_to_none():
    assert release_of("1.17.1") is None
    assert release_of("dev") is None


NEWEST = [(12, (1, 31)), (11, (1, 31)), (10, (1, 23)), (8, (1, 19)), (7, None)]


@pytest.mark.parametrize(("python", "version"), NEWEST)
def test_each_python_has_its_newest_line(python, version):
    newest = newest_for(python)
    assert (None if newest is None else newest.version) == version


def test_lines_are_newest_first_and_each_cuda_has_its_driver():
    assert [release.version for release in RELEASES] == sorted((one.version for one in RELEASES), reverse=True)
    assert {release.cuda for release in RELEASES} <= set(LEAST_DRIVER)


def test_libraries_carry_the_majors_in_their_names():
    assert libraries(release_of("1.31.1"), "cuda") == (
        *("libcuda.so.1", "libcudart.so.13", "libcublas.so.13", "libcublasLt.so.13", "libcudnn.so.9"),
    )
    assert libraries(release_of("1.23.2"), "tensorrt")[-2:] == ("libnvinfer.so.10", "libnvonnxparser.so.10")
    assert "libcudart.so.11.0" in libraries(release_of("1.18.0"), "cuda")


def test_a_tensorrt_11_beside_an_onnx_runtime_for_10_is_told_with_the_ways_out():
    text = mismatch("1.31.1", "11.4.0")
    assert "loads TensorRT 10, and 11.4.0 is installed" in text
    assert "device: cuda" in text
    assert "or an onnxruntime-gpu" not in text  # none is published for 11
    assert mismatch("1.31.1", "10.13.3") is None
    assert mismatch("dev", "10.3.0") is None


def test_the_page_about_gpus_has_the_same_table():
    page = (ROOT / "docs" / "gpu.md").read_text()
    rows = re.findall(
        r"^\| (1\.\d+) \| (\d+) \| (\d+) \| ([\d.]+) \| 3\.(\d+) and newer \| (\w+) \|", page, re.MULTILINE
    )
    assert rows == [
        (
            ".".join(map(str, one.version)),
            f"{one.cuda}",
            f"{one.cudnn}",
            ".".join(f"{part}" for part in one.tensorrt if part is not None),
            f"{one.python}",
            one.evidence,
        )
        for one in RELEASES
    ]


def refuse_all(name):
    raise OSError(name)


def test_missing_libraries_are_named_and_an_unknown_version_names_none():
    assert missing_libraries("cuda", version="1.23.2", load=refuse_all)[0] == "libcuda.so.1"
    assert missing_libraries("cuda", version="1.23.2", load=lambda name: object()) == ()
    assert missing_libraries("cuda", version="0.9", load=refuse_all) == ()


def test_tensorrts_version_is_read_from_a_real_library(tmp_path: Path):
    for name, number in (("ten", 100300), ("sixteen", 101601), ("eight", 8601), ("eleven", 110400)):
        source = tmp_path / f"{name}.c"
        source.write_text(f"int getInferLibVersion(void) {{ return {number}; }}\n")
        subprocess.run(["gcc", "-shared", "-o", tmp_path / f"{name}.so", source], check=True)

    def only(name):
        def load(wanted):
            if wanted != "libnvinfer.so.10":
                raise OSError(wanted)
            return ctypes.CDLL(str(tmp_path / f"{name}.so"))

        return load

    found = {name: tensorrt_version(only(name), ort_version="1.31.1") for name in ("ten", "sixteen", "eight", "eleven")}
    assert found == {"ten": "10.3.0", "sixteen": "10.16.1", "eight": "8.6.1", "eleven": "11.4.0"}
    assert tensorrt_version(refuse_all) is None


def test_of_two_tensorrts_the_one_that_this_onnx_runtime_loads_counts():
    numbers = {"libnvinfer.so.11": 110400, "libnvinfer.so.10": 100300}

    def load(wanted):
        return SimpleNamespace(getInferLibVersion=lambda: numbers[wanted])

    assert tensorrt_version(load, ort_version="1.31.1") == "10.3.0"
    assert tensorrt_version(load, ort_version="dev") == "11.4.0"


PIPS_PACKAGE = """
import ctypes, glob, os
for library in glob.glob(os.path.join(os.path.dirname(__file__), "*.so*")):
    ctypes.CDLL(library)
"""


def test_tensorrt_of_pips_package_is_found_although_the_systems_loader_does_not_know_its_folder(tmp_path: Path):
    package = tmp_path / "tensorrt_libs"
    package.mkdir()
    (package / "__init__.py").write_text(PIPS_PACKAGE)
    source = tmp_path / "nvinfer.c"
    source.write_text("int getInferLibVersion(void) { return 110400; }\n")
    soname = "libnvinfer.so.11"
    subprocess.run(["gcc", "-shared", f"-Wl,-soname,{soname}", "-o", package / soname, source], check=True)
    asking = "from app.inference.ort_libraries import tensorrt_version as v, not_loadable as n; print(v(), n(['%s']))"

    # In a process of its own: a library that was loaded once stays.
    done = subprocess.run(
        [sys.executable, "-c", asking % soname],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.strip() == "11.4.0 ()"


def test_the_c_library_can_be_loaded_and_a_made_up_one_can_not():
    assert not_loadable(["libc.so.6", "libtaktsight-none.so.1"]) == ("libtaktsight-none.so.1",)


def test_preloading_keeps_what_it_says_from_stdout_and_survives_its_faults(capsys, caplog):
    def loud():
        print("Failed to load libcublas.so.13")
        raise RuntimeError("no such directory")

    caplog.set_level("DEBUG")
    preload(SimpleNamespace(preload_dlls=loud))
    preload(SimpleNamespace())  # one that is too old for it
    preload()  # the real one
    assert capsys.readouterr().out == ""
    assert "Failed to load libcublas.so.13" in caplog.messages
