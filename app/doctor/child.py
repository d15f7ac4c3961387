"""Questions that a driver has to answer, asked in a process of their own: one that hangs or crashes harms nobody."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, TypeAlias

from typing_extensions import Self

Answer: TypeAlias = "Mapping[str, Any] | str"
"""What the child found out; or, as a text, why it did not."""


READ_S = 0.5


class Child:
    """A running question. Entering starts it; leaving ends it, whatever it does.

    Args:
        module: of this package, run as a program; prints one JSON object as its last line.
        arguments: for it.
    """

    def __init__(self, module: str, *arguments: str) -> None:
        self._command = [sys.executable, "-m", f"app.doctor.{module}", *arguments]
        self._process: subprocess.Popen[str] | None = None
        self._began_s = 0.0

    def __enter__(self) -> Self:
        """Start it."""
        self._began_s = time.monotonic()
        # In a session of its own, so that its own children end with it, and a Ctrl-C reaches the doctor alone.
        self._process = subprocess.Popen(  # noqa: S603 - this program's own module
            self._command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End it and wait; safe to call twice."""
        process = self._process
        if process is None:
            return
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()

    def answer(self, timeout_s: float) -> Answer:
        """Wait for what it found out.

        Returns:
            The answer, or one line that says why there is none.
        """
        assert self._process is not None, "a child is entered before it is asked"
        try:
            # One that has answered long ago is still read when another one has used up the time.
            out, err = self._process.communicate(timeout=max(READ_S, timeout_s))
        except subprocess.TimeoutExpired:
            return f"no answer within {time.monotonic() - self._began_s:.0f} s"
        code = self._process.returncode
        if code < 0:
            return f"the attempt was ended by {signal.Signals(-code).name}"
        lines = out.strip().splitlines()
        if code == 0 and lines:
            found: Mapping[str, Any] = json.loads(lines[-1])
            return found
        said = err.strip().splitlines()
        return said[-1] if said else f"the attempt ended with {code}"


def ask(module: str, *arguments: str, timeout_s: float) -> Answer:
    """Ask one question and wait for the answer."""
    with Child(module, *arguments) as child:
        return child.answer(timeout_s)


def answer(found: Mapping[str, Any]) -> None:
    """Print a child's answer; the child's side of `ask`."""
    sys.stdout.write("\n" + json.dumps(found) + "\n")
    sys.stdout.flush()
