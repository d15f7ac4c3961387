"""What huge pages are worth to an engine on the CPU: run as `python -m app.bench.pages`.

Each way has a process of its own, because memory that was moved once stays where it is.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from statistics import median

from rich.console import Console
from rich.progress import track
from rich.table import Table

from app.bench import machine
from app.bench.load import PICTURES, noisy_pictures
from app.bench.many import DEMO, SIZE_WH
from app.config import load
from app.engine import Look
from app.health.vitals import vitals
from app.steady.huge_pages import HALF_FULL, use_huge_pages
from app.steady.steady import Steady
from app.trace import Trace
from app.wiring.models import build_model

LOOKS, WARM_UP, TURNS = 200, 5, 5
STAGES = ("preprocess", "inference", "decode")


def measure(*, huge: bool) -> dict[str, float]:
    """Look at pictures with the demo's engine; return each step's median in ms, and the process's memory in MB."""
    loaded = load(DEMO)
    engine = build_model("demo", next(iter(loaded.config.models.values()))).engine
    images = [picture.image for picture in noisy_pictures(PICTURES, SIZE_WH)]
    spent_ms: defaultdict[str, list[float]] = defaultdict(list)
    with Steady(loaded.config.process), engine.backend:
        for number in range(WARM_UP + LOOKS):
            if number == WARM_UP and huge:
                use_huge_pages(least_full=HALF_FULL)
            trace = Trace("", 0)
            engine.look([Look(images[number % PICTURES], 0.25, trace)])
            for stage, began_ns, ended_ns in trace.spans if number >= WARM_UP else ():
                spent_ms[stage].append((ended_ns - began_ns) / 1e6)
        held_bytes = vitals([]).rss_bytes or 0
    return {stage: median(values) for stage, values in spent_ms.items()} | {"memory_mb": held_bytes / 1e6}


def main() -> int:
    """Measure both ways in turns, and print."""
    parser = argparse.ArgumentParser(prog="python -m app.bench.pages", description=__doc__)
    parser.add_argument("--turns", type=int, default=TURNS, help="of each way (5: half a minute)")
    parser.add_argument("--one", choices=("small", "huge"), help="measure one way and print it as JSON")
    wanted = parser.parse_args()
    if wanted.one is not None:
        sys.stdout.write(json.dumps(measure(huge=wanted.one == "huge")))
        return 0
    console = Console()
    console.print(", ".join(f"{key} {value}" for key, value in machine.describe().items()), highlight=False)
    found: dict[str, list[dict[str, float]]] = {"small": [], "huge": []}
    for _ in track(range(wanted.turns), "measuring", console=console, transient=True):
        for way, rows in found.items():
            command = [sys.executable, "-m", "app.bench.pages", "--one", way]
            rows.append(json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout))  # noqa: S603 - our own words
    table = Table("medians", "small pages", "huge pages", "huge of small, each turn")
    for what in (*STAGES, "memory_mb"):
        small, huge = ([row[what] for row in found[way]] for way in ("small", "huge"))
        ratios = [after / before for before, after in zip(small, huge, strict=True)]
        cells = (f"{median(small):.2f}", f"{median(huge):.2f}", f"{min(ratios):.2f} … {max(ratios):.2f}")
        table.add_row("memory, MB" if what == "memory_mb" else f"{what}, ms", *cells)
    console.print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
