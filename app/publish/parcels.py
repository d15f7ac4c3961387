"""What waits for a sink: one message each, held by the number of its place in the order."""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass

from app.publish.message import Event, Latency, Message, Result
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
        put_ns: when it was handed over, on `time.monotonic_ns`; for one of a run before, as if it had been this one.
        outcome: what the message is made of, where it is a result of this run.
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
        if isinstance(self.message, Result):
            return self.message.verdict.value
        return "latency" if isinstance(self.message, Latency) else "event"

    @property
    def is_expendable(self) -> bool:
        """Whether nobody misses it much: an OK that is no longer live, figures of which newer ones come."""
        return self.kind in (Verdict.OK.value, "latency")

    @property
    def is_result(self) -> bool:
        """Whether it is a verdict."""
        return self.outcome is not None or isinstance(self.message, Result)

    @property
    def bytes(self) -> int:
        """About what it takes in memory."""
        if self.outcome is not None:
            return BASE_BYTES + BOX_BYTES * len(self.outcome.detections)
        if isinstance(self.message, Result):
            return BASE_BYTES + BOX_BYTES * len(self.message.detections)
        if isinstance(self.message, Latency):
            return BASE_BYTES + FIGURES_BYTES
        return BASE_BYTES + (len(self.message.text) if isinstance(self.message, Event) else 0)


class Parcels:
    """Parcels by number, the lowest first. What is taken from the middle leaves its number behind until it is met."""

    def __init__(self) -> None:
        self._held: dict[int, Parcel] = {}
        self._order: list[int] = []
        self._expendable: list[int] = []
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, number: int) -> bool:
        return number in self._held

    def add(self, number: int, parcel: Parcel) -> None:
        """Put one in its place, which is nearly always the end."""
        self._held[number] = parcel
        self.bytes += parcel.bytes
        _place(self._order, number)
        if parcel.is_expendable:
            _place(self._expendable, number)

    def head(self) -> tuple[int, Parcel] | None:
        """Return the lowest number and its parcel."""
        while self._order and self._order[0] not in self._held:
            self._order.pop(0)
        return (self._order[0], self._held[self._order[0]]) if self._order else None

    def take(self, number: int) -> Parcel | None:
        """Take one out."""
        parcel = self._held.pop(number, None)
        if parcel is None:
            return None
        self.bytes -= parcel.bytes
        for numbers in (self._order, self._expendable):
            if numbers and numbers[0] == number:
                numbers.pop(0)
        if len(self._expendable) > 2 * len(self._held) + 64:
            self._expendable = [left for left in self._expendable if left in self._held]
        return parcel

    def items(self) -> list[tuple[int, Parcel]]:
        """Return all, in no order."""
        return list(self._held.items())

    def least_needed(self) -> int | None:
        """Return the number of the oldest that is expendable; None where there is none."""
        while self._expendable and self._expendable[0] not in self._held:
            self._expendable.pop(0)
        return self._expendable[0] if self._expendable else None


def _place(numbers: list[int], number: int) -> None:
    if numbers and number < numbers[-1]:
        insort(numbers, number)
    else:
        numbers.append(number)
