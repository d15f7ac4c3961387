"""Every outcome to every sink: never blocks who puts it, keeps what can't be sent, counts what it drops."""

from __future__ import annotations

import itertools
import logging
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any, TypeVar

from typing_extensions import Self

from app.publish.answers import Answer, Answers
from app.publish.backlog import Backlog
from app.publish.base import Sink
from app.publish.build import event_of, message_id, result_of
from app.publish.clock import UtcClock
from app.publish.lane import Lane, LaneCounts, LaneHooks
from app.publish.message import Ack, Latency, Message
from app.publish.parcels import Parcel
from app.publish.store_keeper import Keeper
from app.verdict import Outcome

logger = logging.getLogger(__name__)

T = TypeVar("T")


class Nowhere:
    """A sink for a configuration without any: takes everything."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Nothing is held."""

    def send(self, message: Message) -> None:
        """Forget one message."""


class Outbox:
    """Owns the sinks, one queue and thread for each; implements `Receipts` for the one that answers.

    The first sink is the primary one: once it has a message, the `publish` span of the outcome's trace ends.

    Args:
        line: the line's name as configured.
        max_waiting: messages kept for each sink.
        max_waiting_bytes: of memory for each sink, roughly.
        max_age_s: older ones are dropped and counted.
        expiry_s: the sink that answers gets older results as history, behind the live ones; None: as they are.
        on_done: gets each outcome once the primary sink has it, from that sink's thread; must neither block nor raise.
        on_shown: gets it again once a subscriber has shown it, the `present` span added.
        on_answer: gets every subscriber's answer, the first one's too.
        on_event: gets camera, kind, text and data of every event that is handed over; must neither block nor raise.
        on_written: gets each outcome that the operating system has, when it was put and when it was there; from the
            sink's thread; must neither block nor raise.
        clock: labels events.
        grace_s: seconds that leaving gives the sinks to take what waits.
    """

    def __init__(
        self,
        line: str,
        *,
        max_waiting: int,
        max_waiting_bytes: int,
        max_age_s: float,
        expiry_s: float | None = None,
        on_done: Callable[[Outcome], None] | None = None,
        on_shown: Callable[[Outcome], None] | None = None,
        on_answer: Callable[[Answer], None] | None = None,
        on_event: Callable[[str, str, str, dict[str, Any]], None] = lambda *_: None,
        on_written: Callable[[Outcome, int, int], None] = lambda *_: None,
        clock: UtcClock | None = None,
        grace_s: float = 0.3,
    ) -> None:
        self._line = line
        self._limits = (max_waiting, max_waiting_bytes, max_age_s)
        self._expiry_s = expiry_s
        self._on_done = on_done
        self._on_shown = on_shown
        self._on_answer = on_answer
        self._answers = Answers()
        self._on_event = on_event
        self._on_written = on_written
        self._clock = clock or UtcClock()
        self._grace_s = grace_s
        self._lanes: list[Lane] = []
        self._primary: Lane | None = None
        self._stack = ExitStack()
        self._lock = threading.Lock()
        self._building = threading.Lock()
        start = uuid.uuid4().hex[:12]
        self._event_ids = (f"{start}.{number}" for number in itertools.count(1))

    def add(self, name: str, sink: Sink, *, answers: bool = False, keeper: Keeper | None = None) -> None:
        """Add a sink, before entering.

        Args:
            name: for the log and the counts.
            sink: entered and left by the outbox.
            answers: it tells this outbox, which it was given as its `Receipts`, what became of each message. One at
                most does, and it is added first.
            keeper: keeps on disk what waits for it; None: it waits in memory.
        """
        assert not (answers and self._lanes), "the sink that answers is added first, and is the only one that does"
        delivered = _ignore if self._lanes else self._delivered
        hooks = LaneHooks(self._build, delivered, self._dropped, self._stored)
        backlog = Backlog(*self._limits, self._expiry_s if answers else None, durable=keeper is not None)
        lane = Lane(name, sink, backlog, hooks, answers=answers, keeper=keeper)
        self._lanes.append(lane)
        self._primary = self._primary or lane

    def __enter__(self) -> Self:
        """Enter the sinks and start their threads.

        Raises:
            ConfigError: a sink can't be opened at all.
        """
        if not self._lanes:
            self.add("nowhere", Nowhere())
        with ExitStack() as stack:
            for lane in self._lanes:
                stack.callback(lane.stop)
                lane.start()
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Give the sinks a moment to take what waits, say what is lost, and stop."""
        until_ns = time.monotonic_ns() + int(self._grace_s * 1e9)
        for lane in self._lanes:
            if not lane.drain(until_ns):
                fate = "wait on disk for the next start" if lane.keeps else "could not be delivered before the end"
                logger.warning("%s: %d messages %s", lane.name, lane.counts().waiting, fate)
        self._stack.close()

    def put(self, outcome: Outcome) -> None:
        """Hand over one outcome; neither blocks nor raises. Its trace belongs to the outbox from here on."""
        now_ns = time.monotonic_ns()
        parcel = Parcel(message_id(outcome), now_ns, outcome)
        for lane in self._lanes:
            lane.put(parcel)

    def event(self, camera: str, kind: str, text: str, **data: object) -> None:
        """Hand over an event of a camera, or of the line where `camera` is empty; neither blocks nor raises."""
        self._on_event(camera, kind, text, data)
        with self._lock:
            event_id = next(self._event_ids)
        event = event_of(event_id, self._line, camera=camera, kind=kind, text=text, data=data, at=self._clock.now())
        now_ns = time.monotonic_ns()
        parcel = Parcel(event_id, now_ns, None, event)
        for lane in self._lanes:
            lane.put(parcel)

    def figures(self, message: Latency) -> None:
        """Hand over a camera's figures in place of older ones that still wait; neither blocks nor raises."""
        now_ns = time.monotonic_ns()
        for lane in self._lanes:
            lane.put(Parcel(message.id, now_ns, None, message, replaces=f"latency of {message.camera}"))

    def counts(self) -> dict[str, LaneCounts]:
        """Return the sums of each sink by its name."""
        return {lane.name: lane.counts() for lane in self._lanes}

    def oldest_age_s(self) -> float:
        """Return how long the oldest message that the primary sink has not acknowledged has waited; 0 without one."""
        oldest_ns = self._primary.oldest_put_ns() if self._primary is not None else None
        return 0.0 if oldest_ns is None else (time.monotonic_ns() - oldest_ns) / 1e9

    # ── Receipts, of the sink that answers ───────────────────────────────────────────────────────────────────────────

    def delivered(self, message_id: str, at_ns: int) -> None:
        """The broker has one."""
        self._answering.delivered(message_id, at_ns)

    def refused(self, message_id: str, why: str, *, later: bool = False) -> None:
        """The broker will never take one, or not now."""
        self._answering.refused(message_id, why, later=later)

    def returned(self, message_ids: Sequence[str]) -> None:
        """The connection was lost with these on their way."""
        self._answering.returned(message_ids)

    def ready(self) -> None:
        """The broker is there again."""
        self._answering.ready()

    def written(self, message_id: str, at_ns: int) -> None:
        """The operating system has one, on its way to the broker."""
        parcel = self._answering.sent(message_id)
        if parcel is not None and parcel.outcome is not None:
            self._on_written(parcel.outcome, parcel.put_ns, at_ns)

    def live_s(self, message_id: str, now_ns: int) -> int | None:
        """Return for how many seconds a result on its way is live still; None where that has no end, or it is none."""
        return self._answering.live_s(message_id, now_ns)

    def shown(self, ack: Ack, at_ns: int) -> None:
        """A subscriber has shown a result; the first one to say so ends the presentation stage."""
        answer = self._answers.shown(ack, at_ns)
        if answer is not None:
            self._present(answer)

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def _answering(self) -> Lane:
        lane = self._primary
        assert lane is not None, "a sink answers that was not added"
        assert lane.answers, "a sink answers that was added without answers=True"
        return lane

    def _build(self, parcel: Parcel) -> Message:
        """Return the parcel's message; built once, so that every sink gets the same words."""
        if parcel.message is not None:
            return parcel.message
        with self._building:
            if parcel.message is None:
                assert parcel.outcome is not None
                parcel.message = result_of(parcel.outcome, self._line)
            return parcel.message

    def _delivered(self, parcel: Parcel, at_ns: int) -> None:
        """Close the span of an outcome that the primary sink has, and give it to the listener."""
        outcome = parcel.outcome
        if outcome is None:
            return
        outcome.trace.add("publish", parcel.put_ns, max(at_ns, parcel.put_ns))
        self._tell(self._on_done, outcome, outcome.trace_id)
        for answer in self._answers.delivered(parcel.message_id, outcome, at_ns):
            self._present(answer)

    def _present(self, answer: Answer) -> None:
        if answer.is_first:
            answer.outcome.trace.add("present", answer.delivered_ns, answer.shown_ns)
            self._tell(self._on_shown, answer.outcome, answer.ack.trace_id)
        self._tell(self._on_answer, answer, answer.ack.trace_id)

    def _tell(self, listener: Callable[[T], None] | None, news: T, trace_id: str) -> None:
        try:
            if listener is not None:
                listener(news)
        except Exception:  # as at a thread's root: a listener's fault must not end the thread of a sink
            logger.exception("a listener could not take the outcome of %s", trace_id)

    def _dropped(self, name: str, lost: Counter[str]) -> None:
        total = sum(lost.values())
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(lost.items()))
        logger.warning("%s: %d messages were dropped while it could not take them: %s", name, total, kinds)
        self.event("", "dropped", f"{name}: {total} messages were dropped ({kinds})", sink=name, **lost)

    def _stored(self, text: str, state: str) -> None:
        self.event("", "outbox", text, state=state)


def _ignore(parcel: Parcel, at_ns: int) -> None:
    """Do nothing: only the primary sink's acknowledgement is waited for."""
