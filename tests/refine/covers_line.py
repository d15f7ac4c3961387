"""The covers line seen in several ways with the shipped models; `python -m tests.refine.covers_line` prints the table.

A path to a model of another input size (the same weights) may follow; it makes a row of its own.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import cv2
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from app.boxes import areas, shared_areas
from app.config.sections import CountRule, ForbidRule, Judge, Model, Refine
from app.decode.decoder import Decoder
from app.decode.family import detect_family
from app.decode.heads import head_for
from app.detections import Detections
from app.inference.model_file import read_model
from app.inference.onnxruntime import OnnxBackend
from app.judge import Judge as Rules
from app.model import check_names
from app.preprocess.cpu import CpuPreprocessor
from app.preprocess.input_spec import input_spec
from app.refine import Refiner
from app.verdict import Verdict

ROOT = Path(__file__).resolve().parents[2]
COVERS = ROOT / "samples" / "covers"
NAMES = ("cover", "screw", "hole", "brass", "scratch")
LEAST = 0.1  # of the scores that a look gives
ROUNDS = 5
IOUS = {"scratch": 0.3}  # thin ones are drawn freely; see the table of the sample data
SHY = {"cover": 0.1}  # larger here than in any training picture

ON_TILES = Refine(mode="grid", tile_width=480, tile_height=480, max_regions=6)
ON_PART = Refine(mode="grid", within="cover", tile_width=540, tile_height=540, max_regions=4)
ON_DOUBTS = Refine(mode="uncertain", tile_width=480, tile_height=480, uncertain=[0.05, 0.5])


class Network:
    """One engine with what belongs to it, entered for as long as it is used; counts its calls."""

    def __init__(self, path: Path) -> None:
        section = Model(path=str(path), threads=1)
        info = read_model(path)
        family, classes = detect_family(info, section.decode)
        names, _ = check_names(info.names, classes)
        spec = input_spec(info, section.input, family)
        self.backend = OnnxBackend(info, section, input_wh=spec.network_wh)
        self.calls = 0
        self._preprocessor = CpuPreprocessor(spec)
        self._decoder = Decoder(
            head_for(family, info, classes, spec.network_wh, section.decode), section.nms, names, classes
        )
        self._batch = np.zeros((1, *spec.sample_shape), spec.dtype)
        self._feeds = {spec.name: self._batch}

    def look(self, view: np.ndarray, min_score: float = LEAST) -> Detections:
        self.calls += 1
        letterbox = self._preprocessor.run(view, self._batch[0])
        return self._decoder.run(self.backend.infer(self._feeds), letterbox, min_score)

    def look_at_all(self, views: Sequence[np.ndarray]) -> list[Detections]:
        return [self.look(view) for view in views]


def parts() -> list[tuple[dict, np.ndarray]]:
    """Truth and picture of every sample part."""
    truth = json.loads((COVERS / "truth.json").read_text())["photos"]
    return [(part, cv2.imread(str(COVERS / part["file"]))) for part in truth]


def refined(network: Network, section: Refine) -> Callable[[np.ndarray], Detections]:
    """The small first look and a second one with the same network."""
    refiner = Refiner(section, NAMES)
    least = min(LEAST, refiner.min_score)
    return lambda image: refiner.run(image, network.look(image, least), network.look_at_all).detections


def tiles_only(network: Network, section: Refine) -> Callable[[np.ndarray], Detections]:
    """Tiles without a first look."""
    refiner = Refiner(section, NAMES)
    return lambda image: refiner.run(image, Detections.none(NAMES), network.look_at_all).detections


def rules(scratch: float) -> Rules:
    """What the demo asks of a cover."""
    forbidden = [ForbidRule(forbid=name) for name in ("hole", "brass", "scratch")]
    section = Judge(scores={"scratch": scratch, **SHY}, rules=[CountRule(count="screw", equals=4), *forbidden])
    return Rules(section, NAMES)


def wrong(found: list[Detections], scratch: float) -> tuple[list[str], list[str]]:
    """Files of bad parts that pass, and of good ones that do not."""
    escapes, rejects = [], []
    judge = rules(scratch)
    for (truth, image), seen in zip(parts(), found, strict=True):
        verdict = judge.judge(seen, (image.shape[1], image.shape[0])).verdict
        if verdict.value != truth["verdict"]:
            (escapes if verdict is Verdict.OK else rejects).append(truth["file"])
    return escapes, rejects


@dataclass
class Tally:
    """Hits, misses and inventions of one class."""

    hits: int = 0
    there: int = 0
    said: int = 0

    def __str__(self) -> str:
        recall = f"{self.hits / self.there:.0%}" if self.there else "–"
        return f"{recall} / {self.hits / self.said:.0%}" if self.said else f"{recall} / –"


def tallies(found: list[Detections], scratch: float) -> dict[str, Tally]:
    """Recall and precision by class: each true object takes its best box, best score first."""
    result = {name: Tally() for name in NAMES}
    for (truth, _), seen in zip(parts(), found, strict=True):
        for index, name in enumerate(NAMES):
            least = {"scratch": scratch, **SHY}.get(name, 0.5)
            boxes = seen.xyxy[(seen.classes == index) & (seen.scores >= np.float32(least))]
            true = np.array([o["bbox_xyxy"] for o in truth["objects"] if o["name"] == name], np.float32).reshape(-1, 4)
            result[name].there += len(true)
            result[name].said += len(boxes)
            result[name].hits += hits(boxes, true, IOUS.get(name, 0.5))
    return result


def hits(boxes: np.ndarray, true: np.ndarray, iou: float) -> int:
    """How many true boxes are met, each by a box of its own."""
    a, b = np.ascontiguousarray(boxes.T), np.ascontiguousarray(true.T)
    common = shared_areas(a, b)
    ious = common / (areas(a)[:, None] + areas(b) - common)
    count = 0
    for row in ious:
        if row.size and row.max() >= iou:
            ious[:, row.argmax()] = 0
            count += 1
    return count


@dataclass
class Way:
    """One way of looking, and what it gave."""

    name: str
    network: Network
    see: Callable[[np.ndarray], Detections]
    found: list[Detections] = field(default_factory=list)
    spent_ms: list[list[float]] = field(default_factory=list)
    calls: float = 0.0


def measure(ways: list[Way]) -> None:
    """Let the ways take turns over all parts; each round begins with another one."""
    pictures = [image for _, image in parts()]
    for turn in track(range(ROUNDS), "rounds"):
        for way in ways[turn % len(ways) :] + ways[: turn % len(ways)]:
            way.network.calls, spent, found = 0, [], []
            for image in pictures:
                begin = time.perf_counter_ns()
                found.append(way.see(image))
                spent.append((time.perf_counter_ns() - begin) / 1e6)
            way.found = found
            way.spent_ms.append(spent)
            way.calls = way.network.calls / len(pictures)


def a_line(way: Way) -> float:
    """Milliseconds for all parts, the median round's: looks are not spread evenly over parts."""
    return statistics.median(sum(spent) for spent in way.spent_ms)


