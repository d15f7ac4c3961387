"""Who watches a camera's previews, and whose turn it is: nobody is sent a picture before the last one was shown."""

from __future__ import annotations

from dataclasses import dataclass, field

UNANSWERED_NS = 3_000_000_000
"""A preview that was not acknowledged for so long is taken for lost, and the next one may go."""
SILENT_NS = 30_000_000_000
"""A watcher that has said nothing for so long is gone; a living one asks again every ten seconds."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A watcher has shown a preview.

    Attributes:
        round_trip_ms: from when it was handed to the network until the acknowledgement was here.
        hold_ms: the watcher's own share of it, by its own word.
    """

    camera: str
    client: str
    round_trip_ms: float
    hold_ms: float


@dataclass(slots=True)
class _Watcher:
    heard_ns: int
    due_ns: int = 0
    seen: int = 0
    awaited: str = ""
    sent_ns: int = 0


@dataclass(slots=True)
class Credits:
    """The watchers of one camera, each with one credit: what is not shown yet keeps the next one back.

    So a watcher that is slow, by its network or by itself, gets fewer pictures, each of them new, and no queue grows
    anywhere. Not thread-safe; knows no clock.

    Args:
        every_ns: least time between two pictures for one watcher.
        most: watchers at one time.
    """

    every_ns: int
    most: int
    _watchers: dict[str, _Watcher] = field(default_factory=dict)

    @property
    def watchers(self) -> int:
        """How many there are."""
        return len(self._watchers)

    def ask(self, client: str, now_ns: int) -> bool:
        """Take note of a watcher, or that it is still there; return whether there is room for it."""
        self.forget(now_ns)
        if client not in self._watchers and len(self._watchers) >= self.most:
            return False
        self._watchers.setdefault(client, _Watcher(now_ns)).heard_ns = now_ns
        return True

    def leave(self, client: str) -> None:
        """Forget a watcher that wants no more."""
        self._watchers.pop(client, None)

    def forget(self, now_ns: int) -> None:
        """Forget those that are silent."""
        gone = [client for client, one in self._watchers.items() if now_ns - one.heard_ns > SILENT_NS]
        for client in gone:
            del self._watchers[client]

    def ready(self, picture: int, now_ns: int) -> list[str]:
        """Return who may have the picture of that number now: who has shown the last one, and has not had this."""
        return [
            client
            for client, one in self._watchers.items()
            if one.seen < picture
            and now_ns >= one.due_ns
            and (not one.awaited or now_ns - one.sent_ns >= UNANSWERED_NS)
        ]

    def sent(self, client: str, message_id: str, picture: int, now_ns: int) -> None:
        """Spend a watcher's credit."""
        one = self._watchers[client]
        one.awaited, one.seen, one.sent_ns = message_id, picture, now_ns
        # From when it was due, so that a thread that wakes a little late each time does not slow the beat.
        one.due_ns = max(one.due_ns + self.every_ns, now_ns)

    def shown(self, client: str, message_id: str, now_ns: int) -> int | None:
        """Give a credit back; return when that preview had been sent, None where it is not the one awaited."""
        one = self._watchers.get(client)
        if one is None:
            return None
        one.heard_ns = now_ns
        if one.awaited != message_id:
            return None
        one.awaited = ""
        return one.sent_ns
