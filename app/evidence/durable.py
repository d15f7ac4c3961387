"""Has files and their names on the medium, so that a loss of power does not take them."""

from __future__ import annotations

import os
from pathlib import Path


def sync(path: Path) -> None:
    """Wait until the medium has a file's content, or a folder's names.

    Raises:
        OSError: it does not take them.
    """
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_folders(folder: Path) -> list[Path]:
    """Make a folder and those above it.

    Returns:
        The folders that have new names in them for it, outermost first; empty where it was there.

    Raises:
        OSError: it can't be made.
    """
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return [one.parent for one in reversed(missing)]
