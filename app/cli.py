"""The commands, one thin function each."""

from __future__ import annotations

import json
import os
import platform
import sys
import traceback
from contextlib import suppress
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from app.broker_option import broker_of
from app.building.cli import engine
from app.config import load
from app.config.schema import schema as config_schema
from app.errors import EXIT_CODES, ConfigError, TaktsightError
from app.model_cli import compare, model
from app.publish.message import message_schema
from app.worker import left_behind

app = typer.Typer(
    name="taktsight",
    help="Watch parts on a line and publish an OK / NG / UNKNOWN verdict for each, inside a latency budget.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

PACKAGES = ("taktsight", "onnxruntime", "onnxruntime-gpu", "numpy", "opencv-python-headless", "av", "paho-mqtt")

ConfigFile = Annotated[Path, typer.Argument(metavar="CONFIG", help="a YAML file, e.g. configs/example.yaml")]


def main() -> None:
    """Run the command line; a planned error is one line and its own exit code, never a traceback."""
    try:
        app(prog_name="taktsight")
    except TaktsightError as error:
        for line in error.faults if isinstance(error, ConfigError) else (str(error),):
            sys.stderr.write(f"taktsight: {line}\n")
        leave(error.exit_code)
    except Exception:
        traceback.print_exc()
        leave(TaktsightError.exit_code)


def leave(code: int) -> None:
    """End the process with this code, without the threads that are blocked in a driver: Python would wait for them."""
    if left_behind():
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


@app.command(epilog="Stops on SIGTERM or Ctrl-C within 2 s. " + EXIT_CODES)
def run(config: ConfigFile) -> None:
    """Inspect: cameras in, verdicts out, until stopped or until every file source has ended."""
    from app.runner import run_until_stopped

    if run_until_stopped(load(config)):
        # A thread blocked inside a driver can't be ended from Python, and waiting for it would hold up the stop.
        os._exit(0)


@app.command(epilog=EXIT_CODES)
def demo(
    parts: Annotated[int, typer.Option(min=1, help="how many parts pass the camera")] = 18,
    out: Annotated[Path, typer.Option(help="folder for evidence pictures, results and traces")] = Path("out/demo"),
) -> None:
    """Run the covers line on this machine: a moving line, a broker, a subscriber, a live table; about 15 s."""
    from app.demo import run_demo

    run_demo(parts, out, Console())


@app.command(epilog="Exit code 0 when it can run (warnings allowed), 2 when not.")
def check(config: ConfigFile) -> None:
    """Find everything that is wrong with a configuration without starting it."""
    from app.check import check as find

    console = Console()
    findings = find(load(config))
    for finding in findings:
        colour = "red" if finding.level == "error" else "yellow"
        console.print(f"[{colour}]{finding.level}[/] ", end="")
        console.print(f"{finding.where}: {finding.text}", markup=False, highlight=False, soft_wrap=True)
    errors = sum(finding.level == "error" for finding in findings)
    console.print(f"{config}: {errors} errors, {len(findings) - errors} warnings", highlight=False)
    if errors:
        raise typer.Exit(ConfigError.exit_code)


@app.command(
    epilog="Exit code by the worst line: 0 all fine, 1 something to look at, 2 something is broken. Each model is "
    "really loaded, each camera opened for one picture, the broker spoken to; a camera that the running service has is "
    "said to be in use. Run it as the user that runs the service. docs/doctor.md explains every line."
)
def doctor(
    config: Annotated[
        Path | None,
        typer.Argument(metavar="[CONFIG]", help="also its models, cameras and broker; else the machine alone"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print the report as JSON, for a machine")] = False,
    seconds: Annotated[float, typer.Option(min=1, help="for each camera to give a picture")] = 10.0,
) -> None:
    """Look at this machine and say, line by line, what stands in the way of inspecting and what to do about it."""
    from app.doctor.command import Wanted
    from app.doctor.command import doctor as look

    raise typer.Exit(look(Wanted(config, as_json, seconds), Console(), Console(stderr=True)))


@app.command()
def schema(
    message: Annotated[
        bool, typer.Option("--message", help="of the MQTT messages instead of the configuration")
    ] = False,
) -> None:
    """Print the JSON Schema of the configuration, or of the messages."""
    typer.echo(json.dumps(message_schema() if message else config_schema(), indent=2, ensure_ascii=False))


@app.command(epilog="Ctrl-C ends it. " + EXIT_CODES)
def watch(
    config: Annotated[Path | None, typer.Option(help="take the broker and the line from this configuration")] = None,
    host: Annotated[str, typer.Option(help="the broker's name or address")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="the broker's port")] = 1883,
    line: Annotated[str, typer.Option(help="only this line")] = "",
    camera: Annotated[str, typer.Option(help="only this camera")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="print the messages themselves, one a line")] = False,
    count: Annotated[int, typer.Option(min=0, help="stop after so many results; 0 goes on")] = 0,
    previews: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="keep the newest picture of each camera there as a JPEG")
    ] = None,
) -> None:
    """Subscribe like a customer would: print every verdict, and tell the service when it was shown."""
    from app.watch import watch as subscribe

    section, line = broker_of(config, host, port, line)
    subscribe(section, line=line, camera=camera, as_json=as_json, count=count, previews=previews)


