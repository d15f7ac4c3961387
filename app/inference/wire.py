"""The Protocol Buffers wire format, just enough to walk a message without its schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5

Value: TypeAlias = int | memoryview


class Cut(ValueError):  # noqa: N818 - named after the finding
    """A field goes on past the end of the data."""


def fields(data: memoryview) -> Iterator[tuple[int, Value]]:
    """Yield the number and the value of each field: an int, or the bytes of a text or message (a view, not a copy).

    Every step moves on by a byte at least and nothing recurses, so the walk is bounded by the data's length.

    Raises:
        Cut: the last field is longer than the data.
        ValueError: this isn't a message.
    """
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, kind = key >> 3, key & 7
        if number == 0 or kind not in (VARINT, FIXED64, LENGTH, FIXED32):
            raise ValueError(f"byte {at}: no field begins with {key}")
        if kind == VARINT:
            value, at = _varint(data, at)
            yield number, value
            continue
        size, at = _varint(data, at) if kind == LENGTH else (8 if kind == FIXED64 else 4, at)
        if at + size > len(data):
            raise Cut(f"field {number} needs {size} bytes from byte {at}, there are {len(data) - at}")
        yield number, data[at : at + size]
        at += size


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    """Read a number of 7 bits a byte, lowest first; return it and where it ended."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise Cut("a number is cut off")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004 - the top bit says that more follows
            return value, at
    raise ValueError(f"byte {at}: a number of more than 10 bytes")


def text(value: Value) -> str:
    """Return a field's text, whatever its bytes."""
    return "" if isinstance(value, int) else bytes(value).decode("utf-8", "replace")


def messages(data: memoryview, number: int) -> Iterator[memoryview]:
    """Yield the sub-messages that have this field number."""
    return (value for found, value in fields(data) if found == number and isinstance(value, memoryview))
