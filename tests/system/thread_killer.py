"""`taktsight run CONFIG`, in which one thread ends in a way that nobody caught, once every camera has been heard of."""

import ctypes
import sys
import threading
import time

from app.cli import main


def kill(name: str) -> bool:
    """Have a thread raise SystemExit, which no part catches; False where there is no such thread."""
    found = [thread for thread in threading.enumerate() if thread.name == name]
    for thread in found:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(SystemExit))
    return bool(found)


def wait_and_kill(name: str, ready: threading.Event) -> None:
    """Wait for the word on stdin, then kill."""
    ready.wait()
    while not kill(name):
        time.sleep(0.05)
    sys.stdout.write(f"killed at {time.monotonic_ns()}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    victim = sys.argv.pop()
    go = threading.Event()
    threading.Thread(target=wait_and_kill, args=(victim, go), daemon=True).start()
    threading.Thread(target=lambda: sys.stdin.readline() and go.set(), daemon=True).start()
    main()
