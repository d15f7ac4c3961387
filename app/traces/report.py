"""One page that shows where the time went; it opens anywhere and fetches nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timezone

from app.errors import ConfigError
from app.latency.percentiles import percentiles
from app.latency.trace_file import FrameTrace, SystemEvent
from app.latency.trace_reader import TraceLog
from app.traces.histograms import histograms
from app.traces.lanes import lanes, length_ms
from app.traces.markup import ms, tag, text
from app.traces.page import document, section, tile
from app.traces.pick import slowest, typical
from app.traces.stacked import stacked
from app.traces.tables import budget_table, event_table, key, mean_parts, samples_of, slowest_table, tail_table
from app.traces.tail import LEAST_FRAMES, Tail, slow_count, tail_of
from app.traces.timeline import FRAMES_A_STRETCH, timeline
from app.traces.timing import PARTS, Timing, timings_of, went_whole_way
from app.traces.words import absent, coincidence_line, headline, sample_note

SLOWEST = 10
MADE_OF = "Milliseconds from the exposure to the broker's answer."
BUDGET = "What each stage may take of it, and how often it took more."
SPREAD = (
    "One logarithmic scale for all. The height is the root of the count, so that single frames are seen; the dashed "
    "line is the stage's share of the budget."
)
MIDDLE = (0.4, 0.6)
"""The frames around the median whose stages are shown as the typical ones."""


def report(log: TraceLog) -> str:
    """Return the page.

    Raises:
        ConfigError: no frame of the file has a verdict.
    """
    timings = timings_of(log.frames)
    if not timings:
        raise ConfigError(f"{log.path}: no frame in it has a verdict, so there is nothing to report")
    tail = tail_of(timings, log.events) if len(went_whole_way(timings)) >= LEAST_FRAMES else None
    cameras = sorted({timing.camera for timing in timings})
    parts = [
        _header(log, timings),
        _tiles(log, timings),
        tag("p", text(_lead(timings, tail)), class_="lead"),
        *(_camera(log, camera, [t for t in timings if t.camera == camera]) for camera in cameras),
        *([_tail(tail)] if tail is not None else []),
        _slowest(timings),
        _footer(log),
    ]
    title = f"Taktsight: {log.runs[0].line if log.runs else log.path.name}"
    return document(title, *parts)


def _header(log: TraceLog, timings: Sequence[Timing]) -> str:
    if log.runs:
        run = log.runs[0]
        began = datetime.fromtimestamp(run.started_utc_ns / 1e9, timezone.utc)
        made_by = f"Taktsight {run.version}, configuration {run.config}"
        what = f"line {run.line}, started {began:%Y-%m-%d %H:%M:%S} UTC, {made_by}"
    else:
        what = "the file says nothing of its run"
    seconds = (max(t.ended_ns for t in timings) - min(t.began_ns for t in timings)) / 1e9
    return tag("h1", text("Where the time goes")) + tag("p", text(f"{what}; {seconds:,.1f} s in {log.path.name}"))


def _tiles(log: TraceLog, timings: Sequence[Timing]) -> str:
    found = percentiles([timing.total_ms for timing in timings])
    over = sum(timing.is_over for timing in timings)
    verdicts = Counter(timing.verdict for timing in timings)
    budgets = sorted({timing.budget_ms for timing in timings})
    told = sum(timing.is_over and timing.late for timing in timings)
    said = f"; {told} had said UNKNOWN/late before" if told else ""
    words = ", ".join(f"{verdicts[word]} {word}" for word in ("OK", "NG", "UNKNOWN") if verdicts[word])
    tiles = [
        tile(f"{ms(found.p50)} ms", "median, exposure to broker"),
        tile(f"{ms(found.p99)} ms", f"99th percentile of {found.count}"),
        tile(f"{ms(found.max)} ms", "slowest", "alarm" if over else ""),
        tile(" / ".join(f"{budget:g}" for budget in budgets) + " ms", "budget"),
        tile(str(over), f"over the budget ({over / len(timings):.1%}){said}", "alarm" if over else "good"),
        tile(str(len(timings)), words),
    ]
    passed = len(log.frames) - len(log.published)
    if passed:
        tiles.append(tile(str(passed), "frames passed over by the gate"))
    return tag("div", *tiles, class_="tiles")


def _lead(timings: Sequence[Timing], tail: Tail | None) -> str:
    usual = mean_parts(_middle(timings))
    largest = max(usual, key=lambda part: usual[part])
    share = usual[largest] / max(sum(usual.values()), 1e-9)
    first = f"Of a typical frame, {largest} takes {share:.0%} ({ms(usual[largest])} ms)."
    return first if tail is None else f"{first} {headline(tail)}"


def _camera(log: TraceLog, camera: str, timings: Sequence[Timing]) -> str:
    """Return what concerns one camera: a picture of its stages, two frames, its percentiles, its budget."""
    budget_ms = timings[0].budget_ms
    known = [run.cameras[camera].stages_ms for run in log.runs if camera in run.cameras]
    limits_ms = known[-1] if known else {}
    events = [event for event in log.events if event.camera in ("", camera)]
    ordered = sorted(went_whole_way(timings), key=lambda timing: timing.total_ms)
    slow = ordered[-slow_count(len(ordered)):]  # fmt: skip
    rows = [("typical frame", mean_parts(_middle(timings))), (_slow_label(len(slow)), mean_parts(slow))]
    samples = samples_of(timings)
    made_of = key([part for part in samples if part in PARTS]), stacked(rows, budget_ms)
    return "".join(
        (
            section(f"{camera}: what a frame is made of", MADE_OF, *made_of),
            _frames(log.frames, events, timings),
            section(f"{camera}: over time", _timeline_words(len(timings)), timeline(timings, events, budget_ms)),
            section(f"{camera}: the budget", BUDGET, budget_table(timings, limits_ms, budget_ms)),
            section(f"{camera}: how each stage is spread", SPREAD, histograms(samples, limits_ms)),
        )
    )


def _frames(frames: Sequence[FrameTrace], events: Sequence[SystemEvent], timings: Sequence[Timing]) -> str:
    by_id = {frame.trace_id: frame for frame in sorted(frames, key=lambda frame: frame.rev)}
    both = [("Typical frame", typical(went_whole_way(timings))), ("Slowest frame", slowest(timings))]
    limit_ms = max(length_ms(by_id[timing.trace_id]) for _, timing in both)
    pictures = [_frame_title(label, timing) + lanes(by_id[timing.trace_id], events, limit_ms) for label, timing in both]
    return section(f"{timings[0].camera}: two frames, step by step", "One scale for both.", *pictures)


def _frame_title(label: str, timing: Timing) -> str:
    words = f"{label}: {timing.name}, {timing.verdict}, {ms(timing.total_ms)} ms, "
    return tag("h3", text(words), tag("code", text(timing.trace_id)))


def _tail(tail: Tail) -> str:
    words = [sample_note(tail), *(coincidence_line(one, len(tail.slow)) for one in tail.found), absent(tail)]
    return section(
        f"The tail: the slowest {len(tail.slow)} of {tail.frames} frames",
        headline(tail),
        tail_table(tail),
        tag("h3", text("What happened meanwhile: share of frames during which it did")) if tail.found else "",
        event_table(tail) if tail.found else "",
        *(tag("p", text(line)) for line in words if line),
    )


def _slowest(timings: Sequence[Timing]) -> str:
    worst = sorted(timings, key=lambda timing: timing.total_ms, reverse=True)[:SLOWEST]
    return section("The slowest frames", "taktsight trace show ID FILE prints any of them.", slowest_table(worst))


def _footer(log: TraceLog) -> str:
    broken = f"{log.broken} broken lines left out ({log.first_broken}). " if log.broken else "No line was broken. "
    dropped = f"The writer dropped {log.dropped} lines. " if log.dropped else "The writer dropped none. "
    how = (
        "Percentiles are by nearest rank: each is a frame that was measured. The total ends with the broker's "
        "acknowledgement; presentation comes after it. Wait is time in a hand-off or at the gate; between is time in "
        "which no step of the frame ran."
    )
    return tag("footer", text(broken + dropped + how))


def _middle(timings: Sequence[Timing]) -> Sequence[Timing]:
    ordered = sorted(went_whole_way(timings), key=lambda timing: timing.total_ms)
    first, last = (int(len(ordered) * share) for share in MIDDLE)
    return ordered[first : max(last, first + 1)]


def _slow_label(count: int) -> str:
    return "slowest frame" if count == 1 else f"slowest {count}, mean"


def _timeline_words(count: int) -> str:
    if count < 2 * FRAMES_A_STRETCH:
        return f"Each dot is a frame; {count} frames are too few to show percentiles over time."
    return (
        f"Each step of a line is the percentile of a stretch with {FRAMES_A_STRETCH} frames or more; where there are "
        "fewer than 100, p99 is the slowest of them. Dots are frames, red ones over the budget."
    )
