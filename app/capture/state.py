"""Where a camera stands."""

from __future__ import annotations

from enum import Enum


class CameraState(str, Enum):
    """The states that a feed reports, as words that a subscriber may switch on."""

    CONNECTING = "connecting"
    ONLINE = "online"
    LOST = "lost"
    ENDED = "ended"

    @property
    def is_stall(self) -> bool:
        """Whether the camera is there but gives nothing that can be judged."""
        return self not in (CameraState.CONNECTING, CameraState.ONLINE, CameraState.LOST, CameraState.ENDED)
