"""Models in memory, run by ONNX Runtime on the CPU as their own numbers say."""

from __future__ import annotations

import onnx
import onnxruntime as ort

from app.errors import ModelError
from app.inference.base import Tensors
from app.inference.ort_providers import CPU
from app.inference.ort_session import ORT_ERRORS, explain
from app.inference.threads import allowed_cpus

_FATAL = 4


class ModelRunner:
    """One model that was changed a moment ago.

    Q/DQ nodes are computed as they stand, in float: kernels for INT8 differ from CPU to CPU (some saturate at 16 bits),
    and what is asked is what the numbers do to the results, not what this CPU does to the numbers.

    Args:
        model: not kept.

    Raises:
        ModelError: ONNX Runtime can't run it.
    """

    def __init__(self, model: onnx.ModelProto) -> None:
        options = ort.SessionOptions()
        options.log_severity_level = _FATAL
        options.intra_op_num_threads = allowed_cpus()
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.add_session_config_entry("session.disable_quant_qdq", "1")
        try:
            self._session = ort.InferenceSession(model.SerializeToString(), options, providers=[CPU])
        except ORT_ERRORS as error:
            raise ModelError(f"the changed model can't be run: {explain(error)}") from error
        self._names = [output.name for output in self._session.get_outputs()]

    def infer(self, feeds: Tensors) -> Tensors:
        """Run it once; the outputs are the caller's own.

        Raises:
            ModelError: ONNX Runtime can't.
        """
        try:
            outputs = self._session.run(self._names, dict(feeds))
        except ORT_ERRORS as error:
            raise ModelError(f"the changed model can't be run: {explain(error)}") from error
        return dict(zip(self._names, outputs, strict=True))
