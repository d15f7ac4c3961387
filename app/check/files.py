"""Whether files can be read and folders written, told without opening them."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Literal, TypeAlias

Wanted: TypeAlias = Literal["file", "folder", "any"]

_CHMOD = "chown or chmod it, or run as its owner"


def refusal_to_read(path: Path, wanted: Wanted = "file") -> str | None:
    """Return why a file or folder can't be read by this user, or None where it can."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return f"{path}: there is no such {'file or folder' if wanted == 'any' else wanted}; correct the path"
    except PermissionError:
        return f"{path}: no permission to look into a folder above it; {_CHMOD}"
    except (OSError, ValueError) as error:
        return f"{path}: {error}; correct the path"
    folder = stat.S_ISDIR(mode)
    if folder != (wanted == "folder") and wanted != "any":
        return f"{path}: it is a {'folder' if folder else 'file'}; name a {wanted}"
    if not os.access(path, os.R_OK | os.X_OK if folder else os.R_OK):
        return f"{path}: no permission to read it; {_CHMOD}"
    return None


def refusal_to_make(folder: Path) -> str | None:
    """Return why a folder can't be made or written to by this user, or None where it can."""
    try:
        there = next(above for above in (folder, *folder.absolute().parents) if above.exists())
    except (OSError, ValueError) as error:
        return f"{folder}: {error}; correct the path"
    if not there.is_dir():
        return f"{there}: it is a file, and a folder is wanted; move it away or choose another path"
    if not os.access(there, os.W_OK | os.X_OK):
        return f"{there}: no permission to write in it; {_CHMOD}"
    return None
