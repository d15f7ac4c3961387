"""What the kind of a source says about how it is treated."""

from __future__ import annotations

from typing import Literal

from app.config.sections import Source


def is_live(section: Source) -> bool:
    """Whether pictures come at their own time, wanted or not: a camera or a stand-in for one.

    Decided by the kind alone; what a driver claims about frame counts and rates is not asked.
    """
    return section.kind not in ("images", "video")


def default_queue(section: Source) -> Literal["latest", "every"]:
    """Return the hand-off where none is configured: nothing of a file is skipped, of a camera the newest wins."""
    return "latest" if is_live(section) else "every"
