"""The command: runs a soak, prints what came out, writes the page."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from app.bench import machine
from app.bench.line import quiet
from app.bench.soak.checks import Check, checks
from app.bench.soak.faults import plan_of
from app.bench.soak.page import page
from app.bench.soak.rounds import table_of_rounds
from app.bench.soak.run import Found, Soak
from app.errors import TaktsightError

PARTS_S = 1.0
"""Parts a second of the line that the rate is a multiple of."""


def main() -> int:
    """Run, print, and return 0 where everything holds."""
    parser = argparse.ArgumentParser(description=__doc__, prog="scripts/soak")
    parser.add_argument("--minutes", type=float, default=30.0, help="how long (30)")
    parser.add_argument("--rate", type=float, default=20.0, help="times a part a second, for each camera (20)")
    parser.add_argument("--out", type=Path, default=Path("out/soak.html"), help="the page to write (out/soak.html)")
    wanted = parser.parse_args()
    console, found_on = Console(), machine.describe()
    console.print(", ".join(f"{key} {value}" for key, value in found_on.items()), highlight=False)
    plan, fps = plan_of(wanted.minutes * 60), wanted.rate * PARTS_S
    try:
        with quiet(), console.status("starting the line") as status:
            found = Soak(plan, fps, status.update).run()
    except TaktsightError as error:
        sys.stderr.write(f"soak: {error}\n")
        return 1
    held = checks(found)
    console.print(table(found, held), table_of_rounds(found))
    wanted.out.parent.mkdir(parents=True, exist_ok=True)
    wanted.out.write_text(page(found, held, {**found_on, "load at the end": machine.describe()["load"]}), "utf-8")
    console.print(f"{wanted.out}: memory, files and threads over time, with the faults", highlight=False)
    if all(check.met for check in held):
        return 0
    keep_log(found, wanted.out.with_suffix(".log.jsonl"), console)
    return 1


def keep_log(found: Found, path: Path, console: Console) -> None:
    """Keep the line's own log of a soak that has failed, and say where; its folder is gone with the soak."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in found.log)
        for what, ids in (("missing", found.missing), ("invented", found.invented)):
            file.write(json.dumps({"event": what, "ids": sorted(ids)}) + "\n")
    console.print(f"{path}: the line's own log, and the results that are missing or invented", highlight=False)


def table(found: Found, held: list[Check]) -> Table:
    """Return the checks for a person."""
    title = f"{found.plan.seconds / 60:g} minutes at {found.fps:g} pictures a second for each camera, "
    title += f"{len(found.done)} faults in {found.plan.rounds} rounds"
    shown = Table("", "what must hold", "seen", title=title)
    for check in held:
        shown.add_row("[green]yes[/]" if check.met else "[bold red]NO[/]", check.name, check.text)
    if not found.has_disk:
        shown.add_row("-", "a full disk", "not tried: this user may not mount one")
    return shown
