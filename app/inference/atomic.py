"""A file that is written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path


def write_atomically(path: Path, data: bytes | memoryview) -> None:
    """Write a file: whoever reads it, and whoever looks after a loss of power, sees the old content or the new.

    Raises:
        OSError: it can't be written; what was there before still is.
    """
    handle, name = tempfile.mkstemp(".draft", f".{path.name}.", path.parent)
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.chmod(0o644)  # a draft is made for its owner's eyes only
        draft.replace(path)
    finally:
        with suppress(FileNotFoundError):  # it has moved to its place
            draft.unlink()
