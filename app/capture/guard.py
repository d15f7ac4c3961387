"""Refuses pictures that can't be judged, because silence is never a pass."""

from __future__ import annotations

from app.capture import checks
from app.capture.frozen import HANGS_AFTER, Frozen
from app.capture.sample import Sample, sample_of
from app.capture.stamps import Stamps
from app.capture.standing import Standing
from app.config.sections import Guard as GuardSection
from app.frame import Picture
from app.verdict import Code, Reason

__all__ = ["HANGS_AFTER", "Guard"]

UNKNOWN_RATE_S, LEAST_S, PERIODS = 5.0, 2.0, 5.0
"""Seconds without a picture that make a camera stale: while its rate is unknown; at least; in periods of its rate."""


class Guard:
    """Checks the pictures of one camera in their order.

    Args:
        section: what is refused.
        live: pictures come at their own time, so identical ones mean that the camera hangs.
    """

    def __init__(self, section: GuardSection, live: bool) -> None:
        self._section = section
        self._live = live
        self._watch_frozen = live if section.frozen is None else section.frozen
        self._watch_stamps = live if section.stamps is None else section.stamps
        self._watch_blank = live if section.blank is None else section.blank
        # A triggered camera shows another part each time; a picture that comes twice was never triggered.
        self._frozen = Frozen(2 if section.triggered else section.frozen_after)
        self._stamps = Stamps(section.max_age_s)
        self._seen = 0
        self.standing = Standing(section.alarm_after, section.clear_after)
        """Where the camera stands by these pictures."""

    def check(self, picture: Picture) -> Reason | None:
        """Return why the picture can't be judged, or None.

        The last good picture is kept (not copied) to see whether the next one is the same.
        """
        self._seen += 1
        if picture.fault is not None:
            return picture.fault
        if picture.data.size == 0:
            return Reason(Code.UNREADABLE, "the picture is empty")
        sample = sample_of(picture)
        return (
            checks.wrong_size(picture.size_wh, self._section)
            or checks.too_deep(picture, sample)
            or self._light(sample)
            or self._is_frozen(picture, sample)
            or (self._stamps.check(picture) if self._watch_stamps else None)
            or self._content(sample)
        )

    @property
    def hangs(self) -> bool:
        """Whether old pictures have come for so long that the source should be opened again."""
        return self._frozen.hangs or self._stamps.hang

    def reset(self) -> None:
        """The source was opened again."""
        self._frozen.reopened()
        self._stamps.reset()
        self.standing.reset()
        self._seen = 0

    def patience_s(self, fps: float | None) -> float | None:
        """Return the seconds without a picture after which the camera is stale; None where that is no fault.

        Args:
            fps: its measured rate; None while that is unknown.
        """
        section = self._section
        if not self._live or section.triggered:
            return None
        if section.stale_s is not None:
            return section.stale_s
        return UNKNOWN_RATE_S if fps is None else max(LEAST_S, PERIODS / fps)

    def _light(self, sample: Sample) -> Reason | None:
        """Refuse what has too little light or too much; clipped pixels are alike without anything being frozen."""
        section = self._section
        reason = checks.black(sample, section.black_level) if section.black else None
        if reason is None and section.overexposed:
            reason = checks.overexposed(sample, section.overexposed_level, section.overexposed_share)
        if reason is not None:
            self._frozen.forget()
        return self._starting() if reason is not None and self._seen <= section.warm_up else reason

    def _is_frozen(self, picture: Picture, sample: Sample) -> Reason | None:
        if not self._watch_frozen:
            return None
        self._frozen.see(picture, sample)
        if not self._frozen.is_so:
            return None
        times = self._frozen.repeats
        return Reason(Code.FROZEN, f"the same picture came {times} times in a row; the camera hangs")

    def _content(self, sample: Sample) -> Reason | None:
        section = self._section
        if self._seen <= section.warm_up:
            return self._starting()
        return (
            (checks.blank(sample, section.blank_spread) if self._watch_blank else None)
            or (checks.torn(sample, section.torn_rows) if section.torn else None)
            or (checks.blurred(sample, section.sharpness) if section.sharpness is not None else None)
        )

    def _starting(self) -> Reason:
        text = f"picture {self._seen} of {self._section.warm_up} after the camera was opened, which are not judged"
        return Reason(Code.STARTING, text)
