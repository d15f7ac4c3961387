"""A durable outbox on one file, and a broker that answers or does not."""

import threading
import time

from app.errors import SinkLost
from app.publish.message import Event, Result
from app.publish.outbox import Outbox
from app.publish.store_bounds import Bounds
from app.publish.store_keeper import Keeper
from app.publish.store_ring import Ring

WAIT_S = 20


class FakeBroker:
    """A sink that answers, or does not, as its test says."""

    def __init__(self, collector):
        self.taken = collector()
        self.is_away = False
        self.acks = True
        self.outbox = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def send(self, message):
        if self.is_away:
            raise SinkLost("away")
        self.taken(message)
        if self.acks:
            self.outbox.delivered(message.id, time.monotonic_ns())

    @property
    def results(self):
        return [message for message in self.taken.items if isinstance(message, Result)]

    @property
    def seqs(self):
        return [message.seq for message in self.results]

    @property
    def told(self):
        return [message.data["state"] for message in self.taken.items
                if isinstance(message, Event) and message.kind == "outbox"]  # fmt: skip


class Durable:
    """Makes an outbox on one and the same file, as a service does at each of its starts."""

    def __init__(self, collector, folder):
        self._collector, self._folder = collector, folder

    def __call__(self, *, away=False, acks=True, sync="normal", ring=True, expiry_s=60.0, **changes):
        broker = FakeBroker(self._collector)
        broker.is_away, broker.acks = away, acks
        bounds = {"max_messages": 100_000, "max_bytes": 1 << 28, "max_age_s": 3600.0} | {
            key: changes.pop(key) for key in list(changes) if key in ("max_messages", "max_bytes", "max_age_s")
        }
        memory = {"max_waiting": 1000, "max_waiting_bytes": 1 << 25, "grace_s": 0.2} | changes
        outbox = Outbox("line", max_age_s=bounds["max_age_s"], expiry_s=expiry_s, **memory)
        keeper = Keeper(
            self._folder / "outbox.sqlite",
            sync,
            Bounds(**bounds, expiry_s=expiry_s),
            Ring(self._folder / "outbox.ring") if ring else None,
        )
        outbox.add("mqtt", broker, answers=True, keeper=keeper)
        broker.outbox = outbox
        outbox.broker = broker
        return outbox


def counts(outbox):
    counts = outbox.counts()["mqtt"]
    ends = counts.delivered + counts.dropped + counts.refused + counts.replaced + counts.waiting
    assert counts.put == ends, counts
    return counts


def wait_until(what, timeout_s=WAIT_S):
    until_s = time.monotonic() + timeout_s
    while not what():
        assert time.monotonic() < until_s, "it never came to that"
        threading.Event().wait(0.01)
