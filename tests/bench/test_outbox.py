"""What the outbox on disk costs is measured side by side; here only that it is measured at all."""

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from app.bench.outbox import WARM_UP, measure, table, write_one_by_one

pytestmark = pytest.mark.broker


def test_every_kind_of_outbox_takes_the_same_results_in_turn(tmp_path: Path) -> None:
    lanes = measure(5, tmp_path)
    assert [lane.kind for lane in lanes] == [None, "off", "normal", "full"]
    assert all(len(lane.acked_ms) == 5 and len(lane.put_ms) == 5 + WARM_UP for lane in lanes)
    console = Console(width=200, record=True, file=StringIO())
    console.print(table(lanes))
    assert "sync: full" in console.export_text()


def test_each_policy_writes_and_only_one_of_them_syncs_apart(tmp_path: Path) -> None:
    console = Console(width=200, record=True, file=StringIO())
    console.print(write_one_by_one(20, tmp_path))
    rows = [line.split("│")[1:-1] for line in console.export_text().splitlines() if line.startswith("│")]
    assert [row[0].strip() for row in rows] == ["off", "normal", "full"]
    assert [bool(row[3].strip()) for row in rows] == [False, True, False]
