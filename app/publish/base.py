"""The seam where messages leave."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Protocol

from typing_extensions import Self

from app.publish.health import Health
from app.publish.message import Message


class Sink(Protocol):
    """Somewhere that messages go: a broker, a file.

    Constructing is free; entering connects or opens. `publish/outbox.py` owns every sink: the bound, the thread, and
    what happens to a message that the sink can't take now. A sink never retries and never blocks for longer than it
    takes to hand a message to the operating system.
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


class StatusBoard(Protocol):
    """Keeps the retained status of the line and its cameras true, now and on every later connection."""

    @property
    def trouble(self) -> str:
        """Why nobody can be told now, in one line; empty where all can."""
        ...

    @property
    def models(self) -> Sequence[str]:
        """Which models run, and where they really do; none before they do."""
        ...

    def set_camera(self, camera: str, online: bool, why: str = "lost") -> None:
        """Say whether a camera gives pictures that can be judged, and in one word why it does not."""
        ...

    def add_camera(self, camera: str) -> None:
        """Keep the status of a camera more."""
        ...

    def remove_camera(self, camera: str) -> None:
        """Keep it no longer."""
        ...

    def set_models(self, models: Sequence[str]) -> None:
        """Say which models run, and where they really do."""
        ...

    def set_log_dropped(self, lines: int) -> None:
        """Say how many lines of the log were dropped since the start."""
        ...

    def set_health(self, health: Health) -> None:
        """Say how the service and its cameras are."""
        ...


class NoStatus:
    """For a line without a broker: nobody to tell.

    Attributes:
        models: as last told.
    """

    def __init__(self) -> None:
        self.models: Sequence[str] = ()

    @property
    def trouble(self) -> str:
        """None."""
        return ""

    def set_camera(self, camera: str, online: bool, why: str = "lost") -> None:
        """Tell nobody."""

    def add_camera(self, camera: str) -> None:
        """Tell nobody."""

    def remove_camera(self, camera: str) -> None:
        """Tell nobody."""

    def set_models(self, models: Sequence[str]) -> None:
        """Tell nobody."""
        self.models = tuple(models)

    def set_log_dropped(self, lines: int) -> None:
        """Tell nobody."""

    def set_health(self, health: Health) -> None:
        """Tell nobody."""


class Receipts(Protocol):
    """What a sink with a far end that answers says of the messages that it took; `publish/outbox.py` listens.

    Called from the sink's own thread; must neither block nor raise. A message taken by `send` gets exactly one of
    `delivered`, `refused` and `returned`, unless the service stops first.
    """

    def delivered(self, message_id: str, at_ns: int) -> None:
        """The far end has the message since `at_ns` on `time.monotonic_ns`."""
        ...

    def refused(self, message_id: str, why: str, *, later: bool = False) -> None:
        """The far end will never take this message; or `later`: not now, but perhaps once somebody has mended it."""
        ...

    def returned(self, message_ids: Sequence[str]) -> None:
        """The connection was lost with these on their way, oldest first: they have to be sent again."""
        ...

    def ready(self) -> None:
        """The sink can take a message again after it refused one with `SinkLost`."""
        ...
