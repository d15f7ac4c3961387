"""Evidence as it is found again: records, and the pictures beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.errors import ConfigError
from app.evidence.names import CROP, RECORD, STEM, VIEW
from app.evidence.pixels import DamagedPicture, decode
from app.evidence.record import Record, read_record
from app.frame import AnyImage


@dataclass(frozen=True, slots=True)
class Stored:
    """One record; its picture is read when it is asked for."""

    path: Path
    record: Record

    @property
    def camera(self) -> str:
        """The camera's name as configured then."""
        return self.record.result.camera

    def load(self) -> AnyImage:
        """Return the picture, to the last bit as it was.

        Raises:
            DamagedPicture: it is not there, or not what was written.
        """
        note = self.record.replay.picture
        if not note.ending:
            raise DamagedPicture("no picture was kept: none could be had")
        try:
            payload = self.path.with_suffix(note.ending).read_bytes()
        except OSError as error:
            raise DamagedPicture(
                f"{self.path.with_suffix(note.ending).name} can't be read: {error.strerror}"
            ) from error
        return decode(note, payload)


def find(paths: Sequence[Path]) -> tuple[list[Stored], list[str]]:
    """Return all records in files and folders, in the order of their time, and why some could not be read.

    Args:
        paths: folders, records, or any file beside a record.

    Raises:
        ConfigError: there is no such path, or no record.
    """
    stored, unreadable = [], []
    for path in dict.fromkeys(_records(paths)):
        try:
            stored.append(Stored(path, read_record(path.read_bytes())))
        except (OSError, ValueError) as error:
            unreadable.append(f"{path.name}: {error}")
    if not stored:
        where = ", ".join(str(path) for path in paths)
        why = f"; {unreadable[0]}" if unreadable else ""
        raise ConfigError(f"{where}: no record of evidence is there{why}; name the folder of `evidence.path`")
    return sorted(stored, key=lambda one: (one.record.result.captured_utc, one.path.name)), unreadable


def _records(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            yield from sorted(file for file in path.rglob(f"*{RECORD}") if STEM.search(file.stem))
        elif path.is_file():
            yield _record_of(path)
        else:
            raise ConfigError(f"{path}: it is not there; name evidence: a folder, or a file in it")


def _record_of(path: Path) -> Path:
    ending = next((ending for ending in (CROP, VIEW) if path.name.endswith(ending)), path.suffix)
    return path.with_name(path.name.removesuffix(ending) + RECORD)
