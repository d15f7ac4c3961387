"""Where the service keeps what it can make again: systemd's state folder, where there is one."""

from __future__ import annotations

import os
from pathlib import Path


def state_folder() -> Path | None:
    """Return the folder that systemd has made for this service (`StateDirectory=`), or None outside a service.

    Of several folders the first one is meant.
    """
    first = os.environ.get("STATE_DIRECTORY", "").split(":")[0]
    return Path(first) if first else None
