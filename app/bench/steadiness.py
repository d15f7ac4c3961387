"""How steady the line is at half load, beside a bare loop of the engine call, whose tail is not the line's fault."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from time import monotonic_ns, sleep

from rich.console import Console
from rich.progress import track
from rich.table import Table

from app.bench import machine
from app.bench.held import Held, Limited
from app.bench.line import NO_BUDGET_MS, filmed, full, run_line, stand
from app.bench.reel import host
from app.bench.row import Row
from app.bench.tail_table import tail_table
from app.capture.base import Source
from app.config import LoadedConfig, sections
from app.frame import Picture
from app.inference.threads import allowed_cpus
from app.latency.percentiles import Percentiles, percentiles
from app.latency.recorder import TOTAL
from app.steady.steady import Steady
from app.verdict import Outcome
from app.wiring import Watchers
from app.wiring.models import build_model
from app.wiring.swap import Swap

FRAMES = 5000
BLOCKS = 10
"""Line and bare loop take turns so often, so that a change of the machine's mood meets both."""
PICTURES = 60
LOAD = 0.5
PROBES = 60
SKIPPED = 10
"""First and last frames of each block: those find everything cold, in these the threads of the line end."""
P99_OF_P50, P999_OF_P50, OVER_FLOOR = 1.5, 3.0, 1.2


@dataclass(frozen=True, slots=True)
class Steadiness:
    """What was measured, in milliseconds.

    Attributes:
        fps: pictures a second.
        line: from exposure to the broker's answer.
        overwritten: pictures that were never looked at, because a newer one came first.
        bare: of the engine's call alone, at the same pace.
    """

    fps: float
    line: Percentiles
    bare: Percentiles
    overwritten: int

    def rows(self) -> list[Row]:
        """Return what was asked beside what was found."""
        tail, floor = self.line.p99 - self.line.p50, self.bare.p99 - self.bare.p50
        return [
            _row("p99 of the total", self.line.p99 / self.line.p50, P99_OF_P50, "× p50"),
            _row("p99.9 of the total", self.line.p999 / self.line.p50, P999_OF_P50, "× p50"),
            _row("its p99 − p50", tail / floor, OVER_FLOOR, "× the bare loop's"),
        ]


