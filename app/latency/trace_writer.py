"""Writes finished frames and what happened beside them to a trace file, from a thread that nobody waits for."""

from __future__ import annotations

import io
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from typing_extensions import Self

from app.background import step_back
from app.config.sections import TraceFile
from app.errors import ConfigError
from app.latency.gc_pauses import GcPauses
from app.latency.machine import MachineProbe
from app.latency.trace_file import FrameTrace, Run, SystemEvent, encode_record, frame_trace
from app.verdict import Outcome

logger = logging.getLogger(__name__)

POLL_S = 0.25
"""The thread looks so often, and writes all at once; no frame wakes it."""
SAMPLE_NS = 1_000_000_000
"""Between two looks at the machine."""
MAX_HELD = 2048
"""Frames that may wait for their last steps; beyond, the oldest are written as they are."""
MAX_WAITING = 4096
"""Frames and events that may wait to be written; beyond, new ones are dropped and counted."""
SHOWN_NS = 1_500_000_000
"""How long after the broker's acknowledgement a subscriber's is waited for."""
SENT_NS = 30_000_000_000
"""How long after the frame's other steps the broker's acknowledgement is waited for."""


@dataclass(frozen=True, slots=True)
class TraceCounts:
    """What became of the lines: `put = written + dropped + waiting`, always."""

    put: int
    written: int
    dropped: int
    waiting: int


