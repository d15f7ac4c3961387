"""A candidate on a running line: it looks beside, its comparisons are events, and the line's verdicts are its own."""

from itertools import islice

import pytest

from app.broker import LocalBroker
from app.compare import trials
from app.config import load, sections
from app.publish.message import Event
from app.watch import Subscriber
from app.wiring import Watchers, build
from tests.conftest import ROOT
from tests.system.test_reload import WAIT_S, Rig, running, without_gap

pytestmark = pytest.mark.broker

LINE = """
line: tried
cameras:
  front:
    source: {{kind: conveyor, path: {root}/samples/covers, belt_px_s: 480, fps: 4}}
    queue: every
    budget_ms: 5000
    model: covers
    shadow: {{model: large, share: 1.0}}
    judge: {{score: 0.3, rules: [{{require: cover, otherwise: UNKNOWN}}]}}
  side:
    source: {{kind: conveyor, path: {root}/samples/covers, belt_px_s: 480, fps: 4}}
    queue: every
    budget_ms: 5000
    model: covers
    judge: {{score: 0.3, rules: [{{require: cover, otherwise: UNKNOWN}}]}}
models:
  covers: {{path: {root}/engines/covers_320.onnx}}
  large: {{path: {root}/engines/covers_640.onnx}}
mqtt: {{port: {port}}}
evidence: {{path: {folder}/evidence, verdicts: []}}
"""


class Tried(Rig):
    """A line with a candidate on one of its two cameras."""

    def __init__(self, folder, port):
        self.path, self.outcomes = folder / "line.yaml", []
        self.path.write_text(LINE.format(root=ROOT, port=port, folder=folder))
        self.product = build(load(self.path), Watchers(on_judged=self.outcomes.append))


def comparisons(subscriber):
    """Yield the comparisons as they come."""
    while True:
        arrival = subscriber.get(WAIT_S)
        assert arrival is not None, "no comparison came"
        if isinstance(arrival.message, Event) and arrival.message.kind == "shadow":
            yield arrival.message


def test_comparisons_of_the_chosen_camera_come_as_events_and_its_verdicts_stay_its_own(tmp_path):
    with LocalBroker(kind="mosquitto") as broker, Subscriber(sections.Mqtt(port=broker.port)) as subscriber:
        assert subscriber.wait_until_subscribed(WAIT_S)
        with running(Tried(tmp_path, broker.port)) as rig:
            events = list(islice(comparisons(subscriber), 8))
            assert without_gap(rig, "front")
            assert without_gap(rig, "side")
            assert {outcome.model.partition(":")[0] for outcome in rig.outcomes if outcome.model} == {"covers"}
    (trial,) = trials(events)
    assert (trial.camera, trial.candidate, trial.pictures) == ("front", "large", 8)
    assert all(ms > 0 for ms in (*trial.ms, *trial.candidate_ms))
    for name in ("front", "side"):
        assert rig.product.ledger.counts(name).balanced
