"""One sink's queue and thread, so that a slow or broken sink holds up no other."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from app.errors import SinkLost
from app.publish.backlog import Backlog, Parcel
from app.publish.base import Sink
from app.publish.message import Message

logger = logging.getLogger(__name__)

PAUSE_NS = 500_000_000
"""Between two tries where the sink does not say that it is ready."""
STOP_S = 2.0
REPORT_NS = 1_000_000_000
"""Drops are told at most so often."""


@dataclass(frozen=True, slots=True)
class LaneCounts:
    """What became of all that was put: `put = delivered + dropped + refused + replaced + waiting`, always.

    Attributes:
        waiting: in the queue or on the way without an acknowledgement.
        dropped: too many or too old.
        refused: the sink will never take them.
        replaced: figures that still waited when newer ones came.
    """

    put: int
    delivered: int
    dropped: int
    refused: int
    waiting: int
    replaced: int = 0


@dataclass(frozen=True, slots=True)
class LaneHooks:
    """What a lane needs of its owner; all are called without a lock held.

    Attributes:
        build: the message of a parcel, built once.
        delivered: the far end has it, since that moment on `time.monotonic_ns`.
        dropped: so many were lost, by verdict or "event", since the last call.
    """

    build: Callable[[Parcel], Message]
    delivered: Callable[[Parcel, int], None]
    dropped: Callable[[str, Counter[str]], None]


class Lane:
    """Sends the parcels of one backlog, in order, from a thread of its own; implements `Receipts` for its sink.

    Args:
        name: of the sink.
        sink: entered and left by the lane.
        backlog: owned by the lane.
        answers: the sink tells by `Receipts` what became of a message; else `send` that returns has delivered it.
    """

    def __init__(self, name: str, sink: Sink, backlog: Backlog, hooks: LaneHooks, *, answers: bool) -> None:
        self.name = name
        self.answers = answers
        self._sink = sink
        self._backlog = backlog
        self._hooks = hooks
        self._changed = threading.Condition()
        # All of the following under `_changed`, which is not held while the sink or a hook runs.
        self._on_their_way: OrderedDict[str, Parcel] = OrderedDict()
        self._counts: Counter[str] = Counter()
        self._unreported: Counter[str] = Counter()
        self._reported_ns = 0
        self._retry_ns = 0
        self._stop = False
        self._thread = threading.Thread(target=self._run, name=f"outbox {name}", daemon=False)
        self._stack = ExitStack()

    def start(self) -> None:
        """Enter the sink and start the thread."""
        self._stack.enter_context(self._sink)
        self._thread.start()

    def drain(self, until_ns: int) -> bool:
        """Wait until everything is delivered, the sink turns out to be away, or the time has come; say if it is."""
        with self._changed:
            left_s = max(0.0, (until_ns - time.monotonic_ns()) / 1e9)
            self._changed.wait_for(lambda: not self._on_their_way and (not self._backlog or self._is_away), left_s)
            return not self._on_their_way and not self._backlog

    def stop(self) -> None:
        """Stop the thread, then leave the sink; safe to call twice."""
        with self._changed:
            self._stop = True
            self._changed.notify_all()
        if self._thread.ident is not None:
            self._thread.join(STOP_S)
        if self._thread.is_alive():
            logger.error("%s: does not come back from writing; left behind", self.name)
        self._stack.close()

    def put(self, parcel: Parcel) -> None:
        """Queue one parcel; what is too much or too old goes."""
        with self._changed:
            self._counts["put"] += 1
            if parcel.message_id in self._on_their_way or parcel.message_id in self._backlog:
                self._counts["dropped"] += 1  # the same message twice: one of them is enough
                return
            if parcel.replaces:
                self._counts["replaced"] += self._backlog.discard_replaced(parcel)
            self._backlog.append(parcel)
            self._shed()
            self._changed.notify_all()

    def counts(self) -> LaneCounts:
        """Return the sums so far."""
        with self._changed:
            waiting = len(self._backlog) + len(self._on_their_way)
            counts = self._counts
            ends = {name: counts[name] for name in ("put", "delivered", "dropped", "refused", "replaced")}
            return LaneCounts(waiting=waiting, **ends)

    def sent_outcome(self, message_id: str) -> Parcel | None:
        """Return the parcel of an outcome that the sink was given and nobody has acknowledged."""
        with self._changed:
            parcel = self._on_their_way.get(message_id)
            return parcel if parcel is not None and parcel.outcome is not None else None

    def oldest_put_ns(self) -> int | None:
        """Return when the oldest parcel that is not delivered was put; None where there is none."""
        with self._changed:
            waiting = [next(iter(self._on_their_way.values()), None), self._backlog.oldest]
            return min((parcel.put_ns for parcel in waiting if parcel is not None), default=None)

    # ── Receipts ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def delivered(self, message_id: str, at_ns: int) -> None:
        """The far end has one."""
        parcel = self._settle(message_id, "delivered")
        if parcel is not None:
            self._hooks.delivered(parcel, at_ns)

    def refused(self, message_id: str, why: str) -> None:
        """The far end will never take one."""
        if self._settle(message_id, "refused") is not None:
            logger.warning("%s: message %s is refused and lost: %s", self.name, message_id, why)

    def returned(self, message_ids: Sequence[str]) -> None:
        """These have to be sent again."""
        with self._changed:
            parcels = [self._on_their_way.pop(message_id, None) for message_id in message_ids]
            self._backlog.give_back([parcel for parcel in parcels if parcel is not None])
            self._changed.notify_all()

    def ready(self) -> None:
        """The sink can take a message again."""
        with self._changed:
            self._retry_ns = 0
            self._changed.notify_all()

    # ── the thread ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _run(self) -> None:
        while True:
            parcel = self._next()
            if parcel is None:
                return
            self._send(parcel)
            self._report()

    @property
    def _is_away(self) -> bool:
        """Whether the last message was not taken and it is not time yet to try again."""
        return self._retry_ns > 0

    def _next(self) -> Parcel | None:
        """Wait for the next parcel and put it among those on their way; None once stopped."""
        with self._changed:
            while not self._stop:
                self._shed()
                wait_ns = self._retry_ns - time.monotonic_ns()
                if self._backlog and wait_ns <= 0:
                    parcel = self._backlog.pop_oldest()
                    self._on_their_way[parcel.message_id] = parcel
                    return parcel
                self._changed.wait(wait_ns / 1e9 if self._backlog else None)
            return None

    def _send(self, parcel: Parcel) -> None:
        with self._changed:  # before the try, so that a `ready` that comes while it runs counts
            self._retry_ns = time.monotonic_ns() + PAUSE_NS
        try:
            self._sink.send(self._hooks.build(parcel))
        except SinkLost as lost:
            logger.debug("%s: %s", self.name, lost)
            self.returned([parcel.message_id])
            return
        except Exception:  # the thread's root: one message that can't be sent must not hold up the others
            logger.exception("%s: message %s could not be sent", self.name, parcel.message_id)
            self.refused(parcel.message_id, "a fault of this software")
        self.ready()
        if not self.answers:
            self.delivered(parcel.message_id, time.monotonic_ns())

    def _settle(self, message_id: str, end: str) -> Parcel | None:
        with self._changed:
            parcel = self._on_their_way.pop(message_id, None)
            if parcel is not None:
                self._counts[end] += 1
                self._retry_ns = 0
                self._changed.notify_all()
            return parcel

    def _shed(self) -> None:
        for parcel in self._backlog.shed(time.monotonic_ns()):
            self._counts["dropped"] += 1
            self._unreported[parcel.kind] += 1

    def _report(self) -> None:
        """Tell the owner of drops once the sink takes messages again."""
        now_ns = time.monotonic_ns()
        with self._changed:
            if not self._unreported or self._is_away or now_ns - self._reported_ns < REPORT_NS:
                return
            lost, self._unreported = self._unreported, Counter()
            self._reported_ns = now_ns
        self._hooks.dropped(self.name, lost)
