"""What a frame pays for its line in the log: with a disk that takes everything, and with one that takes nothing."""

from __future__ import annotations

import gc
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from app.bench.row import Row
from app.detections import Detections
from app.latency.percentiles import Percentiles, percentiles
from app.log.frames import FrameLog
from app.log.output import Descriptor
from app.log.render import Renderer
from app.log.waiting import Waiting
from app.log.writer import Writer
from app.trace import COLUMN_OF, Trace
from app.verdict import Code, Judgement, Outcome, Reason, Verdict

PART = "log, per frame"
BELOW_US = 10.0
LENGTH = 1000
PAUSE_S = 0.001
"""Between two frames, so that the writer gets to work beside them as it does in service."""

WARM_UP = 50


def outcome_of(verdict: Verdict) -> Outcome:
    """Return an outcome as the pipeline makes it."""
    now_ns = time.monotonic_ns()
    trace = Trace("bench-covers-000001", now_ns)
    for step in COLUMN_OF:
        trace.add(step, now_ns, now_ns)
    reasons = () if verdict is Verdict.OK else (Reason(Code.FORBIDDEN, "hole at 120, 44 of 640 x 480"),)
    return Outcome(
        trace_id=trace.trace_id,
        camera="bench",
        seq=1,
        judgement=Judgement(verdict, reasons),
        size_wh=(640, 480),
        detections=Detections.none(),
        trace=trace,
        budget_ms=3.6e6,
        captured_utc_ns=0,
    )


@contextmanager
def log_to(descriptor: int, length: int) -> Iterator[Waiting]:
    """Run the log as the product does, into an open file."""
    waiting = Waiting(length)
    with Writer(waiting, Renderer(str, as_json=True), Descriptor(descriptor)):
        yield waiting


@contextmanager
def nowhere() -> Iterator[int]:
    """Open a file that takes everything."""
    with Path(os.devnull).open("w") as file:
        yield file.fileno()


@contextmanager
def stalled() -> Iterator[int]:
    """Open a fifo that nobody reads: it takes 64 KiB and then nothing, as a hung disk."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fifo"
        os.mkfifo(path)
        reading = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        with path.open("w") as file:
            try:
                yield file.fileno()
            finally:
                os.close(reading)


def spent_us(log: Callable[[Outcome], object], verdict: Verdict, frames: int) -> tuple[Percentiles, Percentiles]:
    """Time a step for each frame, after the making of its outcome, as in the pipeline.

    Returns:
        Microseconds of the step, and of a step that does nothing, in turns: what the machine itself takes away.
    """
    found: tuple[list[float], list[float]] = [], []
    collecting = gc.isenabled()
    gc.disable()  # as in the product, where it is collected between frames
    for _ in range(frames + WARM_UP):
        for step, spent in zip((log, id), found, strict=True):
            time.sleep(PAUSE_S)
            outcome = outcome_of(verdict)
            began_ns = time.perf_counter_ns()
            step(outcome)
            spent.append((time.perf_counter_ns() - began_ns) / 1e3)
    if collecting:
        gc.enable()
    ours, floor = (percentiles(spent[WARM_UP:]) for spent in found)
    return ours, floor


def rows(frames: int) -> list[Row]:
    """Measure an OK frame that is thinned out, one that went wrong, and one while the disk stalls.

    The stalled log's queue has room for half of the frames, so that both are there: room, and none.
    """
    with nowhere() as descriptor, log_to(descriptor, LENGTH) as waiting:
        frame_log = FrameLog(waiting, frames_per_s=1.0)
        thinned = spent_us(frame_log.judged, Verdict.OK, frames)
        written = spent_us(frame_log.judged, Verdict.NG, frames)
    with stalled() as descriptor, log_to(descriptor, frames // 2) as waiting:
        frame_log = FrameLog(waiting, frames_per_s=1.0)
        blocked = spent_us(frame_log.judged, Verdict.NG, frames)
    return [
        _row("OK, thinned to one a second", *thinned),
        _row("NG, with all details", *written),
        _row("NG, the disk stalled (a fifo nobody reads)", *blocked),
    ]


def _row(what: str, ours: Percentiles, floor: Percentiles) -> Row:
    """Hold the 99th percentile against the target, less what nothing at all takes on this machine at this moment."""
    got = f"p99 {ours.p99:.1f} µs; nothing at all {floor.p99:.1f} µs"
    return Row(PART, what, ours.p50 / 1e3, None, got, f"< {BELOW_US:g} µs more", ours.p99 - floor.p99 < BELOW_US)
