"""Makes an INT8 model of an ONNX model and pictures of the line: the steps in order."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import onnx

from app.building.int8.feeds import calibration_sha256, feeds_of
from app.building.int8.figures import figures_of
from app.building.int8.histogram import Histogram
from app.building.int8.observe import observe
from app.building.int8.pictures import LEAST, MOST, CalibrationSet, choose
from app.building.int8.qdq import prepared, quantise
from app.building.int8.recipe import Recipe, load_recipe, recipe_path, save_recipe
from app.building.int8.session import ModelRunner
from app.building.int8.sweep import Suspect, sensitive, sweep
from app.building.int8.thresholds import THRESHOLDS, ranges
from app.building.int8.trial import HeldOut, Trial
from app.building.layers import Layers
from app.building.verify_rules import Rules
from app.config.verify import Verify
from app.engine import HostEngine
from app.errors import ModelError

MOST_LEFT_OUT = 0.25
"""Share of the layers that may stay in floating point; with more, INT8 is not worth its trouble."""
NEARLY = 1.5
"""So much more damage than the least is as good, with fewer layers left out."""
GOAL = 0.5
"""So much of what verification allows may differ here: other pictures differ more than those that were chosen by."""


class Tell(Protocol):
    """Takes the progress of long work."""

    def __call__(self, step: str, done: int, total: int | None) -> None:
        """Say that `done` of `total` of one step are done; None: nobody knows how many there will be."""
        ...


def _silent(step: str, done: int, total: int | None) -> None:
    """Say nothing."""


@dataclass(frozen=True, slots=True)
class CalibrationOptions:
    """What is asked of a calibration.

    Attributes:
        folders: of pictures.
        limits: what may differ from the FP32 model.
        rules: of a camera; None compares detections alone.
        rest_fp16: what is not INT8 is FP16 in the ONNX; for builders that take types from there.
        cache: folder where recipes are kept; None keeps none.
        least, most: distinct pictures that are needed, and used.
    """

    folders: Sequence[Path]
    limits: Verify = field(default_factory=Verify)
    rules: Rules | None = None
    rest_fp16: bool = False
    cache: Path | None = None
    least: int = LEAST
    most: int = MOST


@dataclass(frozen=True, slots=True)
class Findings:
    """What a calibration found.

    Attributes:
        recipe: how to quantise the model.
        tried: each calibrator with all layers in INT8; empty where the recipe is an earlier calibration's.
        suspects: the sweep, the worst first; likewise.
        steps: with more and more of the worst layers left out; likewise.
    """

    recipe: Recipe
    tried: tuple[Trial, ...] = ()
    suspects: tuple[Suspect, ...] = ()
    steps: tuple[Trial, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Calibrated:
    """An INT8 model, and how it came to be.

    Attributes:
        model: with Q/DQ nodes.
        found: how it was made, and why so.
        pictures: what it was made with.
        final: the model itself, on pictures that were held out.
        layers: how many could be INT8.
        held_out: how many pictures `final` is of.
    """

    model: onnx.ModelProto
    found: Findings
    pictures: CalibrationSet
    final: Trial
    layers: int
    held_out: int


def calibrate(path: Path, engine: HostEngine, options: CalibrationOptions, tell: Tell = _silent) -> Calibrated:
    """Quantise a model.

    Args:
        path: the ONNX file; not changed.
        engine: wired for that file: its preprocessing and decoding are used, its backend is not.
        options: pictures, limits, rules.
        tell: takes the progress.

    Raises:
        ConfigError: there are too few pictures that differ.
        ModelError: the model has no layer to quantise, finds nothing on the pictures, or can't be converted.
    """
    work = _Work(path, engine, options, tell)
    found = work.known() or work.find()
    recipe = found.recipe
    model = quantise(work.model, recipe.ends, work.without(recipe.left_out), rest_fp16=options.rest_fp16)
    name = f"{recipe.calibrator}, {len(recipe.left_out)} left out" + (", the rest FP16" if options.rest_fp16 else "")
    final = work.held.trial(name, len(work.without(recipe.left_out)), ModelRunner(model))
    return Calibrated(model, found, work.pictures, final, len(work.layers), len(work.held))


class _Work:
    """What the steps share."""

    def __init__(self, path: Path, engine: HostEngine, options: CalibrationOptions, tell: Tell) -> None:
        self._engine, self._options, self._tell = engine, options, tell
        self._model_sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        self.model = prepared(onnx.load(path))
        self.layers = Layers(self.model).weighted
        if not self.layers:
            raise ModelError(f"{path.name}: no layer has weights that INT8 could make smaller: build it with --fp16")
        self._inputs = Layers(self.model).inputs_of(self.layers)
        self.pictures = choose(
            options.folders, least=options.least, most=options.most, on_picture=self._counter("choosing pictures")
        )
        self._calibration_sha256 = calibration_sha256(engine, self.pictures)
        thresholds = options.rules.thresholds(options.limits.slack) if options.rules is not None else None
        self._asked = hashlib.sha256(f"{options.limits.model_dump_json()} {thresholds}".encode()).hexdigest()
        self._file = None
        if options.cache is not None:
            self._file = recipe_path(options.cache, path.stem, self._model_sha256, self._calibration_sha256)
        self.held = HeldOut(engine, ModelRunner(self.model), self.pictures.held_out, options.limits, options.rules)

    def known(self) -> Findings | None:
        """Return what an earlier calibration of this model with these pictures found."""
        if self._file is None:
            return None
        recipe = load_recipe(self._file, self._model_sha256, self._calibration_sha256, self._asked)
        fits = recipe is not None and set(self._inputs.values()) <= set(recipe.ends)
        return Findings(recipe) if recipe is not None and fits else None

    def without(self, left_out: Sequence[str]) -> tuple[str, ...]:
        """Return the layers that are INT8."""
        return tuple(name for name in self.layers if name not in set(left_out))

    def find(self) -> Findings:
        """Calibrate, sweep, decide what stays in floating point, and keep that for the next build."""
        histograms = self._observe()
        ends = {name: ranges(histograms, threshold) for name, threshold in THRESHOLDS.items()}
        tried = tuple(self._try_calibrators(ends))
        best = min(tried, key=lambda trial: trial.rank).name
        attempt = self._attempts(ends[best])
        suspects = tuple(sweep(self.layers, attempt))
        left_out, steps = self._leave_out(sensitive(suspects), ends[best])
        recipe = Recipe(
            model_sha256=self._model_sha256,
            calibration_sha256=self._calibration_sha256,
            asked=self._asked,
            calibrator=best,
            ends=ends[best],
            left_out=left_out,
            figures=figures_of(tried, suspects, steps),
        )
        if self._file is not None:
            save_recipe(self._file, recipe)
        return Findings(recipe, tried, suspects, steps)

    def _observe(self) -> dict[str, Histogram]:
        pictures = self.pictures.calibrate
        counter = self._counter("observing values", len(pictures))
        return observe(self.model, sorted(set(self._inputs.values())), feeds_of(self._engine, pictures, counter))

    def _try_calibrators(self, ends: dict[str, dict[str, float]]) -> Iterator[Trial]:
        done = self._counter("trying calibrators", len(ends))
        for name, of_tensors in ends.items():
            yield self._trial(name, of_tensors, self.layers)
            done()

    def _attempts(self, ends: dict[str, float]) -> Callable[[Sequence[str]], Trial]:
        done = self._counter("sweeping layers")

        def attempt(nodes: Sequence[str]) -> Trial:
            trial = self._trial(nodes[0] if len(nodes) == 1 else f"{nodes[0]} … {nodes[-1]}", ends, nodes)
            done()
            return trial

        return attempt

    def _leave_out(self, worst: Sequence[str], ends: dict[str, float]) -> tuple[tuple[str, ...], tuple[Trial, ...]]:
        """Leave out as few of the worst layers as meet the goal; where none does, as few as help nearly as much."""
        most = min(len(worst), int(len(self.layers) * MOST_LEFT_OUT))
        counts = sorted({0, most, *(2**power for power in range(most.bit_length()))})
        done, steps = self._counter("leaving layers out", len(counts)), []
        for count in counts:
            steps.append(self._trial(f"{count} left out", ends, self.without(worst[:count])))
            done()
            if steps[-1].meets(_goal(self._options.limits)):
                return tuple(worst[:count]), tuple(steps)
        escapes, refused, damage = min(step.rank for step in steps)
        enough = next(
            row
            for row, step in enumerate(steps)
            if step.rank[:2] == (escapes, refused) and step.damage <= damage * NEARLY
        )
        return tuple(worst[: counts[enough]]), tuple(steps)

    def _trial(self, name: str, ends: dict[str, float], nodes: Sequence[str]) -> Trial:
        return self.held.trial(name, len(nodes), ModelRunner(quantise(self.model, ends, nodes)))

    def _counter(self, step: str, total: int | None = None) -> Callable[[], None]:
        done = 0

        def count() -> None:
            nonlocal done
            done += 1
            self._tell(step, done, total)

        return count


def _goal(limits: Verify) -> Verify:
    """Return limits that leave room for other pictures."""
    return limits.model_copy(
        update={
            "max_lost": limits.max_lost * GOAL,
            "max_invented": limits.max_invented * GOAL,
            "min_iou": 1 - (1 - limits.min_iou) * GOAL,
            "max_score_difference": limits.max_score_difference * GOAL,
        }
    )
