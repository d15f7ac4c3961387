"""What goes wrong in a soak, and when: pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LONGEST_S = 10.0
BUSY = 0.5
"""Share of a fault's slot that it may last; in the rest the line comes to itself again."""
SETTLED = 0.7
"""From this share of a slot on, the line is measured as one that has come to itself."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of fault.

    Attributes:
        name: a word that the page and the table show.
        text: what is done.
        at: whom it concerns, where it concerns one camera.
        inside: the line's own process does it, on an order; else it is done to that process from outside.
    """

    name: str
    text: str
    at: str = ""
    inside: bool = False


KINDS = (
    Kind("broker", "the broker stops and comes back, knowing nothing"),
    Kind("lost", "a camera is lost, and can't be opened", "side", inside=True),
    Kind("cut", "every connection to the broker is cut"),
    Kind("frozen", "a camera gives one picture again and again", "side", inside=True),
    Kind("disk", "the disk is full"),
    Kind("hang", "the engine does not come back", inside=True),
    Kind("clock", "the wall clock is set back by two hours, then forth by a day", inside=True),
    Kind("black", "a camera sees nothing", "top", inside=True),
    Kind("reload", "other rules, and a camera more or less"),
    Kind("silent", "a camera blocks in a read", "top", inside=True),
    Kind("commands", "pause, resume, snapshot, a threshold; a camera and a command that are none"),
    Kind("slow", "a subscriber takes a fifth of a second for each message"),
)


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of the plan; seconds from the beginning."""

    kind: Kind
    begins_s: float
    lasts_s: float
    round: int


@dataclass(frozen=True, slots=True)
class Plan:
    """Rounds of all kinds of faults, one after the other in equal slots.

    Attributes:
        seconds: how long it takes in all.
        rounds: how often each kind comes.
        faults: in their order.
    """

    seconds: float
    rounds: int
    kinds: Sequence[Kind]

    @property
    def slot_s(self) -> float:
        """Seconds from one fault to the next."""
        return self.seconds / (self.rounds * len(self.kinds))

    @property
    def faults(self) -> list[Fault]:
        """All of them, in order."""
        lasts_s = min(LONGEST_S, self.slot_s * BUSY)
        return [
            Fault(kind, (number * len(self.kinds) + place) * self.slot_s, lasts_s, number)
            for number in range(self.rounds)
            for place, kind in enumerate(self.kinds)
        ]

    def round_at(self, at_s: float) -> int:
        """Return the number of the round in which a moment lies."""
        return min(self.rounds - 1, int(at_s / self.slot_s / len(self.kinds)))

    def is_settled(self, at_s: float) -> bool:
        """Whether the fault of that slot has been over for a while."""
        return at_s / self.slot_s % 1.0 >= SETTLED


def plan_of(seconds: float, kinds: Sequence[Kind] = KINDS, least_slot_s: float = 3.0) -> Plan:
    """Return a plan with as many rounds as fit, eight at most: the first one is the warm-up."""
    fit = int(seconds / (least_slot_s * len(kinds)))
    return Plan(seconds, max(1, min(8, fit)), kinds)