@app.command(epilog="Exit code 0 when all is well, 1 when not. " + EXIT_CODES)
def status(
    config: Annotated[Path | None, typer.Option(help="the broker and the line of this configuration")] = None,
    host: Annotated[str, typer.Option(help="the broker's name or address")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="the broker's port")] = 1883,
    line: Annotated[str, typer.Option(help="only this line; else all that the broker knows")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="print the statuses themselves")] = False,
) -> None:
    """Say how a line is: its cameras, what waits, what the machine has left; asks the broker, so from anywhere."""
    from app.status import show_status

    section, line = broker_of(config, host, port, line)
    if not show_status(section, Console(), line=line, as_json=as_json):
        raise typer.Exit(1)


LastSeconds = Annotated[float, typer.Option("--last", help="only so many seconds before the file's end; 0: all")]


@app.command(epilog="Without FILE it listens to a running line over MQTT. " + EXIT_CODES)
def latency(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", help="a trace file, e.g. out/demo/trace.jsonl; see docs/traces.md"),
    ] = None,
    config: Annotated[Path | None, typer.Option(help="live: the broker and the line of this configuration")] = None,
    host: Annotated[str, typer.Option(help="live: the broker's name or address")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="live: the broker's port")] = 1883,
    line: Annotated[str, typer.Option(help="live: only this line")] = "",
    camera: Annotated[str, typer.Option(help="only this camera")] = "",
    seconds: Annotated[float, typer.Option(min=0.1, help="live: listen for so long")] = 30.0,
    last: LastSeconds = 0.0,
) -> None:
    """Say which stage makes the slowest frames slow, and what happened beside them."""
    from app.traces.commands import show_live_tail, show_tail

    console, errors = Console(), Console(stderr=True)
    if file is not None:
        show_tail(file, console, errors, camera=camera, last_s=last)
        return
    section, line = broker_of(config, host, port, line)
    show_live_tail(section, console, errors, line=line, camera=camera, seconds=seconds)


trace = typer.Typer(help="Look into a trace file: one frame as a waterfall, or all of them in Perfetto.")
app.add_typer(trace, name="trace", no_args_is_help=True)

TraceArgument = Annotated[Path, typer.Argument(metavar="FILE", help="a trace file, e.g. out/demo/trace.jsonl")]


@trace.command("show", epilog=EXIT_CODES)
def trace_show(
    wanted: Annotated[
        str, typer.Argument(metavar="ID", help="a trace_id, any part of one that no other has, slowest or typical")
    ],
    file: TraceArgument,
) -> None:
    """Print one frame's life as a waterfall: which step, in whose hands, from when, how long."""
    from app.traces.commands import show_frame

    show_frame(wanted, file, Console(), Console(stderr=True))


