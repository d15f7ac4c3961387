"""Pictures that wait to be written: bounded by their bytes, evidence before the sample."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass
from time import monotonic
from typing import TypeAlias

from app.frame import AnyImage, Pixels
from app.verdict import Outcome


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """One picture to be written.

    Attributes:
        outcome: read, not kept for longer than it waits.
        image: in the camera's own format, nobody writes to it again; may be empty.
        stem: where it goes.
        why: it is kept.
        sample: it belongs to the sample, of which no message speaks.
    """

    outcome: Outcome
    image: AnyImage
    stem: str
    why: tuple[str, ...]
    sample: bool = False

    @property
    def size(self) -> int:
        """Bytes of its pixels."""
        return self.image.data.nbytes if isinstance(self.image, Pixels) else self.image.nbytes


Planned: TypeAlias = tuple[Outcome, tuple[Job, ...]]
"""An outcome that names its evidence, and what is to be written once it is published."""


@dataclass(frozen=True, slots=True)
class Counts:
    """What became of the pictures that were wanted: `wanted = saved + dropped + failed + waiting`, always.

    Attributes:
        dropped: there was no room for them in memory or on the disk; no message names evidence that was dropped.
        failed: a message names them, and they could not be written.
        thinned: more of one kind than `max_per_s`, which were not wanted.
    """

    wanted: int
    saved: int
    dropped: int
    failed: int
    waiting: int
    thinned: int = 0


class Waiting:
    """Filled by the threads that judge, emptied by the one that writes; nothing in it blocks but `next`.

    Room is taken first and filled afterwards, so that a message can name a picture before it is on its way.

    Args:
        max_bytes: of pixels, of what waits and what is promised.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._changed = threading.Condition()
        self._evidence: deque[tuple[float, Job]] = deque()
        self._samples: deque[tuple[float, Job]] = deque()
        self._promised = 0
        self._size = 0
        self._stop = False
        self._wanted = self._saved = self._dropped = self._failed = 0

    def promise(self, job: Job) -> bool:
        """Take room for a picture; False, and counted, where there is none. Samples make room for evidence."""
        with self._changed:
            self._wanted += 1
            while not job.sample and self._samples and self._size + job.size > self._max_bytes:
                self._size -= self._samples.popleft()[1].size
                self._dropped += 1
            if self._size + job.size > self._max_bytes and self._size:
                self._dropped += 1
                return False
            self._size += job.size
            return True

    def refuse(self) -> None:
        """Count a picture that can't be kept now."""
        with self._changed:
            self._wanted += 1
            self._dropped += 1

    def put(self, job: Job) -> None:
        """Hand over a picture that was promised."""
        with self._changed:
            (self._samples if job.sample else self._evidence).append((monotonic(), job))
            self._changed.notify_all()

    def next(self, head_start_s: float, timeout_s: float) -> Job | None:
        """Return the next picture, or None after a while without one.

        Args:
            head_start_s: given to the picture's message before it is drawn.
            timeout_s: how long to wait for one.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._evidence or self._samples or self._stop, timeout_s)
            line = self._evidence or self._samples
            if not line:
                return None
            self._changed.wait_for(lambda: self._stop, line[0][0] + head_start_s - monotonic())
            line = self._evidence or self._samples  # samples may have made room meanwhile
            return line.popleft()[1] if line else None

    def done(self, job: Job, *, saved: bool) -> None:
        """Give back the room of a picture that `next` has given."""
        with self._changed:
            self._size -= job.size
            self._saved += saved
            self._failed += not saved and not job.sample
            self._dropped += not saved and job.sample
            self._changed.notify_all()

    def stop(self) -> None:
        """Wake whoever waits; what is there can still be taken."""
        with self._changed:
            self._stop = True
            self._changed.notify_all()

    @property
    def is_relaxed(self) -> bool:
        """Whether there is no hurry: less than half of the room is taken, and nobody waits for the end."""
        return not self._stop and self._size < self._max_bytes / 2

    @property
    def stopping(self) -> bool:
        """Whether `stop` was called."""
        return self._stop

    def counts(self) -> Counts:
        """Return the sums so far."""
        with self._changed:
            done = self._saved + self._dropped + self._failed
            return Counts(self._wanted, self._saved, self._dropped, self._failed, self._wanted - done)
