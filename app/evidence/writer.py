"""Keeps pictures beside the line's beat: says at once which, and writes them from a thread of low priority."""

from __future__ import annotations

import errno
import logging
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import monotonic
from types import TracebackType

from typing_extensions import Self

from app.background import step_back
from app.config.evidence import Collect
from app.config.evidence import Evidence as EvidenceSection
from app.evidence.folder import Folder
from app.evidence.names import RECORD, evidence_stem, sample_stem
from app.evidence.piece import piece_of
from app.evidence.retention import OldestFirst, Spread
from app.evidence.selection import Sampler, Selection
from app.evidence.settings import Settings
from app.evidence.shelf import Shelf, Tell
from app.evidence.waiting import Counts, Job, Planned, Waiting
from app.frame import AnyImage, size_of
from app.verdict import Outcome

logger = logging.getLogger(__name__)

HEAD_START_S = 0.005
"""That a frame's message has before its picture is written; else both compete for the interpreter. Measured in
docs/performance.md."""
PATIENCE_S = 0.25
"""A picture gives way to frames for so long; what is left of it is then done beside them."""
GRACE_S = 1.0
"""What waits when the service is stopped has so long; the rest is dropped and told of."""
TIDY_S = 60.0
DROPPED_S = 30.0
"""Between two events that tell how many pictures were dropped."""
WAITING_BYTES = 33_554_432
"""Of pixels, where a sample is collected and no evidence kept."""


