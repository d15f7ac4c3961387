"""Results that the broker has, matched with the subscribers' acknowledgements; a few hundred, for half a minute."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock
from typing import NamedTuple

from app.publish.message import Ack
from app.verdict import Outcome

MAX_AWAITED = 512
"""Results, and acknowledgements that came before their result was known to be there, that are kept."""
AWAIT_NS = 30_000_000_000
MAX_ANSWERS = 64
"""Acknowledgements of one result that count; one for each client."""


class Answer(NamedTuple):
    """A subscriber has shown a result.

    Attributes:
        delivered_ns: when the broker had the result.
        shown_ns: when the acknowledgement came; not before `delivered_ns`.
        is_first: no other subscriber was faster.
    """

    outcome: Outcome
    ack: Ack
    delivered_ns: int
    shown_ns: int
    is_first: bool


@dataclass(slots=True)
class _Awaited:
    outcome: Outcome
    delivered_ns: int
    clients: set[str] = field(default_factory=set)


class Answers:
    """Safe to call from any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._awaited: OrderedDict[str, _Awaited] = OrderedDict()
        self._early: OrderedDict[str, list[tuple[Ack, int]]] = OrderedDict()

    def delivered(self, message_id: str, outcome: Outcome, at_ns: int) -> list[Answer]:
        """Wait for answers to a result that the broker has; return those that were faster than the broker's own."""
        with self._lock:
            self._make_room(at_ns)
            awaited = self._awaited[message_id] = _Awaited(outcome, at_ns)
            early = self._early.pop(message_id, [])
            return [answer for ack, shown_ns in early if (answer := _answer(awaited, ack, shown_ns)) is not None]

    def shown(self, ack: Ack, at_ns: int) -> Answer | None:
        """Take an acknowledgement; None if its result is not known, or that client has said so before."""
        with self._lock:
            awaited = self._awaited.get(ack.id)
            if awaited is not None:
                return _answer(awaited, ack, at_ns)
            early = self._early.setdefault(ack.id, [])
            if len(early) < MAX_ANSWERS:
                early.append((ack, at_ns))
            while len(self._early) > MAX_AWAITED:
                self._early.popitem(last=False)
            return None

    def _make_room(self, now_ns: int) -> None:
        """Forget what is too old, and the oldest where there are as many as may be."""
        awaited = self._awaited
        while awaited and (
            len(awaited) >= MAX_AWAITED or now_ns - next(iter(awaited.values())).delivered_ns > AWAIT_NS
        ):
            awaited.popitem(last=False)


def _answer(awaited: _Awaited, ack: Ack, shown_ns: int) -> Answer | None:
    if ack.client in awaited.clients or len(awaited.clients) >= MAX_ANSWERS:
        return None
    is_first = not awaited.clients
    awaited.clients.add(ack.client)
    return Answer(awaited.outcome, ack, awaited.delivered_ns, max(shown_ns, awaited.delivered_ns), is_first)
