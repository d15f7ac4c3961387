"""A broker, a network, a counting subscriber and the service, and what has to hold at the end of every fault."""

import random
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from app.broker import ANYBODY, LocalBroker
from app.publish.store_ring import ring_path
from tests.ports import free_port
from tests.system.faults.counter import Count
from tests.system.faults.proxy import Proxy
from tests.system.faults.service import Service

BROKER = "max_inflight_messages 0\nmax_queued_messages 0\n"
"""So that what the broker takes it has also handed to the subscriber's connection."""
STUCK_S = 30.0


@dataclass(frozen=True, slots=True)
class Row:
    """What came of one fault.

    Attributes:
        judged: verdicts by the service's own word, before each was handed over.
        missing: handed over, and never received.
        unheard: judged, and killed within the microseconds before the hand-over returned; nobody heard of them.
        invented: received, and never judged; or with another verdict.
        inversions: received for the first time after a newer one of the same camera, run and topic.
        rss_mb: of the service at the start of the fault, at most, and at the end.
    """

    fault: str
    seconds: float
    runs: int
    judged: int
    missing: int
    unheard: int
    invented: int
    duplicates: int
    history: int
    inversions: int
    ledgers: str
    rss_mb: tuple[float, float, float]
    note: str = ""


class Rig:
    """All parts of a test of faults; leaving stops them."""

    def __init__(self, seed: int = 1, *, access: str = ANYBODY, **service: object) -> None:
        self.chance = random.Random(seed)
        self._stack = ExitStack()
        self.folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="taktsight-faults-")))
        self.port = free_port()
        self._broker: LocalBroker | None = None
        self.start_broker(access)
        self.proxy = Proxy(self.port)
        self.count = Count(self.port)
        self.service = Service(self.folder, self.proxy.port, **service)
        self._rss: list[float] = []
        self._began_s = time.monotonic()

    def __enter__(self) -> "Rig":
        assert self.count.subscribed.wait(20), "the subscriber could not subscribe"
        return self

    def __exit__(self, *_: object) -> None:
        if self.service.process is not None and self.service.process.poll() is None:
            self.service.kill()
        self.proxy.close()
        self.count.close()
        self.stop_broker()
        ring = ring_path(self.folder / "outbox.sqlite", None)
        if ring is not None:
            ring.unlink(missing_ok=True)
        self._stack.close()

    def start_broker(self, access: str = ANYBODY) -> None:
        """Start the broker; it remembers nothing of the one before."""
        self._broker = LocalBroker(self.port, "mosquitto", access=BROKER + access).__enter__()

    def stop_broker(self) -> None:
        """Stop the broker, if there is one, once the subscriber has all that it took."""
        if self._broker is not None:
            self.count.catch_up()
            self._broker.__exit__(None, None, None)
            self._broker = None
            self.count.subscribed.clear()  # on a busy machine the subscriber may not have seen yet that it is gone

    def replace_broker(self, access: str) -> None:
        """Have another broker in the place of this one, for the service at once."""
        self.proxy.shut()
        self.stop_broker()
        self.start_broker(access)
        self.proxy.open()

    def restart_broker(self, away_s: float, access: str = ANYBODY) -> None:
        """Stop the broker and start another; the service gets to it once the subscriber has subscribed again.

        Without a subscriber a broker acknowledges results and throws them away, which no outbox can prevent.
        """
        self.proxy.shut()
        self.stop_broker()
        self.run_for(away_s)
        self.start_broker(access)
        assert self.count.subscribed.wait(30), "the subscriber could not subscribe again"
        self.proxy.open()

    def run_for(self, seconds: float) -> None:
        """Let time pass, and look at the service's memory meanwhile."""
        until_s = time.monotonic() + seconds
        while (left_s := until_s - time.monotonic()) > 0:
            self.look()
            threading.Event().wait(min(left_s, 1.0))

    def wait_for_results(self, more: int, timeout_s: float = 60.0) -> None:
        """Wait until so many more have reached the subscriber."""
        enough, until_s = len(self.count.times) + more, time.monotonic() + timeout_s
        while len(self.count.times) < enough:
            assert time.monotonic() < until_s, "no results come any more"
            self.run_for(0.1)

    def look(self) -> None:
        """Note what the service holds of memory."""
        if self.service.process is not None and self.service.process.poll() is None:
            self._rss.append(self.service.rss_mb())

    def end(self, fault: str, note: Callable[["Rig"], str] = lambda _: "") -> Row:
        """Let all that waits come, stop the service, and compare."""
        service, count = self.service, self.count
        self._wait_for_all_of(set(service.put))  # it goes on judging: there may be no moment without one on its way
        self.look()
        service.stop()
        self._wait_for_all_of(set(service.put))
        came, ledgers = count.ids(), service.ledgers()
        wrong = [one for one, said in service.put.items() if count.verdicts.get(one, said) != said]
        balanced = "balanced" if ledgers and not count.unbalanced and not service.warnings("don't add up") else "NOT"
        return Row(
            fault=fault,
            seconds=time.monotonic() - self._began_s,
            runs=service.runs,
            judged=len(service.judged),
            missing=len(service.put.keys() - came),
            unheard=len(service.judged - service.put.keys() - came),
            invented=len(came - service.judged) + len(wrong),
            duplicates=count.duplicates,
            history=count.topics["history"],
            inversions=count.inversions(),
            ledgers=balanced,
            rss_mb=(self._rss[0], max(self._rss), self._rss[-1]),
            note=note(self),
        )

    def _wait_for_all_of(self, due: set[str]) -> None:
        """Wait until all of these have come, or none of them for so long that waiting on is of no use."""
        since_s, left = time.monotonic(), due
        while (still := left - self.count.ids()) and time.monotonic() - since_s < STUCK_S:
            if still != left:
                since_s, left = time.monotonic(), still
            self.run_for(0.2)


def check(row: Row) -> None:
    """Hold a row to the promise."""
    assert row.judged > 0, row
    assert (row.missing, row.invented, row.inversions) == (0, 0, 0), row
    assert row.unheard <= row.runs * 2, row
    assert row.ledgers == "balanced", row
