"""Whether a graph may leave out the copy of a frame that is on the GPU already."""

from __future__ import annotations

from collections.abc import Callable

from app.errors import GpuError


class Skipping:
    """Of all graphs of one network: what the driver refuses one of them it refuses all.

    Args:
        where: the network's file, for messages.
        tell: takes a line when the driver refuses, once; from then on such a frame goes up again.
    """

    def __init__(self, where: str, tell: Callable[[str], None]) -> None:
        self._where = where
        self._tell = tell
        self.is_refused = False

    def refuse(self, error: GpuError) -> None:
        """Have every graph copy its frame from now on, and say why."""
        if not self.is_refused:
            self.is_refused = True
            self._tell(f"{self._where}: a frame goes to the GPU again for each look at parts of it: {error}")
