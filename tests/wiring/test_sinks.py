"""What is wired behind the verdicts: pictures that are kept."""

from types import SimpleNamespace

import numpy as np
import pytest

from app.config import load
from app.config.sections import Collect, Evidence
from app.evidence.settings import Settings
from app.steady.lull import Lull
from app.verdict import Verdict
from app.wiring.sinks import build_evidence
from app.wiring.snapshots import Snapshots
from tests.conftest import ROOT
from tests.evidence.conftest import make_outcome

IMAGE = np.full((48, 64, 3), 90, np.uint8)


@pytest.fixture
def wire(tmp_path):
    """Return what wires the keeping of pictures; with the parts that the service would enter, and the snapshots."""
    loaded = load(ROOT / "configs" / "demo.yaml")

    def make(**sections):
        parts, snapshots = [], Snapshots()
        config = loaded.config.model_copy(update={"evidence": None, "collect": None} | sections)
        outbox = SimpleNamespace(event=lambda *_, **__: None)
        keep = build_evidence(config, Settings(lambda: loaded, {}), outbox, parts, snapshots, lambda: True, Lull())
        return keep, parts, snapshots

    return make


def test_nothing_is_wired_where_nothing_is_kept(wire):
    keep, parts, _ = wire()
    one = make_outcome(1)
    assert keep.plan(one, IMAGE) == (one, ())
    keep.put(())
    assert parts == []


def test_the_next_picture_of_a_camera_is_kept_once_somebody_asks(wire, tmp_path):
    section = Evidence(path=str(tmp_path), verdicts=["NG"], borderline=0.0, min_free_bytes=0)
    keep, (writer,), snapshots = wire(evidence=section)
    snapshots.ask("covers")
    with writer:
        named = []
        for seq in (1, 2):
            for camera in ("other", "covers"):
                outcome, jobs = keep.plan(make_outcome(seq, Verdict.OK, camera=camera), IMAGE)
                keep.put(jobs)
                named.append(outcome.evidence)
    assert [bool(path) for path in named] == [False, True, False, False]
    assert (tmp_path / named[1]).is_file()


def test_a_sample_needs_no_evidence(wire, tmp_path):
    keep, (writer,), _ = wire(collect=Collect(path=str(tmp_path), min_free_bytes=0))
    with writer:
        outcome, jobs = keep.plan(make_outcome(1, Verdict.OK), IMAGE)
        keep.put(jobs)
    assert outcome.evidence == ""
    assert len(list(tmp_path.rglob("*.png"))) == 1
