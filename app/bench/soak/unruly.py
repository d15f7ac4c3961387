"""Cameras and an engine that do what they are told to; in the line's own process."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from threading import Event
from time import monotonic
from types import TracebackType
from typing import Any

import numpy as np
from typing_extensions import Self

from app.capture.base import Source
from app.detections import Detections
from app.engine import Engine, Found, Look
from app.errors import SourceLost
from app.frame import Picture

NOT_FOUND_EVERY = 20
"""Every so often the quick engine finds nothing, so that there are NG and their pictures."""


@dataclass(slots=True)
class Troubles:
    """What is wrong now, by name: `lost side`, `hang`; each is over by itself.

    One thread tells, others ask; both only touch one entry of a dictionary.
    """

    until_s: dict[str, float] = field(default_factory=dict)

    def begin(self, name: str, seconds: float) -> None:
        """Let one begin."""
        self.until_s[name] = monotonic() + seconds

    def left_s(self, name: str) -> float:
        """Return how long one still lasts; 0 where there is none."""
        return max(0.0, self.until_s.get(name, 0.0) - monotonic())


class UnrulySource:
    """A camera that is lost, frozen, black or silent while it is told to be.

    Args:
        camera: its name.
        inner: gives the pictures.
        troubles: asked at each read.
    """

    def __init__(self, camera: str, inner: Source, troubles: Troubles) -> None:
        self._camera = camera
        self._inner = inner
        self._troubles = troubles
        self._last: Picture | None = None

    def __enter__(self) -> Self:
        """Open it.

        Raises:
            SourceLost: it is lost now.
        """
        self._refuse_lost()
        self._inner.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close it."""
        self._last = None
        self._inner.__exit__(kind, error, traceback)

    def read(self, timeout_s: float) -> Picture | None:
        """Read as the inner one does, or as it is told.

        Raises:
            SourceLost: it is lost now.
        """
        self._refuse_lost()
        silent_s = self._troubles.left_s(f"silent {self._camera}")
        if silent_s:
            Event().wait(silent_s)  # as a driver blocks, whatever the time-out
            return None
        picture = self._inner.read(timeout_s)
        if picture is None:
            return None
        if self._troubles.left_s(f"black {self._camera}"):
            return replace(picture, data=np.zeros_like(picture.data))
        if self._troubles.left_s(f"frozen {self._camera}") and self._last is not None:
            return replace(picture, data=self._last.data)
        self._last = picture
        return picture

    def _refuse_lost(self) -> None:
        if self._troubles.left_s(f"lost {self._camera}"):
            raise SourceLost(f"{self._camera}: the plug was pulled, says the soak")


class UnrulyEngine:
    """An engine that does not come back while it is told to hang."""

    def __init__(self, inner: Engine, troubles: Troubles) -> None:
        self._inner = inner
        self._troubles = troubles

    @property
    def backend(self) -> AbstractContextManager[Any]:
        """The inner one's."""
        return self._inner.backend

    @property
    def most(self) -> int:
        """The inner one's, where it has one."""
        return int(getattr(self._inner, "most", 1))

    def label(self) -> str:
        """Return the inner one's."""
        return self._inner.label()

    def look(self, looks: Sequence[Look]) -> list[Found]:
        """Look, once it does not hang."""
        hang_s = self._troubles.left_s("hang")
        if hang_s:
            Event().wait(hang_s)
        return self._inner.look(looks)


class QuickEngine:
    """An engine that finds a cover in nearly every picture without looking: for cameras beside a real one."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._looks = 0
        box = np.array([[10, 10, 60, 60]], np.float32)
        self._found = Detections(box, np.array([0.9], np.float32), np.zeros(1, np.int64), names)
        self._nothing = Detections.none(names)

    @property
    def backend(self) -> AbstractContextManager[Any]:
        """It holds nothing."""
        return nullcontext()

    @property
    def most(self) -> int:
        """One."""
        return 1

    def label(self) -> str:
        """Return what the results say."""
        return "soak:quick"

    def look(self, looks: Sequence[Look]) -> list[Found]:
        """Find what is not there."""
        return [self._one(look) for look in looks]

    def _one(self, look: Look) -> Found:
        self._looks += 1
        for step in ("preprocess", "inference", "decode"):
            with look.trace.step(step):
                pass
        return self._found if self._looks % NOT_FOUND_EVERY else self._nothing
