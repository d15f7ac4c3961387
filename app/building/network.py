"""One plan from one ONNX file: parse, set the builder up, build. Runs in the builder's process only.

Nothing is used here that a supported version lacks, unless `hasattr` was asked first: `tests/building/test_api.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from app.building.request import Built, PhaseFinished, PhaseStarted, Report, Request, Said, StepDone
from app.inference.engine_file import Range
from app.inference.tensorrt_module import DTYPES
from app.model import TensorSpec

_SAID = 2000  # characters kept of the builder's errors

Say = Callable[[Report], None]
Trt = Any  # objects of a module that is known at run time only


class Refusal(Exception):  # noqa: N818 - named after what the builder did
    """The builder gives no plan; the text is one line."""


def build_plan(trt: ModuleType, request: Request, say: Say) -> Built:
    """Build a plan and write it to the request's file.

    Args:
        trt: TensorRT, or TensorRT for RTX.
        request: what to build.
        say: told of phases and of what the builder says.

    Raises:
        Refusal: the file can't be parsed, or there is no plan for it.
    """
    errors: list[str] = []
    logger = _logger(trt, say, errors)
    try:
        builder = trt.Builder(logger)
    except TypeError as error:  # "factory function returned nullptr": how a broken driver looks from Python
        raise Refusal(
            f"the builder can't be made: {_joined(errors) or 'is the driver as new as TensorRT asks?'}"
        ) from error
    network = builder.create_network(network_flags(trt, strongly_typed=request.strongly_typed))
    _parse(trt, request, network, logger)
    config = builder.create_builder_config()
    _set_up(trt, request, builder, network, config)
    cache_used = _load_cache(request, config, errors)
    monitor = _monitor(trt, say)
    if monitor is not None and hasattr(config, "progress_monitor"):
        config.progress_monitor = monitor
    plan = builder.build_serialized_network(network, config)
    if plan is None:
        raise Refusal(f"the builder gives no plan: {_joined(errors) or 'it does not say why'}")
    Path(request.plan).write_bytes(bytes(plan))
    _save_cache(request, config)
    tensors = [network.get_output(index) for index in range(network.num_outputs)]
    return Built(
        {tensor.name: dtype_name(tensor.dtype) for tensor in _inputs(network)},
        tuple(_spec(tensor) for tensor in tensors),
        int(config.builder_optimization_level) if hasattr(config, "builder_optimization_level") else None,
        cache_used,
    )


def network_flags(trt: ModuleType, *, strongly_typed: bool) -> int:
    """Return the bits that a network is made with: by name, since the same number means different things.

    Args:
        trt: the module.
        strongly_typed: tensors keep the types that the ONNX gives them.
    """
    flags, bits = trt.NetworkDefinitionCreationFlag, 0
    if hasattr(flags, "EXPLICIT_BATCH"):
        bits |= 1 << int(flags.EXPLICIT_BATCH)
    if strongly_typed and hasattr(flags, "STRONGLY_TYPED"):
        bits |= 1 << int(flags.STRONGLY_TYPED)
    return bits


def dtype_name(dtype: Trt) -> str:
    """Return a data type's name as NumPy has it.

    Raises:
        Refusal: no NumPy array can hold it.
    """
    if dtype.name not in DTYPES:
        raise Refusal(f"a tensor of type {dtype.name} goes in or out: export the model with float inputs and outputs")
    return DTYPES[dtype.name]


def _parse(trt: ModuleType, request: Request, network: Trt, logger: Trt) -> None:
    parser = trt.OnnxParser(network, logger)
    # From a file, so that weights that lie beside it are found.
    if parser.parse_from_file(request.onnx):
        return
    said = [str(parser.get_error(index).desc()) for index in range(parser.num_errors)]
    raise Refusal(f"the parser refuses the model: {_joined(said) or 'it does not say why'}")


def _set_up(trt: ModuleType, request: Request, builder: Trt, network: Trt, config: Trt) -> None:
    """Set flags, memory, level and profiles."""
    for name in request.flags:
        config.set_flag(getattr(trt.BuilderFlag, name))
    config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, request.workspace_bytes)
    if request.level is not None and hasattr(config, "builder_optimization_level"):
        config.builder_optimization_level = request.level
    inputs = [tensor.name for tensor in _inputs(network)]
    if any(-1 in tuple(tensor.shape) for tensor in _inputs(network)):
        _add_profiles({name: request.ranges[name] for name in inputs}, builder, config)


def _add_profiles(ranges: dict[str, tuple[Range, ...]], builder: Trt, config: Trt) -> None:
    for number in range(len(next(iter(ranges.values())))):
        profile = builder.create_optimization_profile()
        for name, spans in ranges.items():
            profile.set_shape(name, spans[number].least, spans[number].best, spans[number].most)
        if config.add_optimization_profile(profile) < 0:
            spans_text = ", ".join(f"{name} {spans[number]}" for name, spans in ranges.items())
            raise Refusal(f"the model can't have the shapes {spans_text}")


def _inputs(network: Trt) -> list[Trt]:
    return [network.get_input(index) for index in range(network.num_inputs)]


def _spec(tensor: Trt) -> TensorSpec:
    shape = tuple(None if axis < 0 else int(axis) for axis in tensor.shape)
    return TensorSpec(tensor.name, shape, dtype_name(tensor.dtype))


def _load_cache(request: Request, config: Trt, errors: list[str]) -> bool:
    """Give the builder what earlier builds measured, and return whether it takes that: a damaged one is left out."""
    if not request.cache_out:
        return False
    content = Path(request.cache_in).read_bytes() if request.cache_in else b""
    before = len(errors)
    fits = bool(config.set_timing_cache(config.create_timing_cache(content), False)) and len(errors) == before
    if not fits:
        del errors[before:]  # it is no reason why a build fails
        config.set_timing_cache(config.create_timing_cache(b""), False)
    return fits and bool(content)


def _save_cache(request: Request, config: Trt) -> None:
    cache = config.get_timing_cache() if request.cache_out else None
    if cache is not None:
        Path(request.cache_out).write_bytes(bytes(cache.serialize()))


def _logger(trt: ModuleType, say: Say, errors: list[str]) -> Trt:
    """Make a logger that passes on warnings and keeps the errors; the bindings keep no reference to it."""
    worst = int(trt.ILogger.Severity.ERROR)

    class Logger(trt.ILogger):  # type: ignore[misc, name-defined]  # a class that exists at run time only
        def __init__(self) -> None:
            trt.ILogger.__init__(self)

        def log(self, severity: Trt, message: str) -> None:
            if int(severity) > worst + 1:
                return
            text = " ".join(message.split())
            say(Said(text, is_error=int(severity) <= worst))
            if int(severity) <= worst:
                errors.append(text)

    return Logger()


def _monitor(trt: ModuleType, say: Say) -> Trt | None:
    """Make what is told of the builder's phases, where this version has such a thing."""
    if not hasattr(trt, "IProgressMonitor"):
        return None

    class Monitor(trt.IProgressMonitor):  # type: ignore[misc, name-defined]  # a class that exists at run time only
        def __init__(self) -> None:
            trt.IProgressMonitor.__init__(self)

        def phase_start(self, phase_name: str, parent_phase: str | None, num_steps: int) -> None:
            say(PhaseStarted(phase_name, parent_phase or "", num_steps))

        def step_complete(self, phase_name: str, step: int) -> bool:
            say(StepDone(phase_name, step))
            return True

        def phase_finish(self, phase_name: str) -> None:
            say(PhaseFinished(phase_name))

    return Monitor()


def _joined(texts: list[str]) -> str:
    return "; ".join(dict.fromkeys(" ".join(text.split()) for text in texts))[:_SAID]
