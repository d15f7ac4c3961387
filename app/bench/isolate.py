"""What `isolate: true` costs: a made-up camera in a process of its own beside the same one in this process.

`python -m app.bench.isolate` takes a minute and a half.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import process_time

from rich.console import Console
from rich.table import Table

from app.bench import machine
from app.capture.base import Source
from app.capture.isolated import Isolated, python_module
from app.capture.synthetic import Synthetic
from app.config.sections import SyntheticSource
from app.latency.percentiles import percentiles

WARM_UP = 10
SIZES_WH = ((640, 480), (1920, 1080))
FPS = 30.0
HERE, APART = "in this process", "isolate: true"


@dataclass(slots=True)
class Way:
    """One way to read, over all rounds.

    Attributes:
        ages_ms: from the exposure until the picture can be looked at.
        cpu_s: of both processes, without opening and closing.
    """

    make: Callable[[], Source]
    ages_ms: list[float] = field(default_factory=list)
    cpu_s: float = 0.0

    def turn(self, count: int) -> None:
        """Read so many pictures, and some before them that do not count."""
        with self.make() as source:
            for _ in range(WARM_UP):
                source.read(1.0)
            began_s = cpu_s()
            for _ in range(count):
                picture = source.read(1.0)
                if picture is not None:
                    self.ages_ms.append((picture.arrived_ns - picture.exposed_ns) / 1e6)
            self.cpu_s += cpu_s() - began_s


def cpu_s() -> float:
    """Return the processor's time of this process and of those that it has started and that still run."""
    pids = [pid for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text("ascii").split()]
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])  # utime and stime, counted after the name
    return process_time() + ticks / os.sysconf("SC_CLK_TCK")


def ways_of(size_wh: tuple[int, int], fps: float) -> dict[str, Way]:
    """Return both ways for pictures of one size."""
    section = SyntheticSource(kind="synthetic", width=size_wh[0], height=size_wh[1], fps=fps)
    return {
        HERE: Way(lambda: Synthetic(section)),
        APART: Way(lambda: Isolated(section, python_module("app.wiring.isolate"), 20.0)),
    }


def take_turns(ways: dict[str, Way], rounds: int, count: int) -> None:
    """Read so many pictures by each way, so often, one way after the other."""
    for _ in range(rounds):
        for way in ways.values():
            way.turn(count)


def table(size_wh: tuple[int, int], ways: dict[str, Way]) -> Table:
    """Return what came of it."""
    title = "{} × {} BGR at {:g} a second: age when it can be looked at".format(*size_wh, FPS)
    shown = Table("way", "pictures", "p50 ms", "p90", "p99", "CPU ms a picture", title=title, title_justify="left")
    for name, way in ways.items():
        age = percentiles(way.ages_ms)
        cells = [f"{one:.2f}" for one in (age.p50, age.p90, age.p99, 1e3 * way.cpu_s / age.count)]
        shown.add_row(name, f"{age.count}", *cells)
    return shown


def main() -> None:
    """Measure both in turns and print; a minute and a half."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m app.bench.isolate")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each way (5)")
    parser.add_argument("--pictures", type=int, default=100, help="in each turn (100)")
    wanted = parser.parse_args()
    console = Console()
    console.print(", ".join(f"{key} {value}" for key, value in machine.describe().items()), highlight=False)
    for size_wh in SIZES_WH:
        ways = ways_of(size_wh, FPS)
        with console.status("reading"):
            take_turns(ways, wanted.rounds, wanted.pictures)
        console.print(table(size_wh, ways))


if __name__ == "__main__":
    main()
