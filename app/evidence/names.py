"""Where a kept picture lies and what its files are called."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence

from app.frame import PixelFormat
from app.publish.topics import slug
from app.verdict import Outcome

RECORD = ".json"
CROP = ".crop.png"
VIEW = ".view.jpg"
ENDINGS = (RECORD, CROP, VIEW, ".png", *(f".{pixels.value}" for pixels in PixelFormat))
"""Of all files that a piece may have."""
INCOMING = ".incoming"
"""Files are written in this folder and moved to their place when they are whole."""

STEM = re.compile(r"-\d{6,}-(OK|NG|UNKNOWN)(?:-p\d+)?(?:-r\d+)?(?:-(asked|borderline|late))?-[0-9a-z]+$")
"""Only files of such names are ever removed."""
_DERIVED = re.compile(r"-\d{6,}-(?:OK|NG|UNKNOWN)\b.*(?:\.view\.jpg|\.crop\.png|(?<!view)\.jpg)$")
_TEN_MINUTES_S = 600


def evidence_stem(outcome: Outcome, why: Sequence[str]) -> str:
    """Return the path, without an ending, of one piece of evidence below its folder: `day/camera/time/name`.

    No folder holds more than ten minutes of one camera.
    """
    seconds = outcome.captured_utc_ns // 1_000_000_000
    day = time.strftime("%Y-%m-%d", time.gmtime(seconds))
    begin = time.strftime("%H%M", time.gmtime(seconds - seconds % _TEN_MINUTES_S))
    word = next((word for word in ("asked", "borderline", "late") if word in why), "")
    return f"{day}/{_slug(outcome.camera)}/{begin}/{_name(outcome, word)}"


def sample_stem(outcome: Outcome) -> str:
    """Return the same for a picture of the sample: `camera/day/name`."""
    day = time.strftime("%Y-%m-%d", time.gmtime(outcome.captured_utc_ns // 1_000_000_000))
    return f"{_slug(outcome.camera)}/{day}/{_name(outcome, '')}"


def is_derived(file_name: str) -> bool:
    """Whether a file is a view or a crop of evidence, so that it is no picture that a camera took."""
    return _DERIVED.search(file_name) is not None


def is_spare(stem: str) -> bool:
    """Whether a piece goes before others: OK, and nothing about it is special."""
    match = STEM.search(stem)
    return match is not None and match[1] == "OK" and match[2] is None


def _name(outcome: Outcome, word: str) -> str:
    """Return `camera-seq-verdict…-run`: the run makes it unique over restarts."""
    run = re.sub(r"[^0-9a-z]", "", outcome.trace_id.partition("-")[0].lower())[:8] or "0"
    parts = [_slug(outcome.camera), f"{int(outcome.seq):06d}", outcome.judgement.verdict.value]
    parts += [f"p{int(outcome.part):05d}"] if outcome.part is not None else []
    parts += [f"r{int(outcome.rev)}"] if outcome.rev > 1 else []
    parts += [word] if word else []
    return "-".join([*parts, run])


def _slug(camera: str) -> str:
    """Return the name's topic level; of a name that can have none, where there is no broker, what letters it has."""
    try:
        return slug(camera)
    except ValueError:
        return re.sub(r"[^0-9A-Za-z]+", "-", camera).strip("-").lower()[:64] or "camera"
