"""A folder that may be closed for a while: says so once, tries again, and tells what was promised and is lost."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from time import monotonic
from typing import Protocol

from app.evidence.folder import Content, Folder
from app.evidence.waiting import Job

logger = logging.getLogger(__name__)

RETRY_S = 5.0
"""A folder that did not take a picture is tried again with one picture after so long."""
TELL_S = 1.0
_NAMED = 20


class Tell(Protocol):
    """Takes an event; must not wait."""

    def __call__(self, camera: str, kind: str, text: str, **data: object) -> None:
        """Take camera (empty: the line), kind, text and data."""
        ...


class Shelf:
    """Used by the writer's thread; `is_open` is asked from any.

    Args:
        folder: where the pictures lie.
        tell: takes events.
    """

    def __init__(self, folder: Folder, tell: Tell) -> None:
        self.folder = folder
        self._tell = tell
        self._closed_until_s: float | None = None
        self._lost: list[tuple[str, str]] = []
        self._told_s = 0.0

    @property
    def is_open(self) -> bool:
        """Whether a picture has a chance to be saved; a closed one is tried now and then."""
        until_s = self._closed_until_s
        if until_s is None:
            return True
        if monotonic() < until_s:
            return False
        self._closed_until_s = monotonic() + RETRY_S  # one picture is the trial; the others wait for what becomes of it
        return True

    def save(self, job: Job, files: Sequence[tuple[str, Content]]) -> None:
        """Write a piece; says when it can be done again.

        Raises:
            OSError: see `Folder.save`.
        """
        self.folder.save(job.stem, files)
        if self._closed_until_s is not None:
            self._closed_until_s = None
            logger.warning("%s %s: pictures are saved again", self.folder.key, self.folder.root)
            self._tell("", "evidence", f"{self.folder.key}: pictures are saved again", saving=True)

    def close(self, job: Job, what: str) -> None:
        """Save nothing for a while, because a piece could not be written; told of once, until it can be again."""
        was_open = self._closed_until_s is None
        self._closed_until_s = monotonic() + RETRY_S
        self.lose(job, what)
        if was_open:
            logger.error(
                "%s %s: %s; pictures are not saved until that changes", self.folder.key, self.folder.root, what
            )
            self._tell("", "evidence", f"{self.folder.key}: {what}; pictures are not saved now", saving=False)

    def lose(self, job: Job, why: str) -> None:
        """Note a piece that a message names and that will not be there."""
        if not job.sample:
            self._lost.append((job.outcome.evidence, why))

    def tell_lost(self, *, at_once: bool = False) -> None:
        """Tell what was lost, at most once a second."""
        if not self._lost or (monotonic() - self._told_s < TELL_S and not at_once):
            return
        lost, self._lost, self._told_s = self._lost, [], monotonic()
        text = f"{len(lost)} pictures that results name were not saved: {lost[0][1]}"
        self._tell("", "evidence_lost", text, count=len(lost), pictures=[path for path, _ in lost[:_NAMED]])
