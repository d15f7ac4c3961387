"""What huge pages are worth: that the measurement works; what it measures is for a quiet machine."""

import json
import sys

import pytest

from app.bench import pages
from app.bench.pages import STAGES, main, measure
from app.steady.huge_pages import HALF_FULL


@pytest.mark.parametrize("huge", [False, True])
def test_each_way_looks_at_as_many_pictures_and_moves_memory_or_does_not(huge, monkeypatch):
    calls = []
    monkeypatch.setattr(pages, "LOOKS", 3)
    monkeypatch.setattr(pages, "use_huge_pages", lambda *, least_full: calls.append(least_full))
    found = measure(huge=huge)
    assert set(found) == {*STAGES, "memory_mb"}
    assert all(value > 0 for value in found.values())
    assert calls == [HALF_FULL] * huge


def test_both_ways_stand_side_by_side(monkeypatch, capsys):
    def run(command, **_):
        row = dict.fromkeys((*STAGES, "memory_mb"), 10.0 if command[-1] == "small" else 7.5)
        return type("Done", (), {"stdout": json.dumps(row)})

    monkeypatch.setattr(pages.subprocess, "run", run)
    monkeypatch.setattr(sys, "argv", ["pages", "--turns", "2"])
    assert main() == 0
    assert "0.75 … 0.75" in capsys.readouterr().out
