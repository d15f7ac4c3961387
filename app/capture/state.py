"""Where a camera stands."""

from __future__ import annotations

from enum import Enum


class CameraState(str, Enum):
    """The states that a feed reports, as words that a subscriber may switch on."""

    CONNECTING = "connecting"
    ONLINE = "online"
    LOST = "lost"
    ENDED = "ended"
