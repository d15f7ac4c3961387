"""What a line gains when one of its stages takes no time: the honest way to find its bottleneck."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median

from rich.console import Console
from rich.progress import track
from rich.table import Table

from app.bench.line import STAGES, LineRun, record, run_once, stand
from app.bench.reel import Reel
from app.bench.spread import spread
from app.config import LoadedConfig
from app.errors import ConfigError

FRAMES, ROUNDS = 120, 3
MAX_BYTES = 1 << 30
"""Of memory for recordings."""
WHOLE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Part:
    """What was measured with some stages taken out, over all rounds.

    Attributes:
        without: the stages; none for the whole line.
        own_ms: median over the rounds of the median of a frame's own time.
        own_spread_ms: how much that differs from round to round.
        loses_ms: what the whole line of the same round took more, and how much that differs.
        per_second: pictures a second.
        frames: judged frames that the times are of.
    """

    without: frozenset[str]
    own_ms: float
    own_spread_ms: float
    loses_ms: float
    loses_spread_ms: float
    per_second: float
    per_second_spread: float
    frames: int

    @property
    def name(self) -> str:
        """The stages in the order of a frame's path."""
        return " + ".join(stage for stage in STAGES if stage in self.without)


def wanted(text: str) -> list[frozenset[str]]:
    """Read `preprocess,inference,decode+judge`: what is taken out together is joined by +.

    Raises:
        ConfigError: a stage that there is not.
    """
    parts = [frozenset(name.strip() for name in part.split("+")) for part in text.split(",")]
    unknown = sorted({name for part in parts for name in part} - set(STAGES))
    if unknown:
        names = ", ".join(repr(name) for name in unknown)
        raise ConfigError(f"--without: there is no stage {names}; there are: {', '.join(STAGES)} (a+b for two at once)")
    for part in parts:
        within = part & {"preprocess", "inference", "decode"}
        if "refine" in part and within:
            # The recording of these steps has both looks in it, in turns; without the second, the turns are others.
            raise ConfigError(f"--without: refine uses {', '.join(sorted(within))} again; take it out by itself")
    return list(dict.fromkeys(parts))


def subtract(
    console: Console, loaded: LoadedConfig, without: list[frozenset[str]], *, frames: int = FRAMES, rounds: int = ROUNDS
) -> list[Part]:
    """Run the line whole and without each of the parts, in turns, and print what it loses each time.

    Raises:
        ConfigError: no broker on this machine, or the line can't be wired.
        NothingJudged: no verdict came out of the line.
    """
    with stand(loaded) as line:
        reels = record(line, frames, frozenset().union(*without), MAX_BYTES)
        if any("refine" in part for part in without) and not any(reel.refined for reel in reels.values()):
            raise ConfigError(f"--without refine: {loaded.path} has no second look, or took none on these pictures")
        recorded = min(len(reel.letterboxes) for reel in reels.values())
        if recorded < frames:
            console.print(f"{recorded} pictures instead of {frames}: {MAX_BYTES >> 20} MiB hold no more recordings")
        parts = _measured(line, [WHOLE, *without], reels, frames=min(frames, recorded), rounds=rounds, console=console)
    console.print(_table(parts, rounds))
    for sentence in bottleneck(parts):
        console.print(sentence, highlight=False)
    return parts


def bottleneck(parts: list[Part]) -> Iterable[str]:
    """Say without which part the line is fastest, and which one can't be told from none."""
    whole, *others = parts
    single = [part for part in others if len(part.without) == 1]
    best = max(single or others, key=lambda part: part.per_second)
    if best.per_second - whole.per_second <= best.per_second_spread + whole.per_second_spread:
        yield "no bottleneck among these: the line is no faster without any of them than runs differ"
        return
    gain = best.per_second / whole.per_second
    yield (
        f"bottleneck: {best.name}: without it {best.per_second:.1f} pictures a second instead of "
        f"{whole.per_second:.1f} ({gain:.2f} ×)"
    )
    if len(others) > 1:
        yield "what each loses does not add up to the whole: the stages share the cores, and some run side by side"


def _measured(
    line: LoadedConfig,
    order: list[frozenset[str]],
    reels: Mapping[str, Reel],
    *,
    frames: int,
    rounds: int,
    console: Console,
) -> list[Part]:
    runs: dict[frozenset[str], list[LineRun]] = {without: [] for without in order}
    turns = [order[(turn + start) % len(order)] for start in range(rounds) for turn in range(len(order))]
    for without in track(turns, "measuring", console=console, transient=True):
        runs[without].append(run_once(line, frames, reels, without))
    return [part_of(without, found, runs[WHOLE]) for without, found in runs.items()]


def part_of(without: frozenset[str], runs: list[LineRun], whole: list[LineRun]) -> Part:
    """Sum up the runs of one part beside those of the whole line, round by round: what disturbs one disturbs both."""
    own = [median(run.own_ms) for run in runs]
    loses = [median(beside.own_ms) - spent for beside, spent in zip(whole, own, strict=True)]
    rate = [run.per_second for run in runs]
    frames = sum(len(run.own_ms) for run in runs)
    return Part(without, median(own), spread(own), median(loses), spread(loses), median(rate), spread(rate), frames)


def _table(parts: list[Part], rounds: int) -> Table:
    table = Table(
        "",
        "frame, ms",
        "loses, ms",
        "pictures/s",
        "gains",
        title=f"the line without one of its stages, {rounds} rounds",
    )
    for column in table.columns[1:]:
        column.justify = "right"
    whole = parts[0]
    for part in parts:
        own = f"{part.own_ms:.2f} ± {part.own_spread_ms:.2f}"
        rate = f"{part.per_second:.1f} ± {part.per_second_spread:.1f}"
        if part is whole:
            table.add_row("whole", own, "", rate, "", end_section=True)
            continue
        gain = f"{part.per_second / whole.per_second:.2f} ×"
        loses = f"{part.loses_ms:.2f} ± {part.loses_spread_ms:.2f}"
        style = "" if part.loses_ms > part.loses_spread_ms else "dim"
        table.add_row(f"without {part.name}", own, loses, rate, gain, style=style)
    table.caption = (
        f"frame: median of a judged frame's stages from exposure to the broker's answer, without its waiting for a "
        f"turn; {whole.frames} frames of the whole line were judged"
    )
    return table
