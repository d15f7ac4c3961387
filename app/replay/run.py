"""Judges piece after piece again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack

from app.evidence.pixels import DamagedPicture
from app.evidence.selection import FAULTY, NO_TIME
from app.frame import AnyImage
from app.latency.base import Level
from app.replay.compare import Differences, Replayed, differences, replayed
from app.replay.rules import Again, Rules
from app.replay.setup import Judges, Wanted
from app.replay.stored import Stored
from app.verdict import Code

_NOT_ASKED = {code.value for code in FAULTY | NO_TIME}
_FAULTS = {code.value for code in FAULTY}


def replay(
    pieces: Sequence[Stored], wanted: Wanted, skipped: Sequence[str] = (), on_picture: Callable[[], None] = lambda: None
) -> Differences:
    """Judge all pieces again; one picture is in memory at a time.

    Args:
        pieces: found evidence.
        wanted: what is to be tried.
        skipped: what could not be read already.
        on_picture: called after each, for a progress bar.

    Raises:
        ConfigError: a configuration does not fit.
        ModelError: a model is not there, not the one that it was, or can't be run here.
    """
    done: list[Replayed] = []
    left_out = list(skipped)
    with ExitStack() as stack:
        judges = Judges(wanted, stack)
        for stored in pieces:
            found = _one(stored, judges, wanted)
            if isinstance(found, str):
                left_out.append(f"{stored.path.name}: {found}")
            else:
                done.append(found)
            on_picture()
    return differences(done, left_out)


def _one(stored: Stored, judges: Judges, wanted: Wanted) -> Replayed | str:
    """Return one picture then and now, or why it can't be judged."""
    codes = {reason.code for reason in stored.record.result.reasons}
    if codes & _FAULTS:
        return f"the network is never asked about such a picture ({min(codes & _FAULTS)})"
    try:
        image = stored.load()
    except DamagedPicture as error:
        return str(error)
    rules = judges.of(stored)
    return replayed(stored, judge_again(stored, image, rules, wanted), was_looked_at=_was_looked_at(stored))


def judge_again(stored: Stored, image: AnyImage, rules: Rules, wanted: Wanted) -> Again:
    """Judge one picture; as much of it is looked at as then, where the same things look."""
    result, kept = stored.record.result, stored.record.replay
    level, regions = result.level, len(result.looked)
    if wanted.is_other or not _was_looked_at(stored):
        level, regions = Level.FULL.value, rules.most_regions
    return rules.judge(image, level, regions, kept.region)


def _was_looked_at(stored: Stored) -> bool:
    result = stored.record.result
    if any(reason.code in _NOT_ASKED for reason in result.reasons):
        return False
    # A part that passed and was whole in no picture: what is seen of it in this one took part in nothing.
    is_missed = any(reason.code == Code.NO_PART.value for reason in result.reasons) and not result.detections
    return not is_missed
