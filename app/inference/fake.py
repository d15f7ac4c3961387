"""An engine without a network: scripted results, delays and errors, for tests and for a line's dry run."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Self

from app.errors import ModelError
from app.inference.base import Tensors
from app.inference.feeds import check_feeds
from app.inference.shapes import known_shape
from app.model import TensorSpec

Script: TypeAlias = Tensors | Callable[[Tensors], Tensors]


class FakeBackend:
    """Gives the outputs that it was told to give.

    Calls are counted from 0 each time it is entered, and call 0 is the warm-up that entering does: with
    `delays_s=(2, 0.005)` the first run takes two seconds and the later ones take five milliseconds.

    Attributes:
        inputs, outputs, provider: see `Backend`.
        calls: how often it ran since it was entered, the warm-up included.
    """

    def __init__(
        self,
        inputs: Sequence[TensorSpec],
        results: Script,
        *,
        delays_s: Sequence[float] = (),
        errors: Mapping[int, Exception] | None = None,
        wait: Callable[[float], object] = time.sleep,
    ) -> None:
        """Keep the script; runs nothing.

        Args:
            inputs: with no open axis.
            results: arrays by output name, or a function that makes them from the feeds.
            delays_s: how long each call takes, the last one from there on.
            errors: what a call raises instead, by its number.
            wait: how to spend a delay; an event's `wait` makes it one that can be cut short.
        """
        self.inputs = tuple(inputs)
        self.outputs = () if callable(results) else _specs(results)
        self.provider = ""
        self.calls = 0
        self._script = results
        self._delays_s = tuple(delays_s)
        self._errors = dict(errors or {})
        self._wait = wait
        self._entered = False
        self._results: dict[str, NDArray[Any]] = {}

    def __enter__(self) -> Self:
        """Warm up: the first call of the script."""
        if self._entered:
            return self
        self._entered = True
        self.calls = 0
        with ExitStack() as undo:
            undo.callback(self.close)
            self.infer({spec.name: np.zeros(known_shape(spec), spec.dtype) for spec in self.inputs})
            undo.pop_all()
        self.outputs = _specs(self._results)
        self.provider = "fake"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Safe to call twice."""
        self.close()

    def close(self) -> None:
        """Safe to call twice."""
        self._entered = False
        self._results = {}

    def infer(self, feeds: Tensors) -> Tensors:
        """Play the next step of the script; see `Backend.infer`.

        Raises:
            ModelError: it is not entered, or the feeds don't fit `inputs`.
            Exception: whatever the script says for this call.
        """
        if not self._entered:
            raise ModelError("fake engine: not loaded: enter the backend before it is asked to infer")
        check_feeds(self.inputs, feeds)
        call, self.calls = self.calls, self.calls + 1
        if self._delays_s:
            self._wait(self._delays_s[min(call, len(self._delays_s) - 1)])
        if call in self._errors:
            raise self._errors[call]
        for name, array in (self._script(feeds) if callable(self._script) else self._script).items():
            self._lend(name, array)
        return self._results

    def _lend(self, name: str, array: NDArray[Any]) -> None:
        """Copy one output to the array that callers borrow, as a real engine writes to the same memory each time."""
        lent = self._results.get(name)
        if lent is None or lent.shape != array.shape or lent.dtype != array.dtype:
            self._results[name] = array.copy()
            return
        np.copyto(lent, array)


def _specs(results: Tensors) -> tuple[TensorSpec, ...]:
    return tuple(TensorSpec(name, array.shape, array.dtype.name) for name, array in results.items())