@trace.command("export", epilog=EXIT_CODES)
def trace_export(
    file: TraceArgument,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="the file to write")] = None,
    otlp: Annotated[bool, typer.Option("--otlp", help="OpenTelemetry spans as OTLP JSON instead")] = False,
    send: Annotated[
        str, typer.Option(help="post OpenTelemetry spans there, e.g. http://127.0.0.1:4318/v1/traces; writes no file")
    ] = "",
    last: LastSeconds = 0.0,
) -> None:
    """Write trace-event JSON for ui.perfetto.dev (threads as tracks, frames as flows), or OpenTelemetry spans."""
    from app.traces.commands import send_otlp, write_export, write_otlp

    console, errors = Console(), Console(stderr=True)
    if send:
        send_otlp(file, send, console, errors, last_s=last)
    elif otlp:
        write_otlp(file, out or Path("trace.otlp.jsonl"), console, errors, last_s=last)
    else:
        write_export(file, out or Path("trace.perfetto.json"), console, errors, last_s=last)


@app.command(epilog=EXIT_CODES)
def report(
    file: TraceArgument,
    out: Annotated[Path, typer.Option("--out", "-o", help="the page to write")] = Path("report.html"),
    last: LastSeconds = 0.0,
) -> None:
    """Write one page that shows where the time went; it opens in any browser and fetches nothing."""
    from app.traces.commands import write_report

    write_report(file, out, Console(), Console(stderr=True), last_s=last)


@app.command(
    epilog="Exit code 0 when every target is met and nothing has become slower, 1 otherwise. A line's results go to a "
    "broker of the bench's own, never to yours. docs/performance.md shows what each prints."
)
def bench(
    config: Annotated[
        Path | None, typer.Argument(metavar="[CONFIG]", help="the line to measure; without one the demo's")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="few rounds: to see that it works, not to quote")] = False,
    json_file: Annotated[Path | None, typer.Option("--json", help="also write the figures to this file")] = None,
    without: Annotated[
        str,
        typer.Option(
            metavar="STAGES",
            help="what the line gains without each: capture,preprocess,inference,decode,refine,judge,publish; "
            "a+b takes out two at once",
        ),
    ] = "",
    save: Annotated[Path | None, typer.Option(help="write the line's stages to this file, as a baseline")] = None,
    against: Annotated[Path | None, typer.Option(help="compare the line's stages with that baseline")] = None,
    cameras: Annotated[int, typer.Option(min=0, help="load the line with so many generated cameras")] = 0,
    fps: Annotated[float, typer.Option(min=0.01, help="of each of those cameras")] = 15.0,
    size: Annotated[str, typer.Option(help="of their pictures")] = "1920x1080",
    seconds: Annotated[float, typer.Option(min=0.1, help="for how long")] = 10.0,
    steady: Annotated[bool, typer.Option("--steady", help="the line's tail at half load beside the engine's")] = False,
    frames: Annotated[int, typer.Option(min=0, help="pictures of --without and --steady; 0: as many as needed")] = 0,
    rounds: Annotated[int, typer.Option(min=0, help="of --without and --save; 0: as many as needed")] = 0,
    plant: Annotated[
        str, typer.Option(metavar="STAGE=FACTOR", help="of --against: slow a stage down, to see whether it is noticed")
    ] = "",
) -> None:
    """Measure this machine, step by step, as ratios to stated references in the same run; or one line, whole."""
    from app.bench.command import Wanted
    from app.bench.command import bench as measure

    wanted = Wanted(
        config, quick, json_file, without, save, against, cameras, fps, size, seconds, steady, frames, rounds, plant
    )
    raise typer.Exit(measure(wanted, Console()))


