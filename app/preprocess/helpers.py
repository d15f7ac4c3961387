"""Threads that help the inspect thread while several pictures are made ready at the same time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from types import TracebackType
from typing import TypeVar

from typing_extensions import Self

T = TypeVar("T")


class Helpers:
    """Entered on the inspect thread, whose CPUs and class they inherit; before and after, that does all by itself.

    They have work while the engine's own threads have none, so there are as many as the engine has beside the first.

    Args:
        count: of threads; 0: none.

    Attributes:
        ways: in how many parts work is best shared out, one for the thread that asks included.
    """

    def __init__(self, count: int) -> None:
        self.ways = count + 1
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> Self:
        """Be ready; a thread starts when there is work for it."""
        if self.ways > 1:
            self._pool = ThreadPoolExecutor(self.ways - 1, thread_name_prefix="inspect")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End the threads; safe to call twice. Whoever asks from now on, on another thread, does all by itself."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown()

    def share_out(self, parts: Sequence[Callable[[], T]]) -> list[T]:
        """Have all parts done, the first by this thread, and return what they give, in their order.

        Raises:
            Exception: what a part raises; by then all have ended.
        """
        pool = self._pool
        if pool is None:
            return [part() for part in parts]
        others = [pool.submit(part) for part in parts[1:]]
        try:
            first = parts[0]()
        finally:
            wait(others)
        return [first, *(other.result() for other in others)]
