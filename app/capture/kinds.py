"""What the kind of a source says about how it is treated."""

from __future__ import annotations

from typing import Literal

from app.config.pipeline_text import reads_file
from app.config.sections import ConveyorSource, GstreamerSource, Source, SyntheticSource


def is_live(section: Source) -> bool:
    """Whether pictures come at their own time, wanted or not: a camera or a stand-in for one.

    Decided by the section alone; what a driver claims about frame counts and rates is not asked. A generated source
    that is not paced gives pictures as fast as they are wanted, and so can wait like a file.
    """
    if isinstance(section, ConveyorSource | SyntheticSource):
        return section.paced
    if isinstance(section, GstreamerSource):
        return not reads_file(section.pipeline or "")
    return section.kind not in ("images", "video")


def default_queue(section: Source) -> Literal["latest", "every"]:
    """Return the hand-off where none is configured: nothing of a file is skipped, of a camera the newest wins."""
    return "latest" if is_live(section) else "every"
