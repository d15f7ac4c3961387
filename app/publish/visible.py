"""Texts from the broker as a terminal may print them: whoever can publish there must not clear or repaint a screen."""

from __future__ import annotations

import unicodedata
from typing import TypeVar

import msgspec

T = TypeVar("T", bound=msgspec.Struct)

SHOWN_FOR_CONTROL = "·"
_TURNS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")  # make what follows run the other way


def visible(text: str) -> str:
    """Return a text of the same length with control characters replaced."""
    if text.isprintable():
        return text
    return "".join(SHOWN_FOR_CONTROL if _acts(character) else character for character in text)


def _acts(character: str) -> bool:
    return unicodedata.category(character) == "Cc" or character in _TURNS


def visible_message(message: T) -> T:
    """Return a message whose texts are all visible, and so are the keys of what it maps."""
    return msgspec.convert(_walk(msgspec.to_builtins(message)), type(message))


def _walk(value: object) -> object:
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {_walk(key): _walk(child) for key, child in value.items()}
    return [_walk(child) for child in value] if isinstance(value, list) else value
