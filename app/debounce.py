"""Keeps a camera's verdict steady: it changes only after so many equal verdicts in a row."""

from __future__ import annotations

from dataclasses import dataclass

from app.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Change:
    """The steady verdict became another one.

    Attributes:
        since_ns: exposure of the first of the frames in a row that show it: when it really began.
        until_ns: exposure of the last frame that showed the verdict before it, or None where there was none: when that
            really ended.
        noticed_ns: exposure of the frame that completed the row.
    """

    verdict: Verdict
    before: Verdict | None
    since_ns: int
    until_ns: int | None
    noticed_ns: int


class Debounce:
    """The steady verdict of one camera.

    One object for each camera: another camera's frames must not count here. A frame without a judgement (skipped, lost,
    a picture that can't be judged) is not given to `see`, and so is neither a hit nor a miss.

    Args:
        needed: equal verdicts in a row before the steady verdict changes; 1 changes it at once.

    Attributes:
        verdict: the steady verdict; None until the first row is complete.
    """

    def __init__(self, needed: int) -> None:
        if needed < 1:
            raise ValueError(f"needed: expected 1 or more, got {needed}")
        self._needed = needed
        self._run: Verdict | None = None
        self._length = 0
        self._since_ns = 0
        self._last_ns: dict[Verdict, int] = {}
        self.verdict: Verdict | None = None

    def see(self, verdict: Verdict, exposed_ns: int) -> Change | None:
        """Take the verdict of one judged frame; return the change that it completes, if any."""
        if verdict is not self._run:
            self._run, self._length, self._since_ns = verdict, 0, exposed_ns
        self._length += 1
        self._last_ns[verdict] = exposed_ns
        if verdict is self.verdict or self._length < self._needed:
            return None
        before, self.verdict = self.verdict, verdict
        until_ns = None if before is None else self._last_ns[before]
        return Change(verdict, before, self._since_ns, until_ns, exposed_ns)
