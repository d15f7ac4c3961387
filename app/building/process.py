"""Runs the builder in a process of its own and says what became of it."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from app.building.request import Built, PhaseFinished, PhaseStarted, Refused, Report, Request, decode
from app.errors import ModelError

_END_S = 5.0
_TAIL = 400  # characters of the builder's last words
_OUT_OF_MEMORY = (
    *("out of memory", "outofmemory", "bad_alloc", "memoryerror", "cudaerrormemoryallocation", "tactic device request"),
    "resource temporarily unavailable",  # no memory for another thread
)

MEMORY_REMEDY = (
    "stop what else needs memory (the service, a desktop), give it less with --workspace, add swap; on a small Jetson "
    "all three"
)
CRASH_REMEDY = (
    "see that the driver is as new as this TensorRT asks and that memory is left, try --level 2 or less, and another "
    "version of TensorRT"
)


def run_builder(request: Request, folder: Path, on_report: Callable[[Report], None]) -> Built:
    """Build one plan and wait for it; whatever happens, no process is left behind.

    Args:
        request: what to build.
        folder: for the request and the builder's log.
        on_report: told of everything that the builder says, from this thread.

    Raises:
        ModelError: there is no plan; the text has the last phase, the reason and what to do.
        KeyboardInterrupt: as it came; the builder was ended.
    """
    request_file, log = folder / "request.json", folder / "builder.log"
    request_file.write_bytes(msgspec.json.encode(request))
    command = [sys.executable, "-m", "app.building.child", str(request_file)]
    phases = _Phases()
    with log.open("wb") as errors:
        # In a session of its own: Ctrl-C reaches this process only, which then ends the builder at once.
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, start_new_session=True)  # noqa: S603
        try:
            result = _listen(process, phases, on_report)
            code = process.wait()
        finally:
            _end(process)
    if isinstance(result, Built) and code == 0:
        return result
    words = result.text if isinstance(result, Refused) else _last_words(log)
    raise ModelError(_failure(code, phases.last, words, refused=isinstance(result, Refused)))


class _Phases:
    """Which phase the builder is in: the innermost that it has entered and not left."""

    def __init__(self) -> None:
        self._open: list[str] = []
        self.last = ""

    def hear(self, report: Report) -> None:
        match report:
            case PhaseStarted(name=name):
                self._open.append(name)
                self.last = name
            case PhaseFinished(name=name) if name in self._open:
                self._open.remove(name)
                self.last = self._open[-1] if self._open else name
            case _:
                pass


def _listen(
    process: subprocess.Popen[bytes], phases: _Phases, on_report: Callable[[Report], None]
) -> Built | Refused | None:
    """Read the builder's reports until it ends; return its last word, if it had one."""
    assert process.stdout is not None
    result: Built | Refused | None = None
    for line in process.stdout:
        try:
            report = decode(line)
        except msgspec.MsgspecError:  # cut off in the middle of a word
            continue
        phases.hear(report)
        on_report(report)
        if isinstance(report, Built | Refused):
            result = report
    return result


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the builder where it still runs, and wait for it."""
    with suppress(ProcessLookupError):
        process.kill()
    process.wait(_END_S)
    if process.stdout is not None:
        process.stdout.close()


def _last_words(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return " ".join(lines[-1].split())[-_TAIL:] if lines else ""


def _failure(code: int, phase: str, words: str, *, refused: bool) -> str:
    """Say in one line what happened, in which phase, and what to do."""
    where = f"in the phase {phase!r}" if phase else "before its first phase"
    if any(sign in words.lower() for sign in _OUT_OF_MEMORY):
        return f"the builder ran out of memory {where} ({words}): {MEMORY_REMEDY}"
    if refused:
        return f"{words} ({where})" if phase else words
    if code == -signal.SIGKILL:
        return f"the builder was killed {where}, as the system does when memory runs out: {MEMORY_REMEDY}"
    if code < 0:
        said = f", after {words!r}" if words else ""
        return f"the builder crashed {where} ({_signal_name(-code)}{said}): {CRASH_REMEDY}"
    return f"the builder ended {where} with exit code {code} ({words or 'it says nothing'}): {CRASH_REMEDY}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
