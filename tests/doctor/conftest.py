"""Files of a machine, and libraries without a GPU behind them."""

import subprocess
from pathlib import Path

import pytest


@pytest.fixture
def write(tmp_path):
    """Write a file of a machine; `tmp_path` stands for /."""

    def put(path, text=""):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")
        return file

    return put


@pytest.fixture(scope="session")
def cuda_folder(tmp_path_factory):
    """A folder with a libcuda.so.1 that does what FAKE_CUDA says."""
    folder = tmp_path_factory.mktemp("cuda")
    source = Path(__file__).with_name("cuda.c")
    subprocess.run(["gcc", "-shared", "-fPIC", "-Wall", "-Werror", "-o", folder / "libcuda.so.1", source], check=True)
    return folder
