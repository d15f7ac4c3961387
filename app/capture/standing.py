"""Where a camera stands by its pictures: several bad ones in a row change it, and several good ones change it back."""

from __future__ import annotations

from app.capture.state import CameraState
from app.verdict import Code, Reason

STATES = {
    Code.STALE: CameraState.STALE,
    Code.FROZEN: CameraState.FROZEN,
    Code.BLACK: CameraState.BLACK,
    Code.OVEREXPOSED: CameraState.OVEREXPOSED,
    Code.BLANK: CameraState.BLANK,
    Code.BLURRED: CameraState.BLURRED,
    Code.TORN: CameraState.TORN,
    Code.WRONG_SIZE: CameraState.WRONG_SIZE,
    Code.WRONG_FORMAT: CameraState.WRONG_FORMAT,
    Code.UNREADABLE: CameraState.UNREADABLE,
}


class Standing:
    """Counts the pictures of one camera.

    Args:
        alarm_after: refused pictures in a row that make a state.
        clear_after: good pictures in a row that end it.
    """

    def __init__(self, alarm_after: int, clear_after: int) -> None:
        self._alarm_after = alarm_after
        self._clear_after = clear_after
        self.reset()

    def reset(self) -> None:
        """Begin to count anew: the source was opened, or gave nothing for long."""
        self._good = self._bad = self._alike = 0
        self._code: Code | None = None

    def see(self, now: CameraState, fault: Reason | None) -> CameraState:
        """Return where the camera stands after one more picture.

        Args:
            now: where it stood so far.
            fault: of the picture.
        """
        if fault is None:
            return self._after_good(now)
        if fault.code not in STATES:  # it warms up
            return now
        self._good, self._bad = 0, self._bad + 1
        self._alike = self._alike + 1 if fault.code is self._code else 1
        self._code = fault.code
        # From one fault to another it changes as slowly as from good to bad.
        count = self._alike if now.is_stall else self._bad
        return STATES[fault.code] if count >= self._alarm_after else now

    def _after_good(self, now: CameraState) -> CameraState:
        self._good, self._bad, self._alike, self._code = self._good + 1, 0, 0, None
        # A camera that was away is back with its first good picture; one that is at fault has to show it.
        needed = self._clear_after if now.is_stall else 1
        return CameraState.ONLINE if self._good >= needed else now
