"""Which pictures of a camera are looked at where somebody asks for each."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from threading import Lock
from time import monotonic_ns

from app.frame import Frame

PATIENCE_NS = 5_000_000_000
"""How long a trigger waits for its picture; a part has left by then."""


class Trigger:
    """Lets one picture through for each trigger: the first that was exposed after it.

    Args:
        on_lost: told of a trigger that got no picture in time; on the camera's thread, must not wait.
    """

    def __init__(self, on_lost: Callable[[str], None]) -> None:
        self._on_lost = on_lost
        self._lock = Lock()
        self._fired: deque[tuple[str, int]] = deque()

    def fire(self, trigger_id: str) -> None:
        """Ask for a picture; from any thread."""
        with self._lock:
            self._fired.append((trigger_id, monotonic_ns()))

    def take(self, frame: Frame) -> Frame | None:
        """Return the frame with the trigger that asked for it, or None where none did; on the camera's thread."""
        if not self._fired:
            return None
        exposed_ns, lost, answer = frame.picture.exposed_ns, [], None
        with self._lock:
            while self._fired and exposed_ns - self._fired[0][1] > PATIENCE_NS:
                lost.append(self._fired.popleft()[0])
            if self._fired and self._fired[0][1] <= exposed_ns:
                answer = replace(frame, trigger=self._fired.popleft()[0])
        for trigger_id in lost:
            self._on_lost(trigger_id)
        return answer
