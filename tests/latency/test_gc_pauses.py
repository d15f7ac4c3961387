"""Pauses of the garbage collector."""

import gc

from app.latency.gc_pauses import MAX_KEPT, GcPauses

MS = 1_000_000


def test_a_real_collection_is_heard_with_its_generation_and_thread() -> None:
    with GcPauses(min_ns=0) as pauses:
        pauses.drain()
        gc.collect()
    heard = pauses.drain()
    assert heard
    assert heard[-1].data == {"generation": 2, "thread": "MainThread"}
    assert heard[-1].ended_ns >= heard[-1].began_ns


def test_after_leaving_nothing_is_heard() -> None:
    with GcPauses(min_ns=0) as pauses:
        pass
    pauses.__exit__(None, None, None)
    pauses.drain()
    gc.collect()
    assert pauses.drain() == []
    assert pauses.heard not in gc.callbacks


def test_short_pauses_are_not_kept_and_long_ones_are() -> None:
    times = iter([0, 1 * MS, 10 * MS, 40 * MS])
    pauses = GcPauses(lambda: next(times), min_ns=2 * MS)
    for phase in ("start", "stop", "start", "stop"):
        pauses.heard(phase, {"generation": 2})
    (kept,) = pauses.drain()
    assert (kept.kind, kept.began_ns, kept.ended_ns) == ("gc", 10 * MS, 40 * MS)


def test_an_end_without_a_beginning_is_ignored() -> None:
    pauses = GcPauses(lambda: 0, min_ns=0)
    pauses.heard("stop", {"generation": 0})
    assert pauses.drain() == []


def test_memory_is_bounded_while_nobody_drains() -> None:
    pauses = GcPauses(lambda: 0, min_ns=0)
    for _ in range(MAX_KEPT + 10):
        pauses.heard("start", {})
        pauses.heard("stop", {})
    assert len(pauses.drain()) == MAX_KEPT
