"""What a latency message is made of: percentiles of stages and subscribers, and how the GPUs are."""

from __future__ import annotations

from typing import Literal

import msgspec


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """Percentiles of a set of times in milliseconds, by nearest rank; all 0 where there were none.

    Attributes:
        count: how many times; a p99.9 of fewer than 1000 is their maximum.
        p999: 99.9 %; like the others null where it is longer than can be told (10 s).
        exact: each is a time that was measured; else it is at most 10 % too long.
    """

    count: int
    p50: float | None
    p90: float | None
    p99: float | None
    p999: float | None
    max: float | None
    exact: bool


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """What the stages took within a stretch of time.

    Attributes:
        seconds: how long it is; null for all the time since the service started.
        stages: by the names of `stages_ms`, and `total`; those that never ran are left out.
    """

    seconds: int | None
    stages: dict[str, Spread]


class Subscriber(msgspec.Struct, frozen=True, kw_only=True):
    """How long results took to be shown at one subscriber, over a minute.

    Attributes:
        client: who it says it is.
        network: from the broker's acknowledgement to the subscriber and back, without its own hold.
        hold: its own time, from a message's arrival to the moment when it was shown.
        mostly: which of both is longer at p90: "network" or "client".
        per_s: how many it showed a second, over ten seconds.
    """

    client: str
    network: Spread
    hold: Spread
    mostly: Literal["network", "client"]
    per_s: float = 0.0


class Gpu(msgspec.Struct, frozen=True, kw_only=True):
    """A GPU of the machine; null for what it does not tell.

    Attributes:
        percent: of the last moments in which something ran on it.
        used_mb, total_mb: its memory; on a Jetson that of the whole board.
        mhz, max_mhz: its clock, and the highest one that is allowed now.
        throttle: what holds its clock back, in the words of docs/gpu.md.
    """

    percent: float | None = None
    used_mb: float | None = None
    total_mb: float | None = None
    mhz: float | None = None
    max_mhz: float | None = None
    celsius: float | None = None
    throttle: list[str] = []
