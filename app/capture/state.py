"""Where a camera stands."""

from __future__ import annotations

from enum import Enum


class CameraState(str, Enum):
    """The states that a feed reports, as words that a subscriber may switch on."""

    CONNECTING = "connecting"
    ONLINE = "online"
    LOST = "lost"
    ENDED = "ended"
    STALE = "stale"  # from here on it is there, but gives nothing that can be judged
    FROZEN = "frozen"
    BLACK = "black"
    OVEREXPOSED = "overexposed"
    BLANK = "blank"
    BLURRED = "blurred"
    TORN = "torn"
    WRONG_SIZE = "wrong_size"
    WRONG_FORMAT = "wrong_format"
    UNREADABLE = "unreadable"

    @property
    def is_stall(self) -> bool:
        """Whether the camera is there but gives nothing that can be judged."""
        return self not in (CameraState.CONNECTING, CameraState.ONLINE, CameraState.LOST, CameraState.ENDED)
