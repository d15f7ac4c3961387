"""An engine that takes the place of another one where that can't be had and the configuration allows it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from types import TracebackType

from typing_extensions import Self

from app.engine import Engine, Found, Look, hand_over, take_over
from app.errors import ModelError

log = logging.getLogger(__name__)


class Fallback:
    """Which of the two it is, is decided when it is entered; it is an `Engine` and its own `backend`.

    Args:
        wanted: what was asked for.
        instead: what runs where that can't be entered.
    """

    def __init__(self, wanted: Engine, instead: Engine) -> None:
        self._wanted = wanted
        self._instead = instead
        self._chosen = wanted

    @property
    def chosen(self) -> Engine:
        """The one of the two that runs."""
        return self._chosen

    @property
    def backend(self) -> Self:
        """This."""
        return self

    def __enter__(self) -> Self:
        """Enter the wanted one, or the other and say why.

        Raises:
            ModelError: neither can be had.
        """
        try:
            self._wanted.backend.__enter__()
        except ModelError as error:
            log.warning("%s: running on the CPU, as allow_cpu_fallback says", error)
            self._instead.backend.__enter__()
            self._chosen = self._instead
        else:
            self._chosen = self._wanted
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Leave what was entered; safe to call twice."""
        self._chosen.backend.__exit__(kind, error, traceback)

    def hand_over(self) -> None:
        """See `ThreadBound`."""
        hand_over(self._chosen.backend)

    def take_over(self) -> None:
        """See `ThreadBound`."""
        take_over(self._chosen.backend)

    @property
    def most(self) -> int:
        """See `Engine`."""
        return self._chosen.most

    def label(self) -> str:
        """See `Engine`."""
        return self._chosen.label()

    def look(self, looks: Sequence[Look]) -> list[Found]:
        """See `Engine`."""
        return self._chosen.look(looks)
