"""Builds one engine: the steps in order, in a folder of its own, put in place when all went well."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from types import ModuleType
from typing import TypeAlias

from app.building.convert import Converted, Quantise, convert
from app.building.options import BuildOptions
from app.building.precision import PrecisionPlan, precision_plan
from app.building.process import run_builder
from app.building.profiles import input_ranges
from app.building.request import Built, Report, Request
from app.errors import ModelError
from app.inference.engine_file import EngineInput, Manifest, Range, Verified, manifest_path, write_manifest
from app.inference.machine import Gpu, this_machine
from app.inference.model_file import read_model
from app.inference.plan import find_plan
from app.inference.tensorrt_module import runtime_of
from app.model import ModelInfo

RTX_COMPUTE_CAPABILITIES = ("7.5", "8.0", "8.6", "8.9", "12.0", "12.1")
"""Of the GPUs that TensorRT for RTX makes kernels for; its plans are finished on the device that loads them."""

NO_GPU_WORKSPACE, LEAST_WORKSPACE = 1 << 30, 64 << 20
WORKSPACE_SHARE = 0.5
"""Of the free device memory: the builder and the model take their part besides."""

_DRAFTS = ".building-"
"""Begins the name of a folder of drafts; the number of its process follows."""

Verify: TypeAlias = Callable[[Path], Verified | None]
"""Runs a draft of an engine beside its model; None where that can't be done here; raises ModelError to refuse it."""


@dataclass(frozen=True, slots=True)
class Workshop:
    """What a build works with.

    Attributes:
        trt: TensorRT, or TensorRT for RTX.
        gpu: None where there is none.
        quantise: makes an INT8 model; None without pictures.
        verify: None: the engine is not verified.
        on_step: told which step begins.
        on_report: told what the builder says.
    """

    trt: ModuleType
    gpu: Gpu | None = None
    quantise: Quantise | None = None
    verify: Verify | None = None
    on_step: Callable[[str], None] = lambda step: None
    on_report: Callable[[Report], None] = lambda report: None


def build_engine(options: BuildOptions, shop: Workshop) -> Manifest:
    """Build an engine and put it and its manifest in place; what was there before stays until then.

    Args:
        options: what it is to be.
        shop: what it is built with.

    Raises:
        ModelError: the model can't be used, there is no plan, or the engine's results are not the model's.
        ConfigError: the options don't fit the model.
        OSError: a file can't be written.
    """
    check_gpu(shop.trt, shop.gpu)
    info = read_model(options.onnx)
    ranges = input_ranges(info.inputs, options.batches, options.input_wh)
    plan = precision_plan(shop.trt, options.precision)
    with _workbench(options.out.parent) as folder:
        if plan.carried != "nothing":
            shop.on_step(f"converting to {options.precision}")
        source = convert(info.path, plan, folder, shop.quantise)
        draft = folder / options.out.name
        request = _request(options, shop, plan, ranges, source, draft)
        shop.on_step("building")
        built = run_builder(request, folder, shop.on_report)
        manifest = _manifest(options, shop, info, plan, request, built, source, draft)
        write_manifest(draft, manifest)
        if shop.verify is not None:
            shop.on_step("verifying")
            manifest = replace(manifest, verified=shop.verify(draft))
            write_manifest(draft, manifest)
        _keep_cache(options, shop, request)
        _put_in_place(draft, options.out)
    return manifest


@contextmanager
def _workbench(beside: Path) -> Iterator[Path]:
    """Make a folder for drafts, and remove it; also those of builds that were killed before they could.

    It lies where the engine will: a file moves within a file system in one step, whole or not at all.
    """
    beside.mkdir(parents=True, exist_ok=True)
    for left in beside.glob(f"{_DRAFTS}*"):
        if not Path("/proc", left.name.removeprefix(_DRAFTS).split("-")[0]).exists():
            shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=f"{_DRAFTS}{os.getpid()}-", dir=beside) as name:
        yield Path(name)


def check_gpu(trt: ModuleType, gpu: Gpu | None) -> None:
    """See that TensorRT may be touched: it ends the process where there is no driver.

    Raises:
        ModelError: it needs a GPU and there is none. TensorRT for RTX builds without one.
    """
    if gpu is None and runtime_of(trt) == "tensorrt":
        raise ModelError(
            "tensorrt builds on a GPU, and the driver finds none: build on the machine that will run the engine, or "
            "see that `nvidia-smi` finds the GPU there"
        )


