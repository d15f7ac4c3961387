"""What keeping results on disk costs on their way to a healthy broker: run as `python -m app.bench.outbox`.

One outbox in memory and one on disk for each policy of `outbox.sync`, in one process, at one broker, take the same
results in turn, so that what else the machine does meets all of them.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import TypeAlias

import numpy as np
from rich.console import Console
from rich.table import Table

from app.bench import machine
from app.broker import LocalBroker
from app.config.sections import Mqtt
from app.detections import Detections
from app.latency.percentiles import percentile
from app.publish.mqtt import MqttSink
from app.publish.outbox import Outbox
from app.publish.store import Now, Row, Store, Sync
from app.publish.store_bounds import Bounds
from app.publish.store_keeper import Keeper
from app.publish.store_ring import Ring, ring_path
from app.trace import Trace
from app.verdict import Judgement, Outcome, Verdict

Kind: TypeAlias = Sync | None
KINDS: tuple[Kind, ...] = (None, "off", "normal", "full")
"""None: in memory."""
PAUSE_S = 0.004
WARM_UP = 50
CONNECT_S = 20.0
LAST_S = 10.0
BOUNDS = Bounds(max_messages=100_000, max_bytes=1 << 28, max_age_s=3600.0, expiry_s=60.0)


@dataclass(slots=True)
class Lane:
    """One outbox and what was measured of it, in milliseconds.

    Attributes:
        put_ms: the call of `put`, which is on the path of the next frame.
        acked_ms: from `put` to the broker's acknowledgement.
    """

    kind: Kind
    outbox: Outbox
    sink: MqttSink
    put_ms: list[float] = field(default_factory=list)
    acked_ms: list[float] = field(default_factory=list)


def outcome(seq: int) -> Outcome:
    """Return a result with five boxes."""
    now_ns = time.monotonic_ns()
    trace = Trace(f"bench-front-{seq:06d}", now_ns)
    trace.add("inference", now_ns, now_ns)
    boxes = Detections(np.ones((5, 4), np.float32), np.full(5, 0.9, np.float32), np.zeros(5, np.int64), ("screw",))
    return Outcome(
        trace.trace_id, "front", seq, Judgement(Verdict.OK), (640, 480), boxes, trace, 100.0, time.time_ns()
    )  # fmt: skip


def build_lane(kind: Kind, port: int, folder: Path, stack: ExitStack) -> Lane:
    """Return an outbox of one kind with a connection of its own, entered."""
    name = kind or "memory"
    outbox = Outbox(name, max_waiting=10_000, max_waiting_bytes=1 << 25, max_age_s=3600.0, expiry_s=60.0, on_done=_done)
    sink = MqttSink(Mqtt(port=port, client_id=f"bench-{name}"), name, ("front",), outbox, live_s=outbox.live_s)
    keeper = None
    if kind is not None:
        path = folder / f"{name}.sqlite"
        ring = ring_path(path, None)
        keeper = Keeper(path, kind, BOUNDS, None if ring is None else Ring(ring))
    outbox.add("mqtt", sink, answers=True, keeper=keeper)
    stack.enter_context(outbox)
    return Lane(kind, outbox, sink)


_delivered: dict[str, int] = {}


def _done(one: Outcome) -> None:
    _delivered[one.trace_id] = time.monotonic_ns()


def measure(results: int, folder: Path, kinds: tuple[Kind, ...] = KINDS) -> list[Lane]:
    """Put so many results into each kind of outbox, in turn, while the broker is well."""
    with LocalBroker() as broker, ExitStack() as stack:
        lanes = [build_lane(kind, broker.port, folder, stack) for kind in kinds]
        until_s = time.monotonic() + CONNECT_S
        while not all(lane.sink.is_up for lane in lanes) and time.monotonic() < until_s:
            Event().wait(0.01)
        put: list[tuple[Lane, str, int]] = []
        for seq in range(1, results + WARM_UP + 1):
            for number, lane in enumerate(lanes):
                one = outcome(seq * len(lanes) + number)
                began_ns = time.monotonic_ns()
                lane.outbox.put(one)
                lane.put_ms.append((time.monotonic_ns() - began_ns) / 1e6)
                put.append((lane, one.trace_id, began_ns))
                Event().wait(PAUSE_S)
        until_s = time.monotonic() + LAST_S
        while len(_delivered) < len(put) and time.monotonic() < until_s:
            Event().wait(0.05)
        for lane, trace_id, began_ns in put[WARM_UP * len(lanes) :]:
            lane.acked_ms.append((_delivered[trace_id] - began_ns) / 1e6)
    return lanes


def table(lanes: list[Lane]) -> Table:
    """Return what was measured, each against the outbox in memory."""
    shown = Table("outbox", "put p50 µs", "p99", "to PUBACK p50 ms", "p90", "p99", "p99.9", "p99 against memory")
    base = percentile(sorted(lanes[0].acked_ms), "99")
    for lane in lanes:
        put, acked = sorted(lane.put_ms[WARM_UP:]), sorted(lane.acked_ms)
        shown.add_row(
            "memory" if lane.kind is None else f"disk, sync: {lane.kind}",
            *(f"{percentile(put, share) * 1e3:.0f}" for share in ("50", "99")),
            *(f"{percentile(acked, share):.2f}" for share in ("50", "90", "99", "99.9")),
            f"{percentile(acked, '99') - base:+.2f} ms",
        )
    return shown


def write_one_by_one(rows: int, folder: Path) -> Table:
    """Return what a transaction of one result, and an `fsync`, takes of the thread that writes; nobody waits for it."""
    shown = Table("sync", "written, one each: p50 ms", "p99", "fsync once a second: p50 ms", "p99")
    for kind in ("off", "normal", "full"):
        store = Store(folder / f"alone-{kind}.sqlite", kind)
        store.open(Now(time.monotonic_ns(), time.time_ns()))
        written, synced = [], []
        for number in range(1, rows + 1):
            began_ns = time.monotonic_ns()
            store.write([Row(number, "OK", began_ns, began_ns, bytes(1000))], [])
            written.append((time.monotonic_ns() - began_ns) / 1e6)
            if kind == "normal" and number % 10 == 0:
                began_ns = time.monotonic_ns()
                store.sync()
                synced.append((time.monotonic_ns() - began_ns) / 1e6)
        store.close()
        times = [sorted(written), sorted(synced)]
        shown.add_row(
            kind, *(f"{percentile(one, share):.2f}" if one else "" for one in times for share in ("50", "99"))
        )
    return shown


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--results", type=int, default=2000, help="for each kind of outbox")
    parser.add_argument("--folder", type=Path, help="where the files lie; by default a new one under /var/tmp")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="taktsight-outbox-", dir="/var/tmp") as made:
        folder = chosen.folder or Path(made)
        lanes, alone = measure(chosen.results, folder), write_one_by_one(chosen.results, folder)
    console = Console()
    console.print(machine.describe())
    console.print(table(lanes))
    console.print(alone)


if __name__ == "__main__":
    main()