class Evidence:
    """Owns both folders; a picture is planned before its message goes out, and put after it.

    Args:
        section: of evidence, or None.
        collect: of the sample, or None.
        line: the line's name.
        settings: knows the configuration by which a picture was judged.
        tell: takes camera, kind, text and data of an event; must not wait.
        is_hurried: whether somebody waits for the end; else all that waits is written first.
        lull: waits so many seconds at most for a moment in which no frame is looked at.
    """

    def __init__(
        self,
        section: EvidenceSection | None,
        collect: Collect | None,
        *,
        line: str,
        settings: Settings,
        tell: Tell = lambda *_, **__: None,
        is_hurried: Callable[[], bool] = lambda: True,
        lull: Callable[[float], object] = lambda _: None,
    ) -> None:
        self._is_hurried = is_hurried
        self._lull, self._patient_until_s = lull, 0.0
        self._section, self._line, self._settings = section, line, settings
        self._selection = None if section is None else Selection(section)
        self._sampler = None if collect is None else Sampler(collect)
        self._waiting = Waiting(WAITING_BYTES if section is None else section.max_waiting_bytes)
        self._shelf = None if section is None else Shelf(evidence_folder(section), tell)
        self._samples = None if collect is None else Shelf(sample_folder(collect), tell)
        self._shelves = [shelf for shelf in (self._shelf, self._samples) if shelf is not None]
        self._tell, self._told, self._told_s = tell, 0, 0.0
        self._thread = threading.Thread(target=self._run, name="evidence", daemon=False)

    def __enter__(self) -> Self:
        """Make the folders and start the thread, which first finds what lies in them.

        Raises:
            ConfigError: a folder can't be written to.
        """
        for shelf in self._shelves:
            shelf.folder.open()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Write what waits, for a moment, and stop; safe to call twice."""
        self._waiting.stop()
        if self._thread.ident is not None:
            self._thread.join()

    def plan(self, outcome: Outcome, image: AnyImage, *, asked: bool = False) -> Planned:
        """Decide whether a picture is kept; neither blocks nor raises.

        Args:
            outcome: that is about to be published.
            image: in the camera's own format, nobody writes to it again; may be empty.
            asked: somebody wants this picture, whatever is in it.

        Returns:
            The outcome, naming its evidence where there will be some, and what is to be put afterwards.
        """
        self._settings.look()
        jobs = [job for job in (self._evidence_job(outcome, image, asked), self._sample_job(outcome, image)) if job]
        if jobs and not jobs[0].sample:
            outcome = jobs[0].outcome
        return outcome, tuple(jobs)

    def put(self, jobs: tuple[Job, ...]) -> None:
        """Have planned pictures written; each once, neither blocks nor raises."""
        for job in jobs:
            self._waiting.put(job)

    def counts(self) -> Counts:
        """Return the sums so far."""
        thinned = 0 if self._selection is None else self._selection.thinned
        return replace(self._waiting.counts(), thinned=thinned)

    def _evidence_job(self, outcome: Outcome, image: AnyImage, asked: bool) -> Job | None:
        if self._shelf is None or self._selection is None:
            return None
        why = ("asked",) if asked else self._selection.why(outcome)
        if not why:
            return None
        stem = evidence_stem(outcome, why)
        return self._promised(Job(replace(outcome, evidence=f"{stem}{RECORD}"), image, stem, why), self._shelf)

    def _sample_job(self, outcome: Outcome, image: AnyImage) -> Job | None:
        if self._samples is None or self._sampler is None or 0 in size_of(image) or not self._sampler.wants(outcome):
            return None
        return self._promised(Job(outcome, image, sample_stem(outcome), ("sample",), sample=True), self._samples)

    def _promised(self, job: Job, shelf: Shelf) -> Job | None:
        """Return a job for which there is room; a message must not name one for which there is none."""
        if not shelf.is_open:
            self._waiting.refuse()
            return None
        return job if self._waiting.promise(job) else None

    # ── the thread ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _run(self) -> None:
        step_back()
        for shelf in self._shelves:
            shelf.folder.scan()
        tidied_s, until_s = monotonic(), float("inf")
        while True:
            job = self._waiting.next(HEAD_START_S, 1.0)
            if self._waiting.stopping and self._is_hurried():
                until_s = min(until_s, monotonic() + GRACE_S)
            if job is not None:
                self._take(job, is_late=monotonic() > until_s)
            elif self._waiting.stopping:
                break
            if job is None and monotonic() - tidied_s > TIDY_S:
                tidied_s = self._tidy()
            self._tell_all(at_once=False)
        self._tell_all(at_once=True)

    def _take(self, job: Job, *, is_late: bool) -> None:
        shelf = self._samples if job.sample else self._shelf
        assert shelf is not None, "planned by it"
        saved = False
        self._patient_until_s = monotonic() + PATIENCE_S
        if is_late:
            shelf.lose(job, "the service stopped before it was written")
        else:
            saved = self._save(job, shelf)
        self._waiting.done(job, saved=saved)

    def _save(self, job: Job, shelf: Shelf) -> bool:
        try:
            setting = self._settings.of(job.outcome.config_hash, job.outcome.camera)
            files = piece_of(job, self._line, setting, None if job.sample else self._section, self._give_way)
            self._give_way()
            shelf.save(job, files)
        except OSError as error:
            what = "the disk is full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else str(error.strerror or error)
            shelf.close(job, what)
        except Exception:  # as at the thread's root: a picture that can't be drawn must not stop the others
            logger.exception("evidence of %s could not be written", job.outcome.trace_id)
            shelf.lose(job, "it could not be written")
        else:
            return True
        return False

    def _give_way(self) -> None:
        """Wait until no frame is looked at, while there is time to and room for what comes meanwhile."""
        left_s = self._patient_until_s - monotonic()
        if left_s > 0 and self._waiting.is_relaxed:
            self._lull(left_s)

    def _tidy(self) -> float:
        for shelf in self._shelves:
            shelf.folder.tidy()
        return monotonic()

    def _tell_all(self, *, at_once: bool) -> None:
        """Tell what a message names and is lost, and how much was dropped before any message named it."""
        for shelf in self._shelves:
            shelf.tell_lost(at_once=at_once)
        dropped = self._waiting.counts().dropped
        if dropped == self._told or not (at_once or monotonic() - self._told_s > DROPPED_S):
            return
        text = f"{dropped - self._told} pictures were not kept: there was no room for them in memory or on the disk"
        logger.warning("%s", text)
        self._tell("", "evidence_dropped", text, count=dropped - self._told)
        self._told, self._told_s = dropped, monotonic()


def evidence_folder(section: EvidenceSection) -> Folder:
    """Return the folder of evidence."""
    retention = OldestFirst(section.max_bytes, section.max_days, section.max_files)
    return Folder(Path(section.path), "evidence.path", retention, section.min_free_bytes, synced=section.sync)


def sample_folder(section: Collect) -> Folder:
    """Return the folder of the sample."""
    return Folder(
        Path(section.path), "collect.path", Spread(section.max_bytes, section.max_files), section.min_free_bytes
    )
