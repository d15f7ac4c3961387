"""The kernels' text: whole in itself, and compiled for every GPU that is promised, with no GPU here."""

import ctypes
import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from app.bench.device.compiled import CAPABILITIES
from app.frame import PixelFormat
from app.gpu.compiler import architecture
from app.gpu.kernels import decode_jobs, letterbox_jobs
from app.gpu.kernels.source import FLAGS, PROGRAMS, program

ARCHITECTURES = [architecture(capability) for capability in CAPABILITIES]

LETTERBOXES = {
    letterbox_jobs.entry_point(pixels, dtype) for pixels in PixelFormat for dtype in ("float32", "float16", "uint8")
}
DECODES = {decode_jobs.entry_point(kind, dtype) for kind in decode_jobs.KINDS for dtype in ("float32", "float16")}
ENTRIES = {"letterbox": LETTERBOXES, "decode": DECODES | {decode_jobs.RESET}}


class Nvrtc:
    """NVIDIA's run-time compiler, which needs no GPU, from its wheel."""

    def __init__(self) -> None:
        spec = importlib.util.find_spec("nvidia")
        folders = [] if spec is None else [Path(folder) for folder in spec.submodule_search_locations or ()]
        # The compiler looks for its second library by name only, so that one is loaded first.
        for name in ("libnvrtc-builtins.so.*", "libnvrtc.so.*"):
            (path,) = [path for folder in folders for path in sorted(folder.rglob(name)) if ".alt." not in path.name]
            self._library = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)

    def compile(self, text: str, options: list[str]) -> tuple[int, str, bytes]:
        """The return code, what the compiler said, and the machine code."""
        handle = ctypes.c_void_p()
        nvrtc = self._library
        assert nvrtc.nvrtcCreateProgram(ctypes.byref(handle), text.encode(), b"kernels.cu", 0, None, None) == 0
        flags = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
        code = nvrtc.nvrtcCompileProgram(handle, len(options), flags)
        said, cubin = self._text(handle, "ProgramLog"), b"" if code else self._text(handle, "CUBIN")
        nvrtc.nvrtcDestroyProgram(ctypes.byref(handle))
        return code, said.decode(), cubin

    def _text(self, handle: ctypes.c_void_p, what: str) -> bytes:
        size = ctypes.c_size_t()
        assert getattr(self._library, f"nvrtcGet{what}Size")(handle, ctypes.byref(size)) == 0
        buffer = ctypes.create_string_buffer(size.value)
        assert getattr(self._library, f"nvrtcGet{what}")(handle, buffer) == 0
        return buffer.raw[: size.value]


def test_every_promised_gpu_is_among_them():
    assert [f"sm_{number}" for number in (75, 80, 86, 87, 89, 90, 100, 110, 120)] == ARCHITECTURES


@pytest.fixture(scope="session")
def nvrtc():
    return Nvrtc()


@pytest.mark.parametrize("sm", ARCHITECTURES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_nvrtc_compiles_every_kernel_for_every_gpu_without_a_word(nvrtc, name, sm):
    code, said, cubin = nvrtc.compile(program(name), [f"--gpu-architecture={sm}", *FLAGS])

    assert (code, said.strip("\0\n ")) == (0, "")
    assert set(re.findall(rb"\.text\.(\w+)", cubin)) == {entry.encode() for entry in ENTRIES[name]}


@pytest.mark.parametrize("name", PROGRAMS)
def test_nvcc_compiles_the_same_text_for_orin(name, tmp_path):
    """Where it is installed; NVRTC, above, is what runs on the device."""
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        return
    source = tmp_path / f"{name}.cu"
    source.write_text(program(name))
    command = [nvcc, "-cubin", "-arch=sm_87", *FLAGS, "-Werror", "all-warnings", str(source), "-o", f"{source}.cubin"]

    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_text_needs_no_other_file(name):
    assert re.findall(r"^\s*#\s*include\s+(\S+)", program(name), re.MULTILINE) == [
        "<math.h>",
        "<string.h>",
    ]  # host only


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_entry_point_that_python_names_is_there_and_no_other(name):
    text = program(name)
    plain = set(re.findall(r"^KERNEL (\w+)\(", text, re.MULTILINE))
    made = {
        f"{name}_{kind}_{dtype}"
        for kind in re.findall(rf"^{name.upper()}(?:E)?S\((\w+), ", text, re.MULTILINE)
        for dtype in re.findall(rf"^  {name.upper()}\(NAME, \w+, (\w+), ", text, re.MULTILINE)
    }
    assert plain | made == ENTRIES[name]
