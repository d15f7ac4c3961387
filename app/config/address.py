"""Hosts and stream addresses: what can be connected to, told without repeating any of it (it may hold a password)."""

from __future__ import annotations

import re
from ipaddress import ip_address
from urllib.parse import urlsplit

SCHEMES = ("rtsp", "rtsps", "http", "https")

_HOST = re.compile(r"[A-Za-z0-9._-]+|\[?[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*(%\w+)?\]?")
_NAME_AND_PORT = re.compile(r"[^:]*:\d*")


def check_host(host: str) -> str:
    """Return the host.

    Raises:
        ValueError: it is no plain name or address.
    """
    if _HOST.fullmatch(host) and not _NAME_AND_PORT.fullmatch(host):
        return host
    raise ValueError("must be a name or an address alone; the port, username and password have their own keys")


def is_loopback(host: str) -> bool:
    """Whether only this machine itself can reach what listens there; a name is believed only if it is localhost."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def check_stream_url(url: str) -> str:
    """Return the URL of a network camera.

    Raises:
        ValueError: it has no scheme that can be read, no host, or a port that is none.
    """
    forms = ", ".join(f"{scheme}://" for scheme in SCHEMES)
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ValueError(
            "its host or port can't be read; %-encode / : @ # in a password, or use username and password_file"
        ) from None
    if parts.scheme not in SCHEMES:
        raise ValueError(f"must begin with {forms}; a file is kind: video")
    if not host:
        raise ValueError("has no host; write e.g. rtsp://192.168.1.20/stream1")
    if re.search(r"\s", url):
        raise ValueError("must not hold blanks; %-encode them as %20")
    return url
