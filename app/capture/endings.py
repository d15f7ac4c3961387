"""Whether the bytes of a picture file reach the end that its format promises.

A decoder fills the missing rows of a cut JPEG with flat colour and reports success, so the bytes are asked, not the
decoder.
"""

from __future__ import annotations

import re

JPEG_HEAD = b"\xff\xd8"
PNG_HEAD = b"\x89PNG\r\n\x1a\n"
PNG_END = b"IEND\xaeB`\x82"

_MARKER = re.compile(rb"\xff([\x01-\xcf\xd8-\xfe])")  # FF 00 and FF D0 … D7 belong to the picture's own data
_START_OF_SCAN, _START, _END, _TEMPORARY = 0xDA, 0xD8, 0xD9, 0x01


def reaches_its_end(data: bytes) -> bool | None:
    """Return whether `data` is whole; None for formats that do not tell."""
    if data.startswith(JPEG_HEAD):
        return jpeg_reaches_its_end(data)
    if data.startswith(PNG_HEAD):
        return PNG_END in data
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return len(data) >= 8 + int.from_bytes(data[4:8], "little")
    if data[:2] == b"BM":
        return len(data) >= int.from_bytes(data[2:6], "little")
    return None


def jpeg_reaches_its_end(data: bytes) -> bool:
    """Return whether a JPEG has its end marker (FF D9) after a scan.

    Segments are stepped over, because a thumbnail in the EXIF data brings an end marker of its own. Bytes behind the
    end marker and strange bytes before a marker are no reason to refuse it.
    """
    position, scanned = len(JPEG_HEAD), False
    while (found := _MARKER.search(data, position)) is not None:
        marker, position = found[1][0], found.end()
        if marker == _END:
            return scanned
        if marker in (_START, _TEMPORARY):  # the markers without a length
            continue
        scanned = scanned or marker == _START_OF_SCAN
        position += max(2, int.from_bytes(data[position : position + 2], "big"))
    return False
