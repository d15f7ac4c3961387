"""What systemd is told: ready, alive, one line of status. Without systemd all of it does nothing."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Mapping
from time import monotonic_ns

logger = logging.getLogger(__name__)


class Notifier:
    """Speaks the datagram protocol of sd_notify(3).

    Args:
        environ: the process's environment; `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID` are read from it.
    """

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        address = environ.get("NOTIFY_SOCKET", "")
        # A leading @ stands for the null byte of the abstract namespace.
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self.watchdog_s = _watchdog_s(environ)
        """How long systemd waits for a sign of life before it kills the service; None where it does not."""
        self._complained = False

    @property
    def is_heard(self) -> bool:
        """Whether somebody listens."""
        return bool(self._address)

    def ready(self, status: str) -> None:
        """Say that the service does its work from now on."""
        self._send("READY=1", f"STATUS={status}")

    def status(self, status: str) -> None:
        """Change the line that `systemctl status` shows."""
        self._send(f"STATUS={status}")

    def alive(self) -> None:
        """Pat the watchdog."""
        if self.watchdog_s is not None:
            self._send("WATCHDOG=1")

    def reloading(self) -> None:
        """Say that the configuration is read again; `ready` ends it."""
        self._send("RELOADING=1", f"MONOTONIC_USEC={monotonic_ns() // 1000}")

    def stopping(self, status: str) -> None:
        """Say that the service ends."""
        self._send("STOPPING=1", f"STATUS={status}")

    def _send(self, *lines: str) -> None:
        if not self._address:
            return
        # One line each: a line break in a status would be read as an assignment.
        message = "\n".join(" ".join(line.splitlines()) for line in lines)
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
                channel.setblocking(False)
                channel.sendto(message.encode(), self._address)
        except OSError as error:
            if not self._complained:
                logger.warning("systemd can't be told anything at %s: %s", self._address.replace("\0", "@"), error)
            self._complained = True


def _watchdog_s(environ: Mapping[str, str]) -> float | None:
    """Return the limit in seconds, where one is set and meant for this process."""
    limit, process = environ.get("WATCHDOG_USEC", ""), environ.get("WATCHDOG_PID", "")
    if not limit.isdecimal() or int(limit) == 0 or (process and process != str(os.getpid())):
        return None
    return int(limit) / 1e6
