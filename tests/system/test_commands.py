"""Commands to a running line over a real broker: done, answered, written down; or refused, with the reason."""

import json
import threading
import time
import uuid
from contextlib import contextmanager

import pytest

from app.broker import LocalBroker
from app.config import load, sections
from app.publish.link import Link
from app.wiring import Watchers, build
from tests.conftest import ROOT

pytestmark = pytest.mark.broker

WAIT_S = 30
LINE = """
line: asked
cameras:
  front:
    source: {{kind: conveyor, path: {root}/samples/covers, belt_px_s: 480, fps: 8}}
    deadline: false
    model: covers
    judge: {{score: 0.3, rules: [{{require: cover, otherwise: UNKNOWN}}]}}
  asked:
    source: {{kind: conveyor, path: {root}/samples/covers, belt_px_s: 480, fps: 8}}
    trigger: command
    deadline: false
    model: covers
    judge: {{score: 0.3, rules: [{{require: cover, otherwise: UNKNOWN}}]}}
models:
  covers: {{path: {root}/engines/covers_320.onnx}}
evidence: {{path: {folder}/evidence, verdicts: []}}
mqtt:
  port: {port}
  commands: {{allow: [pause, resume, snapshot, trigger, set_threshold, reload], per_minute: {per_minute}}}
"""


class Operator:
    """Asks, and waits for the answer."""

    def __init__(self, port):
        self.answers, self.events, self._changed, self._is_ready = {}, [], threading.Condition(), False
        self.link = Link(sections.Mqtt(port=port), f"operator-{uuid.uuid4().hex[:6]}", self)
        self.link.__enter__()
        with self._changed:
            assert self._changed.wait_for(lambda: self._is_ready, WAIT_S)

    def up(self, limits):
        self.link.subscribe(["taktsight/asked/answer", "taktsight/asked/event"])

    def subscribed(self):
        with self._changed:
            self._is_ready = True
            self._changed.notify_all()

    def down(self, why):
        pass

    def acked(self, mid, refusal):
        pass

    def received(self, topic, payload, retained):
        body = json.loads(payload)
        with self._changed:
            if body["type"] == "answer":
                self.answers.setdefault(body["id"], []).append(body)
            else:
                self.events.append(body)
            self._changed.notify_all()

    def ask(self, name, *, retain=False, wait=True, **fields):
        fields = {"id": uuid.uuid4().hex, **fields}
        self.link.publish(f"taktsight/asked/cmd/{name}", json.dumps(fields).encode(), retain=retain)
        return self.answer(fields["id"]) if wait else fields["id"]

    def answer(self, wanted):
        with self._changed:
            assert self._changed.wait_for(lambda: wanted in self.answers, WAIT_S), "no answer came"
            return self.answers[wanted][0]

    def close(self):
        self.link.__exit__(None, None, None)


class Rig:
    """The line, its file, and whoever asks."""

    def __init__(self, folder, port, per_minute):
        self.folder, self.path, self.outcomes = folder, folder / "line.yaml", []
        self.path.write_text(LINE.format(root=ROOT, folder=folder, port=port, per_minute=per_minute))
        self.product = build(load(self.path), Watchers(on_judged=self.outcomes.append))
        self.operator = Operator(port)

    def of(self, name):
        return [outcome for outcome in tuple(self.outcomes) if outcome.camera == name]

    def wait(self, is_so, what):
        until_s = time.monotonic() + WAIT_S
        while not is_so():
            assert time.monotonic() < until_s, what
            time.sleep(0.02)

    def next_of(self, name, count=3):
        """Return the next verdicts of a camera."""
        begin = len(self.of(name))
        self.wait(lambda: len(self.of(name)) >= begin + count, f"verdicts of {name}")
        return self.of(name)[begin:]


@contextmanager
def running(folder, per_minute=600, before=lambda operator: None):
    with LocalBroker(kind="mosquitto") as broker:
        rig = Rig(folder, broker.port, per_minute)
        before(rig.operator)
        thread = threading.Thread(target=rig.product.service.run)
        thread.start()
        try:
            rig.next_of("front")
            rig.wait(lambda: rig.product.board.is_online("asked"), "the second camera")
            yield rig
        finally:
            rig.product.service.stop()
            thread.join(WAIT_S)
            rig.operator.close()
    for name in rig.product.ledger.cameras:
        assert rig.product.ledger.counts(name).balanced


@pytest.fixture
def rig(tmp_path):
    with running(tmp_path) as rig:
        yield rig


def codes(outcomes):
    return {reason.code.value for outcome in outcomes for reason in outcome.judgement.reasons}


