"""ONNX Runtime's sessions as this product opens them: quiet, with said threads, its errors turned into ours."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import onnxruntime as ort
from onnxruntime.capi import onnxruntime_pybind11_state as state

from app.errors import ModelError
from app.inference.ort_providers import CPU, Provider

# They share no base class but Exception. The last two come from its Python side.
ORT_ERRORS: tuple[type[Exception], ...] = (
    state.EngineError,
    state.EPFail,
    state.Fail,
    state.InvalidArgument,
    state.InvalidGraph,
    state.InvalidProtobuf,
    state.NoModel,
    state.NoSuchFile,
    state.NotImplemented,
    state.RuntimeException,
    RuntimeError,
    ValueError,
)

_ERRORS, _FATAL = 3, 4  # severities of its log; 2 is warnings
_NOISE = re.compile(r"\[ONNXRuntimeError\] : \d+ : \w+ : |/\S+\.(?:cc|h):\d+ .*?\) (?=[A-Z])")
_IR = re.compile(r"IR version: (\d+), max supported IR version: (\d+)")
_OPSET = re.compile(r"Opset (\d+) is under development.* for domain (\S+) is till opset (\d+)", re.DOTALL)
_TEXT_LIMIT = 300


def open_session(
    path: Path,
    *,
    providers: Sequence[Provider] = (CPU,),
    threads: int = 1,
    spin_us: int = 0,
    optimise: bool = True,
    save_to: Path | None = None,
    open_axes: Mapping[str, int] | None = None,
    entries: Mapping[str, str] | None = None,
) -> ort.InferenceSession:
    """Load a model.

    Args:
        path: of the .onnx file; by path, so that weights kept beside it are found.
        providers: where it may run, best first, each with its options if it has any.
        threads: for one operator; operators run one after the other.
        spin_us: how long a thread that has nothing to do looks for more before it sleeps; see docs/models.md.
        optimise: rewrite the graph for speed while loading.
        save_to: where to write the rewritten graph.
        open_axes: sizes for named axes, so that every shape is known before the first run.
        entries: of the session's configuration; a key that this ONNX Runtime doesn't know is ignored by it.

    Raises:
        ModelError: ONNX Runtime refuses the file; the text doesn't name the file.
    """
    ort.set_default_logger_severity(_ERRORS)
    level = ort.GraphOptimizationLevel
    options = ort.SessionOptions()
    options.log_severity_level = _FATAL  # what goes wrong comes as an exception
    # Said outright, its threads are not pinned: pinning fails, on stderr, where not every CPU is allowed.
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Left alone, threads that wait for work cost a whole core each between two frames.
    options.add_session_config_entry("session.intra_op.allow_spinning", "1" if spin_us else "0")
    options.add_session_config_entry("session.intra_op.spin_duration_us", str(spin_us))
    options.add_session_config_entry("session.force_spinning_stop", "1")  # where the line above is not known yet
    options.add_session_config_entry("session.inter_op.allow_spinning", "0")
    options.graph_optimization_level = level.ORT_ENABLE_ALL if optimise else level.ORT_DISABLE_ALL
    for key, value in (entries or {}).items():
        options.add_session_config_entry(key, value)
    if save_to is not None:
        options.optimized_model_filepath = str(save_to)
    for name, size in (open_axes or {}).items():
        options.add_free_dimension_override_by_name(name, size)
    try:
        # Without its own fall-back, which prints to stdout and changes the provider behind our back.
        return ort.InferenceSession(str(path), options, providers=list(providers), enable_fallback=0)
    except ORT_ERRORS as error:
        raise ModelError(explain(error)) from error


def explain(error: Exception) -> str:
    """Say in one line what ONNX Runtime means, and what to do where that is known."""
    text = str(error)
    mine = f"this ONNX Runtime ({ort.__version__})"
    if found := _IR.search(text):
        return f"the file has IR version {found[1]}, {mine} reads up to {found[2]}: {_advice('ir_version', found[2])}"
    if found := _OPSET.search(text):
        return (
            f"the file has opset {found[1]} of {found[2]}, {mine} knows up to {found[3]}: {_advice('opset', found[3])}"
        )
    said = " ".join(_NOISE.sub("", text).split())
    return f"{mine} refuses it: {said[:_TEXT_LIMIT]}"


def _advice(what: str, most: str) -> str:
    return f"export the model again with {what} {most} or lower, or install a newer onnxruntime"
