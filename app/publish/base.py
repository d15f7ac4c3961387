"""The seam where messages leave."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol

from typing_extensions import Self

from app.publish.message import Message


class Sink(Protocol):
    """Somewhere that messages go: a broker, a file.

    Constructing is free; entering connects or opens. `publish/outbox.py` owns every sink: the bound, the thread, and what
    happens to a message that the sink can't take now. A sink never retries and never blocks for longer than it takes to
    hand a message to the operating system.
    """

    def __enter__(self) -> Self:
        """Start; a sink whose far end is away is entered all the same and refuses in `send`."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Hand over what can be handed over in a moment, then close; safe to call twice."""
        ...

    def send(self, message: Message) -> None:
        """Take one message.

        Raises:
            SinkLost: it can't be taken now; the caller keeps it and tries again later.
        """
        ...
