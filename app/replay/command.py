"""`taktsight replay`: from paths to tables."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from app.config import load
from app.replay.page import write_page
from app.replay.run import replay
from app.replay.setup import Wanted
from app.replay.show import as_json, show
from app.replay.stored import find


def run_replay(
    evidence: Sequence[Path],
    *,
    config: Path | None,
    model: Path | None,
    device: str | None,
    html: Path | None,
    to_json: bool,
    console: Console,
    errors: Console,
) -> bool:
    """Judge evidence again and show what differs; return whether anything does.

    Raises:
        ConfigError: there is no evidence, or a configuration does not fit.
        ModelError: a model is not there, not the one that it was, or can't be run here.
    """
    wanted = Wanted(None if config is None else load(config), model, device)
    pieces, unreadable = find(evidence)
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=errors, transient=True) as progress:
        task = progress.add_task("judging again", total=len(pieces))
        found = replay(pieces, wanted, unreadable, lambda: progress.advance(task))
    if html is not None:
        write_page(found, html)
    if to_json:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(as_json(found)), indent=2).decode() + "\n")
    else:
        show(found, console)
        if html is not None:
            console.print(f"page: {html}", highlight=False, markup=False, soft_wrap=True)
    return found.differs
