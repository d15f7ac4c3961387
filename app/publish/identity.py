"""The client id of this machine at the broker."""

from __future__ import annotations

import hashlib
import socket
import uuid
from pathlib import Path

from app.publish.topics import slug

MACHINE_ID = Path("/etc/machine-id")


def client_id(line: str, role: str = "", machine_id: Path = MACHINE_ID) -> str:
    """Return an id that no other machine has, the same after every start.

    Copies of a disk image share a machine id, containers often have none: the network card's address and the host's
    name go in as well. Only a hash is shown.

    Args:
        line: the line's name; two services of one machine differ by it.
        role: what else tells two clients of one machine apart.
        machine_id: systemd's file.
    """
    try:
        machine = machine_id.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        machine = ""
    seed = "\n".join((machine, f"{uuid.getnode():012x}", socket.gethostname(), line, role))
    name = "-".join(filter(None, ("taktsight", role, slug(line)[:24] if line else "")))
    return f"{name}-{hashlib.sha256(seed.encode()).hexdigest()[:10]}"
