"""A whole line whose network runs on a real Triton server that is killed in the middle and comes back."""

import threading

import pytest

from app.config import load
from app.publish.outbox import Outbox
from app.verdict import Code
from app.wiring import Watchers, build
from tests.conftest import ROOT
from tests.triton_rig import Server

WAIT_S = 90
LINE = """
line: far
cameras:
  front:
    source: {{kind: conveyor, path: {root}/samples/covers, belt_px_s: 240, fps: 8}}
    queue: every
    deadline: true
    budget_ms: 60000
    model: covers
    judge: {{score: 0.3, rules: [{{require: cover, otherwise: UNKNOWN}}]}}
models:
  covers:
    path: {root}/engines/covers_320.onnx
    triton: {{url: "{url}", timeout_ms: 20000, retry_s: 0.1, well_after: 2}}
mqtt: null
"""


class Line:
    """The product on a thread, and what it says."""

    def __init__(self, folder, url, monkeypatch):
        path = folder / "line.yaml"
        path.write_text(LINE.format(root=ROOT, url=url))
        self.outcomes, self.events, self.changed = [], [], threading.Condition()
        event = Outbox.event

        def heard(outbox, camera, kind, text, **data):
            self.note(self.events, (kind, text, data))
            event(outbox, camera, kind, text, **data)

        monkeypatch.setattr(Outbox, "event", heard)
        self.product = build(load(path), Watchers(on_judged=lambda outcome: self.note(self.outcomes, outcome)))
        self.thread = threading.Thread(target=self.product.service.run, name="line")

    def note(self, where, what):
        with self.changed:
            where.append(what)
            self.changed.notify_all()

    def wait_for(self, is_so):
        with self.changed:
            assert self.changed.wait_for(is_so, WAIT_S), [text for kind, text, _ in self.events]

    def on(self, word):
        """Verdicts of frames whose model ran there."""
        return [outcome for outcome in self.outcomes if word in outcome.model]


@pytest.fixture
def server(tmp_path):
    server = Server(tmp_path)
    server.put(ROOT / "engines" / "covers_320.onnx")
    yield server.start()
    server.kill()


def test_a_server_killed_in_the_middle_loses_no_frame_and_verdicts_go_on_from_the_local_engine(
    tmp_path, server, monkeypatch
):
    line = Line(tmp_path, server.url, monkeypatch)
    line.thread.start()
    try:
        line.wait_for(lambda: len(line.on("Triton(127")) >= 3)
        server.kill()
        line.wait_for(lambda: len(line.on("CPUExecutionProvider(Triton away)")) >= 3)
        server.start()
        count = len(line.outcomes)
        line.wait_for(lambda: len([one for one in line.outcomes[count:] if "Triton(127" in one.model]) >= 3)
        line.wait_for(lambda: len([kind for kind, *_ in line.events if kind == "level"]) >= 2)
    finally:
        line.product.service.stop()
        line.thread.join(WAIT_S)
    counts = line.product.ledger.counts("front")
    assert counts.balanced
    assert (counts.overwritten, counts.late) == (0, 0)
    assert sorted(outcome.seq for outcome in line.outcomes) == list(range(1, len(line.outcomes) + 1))
    reasons = {reason.code for outcome in line.outcomes for reason in outcome.judgement.reasons}
    assert reasons <= {Code.NO_PART, Code.OVERRUN}  # between two covers; a busy machine, which the product says
    levels = [data for kind, _, data in line.events if kind == "level"]
    assert [(one["before"], one["level"]) for one in levels] == [("full", "local_engine"), ("local_engine", "full")]
    assert line.product.recorder.budget_counts().level_changes == {("front", "local_engine"): 1, ("front", "full"): 1}
    for outcome in line.on("Triton(127"):
        assert outcome.level in ("full", "local_engine"), "the first one after a change was planned before it"
    assert {outcome.level for outcome in line.on("Triton(127")[:3]} == {"full"}
    assert {outcome.level for outcome in line.on("Triton away")[1:]} == {"local_engine"}
    told = [(text, data) for kind, text, data in line.events if kind == "engine"]
    assert ["running it here" in text for text, _ in told] == [True, False]
    assert "well again" in told[1][0]
    assert all(data["model"] == "covers" for _, data in told)
