"""Halves a camera's buffer step by step, measures what that does, and says which size to use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table

from app.capture.base import Source
from app.config import LoadedConfig, sections
from app.errors import ConfigError, SourceLost
from app.tune.knob import Knob, knob_of
from app.tune.reading import Reading, is_worse, knee, read_for


@dataclass(frozen=True, slots=True)
class Pace:
    """How long to look at each size.

    Attributes:
        count_s: seconds that count.
        settle_s: seconds before them, in which a camera sends what it kept, or finds its exposure.
    """

    count_s: float
    settle_s: float = 1.0

    @property
    def whole_s(self) -> float:
        """Both together."""
        return self.count_s + self.settle_s


def tune_camera(
    loaded: LoadedConfig,
    camera: str | None,
    pace: Pace,
    console: Console,
    build: Callable[[sections.Source], Source],
) -> int:
    """Measure, print the table and the setting.

    Args:
        loaded: the configuration; nothing of it is run but the camera's source.
        camera: its name; None where there is one that can be tuned.
        pace: how long to look at each size.
        console: where to.
        build: makes a source of its section.

    Returns:
        The size to use.

    Raises:
        ConfigError: there is no such camera, or it has no buffer.
        SourceLost: no size gave any picture.
    """
    name = chosen(loaded.config, camera)
    section = loaded.config.cameras[name].source
    knob = knob_of(section)
    readings = measure(section, knob, pace, console, build)
    console.print(table_of(readings, knob, name))
    best = knee(readings)
    if best is None or best.size is None:
        raise SourceLost(f"{name}: no picture came, whatever the buffer: {readings[0].lost}")
    last = readings[-1]
    if is_worse(last, best):
        console.print(f"{last.size} {knob.unit} are too few: {_why(last)}", highlight=False)
    if best is readings[0]:
        console.print(f"no smaller buffer makes the pictures younger: {best.size} will do", highlight=False)
    console.print("for the configuration:", highlight=False)
    console.print(f"cameras:\n  {name}:\n    source:\n      {knob.key}: {best.size}", highlight=False, markup=False)
    return best.size


def chosen(config: sections.Config, camera: str | None) -> str:
    """Return the camera that is meant."""
    if camera is not None:
        if camera not in config.cameras:
            raise ConfigError(f"there is no camera {camera}; there are {', '.join(config.cameras)}")
        return camera
    kinds = sections.StreamSource | sections.V4l2Source
    tunable = [name for name, section in config.cameras.items() if isinstance(section.source, kinds)]
    if len(tunable) != 1:
        found = ", ".join(tunable) or "none of kind v4l2 or stream"
        raise ConfigError(f"which camera? Name one of: {found}")
    return tunable[0]


def measure(
    section: sections.Source, knob: Knob, pace: Pace, console: Console, build: Callable[[sections.Source], Source]
) -> list[Reading]:
    """Read the source with each size, from the largest, until one is clearly too small."""
    readings: list[Reading] = []
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=len(knob.sizes) * pace.whole_s)
        for number, size in enumerate(knob.sizes):
            progress.update(task, description=f"{knob.key}: {size}", completed=number * pace.whole_s)
            tick = _ticker(progress, task, number * pace.whole_s)
            source = build(section.model_copy(update={knob.key: size}))
            readings.append(read_for(source, size, pace.count_s, tick, pace.settle_s))
            if is_worse(readings[-1], max(readings, key=lambda reading: reading.fps)):
                break
    return readings


def _ticker(progress: Progress, task: TaskID, done_s: float) -> Callable[[], None]:
    began_s = progress.get_time()
    return lambda: progress.update(task, completed=done_s + progress.get_time() - began_s)


def table_of(readings: Sequence[Reading], knob: Knob, camera: str) -> Table:
    """Return one row for each size."""
    table = Table(title=f"{camera}: what {knob.key} does", title_justify="left")
    for heading in (knob.unit, "fps", "age p50 ms", "age p99 ms", "gap p99 ms", "damaged", "cores busy", ""):
        table.add_column(heading, justify="right" if heading else "left")
    best = knee(readings)
    for reading in readings:
        mark = "◄ knee" if reading is best else "lost" if reading.lost else ""
        table.add_row(
            str(reading.size),
            f"{reading.fps:.1f}",
            f"{reading.age_ms.p50:.1f}",
            f"{reading.age_ms.p99:.1f}",
            f"{reading.gap_ms.p99:.1f}",
            str(reading.faults),
            f"{reading.cpu:.2f}",
            mark,
        )
    return table


def _why(reading: Reading) -> str:
    return reading.lost or "pictures are lost, damaged or held up"
