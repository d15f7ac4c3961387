"""Prints what a run of scripts/fuzz found, as the table of docs/security.md."""

import json
import sys
from pathlib import Path


def table(text: str) -> str:
    """Return the table of some lines of figures."""
    rows = ["| part | inputs | answers | slowest, CPU | RSS growth |", "|---|--:|---|--:|--:|"]
    for line in filter(None, text.splitlines()):
        one = json.loads(line)
        answers = ", ".join(f"{word} {count:,}" for word, count in one["answers"].items())
        growth = f"{one['rss_growth_mb']:.1f} MB"
        rows.append(f"| {one['part']} | {one['inputs']:,} | {answers} | {one['slowest_ms']:,.0f} ms | {growth} |")
    return "\n".join(rows)


if __name__ == "__main__":
    sys.stdout.write(table(Path(sys.argv[1]).read_text("utf-8")) + "\n")
