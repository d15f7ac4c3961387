"""The commands of `taktsight engine`, one thin function each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from app.errors import EXIT_CODES

engine = typer.Typer(help="Build an engine from an ONNX model for this machine, and look into it.")


@engine.command("build", epilog="Build on the machine that will run it; see docs/engines.md. " + EXIT_CODES)
def engine_build(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="an .onnx file")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="default: MODEL with .engine for .onnx")] = None,
    fp16: Annotated[bool, typer.Option("--fp16", help="compute in FP16")] = False,
    int8: Annotated[bool, typer.Option("--int8", help="compute in INT8 where the pictures allow it")] = False,
    pictures: Annotated[
        list[Path] | None,
        typer.Option(
            help="a folder of pictures of the line: INT8 is calibrated with them, 100 at least; the engine is "
            "compared on the first such folder"
        ),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="take the model's settings and a camera's rules from there")
    ] = None,
    camera: Annotated[str, typer.Option(help="whose rules, where there are several cameras")] = "",
    batch: Annotated[str, typer.Option(help="batches that must be fast, e.g. 1,2,4,8; all up to the last work")] = "1",
    size: Annotated[str, typer.Option("--input", help="of models with an open size: 640, or 640x480")] = "",
    level: Annotated[int | None, typer.Option(help="0 builds quickly, 5 looks longest for fast kernels")] = None,
    workspace: Annotated[int | None, typer.Option(help="MB that one layer may take; default: half of the free")] = None,
    timing_cache: Annotated[Path | None, typer.Option(help="what earlier builds measured; default: in .cache")] = None,
    runtime: Annotated[
        str | None, typer.Option(help="tensorrt or tensorrt_rtx; default: the first that is installed")
    ] = None,
) -> None:
    """Build an engine, in a process of its own; its manifest says for which machine, model and shapes."""
    from app.building import commands
    from app.building.line import Line
    from app.building.options import BuildOptions

    options = BuildOptions(
        model,
        out or model.with_suffix(".engine"),
        commands.precision_of(fp16=fp16, int8=int8),
        commands.parse_batches(batch),
        commands.parse_size(size),
        level,
        workspace,
        timing_cache,
    )
    line = Line(tuple(pictures or ()), config, camera)
    commands.build(options, Console(), runtime=runtime, line=line)


@engine.command(
    "verify",
    epilog="Exit code 0 where it may be used, 1 where it is refused. The rules of --camera judge both; what may differ "
    "stands in models.*.verify. " + EXIT_CODES,
)
def engine_verify(
    candidate: Annotated[Path, typer.Argument(metavar="CANDIDATE", help="an engine, or an FP16 or INT8 .onnx file")],
    against: Annotated[Path | None, typer.Option(help="the .onnx model in FP32 that it was made from")] = None,
    pictures: Annotated[Path | None, typer.Option(help="a folder of pictures of the line")] = None,
    config: Annotated[Path | None, typer.Option(help="take the model and a camera's rules from there")] = None,
    camera: Annotated[str, typer.Option(help="whose rules, where there are several cameras")] = "",
    labels: Annotated[
        Path | None, typer.Option(help="COCO JSON or a folder of YOLO text files; default: those with the pictures")
    ] = None,
    device: Annotated[str, typer.Option(help="of an .onnx candidate: cpu, cuda or tensorrt")] = "cpu",
    batch: Annotated[int, typer.Option(min=1, help="pictures that the candidate gets at once")] = 1,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="the report: this and .json, .html; default: beside CANDIDATE")
    ] = None,
) -> None:
    """Compare an engine's detections and verdicts with its ONNX model's on your pictures; refuse it if they differ."""
    from app.building.verify_candidate import is_engine
    from app.building.verify_command import Wanted, record, run_verify, setting_of, show_verify
    from app.building.verify_report import write_report

    console = Console()
    wanted = Wanted(candidate, against, pictures, config, camera, labels, device, batch)
    report = run_verify(wanted, setting_of(wanted), console)
    show_verify(report, console)
    _, page = write_report(report, out or candidate.with_name(f"{candidate.name}.verify"))
    console.print(f"the pictures that differ most: {page}", highlight=False, soft_wrap=True)
    if is_engine(candidate):
        record(candidate, report, page)
    if not report.passed:
        raise typer.Exit(1)


@engine.command("inspect", epilog=EXIT_CODES)
def engine_inspect(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="an .onnx file, or an engine")],
    size: Annotated[str, typer.Option("--input", help="of models with an open size: 640, or 640x480")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="print everything as JSON instead")] = False,
) -> None:
    """Say what a model or an engine is, what it costs, and what of it is slow, unmerged, or can't be captured."""
    from app.building.commands import parse_size
    from app.building.inspect_engine import inspect_engine
    from app.building.inspect_model import inspect_model
    from app.building.inspect_show import show_engine, show_model

    console = Console()
    if model.suffix == ".onnx":
        with Console(stderr=True).status(f"reading {model.name}"):
            found = inspect_model(model, parse_size(size))
        typer.echo(json.dumps(found.as_json(), indent=2)) if as_json else show_model(found, console)
        return
    engine_file = inspect_engine(model)
    typer.echo(json.dumps(engine_file.as_json(), indent=2)) if as_json else show_engine(engine_file, console)


