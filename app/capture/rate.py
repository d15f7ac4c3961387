"""Pictures a second, measured; what a driver claims is never used."""

from __future__ import annotations

from collections import deque

_WINDOW = 32


class Rate:
    """The rate of the last few pictures."""

    def __init__(self) -> None:
        self._arrived_ns: deque[int] = deque(maxlen=_WINDOW)

    def add(self, arrived_ns: int) -> None:
        """Count a picture that arrived at a time on the monotonic clock."""
        self._arrived_ns.append(arrived_ns)

    def clear(self) -> None:
        """Forget all, because a pause is not a rate."""
        self._arrived_ns.clear()

    @property
    def per_second(self) -> float | None:
        """Pictures a second; None until two have come at different times."""
        span_ns = self._arrived_ns[-1] - self._arrived_ns[0] if self._arrived_ns else 0
        return (len(self._arrived_ns) - 1) * 1e9 / span_ns if span_ns > 0 else None