def workspace_bytes(options: BuildOptions, gpu: Gpu | None) -> int:
    """Return how much device memory one layer may take: as asked for, or half of what is free."""
    if options.workspace_mb is not None:
        return options.workspace_mb << 20
    if gpu is None or gpu.free_bytes is None:
        return NO_GPU_WORKSPACE
    return max(LEAST_WORKSPACE, int(gpu.free_bytes * WORKSPACE_SHARE))


def cache_file(options: BuildOptions, trt: ModuleType, gpu: Gpu | None) -> Path | None:
    """Return where the timing cache is kept: what was measured on one GPU with one TensorRT says nothing of others.

    None for TensorRT for RTX, which measures nothing while it builds.
    """
    runtime, version = runtime_of(trt), trt.__version__
    if runtime == "tensorrt_rtx":
        return None
    if options.timing_cache is not None:
        return options.timing_cache
    key = hashlib.sha256(f"{runtime} {version} {gpu and (gpu.name, gpu.cuda)}".encode()).hexdigest()[:12]
    return options.out.parent / ".cache" / f"timing-{runtime}-{version}-{key}.cache"


def _request(
    options: BuildOptions,
    shop: Workshop,
    plan: PrecisionPlan,
    ranges: dict[str, tuple[Range, ...]],
    source: Converted,
    draft: Path,
) -> Request:
    cache = cache_file(options, shop.trt, shop.gpu)
    return Request(
        shop.trt.__name__,
        str(source.path),
        str(draft),
        plan.flags,
        plan.strongly_typed,
        ranges,
        workspace_bytes(options, shop.gpu),
        options.level,
        str(cache) if cache is not None and cache.is_file() else "",
        str(draft.with_name("timing.cache")) if cache is not None else "",
    )


def _manifest(
    options: BuildOptions,
    shop: Workshop,
    info: ModelInfo,
    plan: PrecisionPlan,
    request: Request,
    built: Built,
    source: Converted,
    draft: Path,
) -> Manifest:
    machine = this_machine(shop.trt, shop.gpu)
    portable = machine.runtime == "tensorrt_rtx"
    if portable:  # finished on the device that loads it, so that the builder's own doesn't matter
        machine = replace(machine, gpu=None, compute_capability=None)
    inputs = tuple(EngineInput(name, built.inputs[name], spans) for name, spans in request.ranges.items())
    return Manifest(
        onnx=info.path.name,
        onnx_sha256=info.sha256,
        plan_sha256=hashlib.sha256(find_plan(draft.read_bytes())).hexdigest(),
        built_on=machine,
        compute_capabilities=RTX_COMPUTE_CAPABILITIES if portable else (machine.compute_capability or "",),
        precision=options.precision,
        inputs=inputs,
        outputs=built.outputs,
        options=_options(options, plan, request, built),
        calibration_sha256=source.calibration_sha256,
        built_at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
    )


def _options(options: BuildOptions, plan: PrecisionPlan, request: Request, built: Built) -> Mapping[str, str]:
    """Return the builder's options as texts; `batch`, `input`, `level` and `workspace` are those of the command."""
    said = {
        "batch": ",".join(map(str, options.batches)),
        "flags": ",".join(plan.flags) or "none",
        "typing": "strong" if plan.strongly_typed else "weak",
        "workspace_bytes": str(request.workspace_bytes),
        "timing_cache": ("reused" if built.cache_used else "new") if request.cache_out else "none",
    }
    if options.input_wh is not None:
        said["input"] = f"{options.input_wh[0]}x{options.input_wh[1]}"
    if built.level is not None:
        said["level"] = str(built.level)
    return said


def _keep_cache(options: BuildOptions, shop: Workshop, request: Request) -> None:
    """Put the timing cache where the next build finds it."""
    made, kept = Path(request.cache_out or "."), cache_file(options, shop.trt, shop.gpu)
    if kept is not None and made.is_file():
        kept.parent.mkdir(parents=True, exist_ok=True)
        made.replace(kept)


def _put_in_place(draft: Path, out: Path) -> None:
    """Move the engine, then its manifest; between the two the manifest is another engine's, and is refused as such."""
    with draft.open("rb") as file:
        os.fsync(file.fileno())
    draft.replace(out)
    manifest_path(draft).replace(manifest_path(out))
