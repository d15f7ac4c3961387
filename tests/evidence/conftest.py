"""Outcomes to keep, a writer of pictures whose end can be waited for, and its events."""

import time
from pathlib import Path
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest

from app.config import load, sections
from app.detections import Detections
from app.evidence.settings import Settings
from app.evidence.writer import Evidence
from app.trace import Trace
from app.verdict import Judgement, Outcome, Verdict
from tests.conftest import ROOT
from tests.evidence.disk import CountedDisk, RealDisk

LINE = "Linie 1"
CAMERA = "covers"
RUN = "1a2b3c4d"
IMAGE = np.random.default_rng(5).integers(0, 255, (48, 64, 3)).astype(np.uint8)
MORNING_NS = 1_796_000_000_123_456_789


def make_outcome(seq=1, verdict=Verdict.NG, *, camera=CAMERA, boxes=1, reasons=(), **changes):
    """Return an outcome with so many boxes, as the demo's configuration would judge."""
    trace = Trace(f"{RUN}-{camera}-{seq:06d}", time.monotonic_ns())
    trace.add("capture", trace.exposed_ns, trace.exposed_ns + 1_000_000)
    xyxy = np.tile(np.array([[10.004, 20, 30, 40]], np.float32), (boxes, 1))
    found = Detections(xyxy, np.full(boxes, 0.9, np.float32), np.ones(boxes, np.int64), ("cover", "screw"))
    fields = {
        "trace_id": trace.trace_id,
        "camera": camera,
        "seq": seq,
        "judgement": Judgement(verdict, tuple(reasons)),
        "size_wh": (64, 48),
        "detections": found,
        "trace": trace,
        "budget_ms": 100.0,
        "captured_utc_ns": MORNING_NS,
        "config_hash": loaded().sha256[:12],
    }
    return Outcome(**(fields | changes))


def loaded():
    return load(ROOT / "configs" / "demo.yaml")


@pytest.fixture
def outcome():
    return make_outcome


class Kept:
    """A writer, what it tells, and what it leaves."""

    def __init__(self, tmp_path, collect=None, evidence=True, hurried=False, lull=lambda _: None, **section):
        self.root, self.collected = tmp_path / "evidence", tmp_path / "collected"
        self.events = []
        defaults = {"min_free_bytes": 0, "max_per_s": 1000.0}
        config = loaded()
        self.writer = Evidence(
            sections.Evidence(path=str(self.root), **(defaults | section)) if evidence else None,
            None
            if collect is None
            else sections.Collect(path=str(self.collected), **({"min_free_bytes": 0} | collect)),
            line=LINE,
            settings=Settings(lambda: config, {"covers": "f" * 64}),
            is_hurried=lambda: hurried,  # a busy machine may take long over what waits at the end
            lull=lull,
            tell=lambda camera, kind, text, **data: self.events.append(SimpleNamespace(kind=kind, text=text, **data)),
        )

    def __enter__(self):
        self.writer.__enter__()
        return self

    def __exit__(self, *error):
        self.writer.__exit__(None, None, None)

    def put(self, one, image=IMAGE, **how):
        """Plan a picture, and hand it over as the line does; return the outcome that would be published."""
        named, jobs = self.writer.plan(one, image, **how)
        self.writer.put(jobs)
        return named

    def files(self, root=None):
        root = root or self.root
        return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())

    def record(self, named):
        return msgspec.json.decode((self.root / named.evidence).read_bytes())

    def settled(self):
        """Wait until nothing waits to be written."""
        until = time.monotonic() + 20
        while self.writer.counts().waiting:
            assert time.monotonic() < until, "pictures are not written"
            time.sleep(0.005)


@pytest.fixture
def kept(tmp_path):
    """Return what makes a writer in a folder of the test."""
    return lambda folder=tmp_path, **section: Kept(Path(folder), **section)


@pytest.fixture(params=["mounted", "counted"])
def small_disk(request, tmp_path, monkeypatch):
    """Return what makes a disk of so many bytes, and gives its folder: a real one, and one for users who may not."""
    made = []

    def make(size):
        disk = RealDisk(tmp_path / "disk") if request.param == "mounted" else None
        if disk is not None and disk.mount(size):
            made.append(disk)
            return disk.folder
        return CountedDisk(tmp_path / "disk", size, monkeypatch).folder

    yield make
    for disk in made:
        disk.close()
