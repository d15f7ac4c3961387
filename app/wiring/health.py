"""What the health of the service is made of."""

from __future__ import annotations

from pathlib import Path

from app.config import sections
from app.health.board import Board
from app.health.vitals import vitals
from app.latency.recorder import Recorder
from app.ledger import Ledger
from app.publish.base import StatusBoard
from app.publish.lane import LaneCounts
from app.publish.outbox import Outbox
from app.wiring.keeper import outbox_file


def build_board(
    config: sections.Config, ledger: Ledger, recorder: Recorder, outbox: Outbox, status: StatusBoard
) -> Board:
    """Wire what knows how everything is."""
    folders = folders_of(config)

    def broker() -> tuple[LaneCounts, float]:
        return outbox.counts().get("mqtt", LaneCounts(0, 0, 0, 0, 0)), outbox.oldest_age_s()

    return Board(ledger, recorder, broker, lambda: vitals(folders), lambda: status.trouble, lambda: status.models)


def folders_of(config: sections.Config) -> list[Path]:
    """Return where the service writes."""
    files = [section.path for section in (config.jsonl, config.trace) if section is not None]
    folders = [Path(file).parent for file in files]
    if config.mqtt is not None and (file := outbox_file(config.outbox)) is not None:
        folders.append(file.parent)
    return [*folders, *(Path(kept.path) for kept in (config.evidence, config.collect) if kept is not None)]
