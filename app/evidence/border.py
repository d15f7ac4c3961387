"""How near the scores of one picture came to the thresholds that decided; pure."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from app.config.sections import ForbidRule, Judge, RequireRule, Rule
from app.detections import Detections


class Border:
    """The thresholds of one camera's rules, for the classes that they name, wherever in the picture.

    Args:
        section: the rules.
        names: the class names by index.
        certain: what the rules ask for at least, where the look was asked for less so that a score just below a
            threshold is seen as well; None where it was not.
    """

    def __init__(self, section: Judge, names: tuple[str, ...], certain: float | None = None) -> None:
        asked = [_asked(rule, section) for rule in section.rules]
        by_class = [sorted({score for cls, score in asked if cls == name}) for name in names]
        width = max((len(scores) for scores in by_class), default=0) or 1
        # One row more for classes without a name, which no rule names.
        self._thresholds = np.full((len(names) + 1, width), np.nan, np.float32)
        for row, scores in enumerate(by_class):
            self._thresholds[row, : len(scores)] = scores
        self._certain = certain

    def __call__(self, found: Detections) -> tuple[Detections, float | None]:
        """Return what was found, and the least distance of a score to a threshold; None where no class has one.

        A cap that was reached only because the look was asked for more than the rules need is not told of: where boxes
        below all thresholds are among those that were kept, none above was left out, since the best are kept.
        """
        is_capped = found.truncated or found.saturated
        if is_capped and self._certain is not None and len(found) and float(found.scores.min()) < self._certain:
            found = replace(found, truncated=False, saturated=False)
        rows = np.minimum(found.classes, len(self._thresholds) - 1)
        distances = np.abs(found.scores[:, None] - self._thresholds[rows])
        distances = distances[np.isfinite(distances)]
        return found, float(distances.min()) if distances.size else None


def _asked(rule: Rule, section: Judge) -> tuple[str, float]:
    """Return the class that a rule names, and from which score on it counts there."""
    if isinstance(rule, ForbidRule):
        own = rule.min_score
        return rule.forbid, section.scores.get(rule.forbid, section.score) if own is None else own
    name = rule.require if isinstance(rule, RequireRule) else rule.count
    return name, section.scores.get(name, section.score)
