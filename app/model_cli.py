"""The commands about other models for a line, one thin function each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from app.broker_option import broker_of
from app.config import load
from app.errors import EXIT_CODES

model = typer.Typer(help="Another model for a running line, and what a model must find wherever it runs.")


@model.command("set", epilog="The line must allow it: mqtt.commands: {allow: [set_model]}. " + EXIT_CODES)
def model_set(
    camera: Annotated[str, typer.Argument(help="a camera of the line")],
    file: Annotated[str, typer.Argument(help="the .onnx file, in the folder of the camera's present model")],
    config: Annotated[Path | None, typer.Option(help="the broker and the line of this configuration")] = None,
    host: Annotated[str, typer.Option(help="the broker's name or address")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="the broker's port")] = 1883,
    line: Annotated[str, typer.Option(help="the line's name, where there is no --config")] = "",
) -> None:
    """Have a camera look with another model: loaded beside, checked, swapped, and taken back if it does worse."""
    from app.model_commands import set_model

    section, line = broker_of(config, host, port, line)
    set_model(section, line, camera, file, Console())


@model.command("golden", epilog=EXIT_CODES)
def model_golden(
    config: Annotated[Path, typer.Argument(metavar="CONFIG", help="a YAML file, e.g. configs/example.yaml")],
    name: Annotated[str, typer.Argument(metavar="MODEL", help="a key of models")],
    pictures: Annotated[list[Path], typer.Argument(help="pictures of the line, or folders with them")],
) -> None:
    """Write down beside a model what it finds in these pictures: its golden set, checked whenever it is exchanged."""
    from app.model_commands import make_golden

    make_golden(load(config), name, pictures, Console())


def compare(
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="[FILE…]", help="files of messages, as jsonl: writes them")
    ] = None,
    config: Annotated[Path | None, typer.Option(help="live: the broker and the line of this configuration")] = None,
    host: Annotated[str, typer.Option(help="live: the broker's name or address")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="live: the broker's port")] = 1883,
    line: Annotated[str, typer.Option(help="live: only this line")] = "",
    seconds: Annotated[float, typer.Option(min=0.1, help="live: listen for so long")] = 60.0,
    as_json: Annotated[bool, typer.Option("--json", help="print the figures as JSON")] = False,
) -> None:
    """Say how a candidate (cameras.*.shadow) does beside the line's model: agreement, McNemar's test, speed of both."""
    from app.compare import show_comparison, show_live_comparison

    if files:
        show_comparison(files, Console(), as_json=as_json)
        return
    section, line = broker_of(config, host, port, line)
    show_live_comparison(section, Console(), line=line, seconds=seconds, as_json=as_json)
