"""The covers line seen in several ways with the shipped models; `scripts/second_look` prints the table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np
from rich.table import Table

from app.config.sections import CountRule, ForbidRule, Judge, Refine
from app.detections import Detections
from app.judge import Judge as Rules
from app.verdict import Verdict
from tests.refine.network import Network
from tests.refine.tally import Tally, Truth
from tests.refine.tally import tallies as tallied
from tests.refine.ways import Way, refined, tiles_only, whole

ROOT = Path(__file__).resolve().parents[2]
COVERS = ROOT / "samples" / "covers"
NAMES = ("cover", "screw", "hole", "brass", "scratch")
IOUS = {"scratch": 0.3}  # thin ones are drawn freely; see the table of the sample data
SHY = {"cover": 0.1}  # larger here than in any training picture

ON_TILES = Refine(mode="grid", tile_width=480, tile_height=480, max_regions=6)
ON_PART = Refine(mode="grid", within="cover", tile_width=540, tile_height=540, max_regions=4)
ON_DOUBTS = Refine(mode="uncertain", tile_width=480, tile_height=480, uncertain=[0.05, 0.5])


def parts() -> list[tuple[dict, np.ndarray]]:
    """Truth and picture of every sample part."""
    truth = json.loads((COVERS / "truth.json").read_text())["photos"]
    return [(part, cv2.imread(str(COVERS / part["file"]))) for part in truth]


def objects(truth: dict) -> Truth:
    """What is in one part's picture."""
    return [(there["name"], there["bbox_xyxy"]) for there in truth["objects"]]


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


def tallies(found: list[Detections], scratch: float) -> dict[str, Tally]:
    """Recall and precision by class."""
    truths = [objects(truth) for truth, _ in parts()]
    return tallied(found, truths, NAMES, {"scratch": scratch, **SHY}, IOUS)


def ways_on(small: Network, middle: Network, others: Sequence[tuple[str, Network]] = ()) -> list[Way]:
    """All ways that are compared; the second one is the reference."""
    return [
        Way("small: 320 × 320", (small,), whole(small)),
        Way("middle: 640 × 480", (middle,), whole(middle)),
        *(Way(name, (network,), whole(network)) for name, network in others),
        Way("tiles of 480 only", (small,), tiles_only(small, ON_TILES)),
        Way("320 + doubts", (small,), refined(small, ON_DOUBTS)),
        Way("320 + tiles of 480", (small,), refined(small, ON_TILES)),
        Way("320 + tiles of 540 on the part", (small,), refined(small, ON_PART)),
    ]


def table_of(ways: list[Way]) -> Table:
    """Show what they gave."""
    table = Table(
        *("way", "looks", *NAMES, "escapes .25/.30/.35", "false rejects", "time", "CPU", "p50 ms", "p99 ms"),
        title="The sample line, 48 parts of 960 × 720: recall / precision, scratches at 0.30 and IoU 0.3",
    )
    for way in ways:
        judged = [wrong(way.found, scratch) for scratch in (0.25, 0.3, 0.35)]
        table.add_row(
            way.name,
            f"{way.looks_each:.2f}",
            *(str(tally) for tally in tallies(way.found, 0.3).values()),
            " / ".join(str(len(escapes)) for escapes, _ in judged),
            " / ".join(str(len(rejects)) for _, rejects in judged),
            f"{way.total_ms / ways[1].total_ms:.2f}",
            f"{way.total_cpu_ms / ways[1].total_cpu_ms:.2f}",
            f"{way.percentile_ms(0.5):.1f}",
            f"{way.percentile_ms(0.99):.1f}",
        )
    return table