@app.command(
    epilog="Exit code 0 when every picture has its verdict and its boxes of then, to the last bit; 1 when any differs. "
    "To see what another threshold would have said of yesterday's parts: change a copy of the configuration and name "
    "it with --config. docs/evidence.md. " + EXIT_CODES
)
def replay(
    evidence: Annotated[
        list[Path], typer.Argument(metavar="EVIDENCE…", help="the folder of evidence.path, parts of it, or files in it")
    ],
    config: Annotated[Path | None, typer.Option(help="judge by this configuration instead of the stored one")] = None,
    model: Annotated[Path | None, typer.Option(help="look with this .onnx instead of the camera's model")] = None,
    device: Annotated[str | None, typer.Option(help="run there: cpu, cuda; null: where the line ran")] = None,
    html: Annotated[Path | None, typer.Option(help="also write a page with the pictures that differ")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print the result as JSON")] = False,
) -> None:
    """Judge kept pictures again, with what judged them then or with something new, and show what differs."""
    from app.replay.command import run_replay

    differs = run_replay(
        evidence,
        config=config,
        model=model,
        device=device,
        html=html,
        to_json=as_json,
        console=Console(),
        errors=Console(stderr=True),
    )
    if differs:
        raise typer.Exit(1)


tune = typer.Typer(help="Measure what a setting does on this machine, and print the one to put into the configuration.")
app.add_typer(tune, name="tune", no_args_is_help=True)
app.add_typer(engine, name="engine", no_args_is_help=True)
app.add_typer(model, name="model", no_args_is_help=True)
app.command("compare", epilog=EXIT_CODES)(compare)


@tune.command("camera", epilog="Stop the service first: a camera serves one program at a time. " + EXIT_CODES)
def tune_camera(
    config: ConfigFile,
    camera: Annotated[str | None, typer.Argument(metavar="[CAMERA]", help="its name, where there are several")] = None,
    seconds: Annotated[float, typer.Option(min=1, help="how long to look at each size")] = 10.0,
) -> None:
    """Halve a camera's buffer step by step; print age, losses and CPU of each, and the smallest that loses nothing."""
    from app.tune.camera import Pace
    from app.tune.camera import tune_camera as halve
    from app.wiring.cameras import build_source

    halve(load(config), camera, Pace(seconds), Console(), build_source)


@app.command(
    epilog="Figures: `taktsight engine bench MODEL --json parts.json` on such a device, alone. docs/scale.md. "
    + EXIT_CODES
)
def plan(
    loads: Annotated[
        list[str],
        typer.Argument(
            metavar="CAMERASxFPSxFILE...",
            help="e.g. 8x30xparts.json 2x10xlids.onnx: cameras, frames a second of each, and the model's figures; a "
            "model is measured here, now",
        ),
    ],
    busy: Annotated[float, typer.Option(min=0.05, max=1.0, help="share of its time that a device may work")] = 0.6,
    budget: Annotated[
        float, typer.Option(min=0.1, help="milliseconds from a picture's hand-over to its results")
    ] = 100.0,
    frame: Annotated[
        Path | None,
        typer.Option(help="of `taktsight bench --json`: what a frame takes beside the engine; default: 2 ms"),
    ] = None,
    spares: Annotated[int, typer.Option(min=0, help="devices that may fail")] = 1,
    seconds: Annotated[float, typer.Option(min=0.0, help="to measure each batch of a model")] = 1.0,
    as_json: Annotated[bool, typer.Option("--json", help="print everything as JSON instead")] = False,
) -> None:
    """Say how many devices so many cameras need, from figures measured on one; and what that takes for granted."""
    from app.plan import command
    from app.plan.capacity import Aim

    made = command.make_plan(loads, Aim(busy, budget, spares=spares), frame, seconds, Console(stderr=True))
    typer.echo(json.dumps(command.as_json(made), indent=2)) if as_json else command.show_plan(made, Console())


@app.command()
def version() -> None:
    """Print the versions of the product and of what it stands on."""
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            typer.echo(f"{package} {installed_version(package)}")
    typer.echo(f"python {platform.python_version()} on {platform.machine()}")


def _version_alone(is_asked: bool) -> None:
    if is_asked:
        version()
        raise typer.Exit


@app.callback()
def taktsight(
    _: Annotated[bool, typer.Option("--version", callback=_version_alone, is_eager=True, help=version.__doc__)] = False,
) -> None:
    """Take the options that stand before any command."""


if __name__ == "__main__":
    main()
