"""One network camera's jitter buffer, and whom it tells."""

from __future__ import annotations

import logging
from typing import Protocol

from app.capture.jitter import JitterBuffer
from app.config import sections

logger = logging.getLogger(__name__)

LIMIT_SHARE = 1 / 4
"""Of a camera's budget, that a picture may spend waiting for others of its burst."""


class Tell(Protocol):
    """Takes an event of a camera."""

    def __call__(self, camera: str, kind: str, text: str, **data: object) -> None:
        """Hand it over; neither blocks nor raises."""
        ...


def build_jitter(camera: str, source: sections.Source, allowed_ms: float, tell: Tell) -> JitterBuffer:
    """Wire the jitter buffer of one camera; off where no network lies between."""
    mode = source.jitter_buffer if isinstance(source, sections.StreamSource) else "off"

    def changed(jitter_ms: float, wait_ms: float) -> None:
        what = f"pictures may wait {wait_ms:.0f} ms for one another" if wait_ms else "the newest picture wins again"
        text = f"the link jitters by {jitter_ms:.0f} ms: {what}"
        logger.info("%s: %s", camera, text, extra={"camera": camera, "jitter_ms": jitter_ms, "wait_ms": wait_ms})
        tell(camera, "link", text, jitter_ms=round(jitter_ms, 1), wait_ms=round(wait_ms, 1))

    return JitterBuffer(mode, round(allowed_ms * LIMIT_SHARE * 1e6), changed)
