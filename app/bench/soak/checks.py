"""What must hold of a soak, each as one line: pure."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from app.bench.soak.run import Found
from app.bench.soak.samples import growth

MB = 1 << 20
RSS_BYTES = 5 * MB
ROUNDS, NOISE_BYTES = 4, 5 * MB
"""So many rounds after the warm-up tell growth from noise; of fewer, two may differ by so much more for no reason."""
STOP_S = 5.0
SHOWN = 3
"""Examples of what went wrong."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that must hold.

    Attributes:
        name: what.
        met: whether it does.
        text: the figures, or what is wrong.
    """

    name: str
    met: bool
    text: str


def checks(found: Found) -> list[Check]:
    """Return all of them; what grows is looked at where there was a round after the warm-up."""
    grown = [_rss(found), _flat(found, "files"), _flat(found, "threads")] if found.plan.rounds > 2 else []  # noqa: PLR2004 - a first and a last one after the warm-up
    return [_arrived(found), _times(found), _ledger(found), *grown, _log(found), _commands(found), _stopped(found)]


def _arrived(found: Found) -> Check:
    missing, invented = found.missing, found.invented
    text = (
        f"{len(found.judged)} judged, {len(found.arrived.ids)} arrived, {len(missing)} missing, "
        f"{len(invented)} invented, {found.arrived.twice} came twice with their id"
    )
    examples = sorted(missing | invented)[:SHOWN]
    fits = not missing and not invented and bool(found.judged)
    return Check("every result arrives", fits, text + (f": {', '.join(examples)}" if examples else ""))


def _times(found: Found) -> Check:
    notes = ", ".join(f"{count} with the clock's note {note}" for note, count in sorted(found.arrived.notes.items()))
    wrong = found.arrived.negative
    return Check("no time below zero", not wrong, "; ".join(wrong[:SHOWN]) or notes)


def _ledger(found: Found) -> Check:
    ends = final_counts(found)
    odd = [name for name, (_, balanced) in ends.items() if not balanced]
    said = "; ".join(f"{name}: {text}" for name, (text, _) in ends.items())
    text = "; ".join([*found.unbalanced[:SHOWN], *odd]) or f"at {found.looked} looks, and at the end: {said}"
    return Check("every frame is accounted for", not found.unbalanced and not odd and bool(ends), text)


def final_counts(found: Found) -> dict[str, tuple[str, bool]]:
    """Return what each camera's frames came to, as the log's last lines say, and whether they add up with none left."""
    ends: dict[str, tuple[str, bool]] = {}
    for line in found.log:
        counts = line.get("counts")
        if isinstance(counts, dict):
            whole = sum(counts[name] for name in ("judged", "overwritten", "skipped", "late", "failed", "waiting"))
            text = re.sub(r"^\S+ ", "", str(line["event"]))
            ends[str(line["camera"])] = (text, whole == counts["captured"] and not counts["settled_twice"])
    return ends


def _rss(found: Found) -> Check:
    seen = growth(found.samples, found.plan, "rss_bytes", min)  # pictures that wait come and go
    rounds = ", ".join(f"{value / MB:.1f}" for value in seen.rounds)
    blocks = [line["blocks"] for line in found.log if line.get("event") == "memory"][1:]
    of_python = f"; Python's own blocks {blocks[0]} to {blocks[-1]}" if blocks else ""
    text = (
        f"{seen.value / MB:+.1f} MB from the second round to the last by the line through all, "
        f"{seen.by_ends / MB:+.1f} by these two ({rounds} MB){of_python}"
    )
    most = RSS_BYTES + (NOISE_BYTES if len(seen.rounds) < ROUNDS else 0)
    return Check(f"memory does not grow by {most // MB} MB", seen.value < most, text)


def _flat(found: Found, figure: str) -> Check:
    seen = growth(found.samples, found.plan, figure)
    rounds = ", ".join(f"{value:g}" for value in seen.rounds)
    return Check(f"{figure} stay as many", seen.value <= 0, f"{seen.value:+g} ({rounds})")


def _log(found: Found) -> Check:
    unhandled = [f"{line['event']}: {_last_line(line['exception'])}" for line in found.log if "exception" in line]
    levels = Counter(str(line["level"]) for line in found.log)
    text = "; ".join(unhandled[:SHOWN]) or ", ".join(f"{levels[name]} {name}" for name in ("error", "warning", "info"))
    return Check("nothing unforeseen in the log", not unhandled, text)


def _last_line(traceback: object) -> str:
    """Return what a traceback ends with, which says what it was."""
    return (str(traceback).strip().splitlines() or [""])[-1]


def _commands(found: Found) -> Check:
    text = "; ".join(found.unanswered[:SHOWN]) or f"{found.asked} asked, each done or refused as it had to be"
    return Check("every command is answered", not found.unanswered, text)


def _stopped(found: Found) -> Check:
    text = f"exit code {found.exit_code} after {found.stop_s:.1f} s"
    return Check("it stops when it is told to", found.exit_code == 0 and found.stop_s < STOP_S, text)