def p(spent: list[list[float]], share: float) -> float:
    """Nearest rank over all rounds."""
    every = sorted(value for one in spent for value in one)
    return every[max(0, int(np.ceil(share * len(every))) - 1)]


def main(more: list[str]) -> None:
    """Print the table."""
    cv2.setNumThreads(1)
    small, middle = Network(ROOT / "engines" / "covers_320.onnx"), Network(ROOT / "engines" / "covers_640.onnx")
    others = [Network(Path(path)) for path in more]
    with ExitStack() as stack:
        for network in (small, middle, *others):
            stack.enter_context(network.backend)
        ways = [
            Way("320 × 320", small, small.look),
            Way("640 × 480", middle, middle.look),
            *(Way(path, network, network.look) for path, network in zip(more, others, strict=True)),
            Way("tiles of 480 only", small, tiles_only(small, ON_TILES)),
            Way("320 + doubts", small, refined(small, ON_DOUBTS)),
            Way("320 + tiles of 480", small, refined(small, ON_TILES)),
            Way("320 + tiles of 540 on the part", small, refined(small, ON_PART)),
        ]
        measure(ways)
    table = Table("way", *NAMES, "escapes .25/.30/.35", "false rejects", "calls", "time", "p50 ms", "p99 ms")
    reference = a_line(ways[1])
    for way in ways:
        judged = [wrong(way.found, scratch) for scratch in (0.25, 0.3, 0.35)]
        table.add_row(
            way.name,
            *(str(tally) for tally in tallies(way.found, 0.3).values()),
            " / ".join(str(len(escapes)) for escapes, _ in judged),
            " / ".join(str(len(rejects)) for _, rejects in judged),
            f"{way.calls:.2f}",
            f"{a_line(way) / reference:.2f}",
            f"{p(way.spent_ms, 0.5):.1f}",
            f"{p(way.spent_ms, 0.99):.1f}",
        )
    Console(width=220).print(table)


if __name__ == "__main__":
    main(sys.argv[1:])
