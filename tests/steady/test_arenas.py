"""Memory comes from few arenas, however many threads ask for it."""

import platform
import subprocess
import sys

PROGRAM = """
import ctypes, sys, threading
from app.steady.arenas import few_arenas
heeded = few_arenas() if sys.argv[1] == "few" else None
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
barrier = threading.Barrier(9)
def take():
    barrier.wait(20)
    blocks = [libc.malloc(100_000) for _ in range(20)]
    barrier.wait(20)
threads = [threading.Thread(target=take) for _ in range(8)]
for thread in threads: thread.start()
barrier.wait(20)
barrier.wait(20)
libc.malloc_info(0, ctypes.c_void_p.in_dll(libc, "stdout"))
libc.fflush(None)
print(heeded)
"""


def arenas(how: str) -> tuple[int, str]:
    said = subprocess.run([sys.executable, "-c", PROGRAM, how], capture_output=True, text=True, check=True, timeout=60)
    return said.stdout.count("<heap nr="), said.stdout.splitlines()[-1]


def test_eight_threads_that_allocate_share_two_arenas() -> None:
    heeded = platform.libc_ver()[0] == "glibc"
    count, said = arenas("few")
    assert said == str(heeded)
    assert not heeded or count <= 2 < arenas("many")[0]
