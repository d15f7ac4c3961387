"""What holds the machine back finds its way from the kernel's files to a level change of the wired product."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.config import load
from app.latency.throttle import Throttle
from app.wiring import build


def test_a_level_change_of_the_wired_product_says_what_holds_the_machine_back(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Throttle, "reasons", lambda _: ("cpu: cpufreq-cpu0 at 94 °C",))
    loaded = load(root / "configs" / "demo.yaml")
    told = []
    section = loaded.config.cameras["covers"].model_copy(update={"deadline": True})
    planner = build(loaded).budgets.planner("covers", section, lambda *words, **data: told.append((words, data)))
    planner.plan(60_000.0)
    (((camera, kind, text), data),) = told
    assert (camera, kind, data["level"]) == ("covers", "level", "late")
    assert data["throttle"] == ["cpu: cpufreq-cpu0 at 94 °C"]
    assert "held back (cpu: cpufreq-cpu0 at 94 °C)" in text
