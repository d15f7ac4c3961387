"""Shows how a build gets on: a bar for each phase that the builder is in, a spinner where it tells none."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from typing_extensions import Self

from app.building.request import PhaseFinished, PhaseStarted, Report, Said, StepDone

_INDENT = "  "


class BuildProgress:
    """The builder's phases on a terminal; nothing of it stays there.

    Attributes:
        warnings: what the builder said that a person should read, each once.
    """

    def __init__(self, console: Console, title: str) -> None:
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        self.warnings: dict[str, None] = {}
        self._progress = Progress(*columns, console=console, transient=True)
        self._title = title
        self._whole = TaskID(0)
        self._counted: tuple[str, TaskID] | None = None
        self._open: list[tuple[str, TaskID, int]] = []

    def __enter__(self) -> Self:
        """Begin to draw."""
        self._progress.start()
        self._whole = self._progress.add_task(self._title, total=None)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Wipe it off."""
        self._progress.stop()

    def stop(self) -> None:
        """Wipe it off for good: what follows draws by itself."""
        self._progress.stop()

    def step(self, name: str) -> None:
        """Name the step that begins: converting, building, verifying."""
        self._stop_counting()
        self._progress.update(self._whole, description=f"{self._title}: {name}")

    def count(self, step: str, done: int, total: int | None) -> None:
        """Draw how far a step of ours is; None: nobody knows how much there is of it."""
        if self._counted is None or self._counted[0] != step:
            self._stop_counting()
            self._counted = (step, self._progress.add_task(f"{_INDENT}{step}", total=total))
        self._progress.update(self._counted[1], completed=done, total=total)

    def hear(self, report: Report) -> None:
        """Draw what the builder reports."""
        match report:
            case PhaseStarted(name=name, parent=parent, steps=steps):
                depth = next((level + 1 for other, _, level in reversed(self._open) if other == parent), 0)
                task = self._progress.add_task(f"{_INDENT * (depth + 1)}{name}", total=max(steps, 1))
                self._open.append((name, task, depth))
            case StepDone(name=name, step=step):
                for _, task, _ in self._of(name):
                    self._progress.update(task, completed=step + 1)
            case PhaseFinished(name=name):
                for phase in self._of(name):
                    self._progress.remove_task(phase[1])
                    self._open.remove(phase)
            case Said(text=text):
                self.warnings.setdefault(text)
            case _:
                pass

    def _stop_counting(self) -> None:
        if self._counted is not None:
            self._progress.remove_task(self._counted[1])
            self._counted = None

    def _of(self, name: str) -> list[tuple[str, TaskID, int]]:
        """Return the innermost open phase of a name, in a list; none where there is none."""
        return [phase for phase in self._open if phase[0] == name][-1:]
