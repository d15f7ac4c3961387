"""What was put and is not on disk yet, in memory that outlives the process: no wait, and a kill -9 costs nothing."""

from __future__ import annotations

import fcntl
import hashlib
import mmap
import os
import stat
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

from app.publish.store import Row

BYTES = 1 << 20
HEAD_BYTES = 4096
MAGIC = b"taktring1\0\0\0\0\0\0\0"
TAIL_AT, HEAD_AT = 64, 128
"""Where the positions of the first record and of the end stand, each in a cache line of its own."""
FRAME = struct.Struct("<II")
"""Before each record: its length and checksum."""
RECORD = struct.Struct("<QqqB")
"""Number, both times, length of the kind; then the kind and the message."""
SKIP = 0xFFFFFFFF
"""A length that means: go on at the beginning."""


def ring_path(store: Path, runtime: Path | None) -> Path | None:
    """Return where the ring of a store lies: in memory, never on a disk; None where this machine has no such place.

    Args:
        store: the file that it belongs to.
        runtime: the service's own runtime directory, if systemd made one; it stays while the service is restarted.
    """
    shared = Path("/dev/shm")  # noqa: S108 - a file of our own, which is checked to be that
    folder = runtime or shared
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        return None
    name = hashlib.sha256(str(store.absolute()).encode()).hexdigest()[:16]
    return folder / f"taktsight-{os.geteuid()}-{name}.ring"


class Ring:
    """Records in a file in memory, oldest first; written without a call of the system.

    A page of a file on a disk can make its writer wait for the disk; one in memory can't. What is in the ring is there
    for the next process however this one ends. A power cut takes it.

    Args:
        path: on a file system in memory.
    """

    def __init__(self, path: Path, size: int = BYTES) -> None:
        self._path = path
        self._size = size
        self._file: int | None = None
        self._map: mmap.mmap | None = None
        self._head = self._tail = 0

    def open(self) -> list[Row]:
        """Open the ring and return what a process before has left in it; that stays until `release`.

        Raises:
            OSError: it can't be used; another process has it, or it is not this user's.
        """
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            self._check_owner(os.fstat(file))
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.posix_fallocate(file, 0, HEAD_BYTES + self._size)  # now, so that no later write finds memory full
            self._map = mmap.mmap(file, HEAD_BYTES + self._size)
        except BaseException:
            os.close(file)
            raise
        self._file = file
        rows = self._left()
        self._map[: len(MAGIC)] = MAGIC
        return rows

    def close(self) -> None:
        """Let go of it; what is in it stays, and the file with it. Safe to call twice."""
        if self._map is not None:
            self._map.close()
            self._map = None
            if self._tail == self._head:
                self._path.unlink(missing_ok=True)
        if self._file is not None:
            os.close(self._file)
            self._file = None

    @property
    def end(self) -> int:
        """The position after the last record."""
        return self._head

    def put(self, row: Row) -> int | None:
        """Add a record and return its position; None where there is no room, because the disk is slow."""
        ring, kind = self._map, row.kind.encode()
        if ring is None:
            return None
        record = RECORD.pack(row.number, row.put_ns, row.utc_ns, len(kind)) + kind + row.message
        need = -(-(FRAME.size + len(record)) // 8) * 8
        at, rest = self._head, self._size - self._head % self._size
        skip = rest if need > rest else 0
        if at + skip + need - self._tail > self._size:
            return None
        if skip:
            FRAME.pack_into(ring, HEAD_BYTES + at % self._size, SKIP, 0)
            at += skip
        offset = HEAD_BYTES + at % self._size
        FRAME.pack_into(ring, offset, len(record), zlib.crc32(record))
        ring[offset + FRAME.size : offset + FRAME.size + len(record)] = record
        self._head = at + need
        struct.pack_into("<Q", ring, HEAD_AT, self._head)  # last: a record that is half there does not count
        return at

    def release(self, position: int) -> None:
        """Forget the records before a position: they are on disk, or with the broker."""
        if self._map is not None and position > self._tail:
            self._tail = position
            struct.pack_into("<Q", self._map, TAIL_AT, position)

    def _check_owner(self, found: os.stat_result) -> None:
        if found.st_uid != os.geteuid() or not stat.S_ISREG(found.st_mode):
            raise PermissionError(f"{self._path} is not a file of this user")

    def _left(self) -> list[Row]:
        ring = self._map
        assert ring is not None
        if ring[: len(MAGIC)] == MAGIC:
            (self._tail,), (self._head,) = (struct.unpack_from("<Q", ring, at) for at in (TAIL_AT, HEAD_AT))
        if not 0 <= self._head - self._tail <= self._size or self._head % 8:
            self._head = self._tail = 0
            struct.pack_into("<Q", ring, TAIL_AT, 0)
            struct.pack_into("<Q", ring, HEAD_AT, 0)
        return list(self._records(ring))

    def _records(self, ring: mmap.mmap) -> Iterator[Row]:
        """Yield what is between tail and head, up to the first record that is none."""
        at = self._tail
        while at < self._head:
            offset = HEAD_BYTES + at % self._size
            length, checksum = FRAME.unpack_from(ring, offset)
            if length == SKIP:
                at += self._size - at % self._size
                continue
            record = ring[offset + FRAME.size : offset + FRAME.size + length]
            if len(record) < max(length, RECORD.size) or zlib.crc32(record) != checksum:
                return
            number, put_ns, utc_ns, size = RECORD.unpack_from(record)
            kind = record[RECORD.size : RECORD.size + size].decode("ascii", "replace")
            yield Row(number, kind, put_ns, utc_ns, record[RECORD.size + size :])
            at += -(-(FRAME.size + length) // 8) * 8
