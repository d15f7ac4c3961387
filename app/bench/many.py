"""Many cameras on one engine, beside that engine in a bare loop: what the line keeps of it, and who gets how much."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from time import monotonic_ns

from rich.console import Console
from rich.progress import track
from rich.table import Table

from app.bench import machine
from app.bench.held import Held, Limited
from app.bench.line import run_line, stand
from app.bench.load import PICTURES, Load, noisy_pictures, synthetic
from app.bench.reel import host
from app.capture.base import Source
from app.config import LoadedConfig, load
from app.engine import Engine, Look
from app.errors import TaktsightError
from app.frame import Picture
from app.latency.percentiles import percentile
from app.steady.steady import Steady
from app.verdict import Outcome
from app.wiring.models import build_model
from app.wiring.swap import Swap

CAMERAS = (1, 2, 4, 8)
ROUNDS = 5
FPS = 30.0
SIZE_WH = (960, 720)
DEMO = Path(__file__).resolve().parents[2] / "configs" / "demo.yaml"


@dataclass(frozen=True, slots=True)
class Row:
    """What became of one number of cameras.

    Attributes:
        looked_s: pictures a second that the engine looked at; like the next two the median of all rounds.
        bare_s: of the same engine in a bare loop, before and after the line: pictures in, detections out.
        network_s: of its network alone.
        shares: what the line kept of the bare loop in each round.
        jain: Jain's index of the cameras' shares; 1 where all have the same.
        p50_ms, p99_ms: exposure to the broker, of what was looked at.
    """

    cameras: int
    looked_s: float
    bare_s: float
    network_s: float
    shares: list[float]
    jain: float
    p50_ms: float
    p99_ms: float
    late: int


def jain(values: Sequence[float]) -> float:
    """Return Jain's index of fairness (Jain, Chiu, Hawe, 1984): 1/n where one has all, 1 where all have the same."""
    total = sum(values)
    return total**2 / (len(values) * sum(value**2 for value in values)) if total else 0.0


def measure(loaded: LoadedConfig, cameras: int, seconds: float) -> Row:
    """Run so many cameras and the bare engine in turns, because the machine's own speed changes within a minute."""
    asked = Load(cameras, FPS, SIZE_WH, seconds / ROUNDS)
    pictures = noisy_pictures(PICTURES, SIZE_WH)
    outcomes: list[Outcome] = []
    looked: list[Outcome] = []
    rounds: list[tuple[float, float, float]] = []
    before = _bare(loaded, pictures, asked.seconds / 2)
    for _ in range(ROUNDS):
        ran: list[Outcome] = []
        spent_s = _run(synthetic(loaded, asked), asked, pictures, ran)
        after = _bare(loaded, pictures, asked.seconds / 2)
        seen = [one for one in ran if one.model and any(stage == "inference" for stage, *_ in one.trace.spans)]
        rounds.append((len(seen) / spent_s, (before[0] + after[0]) / 2, (before[1] + after[1]) / 2))
        before = after
        outcomes += ran
        looked += seen
    shares = Counter(outcome.camera for outcome in looked)
    total_ms = sorted(outcome.trace.total_ms for outcome in looked) or [0.0]
    looked_s, bare_s, network_s = (median(values) for values in zip(*rounds, strict=True))
    return Row(
        cameras,
        looked_s,
        bare_s,
        network_s,
        [line / bare for line, bare, _ in rounds],
        jain([shares[f"camera-{number}"] for number in range(1, cameras + 1)]),
        percentile(total_ms, "50"),
        percentile(total_ms, "99"),
        sum(1 for outcome in outcomes if outcome.level == "late" or outcome.late),
    )


def _bare(loaded: LoadedConfig, pictures: list[Picture], seconds: float) -> tuple[float, float]:
    """Return how often a second the engine alone looks at a picture, and its network alone runs."""
    engine = build_model("bare", next(iter(loaded.config.models.values()))).engine
    with Steady(loaded.config.process) as steady, engine.backend:  # with as many threads as the line
        steady.warm()
        return _bare_s(engine, pictures, seconds / 2), _network_s(engine, seconds / 2)


def _run(loaded: LoadedConfig, asked: Load, pictures: list[Picture], outcomes: list[Outcome]) -> float:
    """Run the line; return the seconds from the first picture to the last verdict."""

    def source(_camera: str, _: Source) -> Source:
        return Limited(Held(pictures, asked.fps), asked.frames)

    ended_ns: list[int] = []

    def judged(outcome: Outcome) -> None:
        outcomes.append(outcome)
        ended_ns[:] = [monotonic_ns()]

    with stand(loaded) as line:
        run_line(line, Swap(source=source), judged)
    return (ended_ns[0] - min(outcome.trace.exposed_ns for outcome in outcomes)) / 1e9


def _bare_s(engine: Engine, pictures: list[Picture], seconds: float) -> float:
    """Return how many pictures a second the engine looks at in a loop that does nothing else."""
    began_ns, looked = monotonic_ns(), 0
    while (spent_ns := monotonic_ns() - began_ns) < seconds * 1e9:
        engine.look([Look(pictures[looked % len(pictures)].image, 0.25)])
        looked += 1
    return looked / (spent_ns / 1e9)


def _network_s(engine: Engine, seconds: float) -> float:
    """Return how often a second its network alone runs."""
    bare = host(engine)
    began_ns, ran = monotonic_ns(), 0
    while (spent_ns := monotonic_ns() - began_ns) < seconds * 1e9:
        bare.backend.infer(bare.feeds)
        ran += 1
    return ran / (spent_ns / 1e9)


def table_of(rows: Sequence[Row]) -> Table:
    """Return the rows as a table."""
    table = Table(
        "cameras", "looked at / s", "bare loop / s", "share", "network alone / s", "Jain", "p50 ms", "p99 ms", "late"
    )
    for column in table.columns:
        column.justify = "right"
    for row in rows:
        cells = [f"{row.looked_s:.1f}", f"{row.bare_s:.1f}", _shares(row.shares), f"{row.network_s:.1f}",
                 f"{row.jain:.3f}", f"{row.p50_ms:.1f}", f"{row.p99_ms:.1f}", str(row.late)]  # fmt: skip
        table.add_row(str(row.cameras), *cells)
    return table


def _shares(shares: Sequence[float]) -> str:
    return f"{median(shares):.0%} ({min(shares):.0%} … {max(shares):.0%})"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="scripts/many_cameras", description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each number of cameras")
    parser.add_argument("--cameras", default=",".join(map(str, CAMERAS)), help="numbers of cameras")
    wanted = parser.parse_args(arguments)
    console = Console()
    console.print(", ".join(f"{key} {value}" for key, value in machine.describe().items()), highlight=False)
    try:
        loaded = load(DEMO)
        # A camera whose pictures wait is never late here: what is asked is how much the engine is kept at work.
        config = loaded.config.model_copy(update={"evidence": None, "jsonl": None, "trace": None})
        numbers = [int(number) for number in wanted.cameras.split(",")]
        rows = [
            measure(replace(loaded, config=config), number, wanted.seconds)
            for number in track(numbers, "measuring", console=console, transient=True)
        ]
    except TaktsightError as error:
        sys.stderr.write(f"many_cameras: {error}\n")
        return error.exit_code
    console.print(table_of(rows))
    console.print(
        f"share: of what the same engine gives in a bare loop (pictures in, detections out) before and after the "
        f"line; the median of {ROUNDS} rounds, the least and the most"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
