"""What kind of file system a path lies on."""

from __future__ import annotations

import re
from pathlib import Path

IN_MEMORY = frozenset({"tmpfs", "ramfs"})
REMOTE = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "ncpfs"}
)
_ESCAPED = re.compile(r"\\([0-7]{3})")


def kind_of(path: Path, mounts: Path = Path("/proc/self/mountinfo")) -> str:
    """Return the kernel's word for the file system that holds a path which is there; empty where it can't be told.

    Args:
        path: a file or folder.
        mounts: the kernel's table.
    """
    try:
        real, lines = path.resolve(), mounts.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return ""
    best, kind = -1, ""
    for line in lines:
        left, _, right = line.partition(" - ")
        place = Path(_ESCAPED.sub(lambda one: chr(int(one[1], 8)), left.split(" ")[4]))
        if (place == real or place in real.parents) and len(place.parts) >= best:
            best, kind = len(place.parts), right.split(" ")[0]
    return kind
