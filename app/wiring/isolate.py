"""The process that reads one source for another one, which starts it; see `app/capture/isolated.py`."""

from __future__ import annotations

import json
import sys

from pydantic import TypeAdapter

from app.capture.inmate import lines, serve, settle_in
from app.capture.parcel import Pixels
from app.config.sections import Source as SourceSection
from app.wiring.cameras import build_source


def main(answers: int, memory: int, last_words: int) -> None:
    """Read the source that the first line describes."""
    kept, asked = settle_in(last_words), lines()
    adapter: TypeAdapter[SourceSection] = TypeAdapter(SourceSection)
    section = adapter.validate_python(json.loads(next(asked)))
    serve(build_source(section), asked, answers, Pixels(memory), kept)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
