"""Secrets: where they are read from, and how they are kept out of every text."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote

from pydantic import BaseModel

from app.errors import ConfigError

MASK = "***"
LARGEST_SECRET_BYTES = 65536
SHORT = 4
SECRET_KEYS = frozenset({"password", "password_file", "token_file"})

# What follows the scheme of a URL, whole, so that a text of nothing but `://` takes no longer than another.
_AFTER_SCHEME = re.compile(r"(?<=://)[^\s'\"]+")
# `?token=…` and `&api_key=…` of a URL; and of a GStreamer pipeline `user-pw=…`, which may stand in quotes.
_NAMED = re.compile(
    r"(?:(?<=[?&])|\b)((?:[\w.-]{0,40}(?:pass|passwd|password|pwd|token|auth|key|secret|signature)|(?:user|proxy)-pw)=)"
    r"(?:\"([^\"]*)\"|'([^']*)'|([^&\s'\"]+))",
    re.IGNORECASE,
)


def mask_url(text: str) -> str:
    """Return a URL, or any text that holds URLs or `password=…`, without user names, passwords and tokens."""
    return _NAMED.sub(rf"\1{MASK}", _AFTER_SCHEME.sub(_without_user, text))


def _without_user(match: re.Match[str]) -> str:
    """Leave out all up to the last @: a password may hold / and # when somebody forgot to encode it."""
    _, at, rest = match[0].rpartition("@")
    return f"{MASK}@{rest}" if at else rest


def mask(text: str, secrets: Iterable[str]) -> str:
    """Return the text with every secret masked, raw or %-encoded (any part of it), and every URL's user info."""
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = _pattern(secret).sub(MASK, text)
    return mask_url(text)


@lru_cache(maxsize=64)  # the log asks for every line
def _pattern(secret: str) -> re.Pattern[str]:
    body = "".join(_character(character) for character in secret)
    if len(secret) < SHORT:  # a password `on` must not eat the middle of "configuration"
        body = rf"(?<![A-Za-z0-9]){body}(?![A-Za-z0-9])"
    return re.compile(body)


def _character(character: str) -> str:
    encoded = "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogatepass"))
    return f"(?:{re.escape(character)}|(?i:{encoded}))"


def mask_field(name: str, value: object) -> object:
    """Return what may be shown of the value of one key of the configuration."""
    if value is None:
        return None
    if name in SECRET_KEYS:
        return MASK
    return mask_url(value) if isinstance(value, str) else value


def secrets_in(tree: object) -> frozenset[str]:
    """Return every secret text in a configuration, be it the tree of a file or validated sections."""
    return frozenset(filter(None, _secrets("", tree)))


def _secrets(name: str, value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield from _secrets_of_text(name, value)
    elif isinstance(value, Mapping | BaseModel):
        for key, child in value.items() if isinstance(value, Mapping) else value:
            yield from _secrets(key, child)
    elif isinstance(value, list | tuple):
        for child in value:
            yield from _secrets(name, child)
    elif name == "password" and value is not None:
        yield str(getattr(value, "text", value))


def _secrets_of_text(name: str, value: str) -> Iterator[str]:
    if name == "password":
        yield value
    for rest in _AFTER_SCHEME.findall(value):
        password = rest.rpartition("@")[0].partition(":")[2]
        yield password
        yield unquote(password)
    for match in _NAMED.finditer(value):
        secret = match[2] or match[3] or match[4] or ""
        yield secret
        yield unquote(secret)


def read_secret(name_or_path: str, key: str = "password_file") -> str:
    """Return the text of a secret without the line's end.

    Args:
        name_or_path: a file's path, or a bare name, which is looked up in the folder that systemd names in
            `CREDENTIALS_DIRECTORY` first. It is never part of a message: somebody may have put the password itself
            there.
        key: of the configuration, for the message.

    Raises:
        ConfigError: it can't be read or is empty.
    """
    path = _secret_path(name_or_path)
    hint = "it takes a path or the name of a systemd credential, not the secret itself"
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_SECRET_BYTES + 1)
        text = content.decode()
    except FileNotFoundError:
        raise ConfigError(f"{key}: there is no such file or credential; {hint}") from None
    except PermissionError:
        raise ConfigError(f"{key}: this user may not read it; chown or chmod it") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{key}: it is not UTF-8 text; write the secret as plain text") from None
    except (OSError, ValueError) as error:
        raise ConfigError(f"{key}: it can't be read ({type(error).__name__}); {hint}") from None
    if len(content) > LARGEST_SECRET_BYTES:
        raise ConfigError(f"{key}: it is larger than {LARGEST_SECRET_BYTES} bytes; {hint}")
    secret = text.removesuffix("\n").removesuffix("\r")
    if not secret:
        raise ConfigError(f"{key}: it is empty; write the secret into it")
    return secret


def is_credential(name: str) -> bool:
    """Return whether systemd has handed over a credential of this name."""
    folder = os.environ.get("CREDENTIALS_DIRECTORY")
    return bool(folder) and "/" not in name and (Path(folder or "") / name).is_file()


def _secret_path(name_or_path: str) -> Path:
    if is_credential(name_or_path):
        return Path(os.environ["CREDENTIALS_DIRECTORY"]) / name_or_path
    return Path(name_or_path)
