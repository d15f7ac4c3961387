"""Many cameras on one engine, beside that engine in a bare loop: what the line keeps of it, and who gets how much."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import monotonic_ns

import onnx
from rich.console import Console
from rich.progress import track
from rich.table import Table

from app.bench import machine
from app.bench.held import Held, Limited
from app.bench.line import run_line, stand
from app.bench.load import PICTURES, Load, noisy_pictures, synthetic
from app.capture.base import Source
from app.config import LoadedConfig, load
from app.engine import Engine, Look
from app.errors import TaktsightError
from app.frame import Picture
from app.latency.percentiles import percentile
from app.steady.steady import Steady
from app.verdict import Outcome
from app.wiring import Watchers
from app.wiring.models import build_model
from app.wiring.swap import Swap

CAMERAS = (1, 2, 4, 8)
BATCHES = (1, 2, 4, 8)
ROUNDS = 8
FPS = 30.0
SIZE_WH = (960, 720)
DEMO = Path(__file__).resolve().parents[2] / "configs" / "demo.yaml"


@dataclass(frozen=True, slots=True)
class Row:
    """What became of one number of cameras.

    Attributes:
        looked_s: pictures a second that the engine looked at; like the next two the median of all rounds.
        bare_s: of the same engine in a bare loop, before and after the line: pictures in, detections out, one a call.
        several_s: the same, as many a call as the engine takes.
        shares: what the line kept of the bare loop in each round.
        jain: Jain's index of the cameras' shares; 1 where all have the same.
        p50_ms, p99_ms: exposure to the broker, of what was looked at.
    """

    cameras: int
    looked_s: float
    bare_s: float
    several_s: float
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
    engine = build_model("bare", next(iter(loaded.config.models.values()))).engine
    steady = Steady(loaded.config.process)  # the bare loop has as many threads as the line
    outcomes: list[Outcome] = []
    looked: list[Outcome] = []
    rounds: list[tuple[float, float, float]] = []
    before = _bare(steady, engine, pictures, asked.seconds / 2)
    for _ in range(ROUNDS):
        ran: list[Outcome] = []
        spent_s = _run(synthetic(loaded, asked), asked, pictures, ran)
        after = _bare(steady, engine, pictures, asked.seconds / 2)
        seen = [one for one in ran if one.model and any(stage == "inference" for stage, *_ in one.trace.spans)]
        rounds.append((len(seen) / spent_s, (before[0] + after[0]) / 2, (before[1] + after[1]) / 2))
        before = after
        outcomes += ran
        looked += seen
    shares = Counter(outcome.camera for outcome in looked)
    total_ms = sorted(outcome.trace.total_ms for outcome in looked) or [0.0]
    looked_s, bare_s, several_s = (median(values) for values in zip(*rounds, strict=True))
    return Row(
        cameras,
        looked_s,
        bare_s,
        several_s,
        [line / bare for line, bare, _ in rounds],
        jain([shares[f"camera-{number}"] for number in range(1, cameras + 1)]),
        percentile(total_ms, "50"),
        percentile(total_ms, "99"),
        sum(1 for outcome in outcomes if outcome.level == "late" or outcome.late),
    )


def _bare(steady: Steady, engine: Engine, pictures: list[Picture], seconds: float) -> tuple[float, float]:
    """Return how many pictures a second the engine alone looks at, one a call, and as many a call as it takes."""
    with steady, engine.backend:
        steady.warm()
        return _bare_s(engine, pictures, seconds / 2, 1), _bare_s(engine, pictures, seconds / 2, engine.most)


def _run(loaded: LoadedConfig, asked: Load, pictures: list[Picture], outcomes: list[Outcome]) -> float:
    """Run the line; return the seconds from the first picture to the last verdict."""

    def source(_camera: str, _: Source) -> Source:
        return Limited(Held(pictures, asked.fps), asked.frames)

    ended_ns: list[int] = []

    def judged(outcome: Outcome) -> None:
        outcomes.append(outcome)
        ended_ns[:] = [monotonic_ns()]

    with stand(loaded) as line:
        run_line(line, Swap(source=source), Watchers(judged))
    return (ended_ns[0] - min(outcome.trace.exposed_ns for outcome in outcomes)) / 1e9


def _bare_s(engine: Engine, pictures: list[Picture], seconds: float, together: int) -> float:
    """Return how many pictures a second the engine looks at in a loop that does nothing else."""
    began_ns, looked = monotonic_ns(), 0
    while (spent_ns := monotonic_ns() - began_ns) < seconds * 1e9:
        engine.look([Look(pictures[(looked + place) % len(pictures)].image, 0.25) for place in range(together)])
        looked += together
    return looked / (spent_ns / 1e9)


def several_a_call(loaded: LoadedConfig, folder: Path) -> LoadedConfig:
    """Return the line with a model that takes several pictures a call, and a budget that has room for that.

    The demo's model is fixed to one; but for that number its graph does not mind how many there are.

    Args:
        loaded: the demo's line.
        folder: gets the model.
    """
    (name, section), *_ = loaded.config.models.items()
    graph = onnx.load(section.path)
    for tensor in (*graph.graph.input, *graph.graph.output):
        tensor.type.tensor_type.shape.dim[0].dim_param = "pictures"
    del graph.graph.value_info[:]
    onnx.save(graph, path := folder / Path(section.path).name)
    models = {name: section.model_copy(update={"path": str(path), "sha256": None, "batches": list(BATCHES)})}
    cameras = {
        name: camera.model_copy(update={"budget_ms": "surveillance"}) for name, camera in loaded.config.cameras.items()
    }
    # A camera whose pictures wait is never late here: what is asked is how much the engine is kept at work.
    nothing_else = {"evidence": None, "jsonl": None, "trace": None}
    config = loaded.config.model_copy(update={"models": models, "cameras": cameras, **nothing_else})
    return replace(loaded, config=config)


def table_of(rows: Sequence[Row]) -> Table:
    """Return the rows as a table."""
    table = Table(
        *("cameras", "looked at / s", "bare loop / s", "share", f"{BATCHES[-1]} a call / s"),
        *("Jain", "p50 ms", "p99 ms", "late"),
    )
    for column in table.columns:
        column.justify = "right"
    for row in rows:
        cells = [f"{row.looked_s:.1f}", f"{row.bare_s:.1f}", _shares(row.shares), f"{row.several_s:.1f}",
                 f"{row.jain:.3f}", f"{row.p50_ms:.1f}", f"{row.p99_ms:.1f}", str(row.late)]  # fmt: skip
        table.add_row(str(row.cameras), *cells)
    return table


def _shares(shares: Sequence[float]) -> str:
    return f"{median(shares):.0%} ({min(shares):.0%} … {max(shares):.0%})"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="scripts/many_cameras", description=__doc__)
    parser.add_argument("--seconds", type=float, default=24.0, help="of each number of cameras")
    parser.add_argument("--cameras", default=",".join(map(str, CAMERAS)), help="numbers of cameras")
    wanted = parser.parse_args(arguments)
    console = Console()
    console.print(", ".join(f"{key} {value}" for key, value in machine.describe().items()), highlight=False)
    try:
        numbers = [int(number) for number in wanted.cameras.split(",")]
        with TemporaryDirectory(prefix="taktsight-many-") as folder:
            loaded = several_a_call(load(DEMO), Path(folder))
            rows = [
                measure(loaded, number, wanted.seconds)
                for number in track(numbers, "measuring", console=console, transient=True, refresh_per_second=1)
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
