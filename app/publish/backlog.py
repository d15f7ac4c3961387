"""The messages that wait for one sink: in order, bounded by count and bytes, the least needed dropped first."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass

from app.publish.message import Event, Latency, Message
from app.verdict import Outcome, Verdict

BASE_BYTES = 3072
"""What an outcome, its trace and its message take in memory (measured: 2.2 kB)."""
FIGURES_BYTES = 12288
"""What a message of figures takes beside that."""
BOX_BYTES = 320
"""What each box adds, as arrays and in the message once it is built (measured: 290 bytes)."""


@dataclass(slots=True, eq=False)
class Parcel:
    """One message on its way to the sinks.

    Attributes:
        message_id: of the message.
        put_ns: when it was handed over, on `time.monotonic_ns`.
        outcome: what the message is made of, where it is a result.
        message: built when the first sink needs it.
        replaces: a newer parcel with the same word here takes this one's place while it still waits; empty: none does.
    """

    message_id: str
    put_ns: int
    outcome: Outcome | None
    message: Message | None = None
    replaces: str = ""

    @property
    def kind(self) -> str:
        """The verdict's word, "event" or "latency"; drops are counted by it."""
        if self.outcome is not None:
            return self.outcome.judgement.verdict.value
        return "latency" if isinstance(self.message, Latency) else "event"

    @property
    def is_expendable(self) -> bool:
        """Whether nobody misses it much: an OK that is no longer live, figures of which newer ones come."""
        return self.kind in (Verdict.OK.value, "latency")

    @property
    def bytes(self) -> int:
        """About what it takes in memory."""
        if self.outcome is not None:
            return BASE_BYTES + BOX_BYTES * len(self.outcome.detections)
        if isinstance(self.message, Latency):
            return BASE_BYTES + FIGURES_BYTES
        return BASE_BYTES + (len(self.message.text) if isinstance(self.message, Event) else 0)


class Backlog:
    """Parcels in order. Not locked: its owner is.

    Args:
        max_count: parcels kept.
        max_bytes: of memory, by `Parcel.bytes`.
        max_age_s: older ones are not live any more and are given out by `shed` as dropped.
    """

    def __init__(self, max_count: int, max_bytes: int, max_age_s: float) -> None:
        self._max_count = max_count
        self._max_bytes = max_bytes
        self._max_age_ns = int(max_age_s * 1e9)
        self._waiting: OrderedDict[str, Parcel] = OrderedDict()
        self._expendable: deque[str] = deque()
        self._replaceable: dict[str, str] = {}
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def __contains__(self, message_id: str) -> bool:
        return message_id in self._waiting

    @property
    def oldest(self) -> Parcel | None:
        """The parcel whose turn it is."""
        return next(iter(self._waiting.values()), None)

    def append(self, parcel: Parcel) -> None:
        """Put one at the end."""
        self._waiting[parcel.message_id] = parcel
        self.bytes += parcel.bytes
        if parcel.is_expendable:
            self._expendable.append(parcel.message_id)
        if parcel.replaces:
            self._replaceable[parcel.replaces] = parcel.message_id

    def discard_replaced(self, parcel: Parcel) -> int:
        """Take out the one whose place a parcel takes, before that is put; return how many that is, 0 or 1."""
        return 0 if self._take(self._replaceable.pop(parcel.replaces, "")) is None else 1

    def pop_oldest(self) -> Parcel:
        """Take out the one whose turn it is."""
        message_id, parcel = self._waiting.popitem(last=False)
        self.bytes -= parcel.bytes
        if self._expendable and self._expendable[0] == message_id:
            self._expendable.popleft()
        return parcel

    def give_back(self, parcels: Sequence[Parcel]) -> None:
        """Put parcels that were taken out back in front, oldest first in the sequence."""
        for parcel in reversed(parcels):
            self._waiting[parcel.message_id] = parcel
            self._waiting.move_to_end(parcel.message_id, last=False)
            self.bytes += parcel.bytes
            if parcel.is_expendable:
                self._expendable.appendleft(parcel.message_id)

    def shed(self, now_ns: int) -> list[Parcel]:
        """Take out what is too old, then what is too much: the oldest OK first, NG and UNKNOWN when no OK is left."""
        dropped: list[Parcel] = []
        while (oldest := self.oldest) is not None and now_ns - oldest.put_ns > self._max_age_ns:
            dropped.append(self.pop_oldest())
        while len(self._waiting) > self._max_count or self.bytes > self._max_bytes:
            dropped.append(self._pop_least_needed())
        return dropped

    def _pop_least_needed(self) -> Parcel:
        while self._expendable:
            parcel = self._take(self._expendable.popleft())
            if parcel is not None:
                return parcel
        return self.pop_oldest()

    def _take(self, message_id: str) -> Parcel | None:
        parcel = self._waiting.pop(message_id, None)
        if parcel is not None:
            self.bytes -= parcel.bytes
        return parcel
