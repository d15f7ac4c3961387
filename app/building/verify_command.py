"""`taktsight engine verify`, and the check that a build makes of its draft: from paths to a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from app.building.verify import Question, Side, pictures_in, verify
from app.building.verify_candidate import engine_candidate, is_engine, onnx_candidate
from app.building.verify_labels import find_labels
from app.building.verify_report import write_report
from app.building.verify_result import VerifyReport
from app.building.verify_rules import Rules
from app.config import load, sections
from app.errors import ConfigError, ModelError, TaktsightError
from app.inference.engine_file import Verified, manifest_path, read_manifest, write_manifest
from app.inference.machine import find_gpu
from app.wiring.models import WiredModel, build_model


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a comparison is made of.

    Attributes:
        candidate: an engine, or an .onnx file that is to stand in for the model.
        against: the ONNX model in float32; None: the configuration's, else the one that the engine's manifest names.
        pictures: a folder; None: the configuration's.
        config: takes the model's settings and the camera's rules from there; None: neither.
        camera: of the configuration; "" where it has one only.
        labels: a file or a folder; None: those that lie with the pictures.
        device: of the candidate, where it is an .onnx file.
        together: pictures that the candidate gets at once.
    """

    candidate: Path
    against: Path | None = None
    pictures: Path | None = None
    config: Path | None = None
    camera: str = ""
    labels: Path | None = None
    device: str = "cpu"
    together: int = 1


@dataclass(frozen=True, slots=True)
class Setting:
    """The model's section, and the camera whose rules judge; None without a configuration."""

    model: sections.Model
    camera: sections.Camera | None = None


def setting_of(wanted: Wanted) -> Setting:
    """Return the model and the camera that a comparison is about.

    Raises:
        ConfigError: they are not told, or not there.
    """
    if wanted.config is None:
        return Setting(sections.Model(path=str(wanted.against or _made_from(wanted.candidate))))
    config = load(wanted.config).config
    name = wanted.camera or (next(iter(config.cameras)) if len(config.cameras) == 1 else "")
    if name not in config.cameras:
        said = f"no camera {name!r}" if name else f"{len(config.cameras)} cameras"
        raise ConfigError(f"{wanted.config}: {said}; name one of {', '.join(config.cameras)} (--camera)")
    camera = config.cameras[name]
    model = config.models[camera.model]
    if wanted.against is not None:
        model = model.model_copy(update={"path": str(wanted.against), "sha256": None})
    return Setting(model, camera)


def _made_from(candidate: Path) -> Path:
    """Return the model that an engine's manifest names, where it lies beside the engine."""
    if is_engine(candidate):
        model = candidate.with_name(read_manifest(candidate).onnx)
        if model.is_file():
            return model
    raise ConfigError("which model was it made from? Name it: --against MODEL.onnx, or --config CONFIG")


def run_verify(wanted: Wanted, setting: Setting, console: Console) -> VerifyReport:
    """Run both on all pictures, with a bar that shows how far it is.

    Raises:
        ConfigError: pictures, labels, rules or model do not fit together.
        ModelError: one of the two can't be run here.
    """
    reference = build_model(Path(setting.model.path).name, reference_section(setting.model))
    candidate = candidate_model(wanted, setting.model, reference.names)
    folder = wanted.pictures or (Path(setting.model.verify.pictures) if setting.model.verify.pictures else None)
    if folder is None:
        raise ConfigError("on which pictures? Name a folder of the line's: --pictures, or verify.pictures of the model")
    paths = pictures_in(folder)
    question = Question(
        setting.model.verify,
        None if setting.camera is None else Rules(setting.camera, reference.names),
        find_labels(folder, reference.names, wanted.labels),
        wanted.together,
    )
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with ExitStack() as stack:
        progress = stack.enter_context(Progress(*columns, console=console, transient=True))
        task = progress.add_task("loading", total=len(paths))
        stack.enter_context(reference.engine.backend)
        stack.enter_context(candidate.engine.backend)
        progress.update(task, description="looking at pictures")
        sides = [Side.of(one.engine, one.names) for one in (reference, candidate)]
        return verify(sides[0], sides[1], paths, replace(question, on_picture=lambda: progress.advance(task)))


