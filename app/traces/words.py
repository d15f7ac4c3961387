"""What a tail means, in sentences for a person; the table and the report say the same words."""

from __future__ import annotations

from app.traces.coincidence import TELLING_HITS, Coincidence
from app.traces.tail import LEAST_SLOW, Excess, Tail
from app.traces.timing import BETWEEN

MEANINGS = {
    "capture": "the camera, its driver or the decoding of its pictures",
    "wait": "frames wait for their turn: those before them, or too many cameras, keep the inspect thread",
    "preprocess": "the picture's way into the network's input",
    "inference": "the engine",
    "postprocess": "decoding, the second look or the rules",
    "network": "the broker, or the way there",
    BETWEEN: "no step ran: the thread waited for a processor or for the interpreter",
}

MEANINGS_OF_STEPS = {
    "gate": "the gate holds a picture until it knows that no better one of the same part follows",
    "guard": "the checks of a picture, or the hand-over on the capture thread",
    "refine": "the second look",
}


def headline(tail: Tail) -> str:
    """Return who makes the tail, in one sentence."""
    culprit = tail.culprit
    if culprit is None:
        return "No stage took longer than usual: there is no tail."
    part = "Time between the steps" if culprit.part == BETWEEN else culprit.part.capitalize()
    verb = "makes the tail" if tail.is_clear else "has the largest share, but no stage alone makes the tail"
    step = f", most of it {culprit.step}" if _names_more(culprit) else ""
    slow = f"the slowest {len(tail.slow)} of {tail.frames} frames"
    meaning = MEANINGS_OF_STEPS.get(culprit.step, MEANINGS[culprit.part])
    return (
        f"{part} {verb}: {culprit.share:.0%} of the time that {slow} took longer than usual "
        f"(+{culprit.excess_ms:.1f} ms each on average{step}); it was the worst stage in {culprit.made} of them. "
        f"What it is: {meaning}."
    )


def sample_note(tail: Tail) -> str:
    """Return which frames were compared; empty where it is one percent of all."""
    few = f"One percent of {tail.frames} frames is too few to look at: the slowest {len(tail.slow)} are shown. "
    out = f"{tail.left_out} frames that the engine did not look at are left out. "
    return ((few if len(tail.slow) <= LEAST_SLOW else "") + (out if tail.left_out else "")).strip()


def coincidence_line(one: Coincidence, slow_count: int) -> str:
    """Return what one kind of event has to do with the tail, in one sentence."""
    often = f"in {one.slow_hits} of {slow_count} slow frames"
    if one.is_telling:
        return f"{one.label} goes with the tail: {often}, by chance it would be {one.chance:.0%}."
    if one.slow_hits == 0:
        return f"{one.label}: in no slow frame."
    if one.slow_hits < TELLING_HITS:
        return f"{one.label}: {often}; one alone says nothing."
    return f"{one.label}: {often}, which chance alone may give ({one.chance:.0%})."


def absent(tail: Tail) -> str:
    """Return which of the usual suspects the file has no word of; empty where all are there."""
    kinds = {one.kind for one in tail.found}
    missing = [
        label for kind, label in (("gc", "long garbage collections"), ("throttle", "throttling")) if kind not in kinds
    ]
    return f"Not seen in this file: {', '.join(missing)}." if missing else ""


def _names_more(excess: Excess) -> bool:
    return bool(excess.step) and excess.step != excess.part
