"""The memory of one session on a device: every input and output stays at one address, as a CUDA graph needs it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

from app.inference.base import Tensors
from app.inference.shapes import fixed, known_shape
from app.model import TensorSpec

_GRAPH_ID = "gpu_graph_id"
_NO_GRAPH = "-1"


class DeviceBinding:
    """Binds a session's inputs and outputs to memory on a device that is made once.

    A picture is copied to the device, and results are copied from it into arrays that stay: three copies and no
    allocation on the device for each run. Outputs whose shape only a run tells come back as fresh arrays.

    Args:
        session: with its provider already verified.
        inputs: with no open axis.
        outputs: as the file has them.
        device: "cuda"; "cpu" runs the same path without a GPU.
        number: of the device.

    Attributes:
        outputs: with the shapes that the session worked out; None stays where only a run tells.
    """

    def __init__(
        self,
        session: ort.InferenceSession,
        inputs: Sequence[TensorSpec],
        outputs: Sequence[TensorSpec],
        *,
        device: str = "cuda",
        number: int = 0,
    ) -> None:
        found = {node.name: tuple(fixed(axis) for axis in node.shape) for node in session.get_outputs()}
        self.outputs = tuple(TensorSpec(spec.name, found[spec.name], spec.dtype) for spec in outputs)
        self._session = session
        self._place = (device, number)
        self._binding = session.io_binding()
        self._eager = ort.RunOptions()
        self._eager.add_run_config_entry(_GRAPH_ID, _NO_GRAPH)
        self._open = tuple(index for index, spec in enumerate(self.outputs) if None in spec.shape)
        self._fed: dict[str, ort.OrtValue] = {}
        self._made: dict[str, ort.OrtValue] = {}
        self._results: dict[str, NDArray[Any]] = {}
        for spec in inputs:
            self._fed[spec.name] = self._memory(spec)
            self._binding.bind_ortvalue_input(spec.name, self._fed[spec.name])
        for spec in self.outputs:
            self._bind(spec)

    @property
    def is_fixed(self) -> bool:
        """Whether every output has a known shape, without which no graph can be captured."""
        return not self._open

    def run(self, feeds: Tensors) -> Tensors:
        """Run the session, by its graph where it has one; arrays that come back are borrowed until the next run."""
        return self._run(feeds, None)

    def run_eagerly(self, feeds: Tensors) -> Tensors:
        """Run the session node by node, whether it has a graph or not."""
        return self._run(feeds, self._eager)

    def _run(self, feeds: Tensors, options: ort.RunOptions | None) -> Tensors:
        for name, value in self._fed.items():
            value.update_inplace(feeds[name])
        for index in self._open:
            # Bound anew, or the session writes into the last run's array and refuses any other size.
            self._binding.bind_output(self.outputs[index].name, "cpu")
        # The copies and the run may be on different streams: without these the run reads the picture before.
        self._binding.synchronize_inputs()
        self._session.run_with_iobinding(self._binding, options)
        self._binding.synchronize_outputs()
        for name, value in self._made.items():
            np.copyto(self._results[name], value.numpy())
        if self._open:
            values = self._binding.get_outputs()  # in the order of their first binding, which is that of `outputs`
            self._results.update({self.outputs[index].name: values[index].numpy() for index in self._open})
        return self._results

    def _bind(self, spec: TensorSpec) -> None:
        if None in spec.shape:
            self._binding.bind_output(spec.name, "cpu")
            return
        self._made[spec.name] = self._memory(spec)
        self._results[spec.name] = np.zeros(known_shape(spec), spec.dtype)
        self._binding.bind_ortvalue_output(spec.name, self._made[spec.name])

    def _memory(self, spec: TensorSpec) -> ort.OrtValue:
        return ort.OrtValue.ortvalue_from_numpy(np.zeros(known_shape(spec), spec.dtype), *self._place)
