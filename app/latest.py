"""The hand-off from a capture thread to the inspect thread: newest wins, or nothing is lost."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from threading import Condition

from app.frame import NO_IMAGE, Frame, PixelFormat
from app.verdict import Code, Reason

MOST_WAITING = 8
"""Pictures that may wait in a slot at most, whatever their age: they are memory."""


class Handoff(ABC):
    """What both kinds share: a queue under a bell that all cameras ring, so that one thread can wait for any of them.

    Args:
        bell: the condition of all hand-offs of one inspect thread.
    """

    def __init__(self, bell: Condition) -> None:
        self._bell = bell
        self._frames: deque[Frame] = deque()
        self._finished = False

    @abstractmethod
    def put(self, frame: Frame) -> None:
        """Hand a frame over; called by the capture thread."""

    def finish(self) -> None:
        """Say that no frame will follow; wakes whoever waits."""
        with self._bell:
            self._finished = True
            self._bell.notify_all()

    # What follows is called with the bell held.

    def oldest_exposed_ns(self) -> int | None:
        """When the frame that would be taken next came to be, or None where none waits."""
        return self._frames[0].picture.exposed_ns if self._frames else None

    def take(self) -> Frame:
        """Take the next frame."""
        frame = self._frames.popleft()
        self._bell.notify_all()
        return frame

    @property
    def drained(self) -> bool:
        """Whether the last frame has been taken and none will follow."""
        return self._finished and not self._frames


class Slot(Handoff):
    """Holds one frame; a newer one takes its place (`queue: latest`).

    Where a link delivers in bursts, frames may wait for one another a little; what has waited longer is overwritten.

    Args:
        on_overwritten: gets the frame that was never looked at; called on the capture thread.
        wait_ns: how much older than the newest frame one may be that waits; 0 keeps the newest alone.
    """

    def __init__(
        self, bell: Condition, on_overwritten: Callable[[Frame], None], wait_ns: Callable[[], int] = lambda: 0
    ) -> None:
        super().__init__(bell)
        self._on_overwritten = on_overwritten
        self._wait_ns = wait_ns

    def put(self, frame: Frame) -> None:
        """Put the frame in the slot and ring the bell; never waits."""
        wait_ns = self._wait_ns()
        overwritten: list[Frame] = []
        with self._bell:
            while self._frames and (wait_ns == 0 or self._is_overdue(frame, wait_ns)):
                overwritten.append(self._frames.popleft())
            self._frames.append(frame)
            self._bell.notify_all()
        for lost in overwritten:
            self._on_overwritten(lost)

    def _is_overdue(self, newest: Frame, wait_ns: int) -> bool:
        age_ns = newest.picture.exposed_ns - self._frames[0].picture.exposed_ns
        return age_ns > wait_ns or len(self._frames) >= MOST_WAITING


class Line(Handoff):
    """Holds frames in order and loses none silently (`queue: every`).

    A source that can wait (a file) waits while the line is full. One that can't (a triggered camera) goes on: its
    picture is left out so that memory stays bounded, and the frame takes its place in the line as UNKNOWN/overrun.

    Args:
        length: pictures that may wait.
        source_waits: whether the source can be made to wait.
    """

    def __init__(self, bell: Condition, length: int, *, source_waits: bool) -> None:
        super().__init__(bell)
        self._length = length
        self._source_waits = source_waits
        self._pictures = 0

    def put(self, frame: Frame) -> None:
        """Append the frame and ring the bell; waits for room where the source can wait, until `finish`."""
        with self._bell:
            if self._source_waits:
                self._bell.wait_for(lambda: self._pictures < self._length or self._finished)
            elif self._pictures >= self._length:
                frame = self._overrun(frame)
            self._pictures += frame.picture.data.size > 0
            self._frames.append(frame)
            self._bell.notify_all()

    def take(self) -> Frame:
        """Take the oldest frame and make room."""
        frame = super().take()
        self._pictures -= frame.picture.data.size > 0
        return frame

    def _overrun(self, frame: Frame) -> Frame:
        """Return the frame without its pixels and with the reason why."""
        text = f"{self._length} pictures were waiting already: inspection is slower than the trigger"
        fault = frame.picture.fault or Reason(Code.OVERRUN, text)
        return replace(frame, picture=replace(frame.picture, data=NO_IMAGE, fault=fault, format=PixelFormat.BGR8))