def measure_steadiness(console: Console, loaded: LoadedConfig, frames: int = FRAMES) -> Steadiness:
    """Run the line's first camera at half load and the bare loop in turns, and print both.

    Every picture is judged by itself, without the gate: with it, a frame's total holds the time until the gate was
    sure, which is the belt's. Pictures come from memory, as those of a camera would.

    Raises:
        ConfigError: no broker on this machine, or the line can't be wired.
    """
    camera = next(iter(loaded.config.cameras.values()))
    pictures = filmed(full(camera).source, PICTURES, 1 << 29)
    fps = LOAD * 1e3 / _own_ms(loaded, pictures)
    each = max(1, frames // BLOCKS) + 2 * SKIPPED
    line_ms: list[dict[str, float | None]] = []
    bare_ms: list[float] = []
    with stand(_alone(loaded)) as line:
        for _ in track(
            range(BLOCKS), f"{frames} pictures at {fps:.1f} a second, twice", console=console, transient=True
        ):
            line_ms += _line_block(line, pictures, fps, each)
            bare_ms += _bare_block(line, fps, each)[SKIPPED:-SKIPPED]
    total_ms = [float(spent[TOTAL] or 0.0) for spent in line_ms]
    overwritten = BLOCKS * (each - 2 * SKIPPED) - len(total_ms)
    found = Steadiness(fps, percentiles(total_ms), percentiles(bare_ms), overwritten)
    console.print(_table(found))
    console.print(tail_table([{name: ms for name, ms in spent.items() if name != TOTAL} for spent in line_ms]))
    for row in found.rows():
        word = "[green]met[/]" if row.met else "[red]missed[/]"
        console.print(f"{row.what}: {row.got} (asked: {row.target}) {word}", highlight=False)
    threads = loaded.config.models[camera.model].threads or allowed_cpus()
    console.print(f"engine threads: {threads}; CPUs that may be used: {allowed_cpus()}", highlight=False)
    console.print(f"overwritten by a newer picture: {found.overwritten} of {frames}", highlight=False)
    console.print(f"load average at the end: {machine.describe()['load']}", highlight=False)
    return found


def _alone(loaded: LoadedConfig) -> LoadedConfig:
    """Return the line with its first camera only, at its own pace, with every picture judged."""
    name, camera = next(iter(loaded.config.cameras.items()))
    rules = [rule.model_copy(update={"region": None}) for rule in camera.judge.rules]
    update = {
        "source": sections.SyntheticSource(kind="synthetic"),
        "gate": None,
        "budget_ms": NO_BUDGET_MS,
        "guard": camera.guard.model_copy(update={"frozen": False}),
        "judge": camera.judge.model_copy(update={"rules": rules}),
    }
    models = {camera.model: loaded.config.models[camera.model]}
    config = loaded.config.model_copy(update={"cameras": {name: camera.model_copy(update=update)}, "models": models})
    return replace(loaded, config=config)


def _own_ms(loaded: LoadedConfig, pictures: list[Picture]) -> float:
    """Return what one picture takes the inspect thread: preprocess, engine, decode."""
    camera = next(iter(loaded.config.cameras.values()))
    engine = host(build_model(camera.model, loaded.config.models[camera.model]).engine)

    def once(picture: Picture) -> None:
        letterbox = engine.preprocessor.run(picture.image, engine.sample)
        engine.decode(engine.backend.infer(engine.feeds), letterbox, 0.5, 0)

    with Steady(loaded.config.process) as steady, engine.backend:
        steady.warm()
        return median(_timed_ms(partial(once, picture)) for picture in (pictures * PROBES)[:PROBES])


def _line_block(line: LoadedConfig, pictures: list[Picture], fps: float, frames: int) -> list[dict[str, float | None]]:
    """Run the line and return each frame's columns and its total, and keep no outcome: a collection would visit it."""
    spent_ms: list[dict[str, float | None]] = []

    def done(outcome: Outcome) -> None:
        if outcome.model and SKIPPED < outcome.seq <= frames - SKIPPED:
            spent_ms.append({**outcome.trace.columns_ms(), TOTAL: outcome.trace.total_ms})

    def source(_: str, __: Source) -> Source:
        return Limited(Held(pictures, fps), frames)

    run_line(line, Swap(source=source), Watchers(on_done=done))
    return spent_ms


def _bare_block(line: LoadedConfig, fps: float, frames: int) -> list[float]:
    """Call the engine at the camera's pace, with the same settings of interpreter and threads, and nothing else."""
    (section,) = line.config.models.values()
    engine = host(build_model("bare", section).engine)
    spent_ms: list[float] = []
    with ExitStack() as stack:
        steady = stack.enter_context(Steady(line.config.process))
        stack.enter_context(engine.backend)
        steady.warm()
        began_ns = monotonic_ns()
        for number in range(frames):
            due_ns = began_ns + round(number / fps * 1e9)
            sleep(max(0.0, (due_ns - monotonic_ns()) / 1e9))
            spent_ms.append(_timed_ms(lambda: engine.backend.infer(engine.feeds)))
            steady.between(idle=True)
    return spent_ms


def _timed_ms(work: Callable[[], object]) -> float:
    began_ns = monotonic_ns()
    work()
    return (monotonic_ns() - began_ns) / 1e6


def _row(what: str, got: float, limit: float, unit: str) -> Row:
    return Row("steadiness", what, got=f"{got:.2f} {unit}", target=f"≤ {limit:g} {unit}", met=got <= limit)


def _table(found: Steadiness) -> Table:
    table = Table(
        *("ms", "p50", "p90", "p99", "p99.9", "max", "p99 − p50", "p99 / p50", "frames"),
        title=f"{found.fps:.1f} pictures a second",
    )
    for column in table.columns[1:]:
        column.justify = "right"
    for name, one in (("the line, exposure to broker", found.line), ("bare loop of the engine", found.bare)):
        cells = [one.p50, one.p90, one.p99, one.p999, one.max, one.p99 - one.p50, one.p99 / one.p50]
        table.add_row(name, *(f"{value:.2f}" for value in cells), f"{one.count}")
    return table
