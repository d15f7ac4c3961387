"""The files of one kept picture: its pixels, the part, a view for people, the record."""

from __future__ import annotations

import math

from app.bgr import to_bgr
from app.config.evidence import Evidence
from app.evidence.folder import Content
from app.evidence.names import CROP, RECORD, VIEW
from app.evidence.pixels import PictureNote, encode, jpeg
from app.evidence.png import Pause, no_pause, png
from app.evidence.record import record_of
from app.evidence.settings import CameraSetting
from app.evidence.waiting import Job
from app.frame import NO_IMAGE, AnyImage, Image, crop, size_of
from app.publish.draw import annotate
from app.verdict import Outcome


def piece_of(
    job: Job,
    line: str,
    setting: CameraSetting | None,
    section: Evidence | None,
    pause: Pause = no_pause,
) -> list[tuple[str, Content]]:
    """Return endings and contents of all files of a piece, the record last.

    Args:
        job: the picture and what was said of it.
        line: the line's name.
        setting: what it was judged by.
        section: of evidence; None for the sample, which is a PNG in BGR, as whoever calibrates reads it.
        pause: called before each step of about a millisecond, on the calling thread.
    """
    files: list[tuple[str, Content]] = []
    note = PictureNote()
    has_picture = 0 not in size_of(job.image)
    if has_picture:
        note, pixels = encode(
            to_bgr(job.image) if section is None else job.image, section.original if section else "png", pause
        )
        files.append((note.ending, pixels))
    if section is not None:
        files += _for_people(job.outcome, job.image if has_picture else NO_IMAGE, section, pause)
    files.append((RECORD, record_of(job.outcome, line, job.why, note, setting)))
    return files


def _for_people(outcome: Outcome, image: AnyImage, section: Evidence, pause: Pause) -> list[tuple[str, Content]]:
    files: list[tuple[str, Content]] = []
    part = part_of(outcome, image)
    if part is not None:
        files.append((CROP, png(part, pause)))
    if section.view:
        pause()
        files.append((VIEW, jpeg(annotate(outcome, to_bgr(image)), section.quality)))
    return files


def part_of(outcome: Outcome, image: AnyImage) -> Image | None:
    """Return the part that a gate found, in BGR; None where there is none."""
    region, (width, height) = outcome.region_xyxy, size_of(image)
    if region is None or not all(map(math.isfinite, region)):
        return None
    left, top = (min(max(math.floor(edge), 0), most) for edge, most in zip(region[:2], (width, height), strict=True))
    right, bottom = (min(max(math.ceil(edge), 0), most) for edge, most in zip(region[2:], (width, height), strict=True))
    if left >= right or top >= bottom:
        return None
    return to_bgr(crop(image, (left, top, right, bottom)))
