"""Which files of a folder are pictures, in natural order."""

from __future__ import annotations

import os
import re
from collections.abc import Set as AbstractSet
from pathlib import Path

_DIGITS = re.compile(r"(\d+)")


def pictures_in(folder: Path, suffixes: AbstractSet[str]) -> list[Path]:
    """Return the pictures of `folder`: files with one of `suffixes` (any case) that are not hidden, img2 before img10.

    Sub-folders are not read.

    Raises:
        OSError: the folder can't be read.
    """
    with os.scandir(folder) as entries:
        names = [
            entry.name
            for entry in entries
            if not entry.name.startswith(".")
            and os.path.splitext(entry.name)[1].lower() in suffixes  # noqa: PTH122 - of a name, there is no path yet
            and entry.is_file()
        ]
    return [folder / name for name in sorted(names, key=natural_key)]


def natural_key(name: str) -> tuple[list[tuple[int, int, str]], str]:
    """Return a sort key that compares runs of digits as numbers; equal ones by the name itself."""
    parts = _DIGITS.split(name)
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part.casefold()) for part in parts if part], name


def label_of(path: Path) -> str:
    """Return the file's name as valid Unicode, whatever bytes the disk holds."""
    return os.fsencode(path.name).decode("utf-8", "replace")