@engine.command("bench", epilog="Stop the service first, or it is measured too. " + EXIT_CODES)
def engine_bench(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="an .onnx file, or an engine")],
    batch: Annotated[str, typer.Option(help="batches to compare, e.g. 1,2,4,8")] = "1,2,4,8",
    device: Annotated[str, typer.Option(help="of an .onnx file: cpu, cuda or tensorrt")] = "cpu",
    threads: Annotated[
        int | None, typer.Option(min=1, help="of the CPU; default: one for each that is allowed")
    ] = None,
    size: Annotated[str, typer.Option("--input", help="of models with an open size: 640, or 640x480")] = "",
    seconds: Annotated[float, typer.Option(min=0.0, help="for each batch and way")] = 3.0,
    cameras: Annotated[int, typer.Option(min=0, help="which batch for so many cameras? 0 does not ask")] = 0,
    fps: Annotated[float, typer.Option(min=0.01, help="of each of them")] = 30.0,
    budget: Annotated[
        float, typer.Option(min=0.1, help="milliseconds from the picture to the engine's results")
    ] = 35.0,
    json_file: Annotated[Path | None, typer.Option("--json", help="also write the figures to this file")] = None,
) -> None:
    """Time a network by batch, with a CUDA graph and without, and say which batch to use."""
    from app.building.batch_advice import Load
    from app.building.commands import parse_batches, parse_size
    from app.building.engine_bench_command import Wanted, run_bench, show_bench

    console = Console()
    load = Load(cameras, fps, budget) if cameras else None
    wanted = Wanted(model, parse_batches(batch), device, threads, parse_size(size), seconds, load, json_file)
    show_bench(run_bench(wanted, console), load, console)


@engine.command("export-triton", epilog="How it is served, and what the line needs: docs/scale.md. " + EXIT_CODES)
def engine_export_triton(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="an .onnx file")],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="the server's model repository")],
    name: Annotated[str, typer.Option(help="of the model there; default: as the file is called")] = "",
    backend: Annotated[
        str, typer.Option(help="onnxruntime, or python for servers that have no other: ONNX Runtime on the CPU")
    ] = "onnxruntime",
    max_batch: Annotated[int, typer.Option(min=1, help="pictures in one call, of models with an open batch")] = 8,
    budget: Annotated[
        float,
        typer.Option(
            min=1.0,
            help="milliseconds that the line gives a frame: a tenth of it, and 5 ms at most, "
            "a picture waits for others",
        ),
    ] = 100.0,
    instances: Annotated[int, typer.Option(min=1, help="calls that run side by side, on each device")] = 1,
    device: Annotated[str, typer.Option(help="auto (a GPU where there is one), cpu or gpu")] = "auto",
    size: Annotated[str, typer.Option("--input", help="of models with an open size: 640, or 640x480")] = "",
) -> None:
    """Write a model's folder for a Triton server: batches gathered within the budget, instances, warm-up."""
    from app.building.commands import parse_size
    from app.building.export_triton import Wanted, export_triton, show_exported

    wanted = Wanted(model, folder, name, backend, max_batch, budget, instances, device, parse_size(size))
    show_exported(export_triton(wanted), Console())
