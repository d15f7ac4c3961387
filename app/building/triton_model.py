"""Runs inside a Triton server: the model.py of a model that its Python backend runs by ONNX Runtime.

`taktsight engine export-triton --backend python` copies this file as it is; nothing of Taktsight is imported there.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray


class TritonPythonModel:
    """One instance of the model; Triton makes it and calls it, one thread at a time."""

    def initialize(self, args: Mapping[str, str]) -> None:
        """Open the session beside this file.

        Args:
            args: from the server: the repository's folder of this model and the version, among others.
        """
        path = Path(args["model_repository"]) / args["model_version"] / "model.onnx"
        options = ort.SessionOptions()
        # Threads that spin while they wait for work take the CPUs from the other instances.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.intra_op_num_threads = len(os.sched_getaffinity(0))
        options.inter_op_num_threads = 1
        self._session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self._inputs = [node.name for node in self._session.get_inputs()]
        self._outputs = [node.name for node in self._session.get_outputs()]

    def execute(self, requests: Sequence[Any]) -> list[Any]:
        """Answer what the server has gathered: one run for all pictures, cut apart again afterwards."""
        fed = [{name: _input(request, name) for name in self._inputs} for request in requests]
        if len(fed) == 1:
            return [_answer(self._outputs, self._session.run(self._outputs, fed[0]))]
        rows = [len(feeds[self._inputs[0]]) for feeds in fed]
        together = {name: np.concatenate([feeds[name] for feeds in fed]) for name in self._inputs}
        cuts = np.cumsum(rows)[:-1]
        parts = [np.split(array, cuts) for array in self._session.run(self._outputs, together)]
        return [_answer(self._outputs, [part[index] for part in parts]) for index in range(len(fed))]


def _input(request: Any, name: str) -> NDArray[Any]:  # noqa: ANN401 - Triton's own class has no types
    import triton_python_backend_utils as triton  # noqa: PLC0415 - it is there inside the server only

    array: NDArray[Any] = triton.get_input_tensor_by_name(request, name).as_numpy()
    return array


def _answer(names: Sequence[str], arrays: Sequence[NDArray[Any]]) -> Any:  # noqa: ANN401 - Triton's own class has no types
    import triton_python_backend_utils as triton  # noqa: PLC0415 - it is there inside the server only

    tensors = [triton.Tensor(name, np.ascontiguousarray(array)) for name, array in zip(names, arrays, strict=True)]
    return triton.InferenceResponse(output_tensors=tensors)
