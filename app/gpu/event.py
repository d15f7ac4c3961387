"""Events: when the GPU got to a point of a stream."""

from __future__ import annotations

from app.gpu.checked import call
from app.gpu.context import Context, Owned
from app.gpu.stream import Stream

_EXTERNAL = 1
"""A record becomes a node of the graph that is being captured, so that each launch notes the time anew. Outside of a
capture the driver takes no such flag."""


class Event(Owned):
    """A time on the GPU's clock; made by cuda-bindings, since PyCUDA keeps an event's handle to itself."""

    def __init__(self, context: Context) -> None:
        context.check_thread()
        self._event = call("cuEventCreate", 0)
        super().__init__(context)

    def record(self, stream: Stream) -> None:
        """Note the time when the stream gets here; inside a capture, whenever the graph gets here."""
        if call("cuStreamIsCapturing", stream.handle) == 0:
            call("cuEventRecord", self._event, stream.handle)
        else:
            call("cuEventRecordWithFlags", self._event, stream.handle, _EXTERNAL)

    def ms_since(self, earlier: Event) -> float:
        """Return the milliseconds between two times; both must have come.

        Raises:
            GpuError: one of them has not.
        """
        return float(call("cuEventElapsedTime", earlier._event, self._event))

    def _free(self) -> None:
        call("cuEventDestroy", self._event)
