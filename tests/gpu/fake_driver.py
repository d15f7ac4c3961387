"""The driver on host memory that stands in for a GPU's: built, loaded into this process and steered from here."""

import ctypes
import functools
import hashlib
import os
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
KINDS = ("memory", "pinned", "registered", "streams", "events", "modules", "graphs", "execs", "contexts")
EMULATED = b"// .version 8.0: for the driver on host memory, which finds kernels by name\n\0"
"""What passes as a compiled module there."""


class FakeDriver:
    """Steers the library. It says that there is no GPU until `present` is set, so that other tests see none."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        library.fakecuda_call.restype = ctypes.c_char_p
        library.fakecuda_largest.argtypes = [ctypes.c_uint64]
        library.fakecuda_ups.argtypes = [ctypes.c_uint64]

    def reset(self, *, present: bool, integrated: bool = False) -> None:
        """Forget faults and calls."""
        self._library.fakecuda_heal()
        self._library.fakecuda_forget_calls()
        self._library.fakecuda_largest(1 << 32)
        self._library.fakecuda_integrated(int(integrated))
        self._library.fakecuda_present(int(present))

    def add_kernels(self, library: Path) -> None:
        """Let kernels be found in a library."""
        assert self._library.fakecuda_kernels(str(library).encode()), library

    def fail(self, name: str, *, nth: int = 1, code: int) -> None:
        """Let the n-th call of a function from now on return a code, and all later ones too where that is fatal."""
        self._library.fakecuda_fail(name.encode(), nth, code)

    def heal(self) -> None:
        """Fail no more."""
        self._library.fakecuda_heal()

    def forgive(self) -> None:
        """Count no more what it refused to take back itself."""
        self._library.fakecuda_forgive()

    def limit(self, nbytes: int) -> None:
        """Let larger allocations fail."""
        self._library.fakecuda_largest(nbytes)

    def forget(self) -> None:
        """Forget the calls so far."""
        self._library.fakecuda_forget_calls()

    def calls(self) -> list[tuple[str, bool]]:
        """Every call since, with whether some stream was being captured."""
        capturing = ctypes.c_int()
        count = self._library.fakecuda_calls()
        return [
            (self._library.fakecuda_call(index, ctypes.byref(capturing)).decode(), bool(capturing.value))
            for index in range(count)
        ]

    def names(self) -> list[str]:
        """The names of the calls since."""
        return [name for name, _ in self.calls()]

    def live(self) -> dict[str, int]:
        """What was taken and not given back, by kind."""
        counts = {kind: self._library.fakecuda_live(kind.encode()) for kind in KINDS}
        return {kind: count for kind, count in counts.items() if count}

    def depth(self) -> int:
        """How many contexts are on this thread's stack."""
        return self._library.fakecuda_depth()

    def ups(self, at_least: int) -> int:
        """How many copies of so many bytes or more went to the GPU since, by calls and in graphs."""
        return self._library.fakecuda_ups(at_least)

    def counted(self) -> Counter[str]:
        """How often each function was called since."""
        return Counter(self.names())


@functools.cache
def fake_driver() -> FakeDriver:
    """Build it if need be, and load it under the driver's name: whoever asks for libcuda.so.1 from now on gets it."""
    return FakeDriver(ctypes.CDLL(str(_built()), mode=ctypes.RTLD_GLOBAL))


@contextmanager
def seeming_gpu() -> Iterator[FakeDriver]:
    """Have the machine seem to have a GPU; whatever is taken there has to be given back in the end."""
    fake = fake_driver()
    fake.reset(present=True)
    yield fake
    fake.reset(present=False)
    left = fake.live()
    fake.forgive()
    assert left == {}


def stand_in() -> None:
    """Load it before PyCUDA is imported, which needs a driver to be imported at all; not where a real one is tested."""
    if os.environ.get("TAKTSIGHT_TEST_DRIVER") != "real":  # as scripts/gpu_check sets it for the tests marked `gpu`
        fake_driver()


def _built() -> Path:
    sources = [HERE / "fakecuda.c", HERE / "fakecuda_rest.h"]
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:16]
    folder = Path(tempfile.gettempdir()) / f"taktsight-fakecuda-{os.getuid()}-{digest}"
    library = folder / "libcuda.so.1"
    if not library.exists():
        folder.mkdir(mode=0o700, exist_ok=True)
        compile_c(sources[0], library, "-Wl,-soname,libcuda.so.1")
    return library


def compile_c(source: Path, library: Path, *flags: str) -> None:
    """Compile one C file to a library, whole or not at all."""
    draft = library.with_name(f"{library.name}.{os.getpid()}")
    command = ["gcc", "-O1", "-Wall", "-Werror", "-shared", "-fPIC", *flags, str(source), "-ldl", "-lpthread"]
    done = subprocess.run([*command, "-o", str(draft)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    draft.replace(library)
