"""`taktsight engine build`: from its options to an engine and what a person reads of it."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.table import Table

from app.building.build import Verify, Workshop, build_engine
from app.building.convert import Quantise, missing
from app.building.line import Line, verifier
from app.building.options import BuildOptions
from app.building.progress import BuildProgress
from app.errors import ConfigError, TaktsightError
from app.inference.engine_file import Manifest, Precision, Verified
from app.inference.machine import find_gpu
from app.inference.tensorrt_module import find_tensorrt, known_faults

_SHOWN = 10  # of the builder's warnings
_SIZE = re.compile(r"(\d+)(?:x(\d+))?")


def build(
    options: BuildOptions,
    console: Console,
    *,
    runtime: str | None = None,
    line: Line | None = None,
) -> Manifest:
    """Build an engine, showing how it gets on, and print what it is.

    Args:
        options: what it is to be.
        console: where to.
        runtime: TensorRT's module; None: the first that is installed.
        line: whose pictures and rules the engine must do justice to; None: none.

    Raises:
        TaktsightError: see `build_engine`.
        KeyboardInterrupt: on Ctrl-C and SIGTERM; nothing is left behind.
    """
    trt, gpu = find_tensorrt(runtime), find_gpu()
    for fault in known_faults(trt, options.precision):
        console.print(f"[yellow]{trt.__name__} {trt.__version__}:[/] ", end="")
        console.print(fault.text, markup=False, highlight=False, soft_wrap=True)
    with _terminated_as_interrupted(), BuildProgress(console, f"{options.onnx.name} → {options.out.name}") as progress:
        shop = Workshop(
            trt,
            gpu,
            _quantiser(options, line or Line(), console, progress),
            _verifier(options, line or Line(), console, progress) if gpu is not None else None,
            progress.step,
            progress.hear,
        )
        try:
            manifest = build_engine(options, shop)
        except OSError as error:
            where = error.filename or options.out.parent
            raise TaktsightError(
                f"{where}: can't be written: {error.strerror or error}; choose another --out"
            ) from error
    said = list(progress.warnings)
    for text in [*said[:_SHOWN], *([f"and {len(said) - _SHOWN} more"] if len(said) > _SHOWN else [])]:
        console.print(text, markup=False, highlight=False, soft_wrap=True, style="dim")
    show(manifest, options.out, console)
    return manifest


def _quantiser(options: BuildOptions, line: Line, console: Console, progress: BuildProgress) -> Quantise | None:
    """Return what makes an INT8 model; None where none is wanted or there are no pictures."""
    if options.precision != "int8":
        return None
    try:
        from app.building.quantiser import quantiser  # noqa: PLC0415 - needs packages that other engines do without
    except ImportError as error:
        raise missing(error) from error
    return quantiser(options, line, console, progress.count)


def _verifier(options: BuildOptions, line: Line, console: Console, progress: BuildProgress) -> Verify | None:
    """Return what runs the draft beside its model; None without pictures."""
    verify = verifier(options, line, console)
    if verify is None:
        return None

    def run(draft: Path) -> Verified | None:
        progress.stop()  # it draws a bar of its own
        return verify(draft)

    return run


def show(manifest: Manifest, engine: Path, console: Console) -> None:
    """Print what an engine is, and whether it may be used."""
    built, table = manifest.built_on, Table(title=str(engine), title_justify="left", show_header=False)
    where = built.gpu or f"any of compute capability {', '.join(manifest.compute_capabilities)}"
    rows = {
        "model": f"{manifest.onnx} {manifest.onnx_sha256[:12]}",
        "precision": manifest.precision,
        "takes": "; ".join(
            f"{tensor.name} {' or '.join(str(span) for span in tensor.ranges)} {tensor.dtype}"
            for tensor in manifest.inputs
        ),
        "for": f"{built.runtime} {built.runtime_version} on {where}",
        "options": ", ".join(f"{name} {value}" for name, value in manifest.options.items()),
        "verified": "no" if manifest.verified is None else f"on {manifest.verified.pictures} pictures",
        "size": f"{engine.stat().st_size:,} bytes",
    }
    for name, value in rows.items():
        table.add_row(name, value)
    console.print(table)
    if manifest.verified is None:
        console.print(
            "Nobody has run this engine beside its model, so no line will use it. On the machine that is to run it: "
            "`taktsight engine verify`; or set engine.allow_unverified for this model.",
            style="yellow",
            highlight=False,
        )


def parse_batches(text: str) -> tuple[int, ...]:
    """Read `--batch`: "1,2,4,8".

    Raises:
        ConfigError: it isn't that.
    """
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError as error:
        raise ConfigError(f"--batch {text}: whole numbers with commas between them, e.g. 1,2,4,8") from error


def parse_size(text: str) -> tuple[int, int] | None:
    """Read `--input`: "640", "640x480" (width first), or "" for what the model says.

    Raises:
        ConfigError: it isn't that.
    """
    if not text:
        return None
    found = _SIZE.fullmatch(text.strip().lower())
    if found is None:
        raise ConfigError(f"--input {text}: pixels, e.g. 640, or width and height, e.g. 640x480")
    return int(found[1]), int(found[2] or found[1])


def precision_of(*, fp16: bool, int8: bool) -> Precision:
    """Return the precision that two switches ask for.

    Raises:
        ConfigError: both.
    """
    if fp16 and int8:
        raise ConfigError("--fp16 and --int8 exclude one another; --int8 leaves in FP16 what INT8 would spoil")
    return "fp16" if fp16 else "int8" if int8 else "fp32"


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """Take SIGTERM for Ctrl-C, so that drafts and the builder's process go with it, too."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
