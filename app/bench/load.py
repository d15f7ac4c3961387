"""A synthetic load: so many cameras at such a rate and size, from memory, and what the line makes of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import monotonic_ns, process_time_ns

import numpy as np
from rich.console import Console
from rich.table import Table

from app.bench.held import Held, Limited
from app.bench.line import run_line, stand
from app.capture.base import Source
from app.capture.synthetic import draw
from app.config import LoadedConfig, sections
from app.errors import ConfigError
from app.frame import Image, Picture
from app.latency.percentiles import Percentiles, percentiles
from app.picture_memory import PictureMemory
from app.trace import COLUMNS
from app.verdict import Outcome
from app.wiring import Watchers
from app.wiring.swap import Swap

PICTURES = 8
"""Different pictures that go round: enough that no cache holds them all, few enough for any memory."""
_SIZE = re.compile(r"(\d+)[xX×](\d+)")
MOST_SIDE = 16_384


@dataclass(frozen=True, slots=True)
class Load:
    """What is asked of the line.

    Attributes:
        cameras: how many.
        fps: pictures a second of each.
        size_wh: of every picture, in pixels.
        seconds: how long.
    """

    cameras: int
    fps: float
    size_wh: tuple[int, int]
    seconds: float

    @property
    def frames(self) -> int:
        """Pictures of each camera."""
        return max(1, round(self.fps * self.seconds))


def size_of(text: str) -> tuple[int, int]:
    """Read `1920x1080`.

    Raises:
        ConfigError: it is no size.
    """
    match = _SIZE.fullmatch(text.strip())
    size_wh = (int(match[1]), int(match[2])) if match else (0, 0)
    if not all(0 < side <= MOST_SIDE for side in size_wh):
        raise ConfigError(f"--size {text}: not a size; write width x height in pixels, e.g. 1920x1080")
    return size_wh


def synthetic(loaded: LoadedConfig, load: Load) -> LoadedConfig:
    """Return the line with so many copies of its first camera, each with a generated source and no gate."""
    width, height = load.size_wh
    first = next(iter(loaded.config.cameras.values()))
    source = sections.SyntheticSource(kind="synthetic", width=width, height=height, fps=load.fps)
    # A part's region is the gate's; without one there is none, and a guard of another size would refuse everything.
    rules = [rule.model_copy(update={"region": None}) for rule in first.judge.rules]
    update = {
        "source": source,
        "gate": None,
        "guard": first.guard.model_copy(update={"frozen": False, "width": None, "height": None}),
        "judge": first.judge.model_copy(update={"rules": rules}),
    }
    camera = first.model_copy(update=update)
    cameras = {f"camera-{number}": camera for number in range(1, load.cameras + 1)}
    models = {camera.model: loaded.config.models[camera.model]}
    return replace(loaded, config=loaded.config.model_copy(update={"cameras": cameras, "models": models}))


def run_load(console: Console, loaded: LoadedConfig, load: Load) -> Mapping[str, Percentiles]:
    """Run the load and print what became of its frames.

    Returns:
        Percentiles in milliseconds by stage, and of the total, over all cameras.

    Raises:
        ConfigError: no broker on this machine, or the line can't be wired.
    """
    pictures = noisy_pictures(PICTURES, load.size_wh)
    limits: dict[str, Limited] = {}
    outcomes: list[Outcome] = []

    def source(camera: str, _: Source) -> Source:
        limits[camera] = Limited(Held(pictures, load.fps), load.frames)
        return limits[camera]

    with stand(synthetic(loaded, load)) as line, console.status(f"{load.cameras} cameras for {load.seconds:g} s"):
        began_ns, cpu_ns = monotonic_ns(), process_time_ns()
        run_line(line, Swap(source=source), Watchers(outcomes.append))
        cores = (process_time_ns() - cpu_ns) / (monotonic_ns() - began_ns)
    found = _percentiles(outcomes)
    console.print(_table(found, load))
    captured = sum(len(limit.asked_ns) - 1 for limit in limits.values())
    judged = sum(1 for outcome in outcomes if outcome.model and not outcome.late)
    # From the first picture to the last; the end is asked for at once after that.
    span_s = max((limit.asked_ns[-1] - limit.asked_ns[0]) / 1e9 for limit in limits.values()) + 1 / load.fps
    console.print(
        f"{captured} pictures, {captured / span_s:.1f} a second; {len(outcomes)} verdicts, of which the engine gave "
        f"{judged}, {judged / span_s:.1f} a second; {cores:.2f} cores busy",
        highlight=False,
    )
    return found


def noisy_pictures(count: int, size_wh: tuple[int, int]) -> list[Picture]:
    """Return pictures that differ in every pixel, in memory as cameras have it."""
    memory = PictureMemory(count, worth_a_copy=True)
    return [Picture(memory.keep(_noisy(draw(number * 7, size_wh), number)), 0, 0) for number in range(count)]


def _noisy(image_hwc: Image, seed: int) -> Image:
    noise = np.random.default_rng(seed).integers(0, 32, image_hwc.shape, np.uint8)
    noise |= image_hwc
    return noise


def _percentiles(outcomes: list[Outcome]) -> dict[str, Percentiles]:
    spent = [outcome.trace.columns_ms() for outcome in outcomes]
    found = {
        name: percentiles([spent_ms for columns in spent if (spent_ms := columns[name]) is not None])
        for name in COLUMNS
    }
    found["total"] = percentiles([outcome.trace.total_ms for outcome in outcomes])
    return {name: one for name, one in found.items() if one.count}


def _table(found: Mapping[str, Percentiles], load: Load) -> Table:
    width, height = load.size_wh
    title = f"{load.cameras} × {width}×{height} at {load.fps:g} a second, {load.seconds:g} s; milliseconds"
    table = Table("stage", "p50", "p90", "p99", "p99.9", "max", "frames", title=title)
    for column in table.columns[1:]:
        column.justify = "right"
    for name, one in found.items():
        cells = [f"{value:.2f}" for value in (one.p50, one.p90, one.p99, one.p999, one.max)]
        table.add_row(name, *cells, f"{one.count}")
    return table
