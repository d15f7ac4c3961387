"""Pictures of parts that were not OK, drawn and saved beside the line's beat."""

from __future__ import annotations

import errno
import logging
import os
import re
import threading
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import cv2
from typing_extensions import Self

from app.bgr import to_bgr
from app.config.sections import Evidence as EvidenceSection
from app.errors import ConfigError
from app.frame import AnyImage
from app.publish.draw import annotate
from app.publish.topics import slug
from app.verdict import Outcome

logger = logging.getLogger(__name__)

MAX_WAITING = 16
"""Pictures that may wait; each holds its pixels in memory."""
NICENESS = 10
HEAD_START_S = 0.005
"""That a frame's message has before its picture is drawn; else both compete for the interpreter. Measured in
docs/performance.md."""
OURS = re.compile(r"-\d{6,}-(OK|NG|UNKNOWN)(-\d{5,})?(-r\d+)?\.jpg$")
"""Only files with such names are ever removed."""
PART_SUFFIX = ".part"


@dataclass(frozen=True, slots=True)
class EvidenceCounts:
    """What became of the pictures that were wanted: `wanted = saved + dropped + failed + waiting`, always."""

    wanted: int
    saved: int
    dropped: int
    failed: int
    waiting: int


class Evidence:
    """Saves annotated pictures from a thread of low priority; the oldest files go when there are too many.

    Args:
        section: the folder, the verdicts and the bounds.
    """

    def __init__(self, section: EvidenceSection) -> None:
        self._section = section
        self._folder = Path(section.path)
        self._changed = threading.Condition()
        self._waiting: deque[tuple[Outcome, AnyImage]] = deque()
        self._wanted = self._saved = self._dropped = self._failed = 0
        self._stop = False
        self._is_full = False
        self._files: deque[Path] = deque()
        self._thread = threading.Thread(target=self._run, name="evidence", daemon=False)

    def __enter__(self) -> Self:
        """Make the folder, find what is in it already, and start the thread.

        Raises:
            ConfigError: the folder can't be written to.
        """
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            for torn in self._folder.glob(f"*{PART_SUFFIX}"):
                torn.unlink()
            ours = [path for path in self._folder.iterdir() if OURS.search(path.name)]
            self._files.extend(sorted(ours, key=lambda path: path.stat().st_mtime_ns))
        except OSError as error:
            raise ConfigError(
                f"evidence.path {self._folder}: can't be written ({error.strerror}); choose one that this user may "
                "write to"
            ) from error
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Save what waits and stop; safe to call twice."""
        with self._changed:
            self._stop = True
            self._changed.notify_all()
        if self._thread.ident is not None:
            self._thread.join()

    def put(self, outcome: Outcome, image: AnyImage) -> None:
        """Keep one picture if its verdict is wanted; neither blocks nor raises, and drops the oldest that waits.

        Args:
            outcome: read, not kept for longer than it waits.
            image: in the camera's own format, nobody writes to it again; may be empty.
        """
        if outcome.judgement.verdict.value in self._section.verdicts:
            self.keep(outcome, image)

    def keep(self, outcome: Outcome, image: AnyImage) -> None:
        """Keep one picture whatever its verdict; otherwise as `put`."""
        with self._changed:
            self._wanted += 1
            if len(self._waiting) >= MAX_WAITING:
                self._waiting.popleft()
                self._dropped += 1
            self._waiting.append((outcome, image))
            self._changed.notify_all()

    def counts(self) -> EvidenceCounts:
        """Return the sums so far."""
        with self._changed:
            done = self._saved + self._dropped + self._failed
            return EvidenceCounts(self._wanted, self._saved, self._dropped, self._failed, self._wanted - done)

    # ── the thread ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _run(self) -> None:
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)  # Linux: of this thread alone
        while (job := self._next()) is not None:
            saved = False
            try:
                saved = self._save(*job)
            except Exception:  # the thread's root: a picture that can't be drawn must not stop the others
                logger.exception("evidence of %s could not be drawn", job[0].trace_id)
            with self._changed:
                self._saved += saved
                self._failed += not saved

    def _next(self) -> tuple[Outcome, AnyImage] | None:
        with self._changed:
            if not self._waiting:
                self._changed.wait_for(lambda: self._waiting or self._stop)
                self._changed.wait_for(lambda: self._stop, HEAD_START_S)
            return self._waiting.popleft() if self._waiting else None

    def _save(self, outcome: Outcome, image: AnyImage) -> bool:
        """Write one file; return False where the disk does not take it, which is logged once until it does again."""
        is_encoded, data = cv2.imencode(
            ".jpg", annotate(outcome, to_bgr(image)), [cv2.IMWRITE_JPEG_QUALITY, self._section.quality]
        )
        assert is_encoded, "OpenCV can write JPEG"
        path = self._free_path(outcome)
        part = path.with_suffix(PART_SUFFIX)
        try:
            part.write_bytes(data.tobytes())
            part.replace(path)
        except OSError as error:
            self._complain(error, part)
            return False
        self._is_full = False
        self._files.append(path)
        self._prune()
        return True

    def _free_path(self, outcome: Outcome) -> Path:
        """Return `<camera>-<seq>-<verdict>-<part>.jpg`, with a number added where an earlier run has left that name."""
        part = "" if outcome.part is None else f"-{int(outcome.part):05d}"
        name = f"{slug(outcome.camera)}-{int(outcome.seq):06d}-{outcome.judgement.verdict.value}{part}"
        path, number = self._folder / f"{name}.jpg", 2
        while path.exists():
            path, number = self._folder / f"{name}-r{number}.jpg", number + 1
        return path

    def _complain(self, error: OSError, part: Path) -> None:
        try:
            part.unlink(missing_ok=True)
        except OSError:
            logger.debug("%s stays behind until the next start", part)
        if not self._is_full:
            what = "the disk is full" if error.errno == errno.ENOSPC else str(error.strerror)
            logger.error("evidence.path %s: %s; pictures are not saved until that changes", self._folder, what)
        self._is_full = True

    def _prune(self) -> None:
        while len(self._files) > self._section.max_files:
            oldest = self._files.popleft()
            try:
                oldest.unlink(missing_ok=True)
            except OSError as error:
                logger.warning("evidence %s can't be removed (%s)", oldest, error.strerror)
