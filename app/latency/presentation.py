"""How long results take to be shown, by subscriber: the network's share and the subscriber's own."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Literal

from app.latency.histogram import Histogram
from app.latency.minute import LONGEST_WINDOW_S, Minute, of_seconds
from app.latency.percentiles import Percentiles

MAX_CLIENTS = 32
"""Subscribers of a camera that are told apart; what more there are count as one, `OTHERS`."""
FORGET_NS = 300_000_000_000
"""A subscriber that has shown nothing for so long makes room for another one."""
MAX_NAME_CHARACTERS = 64
OTHERS = "(others)"
UNNAMED = "(unnamed)"
RATE_WINDOW_S = 10
SLACK_MS = 250.0
"""The broker may pass a result on before its acknowledgement is here, so a hold may be so much longer."""


@dataclass(frozen=True, slots=True)
class SubscriberRow:
    """One subscriber's times over the last minute, in milliseconds.

    Attributes:
        network: from the broker's acknowledgement to the subscriber and back.
        hold: the subscriber's own time, by its own word.
        per_s: how many it showed a second, over the last ten.
    """

    client: str
    network: Percentiles
    hold: Percentiles
    exact: bool
    per_s: float

    @property
    def mostly(self) -> Literal["network", "client"]:
        """Which of both is longer, at p90."""
        return "client" if self.hold.p90 > self.network.p90 else "network"


class _Client:
    def __init__(self) -> None:
        self.network, self.hold = Minute(), Minute()
        self.heard_ns = 0


class _Camera:
    def __init__(self) -> None:
        self.clients: dict[str, _Client] = {}
        self.network, self.hold = Histogram(), Histogram()


class Presentation:
    """Takes every acknowledgement of every subscriber; safe to call from any thread.

    A round trip is measured by this machine's clock alone, from the broker's acknowledgement of a result to the
    subscriber's; less the hold that the subscriber states, it is the network there and back. Names come from outside:
    they are bounded in length and number.

    Args:
        clock: monotonic, in nanoseconds.
    """

    def __init__(self, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self._clock = clock
        self._lock = Lock()
        self._cameras: dict[str, _Camera] = {}
        self.refused = 0
        """Acknowledgements whose hold was no time, or longer than the whole round trip."""

    def add(self, camera: str, client: str, round_trip_ms: float, hold_ms: float) -> None:
        """Take one acknowledgement of a result of that camera."""
        if not (0 <= hold_ms <= round_trip_ms + SLACK_MS and math.isfinite(round_trip_ms)):
            self.refused += 1
            return
        now_ns = self._clock()
        network_ms = max(0.0, round_trip_ms - hold_ms)
        with self._lock:
            kept = self._cameras.setdefault(camera, _Camera())
            one = _client(kept.clients, client, now_ns)
            one.heard_ns = now_ns
            for minute, histogram, spent_ms in (
                (one.network, kept.network, network_ms),
                (one.hold, kept.hold, hold_ms),
            ):
                minute.add(spent_ms, now_ns)
                histogram.add(spent_ms)

    def rows(self, camera: str) -> list[SubscriberRow]:
        """Return the subscribers that showed something in the last minute, the slowest first."""
        with self._lock:
            now_ns = self._clock()
            kept = self._cameras.get(camera) or _Camera()
            rows = [_row(name, client, now_ns) for name, client in kept.clients.items()]
        rows = [row for row in rows if row.hold.count]
        return sorted(rows, key=lambda row: row.network.p90 + row.hold.p90, reverse=True)

    def histograms(self) -> dict[tuple[str, str], Histogram]:
        """Return, by camera and "network" or "hold", a copy of the histogram of all subscribers since the start."""
        with self._lock:
            return {
                (camera, part): Histogram.merged([histogram])
                for camera, kept in self._cameras.items()
                for part, histogram in (("network", kept.network), ("hold", kept.hold))
            }


def _client(clients: dict[str, _Client], name: str, now_ns: int) -> _Client:
    """Return the client of that name, or what stands for all that there is no room for."""
    clean = "".join(letter if letter.isprintable() else "?" for letter in name[:MAX_NAME_CHARACTERS]) or UNNAMED
    if clean not in clients and len(clients) >= MAX_CLIENTS:
        for silent in [known for known, client in clients.items() if now_ns - client.heard_ns > FORGET_NS]:
            del clients[silent]
    if clean not in clients and len(clients) >= MAX_CLIENTS:
        clean = OTHERS
    return clients.setdefault(clean, _Client())


def _row(name: str, client: _Client, now_ns: int) -> SubscriberRow:
    network, is_exact = of_seconds(client.network.window(now_ns, LONGEST_WINDOW_S))
    hold, _ = of_seconds(client.hold.window(now_ns, LONGEST_WINDOW_S))
    lately, _ = of_seconds(client.hold.window(now_ns, RATE_WINDOW_S))
    return SubscriberRow(name, network, hold, is_exact, lately.count / RATE_WINDOW_S)
