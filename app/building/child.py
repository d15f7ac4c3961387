"""The builder's process: reads a request, writes a plan, and says on its standard output how it gets on.

A process of its own, because TensorRT ends the one that it runs in where a driver, a kernel or the memory fails.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import warnings
from contextlib import suppress
from pathlib import Path

import msgspec

from app.building.network import Refusal, build_plan
from app.building.request import Refused, Report, Request, encode
from app.errors import ModelError
from app.inference.tensorrt_module import find_tensorrt

_PR_SET_PDEATHSIG = 1
_NICENESS = 10
_WORST_OOM_SCORE = "1000"


def main(request_file: str) -> None:
    """Build what a request file asks for; exit code 0 also where it is refused, since that was said."""
    report_fd = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what the libraries print is no report

    def say(report: Report) -> None:
        os.write(report_fd, encode(report) + b"\n")

    stand_back()
    warnings.simplefilter("ignore")  # TensorRT's bindings warn of calls that older versions need
    request = msgspec.json.decode(Path(request_file).read_bytes(), type=Request)
    try:
        built = build_plan(find_tensorrt(request.module), request, say)
    except (ModelError, Refusal) as error:
        say(Refused(str(error)))
        return
    except OSError as error:
        say(Refused(f"the engine can't be written: {error.strerror or error}: make room, or choose another --out"))
        return
    say(built)


def stand_back() -> None:
    """Let a service on the same machine go first: for the CPU, and when memory runs out.

    And end with the parent, however that ends.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    with suppress(OSError):
        os.nice(_NICENESS)
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_WORST_OOM_SCORE, encoding="ascii")


if __name__ == "__main__":
    main(sys.argv[1])
