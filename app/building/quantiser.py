"""INT8 by pictures of a line: from a build's options to a model with Q/DQ nodes."""

from __future__ import annotations

from pathlib import Path

import msgspec
from rich.console import Console

from app.building.convert import Quantise, Quantised
from app.building.int8.calibrate import CalibrationOptions, Tell, calibrate
from app.building.int8.tables import as_json, show
from app.building.line import Line
from app.building.options import BuildOptions
from app.building.verify_rules import Rules
from app.engine import HostEngine
from app.errors import ModelError
from app.inference.atomic import write_atomically
from app.wiring.models import build_model


def quantiser(options: BuildOptions, line: Line, console: Console, tell: Tell) -> Quantise | None:
    """Return what makes the INT8 model; None without pictures.

    Args:
        options: of the engine.
        line: whose pictures and rules.
        console: what was found is printed there; all of it lies beside the engine, also where INT8 is refused.
        tell: takes the progress.
    """
    setting = line.setting(options)
    folders = line.folders(setting)
    if not folders:
        return None

    def quantise(onnx_file: Path, rest_fp16: bool) -> Quantised:
        wired = build_model(
            onnx_file.name, setting.model.model_copy(update={"path": str(onnx_file), "device": "cpu", "triton": None})
        )
        assert isinstance(wired.engine, HostEngine)
        rules = None if setting.camera is None else Rules(setting.camera, wired.names)
        cache = options.out.parent / ".cache"
        asked = CalibrationOptions(folders, setting.model.verify, rules, rest_fp16, cache)
        made = calibrate(onnx_file, wired.engine, asked, tell)
        console.print(show(made))
        report = options.out.with_name(f"{options.out.name}.int8.json")
        write_atomically(report, msgspec.json.format(msgspec.json.encode(as_json(made)), indent=1))
        if made.final.refused:
            raise ModelError(
                f"{onnx_file.name} in INT8: {'; '.join(made.final.refused)}: build it with --fp16, calibrate with more "
                f"pictures, or allow more in models.*.verify; see {report}"
            )
        return Quantised(made.model, made.found.recipe.calibration_sha256)

    return quantise
