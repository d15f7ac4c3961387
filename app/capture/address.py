"""The address of a network camera: what is shown, and what is opened."""

from __future__ import annotations

from urllib.parse import quote, urlsplit, urlunsplit


def with_credentials(url: str, username: str | None, password: str | None) -> str:
    """Return the URL with user name and password in it, %-encoded; only ever handed to whoever opens it."""
    if username is None:
        return url
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    user = quote(username, safe="")
    if password is not None:
        user = f"{user}:{quote(password, safe='')}"
    return urlunsplit(parts._replace(netloc=f"{user}@{host}"))
