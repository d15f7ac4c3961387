"""Kernels compiled by the real NVRTC, and kept."""

import logging
from pathlib import Path

import pytest

from app.errors import GpuError
from app.gpu.compiler import architecture, cached, nvrtc
from app.gpu.kernels.source import FLAGS, PROGRAMS, program

TINY = 'extern "C" __global__ void twice(float *values) { values[threadIdx.x] *= 2.0f; }'


def test_a_gpu_has_a_compilers_name() -> None:
    assert architecture((8, 7)) == "sm_87"
    assert architecture((12, 1)) == "sm_121"


@pytest.mark.parametrize("name", PROGRAMS)
def test_our_kernels_become_a_binary_for_the_gpu(name: str) -> None:
    binary = nvrtc(program(name), "sm_87", FLAGS)
    assert binary[:4] == b"\x7fELF"
    assert name.encode() in binary  # the kernels' own names


def test_a_mistake_in_a_source_is_one_line_with_what_the_compiler_says() -> None:
    with pytest.raises(GpuError, match='identifier "nothing" is undefined') as caught:
        nvrtc(TINY.replace("2.0f", "nothing"), "sm_87", FLAGS)
    assert "\n" not in str(caught.value)


def test_a_gpu_that_the_compiler_does_not_know_is_refused() -> None:
    with pytest.raises(GpuError, match="invalid value for --gpu-architecture"):
        nvrtc(TINY, "sm_999", FLAGS)


def test_a_source_is_compiled_once_for_each_gpu_text_and_flags(tmp_path: Path) -> None:
    asked: list[tuple[str, str]] = []

    def compile_(source: str, arch: str, _flags: object) -> bytes:
        asked.append((source, arch))
        return f"{source}:{arch}".encode()

    folder = tmp_path / "made" / "on demand"
    for _ in range(2):
        assert cached("a", "sm_87", [], folder, compile_) == b"a:sm_87"
        assert cached("b", "sm_87", [], folder, compile_) == b"b:sm_87"
        assert cached("a", "sm_90", [], folder, compile_) == b"a:sm_90"
        assert cached("a", "sm_87", ["-G"], folder, compile_) == b"a:sm_87"
    assert len(asked) == 4
    assert sorted(path.suffix for path in folder.iterdir()) == [".cubin"] * 4


def test_a_folder_that_cannot_be_written_costs_time_only(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    taken = tmp_path / "a file"
    taken.write_text("")
    with caplog.at_level(logging.WARNING):
        assert cached("a", "sm_87", [], taken / "below", lambda *_: b"binary") == b"binary"
    assert "compiled at each start" in caplog.text
