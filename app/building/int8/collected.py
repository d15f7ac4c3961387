"""The picture files of folders, with what the result beside each says of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from app.capture.listing import natural_key
from app.capture.picture_file import SUFFIXES
from app.errors import ConfigError
from app.evidence.names import is_derived
from app.evidence.selection import FAULTY


@dataclass(frozen=True, slots=True)
class Collected:
    """One picture file.

    Attributes:
        camera: as the result beside it says, else its folder's name.
        taken: UTC as the result beside it says, else "".
        unfit: why it must not calibrate, whatever is in it; "" where it may.
    """

    path: Path
    camera: str
    taken: str
    unfit: str = ""


class _Reason(msgspec.Struct, frozen=True):
    code: str = ""


class _Beside(msgspec.Struct, frozen=True):
    """What is read of a result."""

    camera: str = ""
    captured_utc: str = ""
    reasons: tuple[_Reason, ...] = ()


def collected_in(folder: Path) -> Iterator[Collected]:
    """Yield each picture file of a folder and the folders in it, in the order of the names.

    Raises:
        ConfigError: there is no such folder.
    """
    if not folder.is_dir():
        raise ConfigError(f"{folder}: there is no such folder; name one with pictures of the line (--pictures)")
    found = (path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file())
    shown = (path for path in found if not any(part.startswith(".") for part in path.relative_to(folder).parts))
    for path in sorted(shown, key=lambda path: (path.parent.as_posix(), natural_key(path.name))):
        beside = _beside(path)
        camera = beside.camera or path.parent.relative_to(folder).as_posix().strip(".")
        yield Collected(path, camera, beside.captured_utc, _unfit(path, beside))


def _unfit(path: Path, beside: _Beside) -> str:
    if is_derived(path.name):
        return "it is a view or a crop of evidence"
    unseen = [reason.code for reason in beside.reasons if reason.code in {code.value for code in FAULTY}]
    return f"the network is never asked about such a picture ({unseen[0]})" if unseen else ""


def _beside(path: Path) -> _Beside:
    """Return what the result beside a picture says; nothing where there is none, or another file of that name."""
    try:
        return msgspec.json.decode(path.with_suffix(".json").read_bytes(), type=_Beside)
    except (OSError, msgspec.DecodeError):
        return _Beside()
