"""When the GPU did what, brought to the host's clock."""

from __future__ import annotations

from app.gpu.context import Context
from app.gpu.event import Event
from app.gpu.stream import Stream

STEPS = ("upload", "letterbox", "engine", "decode", "download")
"""What the GPU does for a frame, in order."""


class GpuClock:
    """An event before, between and after the steps."""

    def __init__(self, context: Context) -> None:
        self.events = tuple(Event(context) for _ in range(len(STEPS) + 1))

    def mark(self, step: int, stream: Stream) -> None:
        """Note, whenever the stream gets here, that so many steps are behind it."""
        self.events[step].record(stream)

    def ms(self) -> dict[str, float]:
        """Return what each step took; all must have ended."""
        return {
            step: later.ms_since(earlier)
            for step, earlier, later in zip(STEPS, self.events, self.events[1:], strict=False)
        }


def on_host(steps_ms: dict[str, float], began_ns: int, synced_ns: int) -> tuple[int, int]:
    """Return when the engine began and ended, on the host's clock.

    The two clocks meet where the host saw the GPU finish; from there it is counted back. The host sees it a little
    later than it was, so nothing is said to have begun before it was asked for.

    Args:
        steps_ms: from `GpuClock.ms`.
        began_ns: when the host began with the frame.
        synced_ns: when it saw the end.
    """
    after_ns = int((steps_ms["decode"] + steps_ms["download"]) * 1e6)
    ended_ns = max(synced_ns - after_ns, began_ns)
    return max(ended_ns - int(steps_ms["engine"] * 1e6), began_ns), ended_ns
