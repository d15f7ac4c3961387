"""A disk of a megabyte or two: a real tmpfs where this user may mount one, else files that are counted."""

import errno
import os
import shutil
import subprocess
from collections import namedtuple
from pathlib import Path

Usage = namedtuple("Usage", "total used free")


class RealDisk:
    """A tmpfs of its own."""

    def __init__(self, folder):
        self.folder = folder

    def mount(self, size):
        """Mount it, and say whether this user may."""
        self.folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(self.folder)]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    def close(self):
        subprocess.run(["umount", "-l", str(self.folder)], capture_output=True, check=False)


class CountedDisk:
    """A folder that takes so many bytes: where nothing can be mounted."""

    def __init__(self, folder, size, monkeypatch):
        self.folder, self.size = folder, size
        folder.mkdir(exist_ok=True)
        self._write = Path.write_bytes
        monkeypatch.setattr(Path, "write_bytes", lambda path, data: self.write(path, data))  # noqa: PLW0108 - a method
        monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(size, self.used, self.free))

    @property
    def used(self):
        return sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())

    @property
    def free(self):
        return self.size - self.used

    def write(self, path, data):
        room, wanted = self.free, memoryview(data).nbytes
        if self.folder in path.parents and wanted > room:
            self._write(path, bytes(data)[: max(room, 0)])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return self._write(path, data)


def fill(folder, keep_free):
    """Let somebody else take all room but so many bytes; return the file."""
    file = folder / "of-somebody-else"
    file.write_bytes(bytes(max(shutil.disk_usage(folder).free - keep_free, 0)))
    return file