class TraceWriter:
    """Owns the file and the thread; `put` and `event` cost a lock and an append.

    A frame is put when its verdict is known and written when its last steps are known: its way to the broker and, if a
    subscriber says so, to the screen.

    Args:
        section: where to, and how much.
        run: the first line of every file.
        probe: the machine.
        now_ns: the clock, `time.monotonic_ns`.
    """

    def __init__(
        self,
        section: TraceFile,
        run: Run,
        *,
        probe: MachineProbe | None = None,
        now_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._section = section
        self._path = Path(section.path)
        self._run_line = encode_record(run)
        self._probe = probe
        self._now_ns = now_ns
        self._pauses = GcPauses(now_ns)
        self._lock = threading.Lock()
        self._frames: deque[tuple[Outcome, int]] = deque()
        self._records: deque[FrameTrace | SystemEvent] = deque()
        self._put = self._written = self._dropped = self._told = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._write, name="trace", daemon=False)
        self._stack = ExitStack()
        self._file: io.FileIO | None = None
        self._size = 0
        self._sampled_ns = 0
        self._is_lost = False

    def __enter__(self) -> Self:
        """Begin the file, the one of an earlier run being kept as `<path>.1`, and start the thread.

        Raises:
            ConfigError: it can't be written.
        """
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._begin_file()
        except OSError as error:
            raise ConfigError(
                f"trace.path {self._path}: can't be written ({error.strerror}); choose a path that this user may "
                "write to"
            ) from error
        self._stack.enter_context(self._pauses)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Write what waits, as far as it is known, and stop; safe to call twice."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join()
        self._stack.close()
        if self._file is not None:
            self._file.close()
            self._file = None
            counts = self.counts()
            logger.info("trace %s: %d lines written, %d dropped", self._path, counts.written, counts.dropped)

    def put(self, outcome: Outcome) -> None:
        """Take one outcome; its later steps are read from its trace as they come."""
        with self._lock:
            if self._takes_one():
                self._frames.append((outcome, self._now_ns()))

    def put_record(self, record: FrameTrace | SystemEvent) -> None:
        """Take a record that is complete: a frame that the gate passed over, an event with a length."""
        with self._lock:
            if self._takes_one():
                self._records.append(record)

    def event(self, camera: str, kind: str, text: str, data: dict[str, Any]) -> None:
        """Take something that happened now."""
        now_ns = self._now_ns()
        self.put_record(SystemEvent(kind=kind, camera=camera, text=text, began_ns=now_ns, ended_ns=now_ns, data=data))

    def counts(self) -> TraceCounts:
        """Return the sums so far."""
        with self._lock:
            waiting = self._put - self._written - self._dropped
            return TraceCounts(self._put, self._written, self._dropped, waiting)

    def _takes_one(self) -> bool:
        """Count one; return whether there is room for it."""
        self._put += 1
        has_room = len(self._frames) + len(self._records) < MAX_WAITING
        self._dropped += not has_room
        return has_room

    # ── the thread ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _write(self) -> None:
        step_back()
        is_last = False
        while not is_last:
            is_last = self._stop.wait(POLL_S)
            try:
                self._write_due(self._now_ns(), everything=is_last)
            except Exception:  # the thread's root: a line that can't be written must not stop the others
                logger.exception("trace %s: some lines could not be written", self._path)

    def _write_due(self, now_ns: int, *, everything: bool) -> None:
        """Write all that is known to the end by now."""
        with self._lock:
            records: list[FrameTrace | SystemEvent] = list(self._records)
            self._records.clear()
            outcomes = list(self._take_settled(now_ns, everything=everything))
            dropped, self._told = self._dropped - self._told, self._dropped
        records += [frame_trace(outcome) for outcome in outcomes]
        beside = self._sample(now_ns) + ([dropped_event(dropped, now_ns)] if dropped else [])
        is_written = self._append(b"".join(encode_record(record) for record in (*records, *beside)))
        with self._lock:
            self._written += len(records) if is_written else 0
            self._dropped += 0 if is_written else len(records)

    def _take_settled(self, now_ns: int, *, everything: bool) -> Iterator[Outcome]:
        while self._frames:
            is_due = everything or len(self._frames) > MAX_HELD or _is_settled(*self._frames[0], now_ns)
            if not is_due:
                return
            yield self._frames.popleft()[0]

    def _sample(self, now_ns: int) -> list[SystemEvent]:
        events = self._pauses.drain()
        if self._probe is not None and now_ns - self._sampled_ns >= SAMPLE_NS:
            self._sampled_ns = now_ns
            events += self._probe.sample(now_ns)
        return events

    def _append(self, lines: bytes) -> bool:
        """Write whole lines; return False where the disk does not take them, which is logged once until it does."""
        try:
            is_full = self._size + len(lines) > self._section.max_bytes and self._size > len(self._run_line)
            if self._file is None or is_full:
                self._begin_file()
            self._all(b"\n" + lines if self._is_lost else lines)  # a line torn by a full disk must not spoil the next
        except OSError as error:
            if not self._is_lost:
                logger.warning("trace.path %s: %s; nothing is traced until that changes", self._path, error.strerror)
            self._is_lost = True
            return False
        self._is_lost = False
        return True

    def _begin_file(self) -> None:
        """Keep the file that is there as `<path>.1`, and open a new one with its first line."""
        if self._file is not None:
            self._file.close()
            self._file = None
        if self._path.exists():
            self._path.replace(self._path.with_name(self._path.name + ".1"))
        self._file = self._path.open("ab", buffering=0)
        self._size = 0
        self._all(self._run_line)

    def _all(self, data: bytes) -> None:
        assert self._file is not None, "opened before it is written to"
        rest = memoryview(data)
        while rest:
            done = self._file.write(rest)
            self._size += done
            rest = rest[done:]


def dropped_event(count: int, now_ns: int) -> SystemEvent:
    """Return the line that says how many are missing."""
    text = f"{count} lines were dropped: they came faster than they could be written"
    return SystemEvent(kind="dropped", text=text, began_ns=now_ns, ended_ns=now_ns, data={"count": count})


def _is_settled(outcome: Outcome, put_ns: int, now_ns: int) -> bool:
    """Return whether no further step of it has to be waited for."""
    ended_ns = {step: ended_ns for step, _, ended_ns in tuple(outcome.trace.spans)}
    if "present" in ended_ns:
        return True
    if "publish" in ended_ns:
        return now_ns - ended_ns["publish"] >= SHOWN_NS
    return now_ns - put_ns >= SENT_NS