def test_a_paused_camera_is_unknown_until_it_is_resumed(rig):
    answer = rig.operator.ask("pause", camera="front", by="shift 2")
    assert (answer["ok"], answer["command"]) == (True, "pause")
    rig.next_of("front", 1)  # one may have been under way
    assert codes(rig.next_of("front")) == {"paused"}
    assert rig.operator.ask("resume", camera="front")["ok"]
    rig.next_of("front", 1)
    assert "paused" not in codes(rig.next_of("front"))
    rig.wait(
        lambda: any(e["kind"] == "command" and e["data"]["by"] == "shift 2" for e in rig.operator.events), "the audit"
    )


def test_a_trigger_gets_the_one_picture_after_it(rig):
    assert rig.of("asked") == []
    answer = rig.operator.ask("trigger", camera="asked")
    assert answer["ok"], answer
    rig.wait(lambda: rig.of("asked"), "its verdict")
    rig.next_of("front", 4)
    (outcome,) = rig.of("asked")
    assert outcome.trigger == answer["id"]
    assert rig.product.ledger.counts("asked").skipped > 0


def test_a_snapshot_is_kept_whatever_the_verdict(rig):
    assert rig.operator.ask("snapshot", camera="front")["ok"]
    rig.wait(
        lambda: [*(rig.folder / "evidence").rglob("*-OK*")] or [*(rig.folder / "evidence").rglob("*UNKNOWN*")], "it"
    )


def test_a_threshold_holds_until_the_file_is_read_again(rig):
    assert rig.operator.ask("set_threshold", camera="front", score=0.99, **{"class": "cover"})["ok"]
    rig.next_of("front", 1)
    assert codes(rig.next_of("front")) == {"no_part"}
    changed = rig.of("front")[-1].config_hash
    assert rig.operator.ask("reload")["text"] == "reloaded: judged anew front"
    rig.wait(lambda: rig.of("front")[-1].judgement.verdict.value == "OK", "an OK by the file's threshold")
    assert rig.of("front")[-1].config_hash != changed


@pytest.mark.parametrize(
    ("name", "fields", "why"),
    [
        ("pause", {"camera": "rear"}, "there is no camera 'rear'; there are front, asked"),
        ("trigger", {"camera": "front"}, "set cameras.front.trigger: command"),
        ("set_threshold", {"camera": "front", "class": "lid", "score": 0.5}, "lid"),
        ("pause", {"camera": "front", "force": True}, "unknown field `force`"),
        ("explode", {}, "there is no command 'explode'"),
    ],
)
def test_what_can_not_be_done_is_answered_with_the_reason(rig, name, fields, why):
    answer = rig.operator.ask(name, **fields)
    assert not answer["ok"]
    assert why in answer["text"]


def test_a_command_that_comes_twice_is_done_and_answered_once(rig):
    rig.operator.ask("pause", camera="front", id="same")
    rig.operator.ask("pause", camera="front", id="same", wait=False)
    rig.operator.ask("resume", camera="front")
    assert len(rig.operator.answers["same"]) == 1


def test_a_retained_command_from_before_is_ignored(tmp_path):
    def retain(operator):
        operator.ask("pause", camera="front", id="old", retain=True, wait=False)

    with running(tmp_path, before=retain) as rig:
        assert rig.operator.ask("snapshot", camera="front")["ok"], "the subscription stands"
        assert "old" not in rig.operator.answers
        assert "paused" not in codes(rig.next_of("front"))


def test_too_many_are_refused(tmp_path):
    with running(tmp_path, per_minute=3) as rig:
        for _ in range(3):
            assert rig.operator.ask("snapshot", camera="front")["ok"]
        answer = rig.operator.ask("pause", camera="front")
        assert not answer["ok"]
        assert "more than 3 commands a minute" in answer["text"]


def test_a_command_that_is_not_allowed_is_refused_and_without_the_section_nobody_listens(tmp_path):
    text = LINE.replace("allow: [pause, resume, snapshot, trigger, set_threshold, reload]", "allow: [snapshot]")
    with LocalBroker(kind="mosquitto") as broker:
        (tmp_path / "line.yaml").write_text(text.format(root=ROOT, folder=tmp_path, port=broker.port, per_minute=9))
        product = build(load(tmp_path / "line.yaml"))
        thread = threading.Thread(target=product.service.run)
        thread.start()
        operator = Operator(broker.port)
        try:
            until_s = time.monotonic() + WAIT_S
            while not operator.answers and time.monotonic() < until_s:  # until its subscription stands
                operator.ask("pause", camera="front", wait=False)
                time.sleep(0.2)
            (answer, *_) = next(iter(operator.answers.values()))
            assert answer["text"] == "pause is not in mqtt.commands.allow"
        finally:
            product.service.stop()
            thread.join(WAIT_S)
            operator.close()
