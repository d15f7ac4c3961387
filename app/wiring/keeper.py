"""What keeps results on disk until the broker has them, where there is a disk to keep them on."""

from __future__ import annotations

from pathlib import Path

from app.config import sections
from app.config.outbox import AUTO, MEMORY
from app.config.state import runtime_folder, state_folder
from app.publish.store_bounds import Bounds
from app.publish.store_keeper import Keeper
from app.publish.store_ring import Ring, ring_path

NAME = "outbox.sqlite"


def outbox_file(section: sections.Outbox) -> Path | None:
    """Return where results wait; None: in memory."""
    if section.path == MEMORY:
        return None
    folder = state_folder()
    if section.path == AUTO:
        return None if folder is None else folder / NAME
    return Path(section.path)


def build_keeper(section: sections.Outbox) -> Keeper | None:
    """Wire the file that keeps results; None where they wait in memory."""
    path = outbox_file(section)
    if path is None:
        return None
    ring = ring_path(path, runtime_folder())
    bounds = Bounds(section.max_messages, section.max_bytes, section.max_age_s, section.expiry_s)
    return Keeper(path, section.sync, bounds, None if ring is None else Ring(ring))
