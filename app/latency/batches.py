"""How full the batches are that go through the networks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from threading import Lock


class Batches:
    """Counts the places of batches and the pictures in them, by model; safe to call from any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._pictures: Counter[str] = Counter()
        self._places: Counter[str] = Counter()
        self.percent: Mapping[str, float] = {}
        """Of the last full stretch, by model: the share of places with a picture, 0 … 100."""

    def add(self, model: str, pictures: int, places: int) -> None:
        """Take one batch that went through a network."""
        with self._lock:
            self._pictures[model] += pictures
            self._places[model] += places

    def turn(self) -> None:
        """End the stretch that runs and begin the next one."""
        with self._lock:
            self.percent = {model: 100 * self._pictures[model] / places for model, places in self._places.items()}
            self._pictures.clear()
            self._places.clear()
