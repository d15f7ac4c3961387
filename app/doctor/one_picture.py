"""One picture of one camera: opened as the service opens it, read, closed; a child of the doctor."""

from __future__ import annotations

import logging
import sys
import time
from pathlib import Path
from typing import Any

from app.capture.base import Source
from app.capture.checks import is_black
from app.config import load, sections
from app.doctor.child import answer
from app.errors import EndOfStream, SourceError
from app.frame import size_of
from app.wiring.cameras import build_source

READ_S = 0.5
BLACK = 12
"""No brighter pixel means a cover on the lens, or no light; as in the guard."""


def take(source: Source, timeout_s: float) -> dict[str, Any]:
    """Return the size, pixel format and fault of a first picture and how long it took, or `fault`."""
    began_s = time.monotonic()
    try:
        with source as opened:
            open_s = time.monotonic() - began_s
            picture = None
            while picture is None and time.monotonic() - began_s < timeout_s:
                picture = opened.read(READ_S)
    except EndOfStream:
        return {"fault": "it has no picture"}
    except SourceError as error:
        return {"fault": str(error)}
    if picture is None:
        return {"fault": f"it opens, but no picture came within {timeout_s:.0f} s"}
    return {
        "open_s": round(open_s, 2),
        "first_s": round(time.monotonic() - began_s, 2),
        "size_wh": list(size_of(picture.image)),
        "is_black": picture.data.size > 0 and is_black(picture, BLACK),
        "damage": "" if picture.fault is None else picture.fault.text,
    }


def section_of(arguments: list[str]) -> sections.Source:
    """Return the source that is meant: of a camera in a configuration, or of a device."""
    if arguments[0] == "--device":
        return sections.V4l2Source(kind="v4l2", device=arguments[1])
    return load(Path(arguments[0])).config.cameras[arguments[1]].source


if __name__ == "__main__":
    logging.disable()  # what matters comes as an error
    answer(take(build_source(section_of(sys.argv[1:])), float(sys.argv[3])))
