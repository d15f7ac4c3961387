"""The messages that wait for one sink: in order, live ones before old ones, bounded, the least needed dropped first."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from app.publish.parcels import Parcel, Parcels

FETCHED = 64
"""Parcels that were read back from the disk and wait in memory, at most."""


class Taken(NamedTuple):
    """A parcel whose turn it is.

    Attributes:
        is_history: it is no longer live, or was never live in this run.
    """

    parcel: Parcel
    is_history: bool


class Backlog:
    """Parcels in order, each by the number of its place. Not locked: its owner is.

    Three queues, each in order, and what is older in one than in the next: `fetched`, read back from the disk; `old`,
    expired and not on disk; `live`. Between `fetched` and `old` lie those that are on disk only; this class knows how
    many, and a `store_keeper.Keeper` moves them. Without a keeper nothing is ever on disk.

    Args:
        max_count: parcels kept in memory.
        max_bytes: of memory, by `Parcel.bytes`.
        max_age_s: older ones are given out by `shed` as dropped.
        expiry_s: what waits longer goes behind the others, as history; None: nothing does.
        durable: a keeper takes what is in `left` away from the disk.
    """

    def __init__(
        self, max_count: int, max_bytes: int, max_age_s: float, expiry_s: float | None = None, *, durable: bool = False
    ) -> None:
        self._max_count = max_count
        self._max_bytes = max_bytes
        self._max_age_ns = int(max_age_s * 1e9)
        self._expiry_ns = None if expiry_s is None else int(expiry_s * 1e9)
        self._fetched, self._old, self._live = Parcels(), Parcels(), Parcels()
        self._durable = durable
        self._number_of: dict[str, int] = {}
        self._held: set[int] = set()
        self._out: dict[str, tuple[Parcel, bool]] = {}
        self._replaceable: dict[str, str] = {}
        self._stored: set[int] = set()
        self._last = 0
        self._read_to = 0
        self.on_disk = 0
        """Parcels that are on disk and not in memory."""
        self.left: set[int] = set()
        """Numbers that have left and may be on disk still; emptied by the keeper."""

    def __len__(self) -> int:
        return len(self._number_of) + self.on_disk

    def __contains__(self, message_id: str) -> bool:
        return message_id in self._number_of

    @property
    def bytes(self) -> int:
        """What waits in memory, without what is on its way."""
        return sum(queue.bytes for queue in self._queues)

    @property
    def waiting(self) -> int:
        """Parcels that are not on their way."""
        return len(self) - len(self._out)

    @property
    def out(self) -> int:
        """Parcels on their way."""
        return len(self._out)

    @property
    def history_out(self) -> int:
        """Those of them that are history."""
        return sum(is_history for _, is_history in self._out.values())

    @property
    def oldest_put_ns(self) -> int | None:
        """When the oldest parcel in memory was put; what is on disk only is not older."""
        heads = [head[1].put_ns for queue in self._queues if (head := queue.head()) is not None]
        return min([*heads, *(parcel.put_ns for parcel, _ in self._out.values())], default=None)

    def on_its_way(self, message_id: str) -> Parcel | None:
        """Return a parcel that was given out and is not settled."""
        taken = self._out.get(message_id)
        return None if taken is None else taken[0]

    def live_s(self, message_id: str, now_ns: int) -> int | None:
        """Return for how many seconds a result on its way is live still; None where that has no end, or it is none."""
        parcel, is_history = self._out.get(message_id, (None, True))
        if parcel is None or is_history or self._expiry_ns is None or not parcel.is_result:
            return None
        return max(1, math.ceil((parcel.put_ns + self._expiry_ns - now_ns) / 1e9))

    # ── in and out ───────────────────────────────────────────────────────────────────────────────────────────────────

    def append(self, parcel: Parcel) -> int:
        """Put one at the end and return its number."""
        self._last += 1
        self._live.add(self._last, parcel)
        self._hold(self._last, parcel)
        if parcel.replaces:
            self._replaceable[parcel.replaces] = parcel.message_id
        return self._last

    def discard_replaced(self, parcel: Parcel) -> int:
        """Take out the one whose place a parcel takes, before that is put; return how many that is, 0 or 1."""
        replaced = self._replaceable.pop(parcel.replaces, "")
        if replaced in self._out or replaced not in self._number_of:
            return 0
        self._remove(self._number_of[replaced])
        return 1

    def next(self, now_ns: int, most_history: int | None = None) -> Taken | None:
        """Give out the parcel whose turn it is: the oldest that is live, or else the oldest; of all, if none expires.

        Args:
            now_ns: decides what is live, on `time.monotonic_ns`.
            most_history: give out no history beyond so many on their way; None: as much as there is.
        """
        self.expire(now_ns)
        in_order = self._expiry_ns is None and most_history != 0
        for queue in self._queues if in_order else (self._live, self._fetched, self._old):
            is_behind = queue is not self._live
            is_history = is_behind and self._expiry_ns is not None
            if is_behind and most_history is not None and self.history_out >= most_history:
                continue
            if self.on_disk and (queue is self._old or (in_order and not is_behind)):
                return None  # older ones have to be fetched first
            if (head := queue.head()) is not None:
                queue.take(head[0])
                self._out[head[1].message_id] = head[1], is_history
                return Taken(head[1], is_history)
        return None

    def settle(self, message_id: str) -> Parcel | None:
        """Take out for good what was on its way."""
        taken = self._out.pop(message_id, None)
        if taken is None:
            return None
        self._leave(self._let_go(taken[0]))
        return taken[0]

    def give_back(self, message_ids: Sequence[str], now_ns: int, *, as_history: bool = False) -> None:
        """Put what was on its way back in its place; as history if it is expired by now, or if it is said so."""
        for message_id in message_ids:
            parcel, was_history = self._out.pop(message_id, (None, False))
            if parcel is None:
                continue
            number = self._number_of[message_id]
            if not (was_history or as_history or self._is_expired(parcel, now_ns)):
                self._live.add(number, parcel)
            elif number in self._stored and number <= self._read_to:
                self._fetched.add(number, parcel)
            else:
                self._old.add(number, parcel)
        self._spill_old()

    def expire(self, now_ns: int) -> None:
        """Move what is no longer live."""
        while (head := self._live.head()) is not None and self._is_expired(head[1], now_ns):
            self._live.take(head[0])
            self._old.add(*head)
        self._spill_old()

    def shed(self, now_ns: int) -> list[Parcel]:
        """Take out what is too old, then what is too much: the oldest OK first, NG and UNKNOWN when no OK is left.

        What is on disk as well is not dropped because memory is short: it is on disk only from then on.
        """
        dropped: list[Parcel] = []
        for queue in self._queues:
            while (head := queue.head()) is not None and now_ns - head[1].put_ns > self._max_age_ns:
                dropped.append(self._remove(head[0]))
        while len(self._number_of) > self._max_count or self.bytes > self._max_bytes:
            parcel = self._make_room()
            if parcel is None:
                break
            dropped += parcel
        return dropped

    # ── the keeper's side ────────────────────────────────────────────────────────────────────────────────────────────

    def resume(self, on_disk: int, last: int) -> None:
        """Begin with so many on disk, the numbers up to `last` taken."""
        self.on_disk = on_disk
        self._last = max(last, self._last)

    def revive(self, parcels: Iterable[tuple[int, Parcel]]) -> None:
        """Take parcels of a run before that are still live, newer than all that are on disk only."""
        for number, parcel in parcels:
            self._read(self._live, number, parcel)

    def stored(self, numbers: Iterable[int]) -> None:
        """Note that these are on disk."""
        self._stored.update(number for number in numbers if number in self._held)
        self._spill_old()

    def room(self) -> int:
        """Return how many should be fetched now."""
        most = max(1, min(FETCHED, self._max_count // 4))
        return most - len(self._fetched) if self.on_disk and len(self._fetched) <= most // 2 else 0

    @property
    def read_to(self) -> int:
        """The highest number that was fetched; what is on disk only lies above."""
        return self._read_to

    def fetched(self, parcels: Sequence[tuple[int, Parcel]], *, is_all: bool) -> None:
        """Take what was read from there; what is in memory or has left meanwhile is passed over.

        Args:
            parcels: in order, as they were read.
            is_all: there are no more.
        """
        for number, parcel in parcels:
            self._read_to = max(self._read_to, number)
            if number not in self._held and number not in self.left:
                self._read(self._fetched, number, parcel)
        if is_all or self.on_disk < 0:
            self.on_disk = 0

    def may_drop(self, number: int) -> bool:
        """Take out one that is dropped from the disk; False where it is on its way or has left already."""
        if number in self.left:
            return False
        for queue in self._queues:
            if (parcel := queue.take(number)) is not None:
                self._let_go(parcel)
                return True
        if number in self._held:  # on its way
            return False
        self.on_disk = max(0, self.on_disk - 1)
        return True

    def in_memory(self) -> list[tuple[int, Parcel]]:
        """Return all parcels of this run and before that are in memory, in order."""
        parcels = {
            **{self._number_of[key]: parcel for key, (parcel, _) in self._out.items()},
            **{number: parcel for queue in self._queues for number, parcel in queue.items()},
        }
        return sorted(parcels.items())

    def recount(self, on_disk: int) -> None:
        """Note how many are on disk, in memory or not, after a time in which nobody knew."""
        self.on_disk = max(0, on_disk - len(self._stored) - len(self.left))

    def forget_disk(self) -> int:
        """Take nothing for stored any more, as after a damage; return how many were on disk only."""
        lost, self.on_disk = self.on_disk, 0
        self._stored.clear()
        return lost

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def _queues(self) -> tuple[Parcels, Parcels, Parcels]:
        return self._fetched, self._old, self._live

    def _is_expired(self, parcel: Parcel, now_ns: int) -> bool:
        return self._expiry_ns is not None and now_ns - parcel.put_ns > self._expiry_ns

    def _spill_old(self) -> None:
        """Have what is expired and on disk there only."""
        while (head := self._old.head()) is not None and head[0] in self._stored:
            self._spill(self._old, *head)

    def _spill(self, queue: Parcels, number: int, parcel: Parcel) -> None:
        queue.take(number)
        if number <= self._read_to:  # it would not be read again
            self._fetched.add(number, parcel)
            return
        self._let_go(parcel)
        self.on_disk += 1

    def _make_room(self) -> list[Parcel] | None:
        """Spill the oldest where it is on disk, else drop the least needed; None where all is on its way."""
        for queue in (self._old, self._live):
            if (head := queue.head()) is None:
                continue
            if head[0] in self._stored:
                self._spill(queue, *head)
                return []
            break
        queues = (self._old, self._live, self._fetched)
        needless = (number for queue in queues if (number := queue.least_needed()) is not None)
        oldest = (head[0] for queue in queues if (head := queue.head()) is not None)
        number = next(needless, next(oldest, None))
        return None if number is None else [self._remove(number)]

    def _remove(self, number: int) -> Parcel:
        """Take out for good what waits."""
        parcel = next(parcel for queue in self._queues if (parcel := queue.take(number)) is not None)
        self._leave(self._let_go(parcel))
        return parcel

    def _hold(self, number: int, parcel: Parcel) -> None:
        self._number_of[parcel.message_id] = number
        self._held.add(number)

    def _read(self, queue: Parcels, number: int, parcel: Parcel) -> None:
        """Take one that is on disk; of two with one id, which a crash can leave behind, one is enough."""
        self.on_disk -= 1
        if parcel.message_id in self._number_of:
            self._leave(number)
            return
        queue.add(number, parcel)
        self._hold(number, parcel)
        self._stored.add(number)

    def _let_go(self, parcel: Parcel) -> int:
        """Hold it in memory no longer; return its number."""
        number = self._number_of.pop(parcel.message_id)
        self._held.discard(number)
        self._stored.discard(number)
        return number

    def _leave(self, number: int) -> None:
        if self._durable:
            self.left.add(number)
