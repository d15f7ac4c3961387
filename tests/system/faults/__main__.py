"""All faults, as long as they take, and the table of docs/reliability.md. Usage: scripts/faults [--short] [NAME…]."""

import sys
import time

from rich.console import Console

from tests.system.faults.rig import Row, check
from tests.system.faults.scenarios import FAULTS, LONG, SHORT, run

HEAD = ("fault", "s", "runs", "judged", "missing", "unheard", "invented", "twice", "as history", "out of order",
        "ledger", "MB: first, most, last", "")  # fmt: skip


def cells(row: Row) -> list[str]:
    """Return a row as text."""
    memory = ", ".join(f"{value:.0f}" for value in row.rss_mb)
    counts = (row.runs, row.judged, row.missing, row.unheard, row.invented, row.duplicates, row.history, row.inversions)
    return [row.fault, f"{row.seconds:.0f}", *map(str, counts), row.ledgers, memory, row.note]


def main() -> int:
    """Run, print, and say by the exit code whether all held."""
    names = [word for word in sys.argv[1:] if not word.startswith("-")]
    scale = SHORT if "--short" in sys.argv else LONG
    out, failed = Console(soft_wrap=True, highlight=False), []
    out.print(f"| {' | '.join(HEAD)} |")
    out.print("|" + "---|" * len(HEAD))
    for name in names or FAULTS:
        row = run(FAULTS[name], scale)
        out.print(f"| {' | '.join(cells(row))} |")
        try:
            check(row)
        except AssertionError:
            failed.append(row.fault)
    out.print(f"{time.strftime('%Y-%m-%d')}; {'all held' if not failed else 'FAILED: ' + ', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
