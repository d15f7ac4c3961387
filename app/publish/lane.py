"""One sink's queue and thread, so that a slow or broken sink holds up no other."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from app.errors import SinkLost
from app.publish.backlog import Backlog, Taken
from app.publish.base import Sink
from app.publish.message import Message, Result, as_history
from app.publish.parcels import Parcel
from app.publish.store_keeper import Keeper, KeeperHooks

logger = logging.getLogger(__name__)

PAUSE_NS = 500_000_000
"""Between two tries where the sink does not say that it is ready."""
STOP_S = 2.0
REPORT_NS = 1_000_000_000
"""Drops are told at most so often."""
MOST_HISTORY = 8
"""Messages on their way that are history, at most, so that a live one never waits for room."""
LATER_NS = 5_000_000_000
"""What the far end does not take now is tried again after so long."""


@dataclass(frozen=True, slots=True)
class LaneCounts:
    """What became of all that was put: `put = delivered + dropped + refused + replaced + waiting`, always.

    Attributes:
        put: also what a run before has left on disk.
        waiting: in the queue, on disk, or on the way without an acknowledgement.
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
        stored: what there is to tell of the file that keeps the parcels: a line for a person, and a word.
    """

    build: Callable[[Parcel], Message]
    delivered: Callable[[Parcel, int], None]
    dropped: Callable[[str, Counter[str]], None]
    stored: Callable[[str, str], None] = lambda *_: None


class Lane:
    """Sends the parcels of one backlog, in order, from a thread of its own; implements `Receipts` for its sink.

    Args:
        name: of the sink.
        sink: entered and left by the lane.
        backlog: owned by the lane.
        answers: the sink tells by `Receipts` what became of a message; else `send` that returns has delivered it.
        keeper: keeps on disk what waits; None: it waits in memory.
    """

    def __init__(
        self,
        name: str,
        sink: Sink,
        backlog: Backlog,
        hooks: LaneHooks,
        *,
        answers: bool,
        keeper: Keeper | None = None,
    ) -> None:
        self.name = name
        self.answers = answers
        self._sink = sink
        self._backlog = backlog
        self._hooks = hooks
        self._keeper = keeper
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        # All of the following under `_lock`, which is not held while the sink or a hook runs.
        self._counts: Counter[str] = Counter()
        self._unreported: Counter[str] = Counter()
        self._reported_ns = 0
        self._retry_ns = 0
        self._history_ns = 0
        self._stop = False
        self._thread = threading.Thread(target=self._run, name=f"outbox {name}", daemon=False)
        self._stack = ExitStack()

    def start(self) -> None:
        """Enter the sink and start the thread."""
        if self._keeper is not None:
            self._stack.callback(self._keeper.stop)
            hooks = KeeperHooks(self._lock, self._changed.notify_all, self._count_dropped, self._hooks.stored)
            waiting = self._keeper.start(hooks, self._backlog)
            with self._lock:
                self._counts["put"] += waiting
        self._stack.enter_context(self._sink)
        self._thread.start()

    @property
    def keeps(self) -> bool:
        """Whether what waits is on disk and survives the end of the service."""
        return self._keeper is not None and self._keeper.is_fine

    def drain(self, until_ns: int) -> bool:
        """Wait until everything is delivered, the sink turns out to be away, or the time has come; say if it is."""
        with self._changed:
            left_s = max(0.0, (until_ns - time.monotonic_ns()) / 1e9)
            self._changed.wait_for(lambda: not self._backlog.out and (not self._backlog or self._is_away), left_s)
            return not self._backlog

    def stop(self) -> None:
        """Stop the thread, then leave the sink, then write what is left; safe to call twice."""
        with self._changed:
            self._stop = True
            self._changed.notify_all()
        if self._thread.ident is not None:
            self._thread.join(STOP_S)
        if self._thread.is_alive():
            logger.error("%s: does not come back from writing; left behind", self.name)
        self._stack.close()

    def put(self, parcel: Parcel) -> None:
        """Queue one parcel; what is too much or too old goes. Waits for no disk."""
        if self._keeper is not None:
            self._try_to_build(parcel)
        with self._changed:
            self._counts["put"] += 1
            if parcel.message_id in self._backlog:
                self._counts["dropped"] += 1  # the same message twice: one of them is enough
                return
            if parcel.replaces:
                self._counts["replaced"] += self._backlog.discard_replaced(parcel)
            number = self._backlog.append(parcel)
            if self._keeper is not None:
                self._keeper.put(number, parcel)
            self._shed()
            self._changed.notify_all()

    def counts(self) -> LaneCounts:
        """Return the sums so far."""
        with self._changed:
            counts = self._counts
            ends = {name: counts[name] for name in ("put", "delivered", "dropped", "refused", "replaced")}
            return LaneCounts(waiting=len(self._backlog), **ends)

    def sent(self, message_id: str) -> Parcel | None:
        """Return the parcel of a message that the sink was given and nobody has acknowledged."""
        with self._changed:
            return self._backlog.on_its_way(message_id)

    def live_s(self, message_id: str, now_ns: int) -> int | None:
        """Return for how many seconds a result on its way is live still; None where that has no end, or it is none."""
        with self._changed:
            return self._backlog.live_s(message_id, now_ns)

    def oldest_put_ns(self) -> int | None:
        """Return when the oldest parcel that is not delivered was put; None where there is none."""
        with self._changed:
            return self._backlog.oldest_put_ns

    # ── Receipts ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def delivered(self, message_id: str, at_ns: int) -> None:
        """The far end has one."""
        parcel = self._settle(message_id, "delivered")
        if parcel is not None:
            self._hooks.delivered(parcel, at_ns)

    def refused(self, message_id: str, why: str, *, later: bool = False) -> None:
        """The far end will never take one; or not now, so that it goes behind the others."""
        if not later:
            if self._settle(message_id, "refused") is not None:
                logger.warning("%s: message %s is refused and lost: %s", self.name, message_id, why)
            return
        with self._changed:
            now_ns = time.monotonic_ns()
            self._history_ns = now_ns + LATER_NS
            self._backlog.give_back([message_id], now_ns, as_history=True)
            self._changed.notify_all()

    def returned(self, message_ids: Sequence[str]) -> None:
        """These have to be sent again."""
        with self._changed:
            self._backlog.give_back(message_ids, time.monotonic_ns())
            self._changed.notify_all()

    def ready(self) -> None:
        """The sink can take a message again."""
        with self._changed:
            self._retry_ns = 0
            self._changed.notify_all()

    # ── the thread ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _run(self) -> None:
        while True:
            taken = self._next()
            if taken is None:
                return
            self._send(taken)
            self._report()

    @property
    def _is_away(self) -> bool:
        """Whether the last message was not taken and it is not time yet to try again."""
        return self._retry_ns > 0

    def _next(self) -> Taken | None:
        """Wait for the next parcel and put it among those on their way; None once stopped."""
        with self._changed:
            while not self._stop:
                self._shed()
                now_ns = time.monotonic_ns()
                taken = self._take(now_ns)
                if taken is not None:
                    return taken
                due_ns = self._retry_ns if now_ns < self._retry_ns else self._history_ns
                self._changed.wait((due_ns - now_ns) / 1e9 if self._backlog.waiting and due_ns > now_ns else None)
            return None

    def _take(self, now_ns: int) -> Taken | None:
        """Take the next parcel, where it is time to try again."""
        if now_ns < self._retry_ns:
            return None
        taken = self._backlog.next(now_ns, 0 if now_ns < self._history_ns else MOST_HISTORY)
        if self._keeper is not None:
            self._keeper.wake()
        return taken

    def _send(self, taken: Taken) -> None:
        parcel = taken.parcel
        with self._changed:  # before the try, so that a `ready` that comes while it runs counts
            self._retry_ns = time.monotonic_ns() + PAUSE_NS
        try:
            message = self._hooks.build(parcel)
            self._sink.send(as_history(message) if taken.is_history and isinstance(message, Result) else message)
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
            parcel = self._backlog.settle(message_id)
            if parcel is not None:
                self._counts[end] += 1
                self._retry_ns = 0
                if self._keeper is not None:
                    self._keeper.wake()
                self._changed.notify_all()
            return parcel

    def _try_to_build(self, parcel: Parcel) -> None:
        """Build the message now, because it is kept; one that can't be built is not, and `_send` tells of it."""
        try:
            self._hooks.build(parcel)
        except Exception:
            logger.debug("message %s can't be built", parcel.message_id, exc_info=True)

    def _shed(self) -> None:
        if dropped := self._backlog.shed(time.monotonic_ns()):
            self._count_dropped(Counter(parcel.kind for parcel in dropped))

    def _count_dropped(self, kinds: Counter[str]) -> None:
        self._counts["dropped"] += kinds.total()
        self._unreported += kinds

    def _report(self) -> None:
        """Tell the owner of drops once the sink takes messages again."""
        now_ns = time.monotonic_ns()
        with self._changed:
            if not self._unreported or self._is_away or now_ns - self._reported_ns < REPORT_NS:
                return
            lost, self._unreported = self._unreported, Counter()
            self._reported_ns = now_ns
        self._hooks.dropped(self.name, lost)
