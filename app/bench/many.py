"""Many cameras on one engine, beside that engine in a bare loop: what the line keeps of it, and who gets how much."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
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
FPS = 30.0
SIZE_WH = (960, 720)
DEMO = Path(__file__).resolve().parents[2] / "configs" / "demo.yaml"


@dataclass(frozen=True, slots=True)
class Row:
    """What became of one number of cameras.

    Attributes:
        looked_s: pictures a second that the engine looked at, over the whole run.
        bare_s: of the same engine in a bare loop, before and after it: pictures in, detections out.
        network_s: of its network alone.
        jain: Jain's index of the cameras' shares; 1 where all have the same.
        p50_ms, p99_ms: exposure to the broker, of what was looked at.
    """

    cameras: int
    looked_s: float
    bare_s: float
    network_s: float
    jain: float
    p50_ms: float
    p99_ms: float
    late: int


def jain(values: Sequence[float]) -> float:
    """Return Jain's index of fairness (Jain, Chiu, Hawe, 1984): 1/n where one has all, 1 where all have the same."""
    total = sum(values)
    return total**2 / (len(values) * sum(value**2 for value in values)) if total else 0.0


def measure(loaded: LoadedConfig, cameras: int, seconds: float) -> Row:
    """Run so many cameras, and the bare engine before and after them."""
    asked = Load(cameras, FPS, SIZE_WH, seconds)
    pictures = noisy_pictures(PICTURES, SIZE_WH)
    engine = build_model("bare", next(iter(loaded.config.models.values()))).engine
    outcomes: list[Outcome] = []
    steady = Steady(loaded.config.process)  # the bare loop has as many threads as the line
    with steady, engine.backend:
        before = _bare_s(engine, pictures, seconds / 4)
    spent_s = _run(synthetic(loaded, asked), asked, pictures, outcomes)
    with steady, engine.backend:
        after, network = _bare_s(engine, pictures, seconds / 4), _network_s(engine, seconds / 4)
    looked = [
        outcome for outcome in outcomes if outcome.model and any(s == "inference" for s, *_ in outcome.trace.spans)
    ]
    shares = Counter(outcome.camera for outcome in looked)
    total_ms = sorted(outcome.trace.total_ms for outcome in looked) or [0.0]
    return Row(
        cameras,
        len(looked) / spent_s,
        (before + after) / 2,
        network,
        jain([shares[f"camera-{number}"] for number in range(1, cameras + 1)]),
        percentile(total_ms, "50"),
        percentile(total_ms, "99"),
        sum(1 for outcome in outcomes if outcome.level == "late" or outcome.late),
    )


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
        cells = [f"{row.looked_s:.1f}", f"{row.bare_s:.1f}", f"{row.looked_s / row.bare_s:.0%}", f"{row.network_s:.1f}",
                 f"{row.jain:.3f}", f"{row.p50_ms:.1f}", f"{row.p99_ms:.1f}", str(row.late)]  # fmt: skip
        table.add_row(str(row.cameras), *cells)
    return table


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
    console.print("share: of what the same engine gives in a bare loop of pictures in, detections out, in the same run")
    return 0


if __name__ == "__main__":
    sys.exit(main())
