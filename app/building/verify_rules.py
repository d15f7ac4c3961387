"""What a camera's rules say of a still picture, and from which score on they look at each class."""

from __future__ import annotations

from app.agreement import Thresholds
from app.config import sections
from app.detections import Detections
from app.judge import Box, Judge
from app.verdict import Judgement


class Rules:
    """The rules of one camera for pictures that do not belong to a stream.

    A gate needs a stream to choose each part's best picture. Here a picture shows one part: the box of the gate's class
    with the best score, with the gate's margin.

    Raises:
        ConfigError: rules and class names do not fit together.
    """

    def __init__(self, camera: sections.Camera, names: tuple[str, ...]) -> None:
        self._judge = Judge(camera.judge, names)
        self._section, self._names, self._gate = camera.judge, names, camera.gate

    @property
    def min_score(self) -> float:
        """The least score that the decoder gives when the product runs these rules."""
        return self._judge.min_score()

    def thresholds(self, slack: float) -> Thresholds:
        """Return the least score of each class that any rule looks at."""
        asked = {
            rule.forbid: rule.min_score
            for rule in self._section.rules
            if isinstance(rule, sections.ForbidRule) and rule.min_score is not None
        }
        own = [self._judge.threshold(name) for name in self._names]
        least = [min(score, asked.get(name, score)) for name, score in zip(self._names, own, strict=True)]
        return Thresholds(tuple(least), self._section.score, slack)

    def judge(self, detections: Detections, size_wh: tuple[int, int]) -> Judgement:
        """Judge what a look found, as the product would."""
        taking_part = self._judge.considered(detections)
        return self._judge.judge(taking_part, size_wh, self._part(taking_part, size_wh))

    def _part(self, detections: Detections, size_wh: tuple[int, int]) -> Box | None:
        if self._gate is None:
            return None
        for row in range(len(detections)):
            if detections.name(row) == self._gate.cls:
                left, top, right, bottom = (float(edge) for edge in detections.xyxy[row])
                margin, (width, height) = self._gate.margin_px, size_wh
                return (
                    max(left - margin, 0),
                    max(top - margin, 0),
                    min(right + margin, width),
                    min(bottom + margin, height),
                )
        return None
