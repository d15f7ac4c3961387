"""What a person sees of a build while it runs."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from app.building.progress import BuildProgress
from app.building.request import PhaseFinished, PhaseStarted, Said, StepDone


@pytest.fixture
def progress() -> BuildProgress:
    """A build's bars on a terminal of text."""
    return BuildProgress(Console(file=io.StringIO(), force_terminal=True, width=100), "a.onnx → a.engine")


def drawn(progress: BuildProgress) -> list[tuple[str, float, float | None]]:
    return [(task.description, task.completed, task.total) for task in progress._progress.tasks]


def test_each_phase_that_is_open_has_a_bar_inside_its_parent_s(progress: BuildProgress) -> None:
    with progress:
        progress.step("building")
        progress.hear(PhaseStarted("Building engine", "", 6))
        progress.hear(StepDone("Building engine", 0))
        progress.hear(PhaseStarted("Timing tactics", "Building engine", 3))
        progress.hear(StepDone("Timing tactics", 1))
        assert drawn(progress) == [
            ("a.onnx → a.engine: building", 0, None),
            ("  Building engine", 1, 6),
            ("    Timing tactics", 2, 3),
        ]
        progress.hear(PhaseFinished("Timing tactics"))
        assert [row[0] for row in drawn(progress)] == ["a.onnx → a.engine: building", "  Building engine"]


def test_a_phase_of_the_same_name_inside_itself_is_closed_from_the_inside(progress: BuildProgress) -> None:
    with progress:
        for parent in ("", "Timing"):
            progress.hear(PhaseStarted("Timing", parent, 1))
        progress.hear(PhaseFinished("Timing"))
        assert [row[0] for row in drawn(progress)][1:] == ["  Timing"]


def test_what_the_builder_never_opened_or_has_no_steps_is_no_reason_to_fail(progress: BuildProgress) -> None:
    with progress:
        progress.hear(PhaseFinished("never opened"))
        progress.hear(StepDone("never opened", 3))
        progress.hear(PhaseStarted("no steps", "never opened", 0))
        assert [row[1:] for row in drawn(progress)][1:] == [(0, 1)]


def test_steps_of_ours_are_counted_until_the_next_begins(progress: BuildProgress) -> None:
    with progress:
        progress.count("observing values", 1, 100)
        progress.count("observing values", 2, 100)
        progress.count("sweeping layers", 1, None)
        assert drawn(progress)[1:] == [("  sweeping layers", 1, None)]
        progress.step("building")
        assert len(drawn(progress)) == 1


def test_what_the_builder_said_is_kept_once(progress: BuildProgress) -> None:
    with progress:
        for _ in range(3):
            progress.hear(Said("weights are rounded"))
    assert list(progress.warnings) == ["weights are rounded"]
