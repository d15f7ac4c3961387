"""Where a service may write: the folders that systemd has made for it, where there are any."""

from __future__ import annotations

import os
from pathlib import Path


def state_folder() -> Path | None:
    """Return the folder for what must be kept (`StateDirectory=`), or None outside a service."""
    return _first("STATE_DIRECTORY")


def cache_folder() -> Path | None:
    """Return the folder for what can be made again (`CacheDirectory=`, or else the one above), if any."""
    return _first("CACHE_DIRECTORY") or state_folder()


def runtime_folder() -> Path | None:
    """Return the folder in memory that outlives a restart (`RuntimeDirectory=`), or None outside a service."""
    return _first("RUNTIME_DIRECTORY")


def _first(variable: str) -> Path | None:
    """Return the first of the folders that systemd names."""
    first = os.environ.get(variable, "").split(":")[0]
    return Path(first) if first else None
