"""One folder of kept pictures: whole files or none, within its bounds."""

from __future__ import annotations

import errno
import logging
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from app.errors import ConfigError
from app.evidence.durable import make_folders, sync
from app.evidence.names import ENDINGS, INCOMING, RECORD, STEM, is_spare
from app.evidence.retention import Piece, Retention

logger = logging.getLogger(__name__)

Content: TypeAlias = bytes | memoryview


class Folder:
    """Owned by one thread.

    Args:
        root: made when opened; nobody else writes there.
        key: of the configuration, for messages.
        retention: says what goes.
        min_free: bytes that stay free on the disk.
        synced: whether a piece counts only once the medium has it.
    """

    def __init__(self, root: Path, key: str, retention: Retention, min_free: int, *, synced: bool = False) -> None:
        self.root, self.key = root, key
        self._synced = synced
        self._retention = retention
        self._min_free = min_free
        self._incoming = root / INCOMING

    def open(self) -> None:
        """Make the folder, and remove what was being written when the process before ended.

        Raises:
            ConfigError: it can't be written to.
        """
        try:
            self._sync(make_folders(self._incoming))
            for torn in self._incoming.iterdir():
                torn.unlink()
        except OSError as error:
            raise ConfigError(
                f"{self.key} {self.root}: can't be written ({error.strerror}); choose one that this user may write to"
            ) from error

    def scan(self) -> None:
        """Find what lies there from before; remove pieces that a loss of power has left without pixels or record."""
        whole: list[Piece] = []
        for stem, files in self._found().items():
            record = files.get(RECORD)
            if record is None or any(size == 0 for size, _ in files.values()):
                self._remove(stem)
                continue
            size = sum(size for size, _ in files.values())
            whole.append(Piece(stem, size, record[1], is_spare(stem)))
        for piece in sorted(whole, key=lambda piece: piece.at_s):
            self._retention.add(piece)

    def save(self, stem: str, files: Sequence[tuple[str, Content]]) -> None:
        """Write all files of one piece, or none; then it counts as a piece.

        Args:
            stem: its path, without an ending.
            files: endings and contents; the record last, since a piece without one is torn.

        Raises:
            OSError: the disk does not take it, or has too little room left.
        """
        size = sum(memoryview(content).nbytes for _, content in files)
        self._make_room(size)
        if shutil.disk_usage(self.root).free - size < self._min_free:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        name = stem.rpartition("/")[2]
        moves = [(self._incoming / f"{name}{ending}", self.root / f"{stem}{ending}") for ending, _ in files]
        try:
            for (temporary, _), (_, content) in zip(moves, files, strict=True):
                temporary.write_bytes(content)
            self._move(moves, (self.root / stem).parent)
        except OSError:
            for path in (path for move in moves for path in move):
                _unlink(path)
            raise
        self._retention.add(Piece(stem, size, time.time(), is_spare(stem)))

    def _move(self, moves: Sequence[tuple[Path, Path]], place: Path) -> None:
        """Give written files their names: contents on the medium first, so that no name is ever without its content."""
        self._sync([temporary for temporary, _ in moves])
        renewed = make_folders(place)
        for temporary, final in moves:
            temporary.replace(final)
        self._sync([place, *reversed(renewed)])

    def _sync(self, paths: Sequence[Path]) -> None:
        if self._synced:
            for path in paths:
                sync(path)

    def tidy(self) -> None:
        """Remove what has become too old."""
        self._make_room(0)

    def _make_room(self, size: int) -> None:
        for piece in self._retention.excess(time.time(), size):
            self._remove(piece.stem)

    def _remove(self, stem: str) -> None:
        """Remove all files of a piece, and its folders where nothing else is in them."""
        for ending in ENDINGS:  # the record first: what the end of the process leaves has none, and goes at the start
            _unlink(self.root / f"{stem}{ending}")
        for folder in (self.root / stem).parents:
            if folder == self.root:
                return
            try:
                folder.rmdir()
            except OSError:
                return  # something is in it

    def _found(self) -> dict[str, dict[str, tuple[int, float]]]:
        """Return size and time of every file by the piece that it belongs to and its ending."""
        found: dict[str, dict[str, tuple[int, float]]] = {}
        for entry in _files(self.root):
            name, _, ending = entry.name.partition(".")
            if STEM.search(name) is None:
                continue
            try:
                status = entry.stat()
            except OSError:  # somebody else has removed it
                continue
            parent = Path(entry.path).parent.relative_to(self.root)
            found.setdefault((parent / name).as_posix(), {})[f".{ending}"] = (status.st_size, status.st_mtime)
        return found


def _files(folder: Path) -> Iterator[os.DirEntry[str]]:
    """Yield every file below a folder, but for hidden ones."""
    try:
        with os.scandir(folder) as entries:
            listed = [entry for entry in entries if not entry.name.startswith(".")]
    except OSError as error:
        logger.warning("%s can't be read (%s)", folder, error.strerror)
        return
    for entry in listed:
        if entry.is_dir(follow_symlinks=False):
            yield from _files(Path(entry.path))
        else:
            yield entry


def _unlink(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        logger.warning("%s can't be removed (%s)", path, error.strerror)
