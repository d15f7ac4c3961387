"""How a service is, as it is published with its retained status."""

from __future__ import annotations

import msgspec


class CameraHealth(msgspec.Struct, frozen=True, kw_only=True):
    """One camera.

    Attributes:
        state: a word: connecting, online, lost, ended, or what is wrong with its pictures (black, frozen, …).
        reason: one line for a person.
        since_s: for how long it has been so.
        reconnects_per_h: how often it was lost and opened again within the last hour, or since the start.
        stalls_per_h: how often its pictures stopped, or could not be judged, and came back, within the same time.
        level: of the budget's plan, empty where there is none.
        frames: what was captured and what became of it, by the words of the ledger.
        balanced: every captured frame has one outcome or is on its way.
    """

    state: str
    reason: str
    since_s: float
    reconnects_per_h: int
    stalls_per_h: int
    level: str
    frames: dict[str, int]
    balanced: bool


class ServiceHealth(msgspec.Struct, frozen=True, kw_only=True):
    """The whole service.

    Attributes:
        healthy: every camera gives pictures that can be judged, every frame is accounted for, and what is judged
            reaches the broker.
        problems: why it is not, one line each.
        verdicts_per_s: over the last seconds.
        p99_ms: of the total within the last minute, of the slowest camera; null where nothing was judged.
        engines: the models that run, with the place where each really does.
        broker: why it can't be reached; empty where it can, or there is none.
        outbox_waiting, outbox_oldest_s: results that the broker does not have yet.
        outbox_dropped: messages given up since the start.
        rss_bytes, files, threads, disk_free_bytes, hottest_c: of the process and its machine; null where unknown.
    """

    healthy: bool
    problems: list[str]
    uptime_s: float
    verdicts_per_s: float
    p99_ms: float | None
    engines: list[str]
    broker: str
    outbox_waiting: int
    outbox_oldest_s: float
    outbox_dropped: int
    rss_bytes: int | None
    files: int | None
    threads: int
    disk_free_bytes: int | None
    hottest_c: float | None


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """Both, as `/healthz` and `taktsight status` show them."""

    service: ServiceHealth
    cameras: dict[str, CameraHealth]
