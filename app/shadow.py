"""A candidate model beside a running line: it judges some pictures in slack time, and what differs is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from random import SystemRandom
from threading import Lock
from time import monotonic_ns

import numpy as np

from app.agreement import Thresholds, compare
from app.detections import Detections
from app.engine import Engine, Look
from app.errors import BadOutput
from app.frame import AnyImage, Image
from app.pipeline import Judge
from app.verdict import Code, Judgement, Outcome, Reason, Verdict

_CHANCE = SystemRandom().random
FIRST_NS = 1_000_000_000
"""What a candidate's call is taken to last until it has been called."""
BLANK: Image = np.zeros((480, 640, 3), np.uint8)
WEIGHT = 0.2
ENDS = ("same", "different", "skipped")
"""What a chosen picture comes to: both verdicts are the same, they differ, or there was no time for the candidate's."""
CAUTION = 1.5


@dataclass(frozen=True, slots=True)
class Candidate:
    """What is tried on one camera.

    Attributes:
        name: a key of models.
        share: of the pictures, 0 … 1.
        min_score: what scores less takes no part.
    """

    name: str
    engine: Engine
    judge: Judge
    share: float
    min_score: float


@dataclass(frozen=True, slots=True)
class Difference:
    """One picture as both saw it.

    Attributes:
        verdict: the candidate's; the line's own stands in the outcome.
        lost, invented: by class, what only the line's model found and what only the candidate did.
        candidate_ms: what the candidate's look took, preprocess to decode.
    """

    candidate: str
    verdict: Verdict
    lost: Mapping[str, int]
    invented: Mapping[str, int]
    candidate_ms: float


class Shadow:
    """Keeps one picture at a time, the newest that was chosen, until the engine is idle.

    Args:
        candidates: by camera; may be replaced by `configure`.
        tell: gets each outcome with its picture and how the candidate saw it; on the inspect thread, must not wait.
        chance: uniform random numbers in 0 … 1.
    """

    def __init__(
        self,
        candidates: Mapping[str, Candidate],
        tell: Callable[[Outcome, AnyImage, Difference], None],
        chance: Callable[[], float] = _CHANCE,
    ) -> None:
        self._candidates = dict(candidates)
        self._tell = tell
        self._chance = chance
        self._lock = Lock()
        self._waiting: tuple[Outcome, AnyImage] | None = None
        self._call_ns: dict[str, float] = {}
        self._counts: Counter[tuple[str, str, str]] = Counter()

    def counts(self) -> dict[tuple[str, str, str], int]:
        """Return how many chosen pictures came to what, by camera, candidate and `ENDS`; safe on any thread."""
        with self._lock:
            return dict(self._counts)

    def configure(self, candidates: Mapping[str, Candidate]) -> None:
        """Try these from now on; on the inspect thread."""
        with self._lock:
            self._waiting = None
            self._candidates = dict(candidates)
        self.warm()

    def offer(self, outcome: Outcome, image: AnyImage) -> None:
        """Take a verdict with its picture; cheap, on the path of a frame."""
        candidate = self._candidates.get(outcome.camera)
        if candidate is None or not outcome.model or outcome.rev > 1 or self._chance() >= candidate.share:
            return
        if not any(step == "inference" for step, *_ in outcome.trace.spans):
            return
        with self._lock:
            if self._waiting is not None:
                self._count(self._waiting[0], "skipped")
            self._waiting = outcome, image

    def idle(self, spare_ns: Callable[[], float]) -> None:
        """Let the candidate look, where that costs no frame its deadline; on the inspect thread, while none waits.

        Args:
            spare_ns: how long the thread may be away: a frame that comes in the first moment must still be on time.
        """
        if self._waiting is None:
            return
        outcome, image = self._waiting
        candidate = self._candidates[outcome.camera]
        if CAUTION * self._call_ns.get(candidate.name, FIRST_NS) > spare_ns():
            return  # it keeps its place: the next pause may be longer, or a newer picture comes
        with self._lock:
            outcome, image = self._waiting
            self._waiting = None
        difference = self._look(candidate, outcome, image)
        with self._lock:
            self._count(outcome, "same" if difference.verdict is outcome.judgement.verdict else "different")
        self._tell(outcome, image, difference)

    def warm(self) -> None:
        """Find out how long each candidate's call lasts, before it is waited for; on the inspect thread."""
        for name, candidate in {one.name: one for one in self._candidates.values()}.items():
            if name not in self._call_ns:
                began_ns = monotonic_ns()
                candidate.engine.look([Look(BLANK, candidate.min_score)])
                self._call_ns[name] = monotonic_ns() - began_ns

    def _count(self, outcome: Outcome, end: str) -> None:
        candidate = self._candidates.get(outcome.camera)
        if candidate is not None:
            self._counts[outcome.camera, candidate.name, end] += 1

    def _look(self, candidate: Candidate, outcome: Outcome, image: AnyImage) -> Difference:
        began_ns = monotonic_ns()
        (found,) = candidate.engine.look([Look(image, candidate.min_score)])
        spent_ns = monotonic_ns() - began_ns
        usual_ns = self._call_ns.get(candidate.name, spent_ns)
        self._call_ns[candidate.name] = usual_ns + WEIGHT * (spent_ns - usual_ns)
        if isinstance(found, BadOutput):
            judgement = Judgement(Verdict.UNKNOWN, (Reason(Code.BAD_OUTPUT, str(found)),))
            found = Detections.none()
        else:
            found = candidate.judge.considered(found)
            judgement = candidate.judge.judge(found, outcome.size_wh, outcome.region_xyxy)
        pairing = compare(_renamed(outcome.detections, found.names), found, Thresholds(other=0.0, slack=0.0)).pairing
        lost = Counter(outcome.detections.name(row) for row in pairing.lost)
        invented = Counter(found.name(row) for row in pairing.invented)
        return Difference(candidate.name, judgement.verdict, lost, invented, spent_ns / 1e6)


def _renamed(found: Detections, names: tuple[str, ...]) -> Detections:
    """Return detections with the class numbers of another model, by their names."""
    if found.names == names or not names:
        return found
    beyond = len(names)
    table = [names.index(name) if name in names else beyond + number for number, name in enumerate(found.names)]
    classes = np.array([table[index] if index < len(table) else beyond + index for index in found.classes], np.int64)
    return replace(found, classes=classes)
