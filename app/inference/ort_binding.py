"""The arrays of one session on the CPU: outputs made once, inputs read where the caller has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

from app.inference.base import Tensors
from app.inference.shapes import fixed, known_shape
from app.model import TensorSpec


class Binding:
    """Binds a session's inputs and outputs to memory, so that a run allocates no array.

    Attributes:
        outputs: with the shapes that the session worked out, more than the file may say; None stays where only a run
            tells, and those outputs are arrays of ONNX Runtime's, fresh each time.
    """

    def __init__(
        self,
        session: ort.InferenceSession,
        inputs: Sequence[TensorSpec],
        outputs: Sequence[TensorSpec],
        batch: int | None = None,
    ) -> None:
        """Bind.

        Args:
            session: opened with the inputs' shapes, but for an open batch axis.
            inputs: as they will be fed.
            outputs: of the file, for their types.
            batch: how many pictures are fed, where the session's batch axis is open; it is the first of an output's
                axes, if that is the only one that the session leaves open.
        """
        found = {node.name: _closed([fixed(axis) for axis in node.shape], batch) for node in session.get_outputs()}
        self.outputs = tuple(TensorSpec(spec.name, found[spec.name], spec.dtype) for spec in outputs)
        self._session = session
        self._inputs = tuple(inputs)
        self._open = tuple(index for index, spec in enumerate(self.outputs) if None in spec.shape)
        self._binding = session.io_binding()
        self._addresses: dict[str, int] = {}
        self._results: dict[str, NDArray[Any]] = {}
        for spec in self.outputs:
            self._bind(spec)

    def run(self, feeds: Tensors) -> Tensors:
        """Run the session on feeds that fit its inputs; the arrays that come back are borrowed until the next run."""
        for spec in self._inputs:
            self._point(spec.name, feeds[spec.name])
        for index in self._open:
            # Bound anew, or the session writes into the last run's array and refuses any other size.
            self._binding.bind_output(self.outputs[index].name, "cpu")
        self._session.run_with_iobinding(self._binding)
        if self._open:
            values = self._binding.get_outputs()  # in the order of their first binding, which is that of `outputs`
            self._results.update({self.outputs[index].name: values[index].numpy() for index in self._open})
        return self._results

    def _bind(self, spec: TensorSpec) -> None:
        """Make the array that an output of known shape is written to; one of open shape is made by each run."""
        if None in spec.shape:
            self._binding.bind_output(spec.name, "cpu")
            return
        array = np.zeros(known_shape(spec), spec.dtype)
        self._results[spec.name] = array
        self._binding.bind_output(spec.name, "cpu", 0, array.dtype.type, array.shape, array.ctypes.data)

    def _point(self, name: str, array: NDArray[Any]) -> None:
        """Point the session at the caller's array, unless it is there already."""
        address = array.ctypes.data
        if self._addresses.get(name) != address:
            self._binding.bind_input(name, "cpu", 0, array.dtype.type, array.shape, address)
            self._addresses[name] = address


def _closed(shape: list[int | None], batch: int | None) -> tuple[int | None, ...]:
    """Return an output's shape with its batch axis filled in, where that is what is open."""
    if batch is not None and shape and shape[0] is None and None not in shape[1:]:
        return (batch, *shape[1:])
    return tuple(shape)
