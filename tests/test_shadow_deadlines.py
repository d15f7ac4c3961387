"""A candidate never costs a deadline: lines by chance, with a clock that only the engines move."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from app.detections import Detections
from app.shadow import Candidate, Shadow
from app.trace import Trace
from app.verdict import Judgement, Outcome, Verdict
from tests.test_inspector import MS, inspector

PICTURE = np.zeros((4, 6, 3), np.uint8)
FRAMES = 20


class Line:
    """Cameras that give a picture at each beat, one thread that looks, and a candidate for each of them.

    Args:
        cameras: of each, its budget, what its engine's call lasts, and when its first picture comes, in milliseconds.
        candidate_ms: what the candidate's call lasts.
    """

    def __init__(self, cameras: list[tuple[int, int, int]], candidate_ms: int) -> None:
        self.cameras, self.candidate_ns = cameras, candidate_ms * MS
        self.now_ns, self.late, self.compared = 0, 0, 0
        self.spare_ns: Callable[[], float] = inspector(*((budget, call) for budget, call, _ in cameras))._spare_ns
        judge = SimpleNamespace(considered=lambda found: found, judge=lambda *_: Judgement(Verdict.OK))
        candidate = Candidate("new", SimpleNamespace(look=self._look), judge, 1.0, 0.1)
        names = map(str, range(len(cameras)))
        self.shadow = Shadow(dict.fromkeys(names, candidate), self._tell, lambda: 0.0)

    def run(self) -> None:
        beat_ms = max(budget for budget, _, _ in self.cameras)
        comes = [
            ((first + number * beat_ms) * MS, camera)
            for camera, (_, _, first) in enumerate(self.cameras)
            for number in range(FRAMES)
        ]
        comes.sort()
        waiting: list[tuple[int, int]] = []
        with patch("app.shadow.monotonic_ns", lambda: self.now_ns):
            self.shadow.warm()
            self.now_ns = 0
            while comes or waiting:
                while comes and comes[0][0] <= self.now_ns:
                    at_ns, camera = comes.pop(0)
                    heappush(waiting, (at_ns + self.cameras[camera][0] * MS, camera))
                if waiting:
                    self._judge(*heappop(waiting))
                    continue
                before_ns = self.now_ns
                self.shadow.idle(self.spare_ns)
                if self.now_ns == before_ns and comes:
                    self.now_ns = comes[0][0]

    def _judge(self, deadline_ns: int, camera: int) -> None:
        self.now_ns += self.cameras[camera][1] * MS
        self.late += self.now_ns > deadline_ns
        trace = Trace("t", 0)
        trace.add("inference", 0, 1)
        outcome = Outcome("t", str(camera), 1, Judgement(Verdict.OK), (6, 4), NOTHING, trace, 1.0, 0, model="old:1")
        self.shadow.offer(outcome, PICTURE)

    def _look(self, looks: object) -> list[Detections]:
        self.now_ns += self.candidate_ns
        return [NOTHING]

    def _tell(self, *_: object) -> None:
        self.compared += 1


NOTHING = Detections.none()
CAMERAS = st.lists(
    st.tuples(st.integers(40, 400), st.integers(1, 8), st.integers(0, 400)),
    min_size=1,
    max_size=4,
)


@given(cameras=CAMERAS, candidate_ms=st.integers(1, 400))
def test_no_frame_is_late_for_a_candidate_however_the_pictures_come(
    cameras: list[tuple[int, int, int]], candidate_ms: int
) -> None:
    line = Line(cameras, candidate_ms)
    line.run()
    assert line.late == 0


def test_where_there_is_time_it_does_look() -> None:
    line = Line([(100, 20, 0), (400, 20, 7)], candidate_ms=5)
    line.run()
    assert line.late == 0
    assert line.compared > FRAMES // 2


def test_where_its_call_is_too_long_it_never_looks() -> None:
    line = Line([(100, 20, 0)], candidate_ms=60)
    line.run()
    assert (line.late, line.compared) == (0, 0)


def test_without_the_bound_frames_would_be_late() -> None:
    line = Line([(100, 20, 0), (100, 20, 50)], candidate_ms=300)
    line.spare_ns = lambda: float("inf")
    line.run()
    assert line.late > 0