def reference_section(model: sections.Model) -> sections.Model:
    """Return the section by which the model runs in float32 on ONNX Runtime: what all else is measured by."""
    return model.model_copy(update={"device": "cpu", "triton": None})


def candidate_model(wanted: Wanted, model: sections.Model, names: Sequence[str]) -> WiredModel:
    """Wire what is to stand in for the model, with the model's own settings.

    Raises:
        ModelError: it can't be used here.
    """
    if is_engine(wanted.candidate):
        return engine_candidate(wanted.candidate, model)
    return onnx_candidate(wanted.candidate, model, names, wanted.device, wanted.together)


def record(engine: Path, report: VerifyReport, page: Path) -> None:
    """Write into an engine's manifest what a comparison found; a refused engine is one that nobody may use.

    Raises:
        TaktsightError: the manifest can't be read or written.
    """
    verified = Verified(report.pictures, report.figures(), page.name) if report.passed else None
    try:
        write_manifest(engine, replace(read_manifest(engine), verified=verified))
    except OSError as error:
        raise TaktsightError(f"{manifest_path(engine)}: can't be written: {error.strerror or error}") from error


def check_draft(
    wanted: Wanted, setting: Setting, console: Console, report_stem: Path
) -> Callable[[Path], Verified | None]:
    """Return what a build runs on its draft before it puts it in place.

    Args:
        wanted: the comparison; its candidate is replaced by the draft.
        setting: model and camera.
        console: for the bar.
        report_stem: the report is written there, as .json and .html, also where the draft is refused.

    Returns:
        A function that takes the draft's path and returns what its manifest keeps, None where there is no GPU to run
        it; it raises `ModelError`, in the user's terms, where the draft must not be used.
    """

    def check(draft: Path) -> Verified | None:
        if is_engine(draft) and find_gpu() is None:
            return None
        report = run_verify(replace(wanted, candidate=draft), setting, console)
        _, page = write_report(report, report_stem)
        if not report.passed:
            raise ModelError(f"{draft.name}: refused: {'; '.join(report.refused)}; see {page}")
        return Verified(report.pictures, report.figures(), page.name)

    return check


def show_verify(report: VerifyReport, console: Console) -> None:
    """Print what a comparison found: by class, the verdicts, and why it is refused if so."""
    columns = ("class", "model", "candidate", "lost", "invented", "mean IoU", "mean Δ score")
    console.print(f"{report.candidate} beside {report.reference}", highlight=False, markup=False, soft_wrap=True)
    table = Table(*columns)
    for column in table.columns[1:]:
        column.justify = "right"
    for row in report.classes:
        counts = [str(value) for value in (row.reference, row.candidate, row.lost, row.invented)]
        style = "bold red" if row.lost or row.invented else None
        means = (f"{row.iou_mean:.3f}", f"{row.score_mean:.3f}") if row.is_paired else ("·", "·")
        table.add_row(row.name, *counts, *means, style=style)
    console.print(table)
    for line in _figures(report):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    for note in report.notes:
        console.print(note, highlight=False, markup=False, soft_wrap=True, style="dim")
    for line in report.refused:
        console.print(f"refused: {line}", highlight=False, markup=False, soft_wrap=True, style="red")
    if report.passed:
        console.print(f"may be used: {report.candidate}", highlight=False, markup=False, soft_wrap=True, style="green")


def _figures(report: VerifyReport) -> list[str]:
    lines = [f"{report.pictures} pictures"]
    if report.verdicts is not None:
        found = report.verdicts
        lines[0] += f"; {found.same} keep their verdict, {found.escapes} are NG no more, {found.rejects} OK no more"
    if report.precision is not None:
        before, after = report.precision
        lines.append(f"mAP {after.mean:.3f}, the model has {before.mean:.3f}; against {before.labels} labels")
    return lines
