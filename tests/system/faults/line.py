"""The product as it is, in a process that can be killed, which also notes every verdict beside the product.

Usage: python -m tests.system.faults.line CONFIG FD. To the pipe FD goes one line before a verdict is handed to the outbox,
and one after; what is in a pipe is not lost with its writer.
"""

import os
import sys
from pathlib import Path

from app.config import load
from app.frame import AnyImage
from app.pipeline import Emit
from app.runner import run_until_stopped
from app.verdict import Outcome
from app.wiring.swap import Swap


def noting(fd: int, emit: Emit) -> Emit:
    """Return what hands an outcome on and notes it before and after."""

    def note(word: str, outcome: Outcome) -> None:
        verdict = outcome.judgement.verdict.value
        os.write(fd, f"{word} {outcome.camera} {outcome.trace_id}.{outcome.rev} {outcome.seq} {verdict}\n".encode())

    def noted(outcome: Outcome, image: AnyImage) -> None:
        note("judged", outcome)
        emit(outcome, image)
        note("put", outcome)

    return noted


def main() -> None:
    """Run the line until a signal comes."""
    path, fd = Path(sys.argv[1]), int(sys.argv[2])
    run_until_stopped(load(path), Swap(emit=lambda emit: noting(fd, emit)))


if __name__ == "__main__":
    main()
