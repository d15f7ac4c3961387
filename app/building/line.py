"""The line that an engine is built for: its pictures, its settings of the model, its rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from app.building.build import Verify
from app.building.options import BuildOptions
from app.building.verify_command import Setting, Wanted, check_draft, setting_of


@dataclass(frozen=True, slots=True)
class Line:
    """The line that an engine is for.

    Attributes:
        pictures: folders; the first is compared on, all calibrate.
        config: takes the model's settings and the camera's rules from there; None: the model alone.
        camera: of the configuration; "" where it has one only.
    """

    pictures: tuple[Path, ...] = ()
    config: Path | None = None
    camera: str = ""

    def setting(self, options: BuildOptions) -> Setting:
        """Return how the line runs the model.

        Raises:
            ConfigError: the configuration has no such camera.
        """
        found = setting_of(Wanted(options.out, options.onnx, None, self.config, self.camera))
        if options.input_wh is None:
            return found
        width, height = options.input_wh
        size = found.model.input.model_copy(update={"width": width, "height": height})
        return Setting(found.model.model_copy(update={"input": size}), found.camera)

    def folders(self, setting: Setting) -> Sequence[Path]:
        """Return where its pictures are: as named, else as the model's section says."""
        named = setting.model.verify.pictures
        return self.pictures or ((Path(named),) if named else ())


def verifier(options: BuildOptions, line: Line, console: Console) -> Verify | None:
    """Return what compares the draft with the model; None without pictures. It needs the GPU that the engine is for.

    The report lies beside the engine, also where the draft is refused.

    Args:
        options: of the engine.
        line: whose pictures and rules.
        console: for the progress.
    """
    setting = line.setting(options)
    folders = line.folders(setting)
    if not folders:
        return None
    wanted = Wanted(options.out, options.onnx, folders[0], line.config, line.camera, together=max(options.batches))
    return check_draft(wanted, setting, console, options.out.with_name(f"{options.out.name}.verify"))
