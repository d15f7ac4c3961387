"""Another configuration while the line runs: taken between two frames, or refused whole; a real broker listens."""

import threading
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.broker import LocalBroker
from app.config import load, sections
from app.errors import ConfigError
from app.publish.message import Event, Result, Status
from app.watch import Subscriber
from app.wiring import Watchers, build
from tests.conftest import ROOT

pytestmark = pytest.mark.broker

WAIT_S = 60
LINE = """
line: reload
cameras:
{cameras}
models:
  covers: {{path: {root}/engines/covers_320.onnx}}
  spare: {{path: {root}/engines/covers_320.onnx}}
mqtt: {{host: 127.0.0.1, port: {port}}}
"""
CAMERA = """
  {name}:
    source: {{kind: conveyor, path: {root}/samples/covers, belt_px_s: 480, fps: {fps}}}
    queue: every
    deadline: false
    model: {model}
    judge: {{score: {score}, rules: [{{require: cover, otherwise: UNKNOWN}}]}}
"""


def camera(name, *, fps=5, score=0.3, model="covers"):
    return CAMERA.format(name=name, root=ROOT, fps=fps, score=score, model=model)


class Rig:
    """A line that runs in a thread, and its file."""

    def __init__(self, folder: Path, port: int) -> None:
        self.path, self.port = folder / "line.yaml", port
        self.outcomes = []
        self.configure(camera("front"), camera("side"))
        self.product = build(load(self.path), Watchers(on_judged=self.outcomes.append))

    def configure(self, *cameras, more=""):
        text = LINE.format(cameras="".join(cameras), root=ROOT, port=self.port)
        self.path.write_text(text + more)

    def reload(self):
        """Have it read again, as a signal would; return what changed, or raise why nothing did."""
        done, said = threading.Event(), []

        def change():
            try:
                said.append(self.product.reload(load(self.path)))
            except Exception as error:
                said.append(error)
            done.set()

        self.product.service.ask(change)
        assert done.wait(WAIT_S)
        if isinstance(said[0], Exception):
            raise said[0]
        return said[0]

    def of(self, name):
        return [outcome for outcome in tuple(self.outcomes) if outcome.camera == name]

    def wait(self, is_so, what):
        until_s = time.monotonic() + WAIT_S
        while not is_so():
            assert time.monotonic() < until_s, what
            time.sleep(0.02)

    def wait_for_more(self, name, count=3):
        target = len(self.of(name)) + count
        self.wait(lambda: len(self.of(name)) >= target, f"{count} more verdicts of {name}")


@pytest.fixture
def broker():
    with LocalBroker(kind="mosquitto") as running:
        yield running


@contextmanager
def running(rig):
    errors = []

    def run():
        try:
            rig.product.service.run()
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        rig.wait_for_more("front")
        rig.wait_for_more("side")
        yield rig
    finally:
        rig.product.service.stop()
        thread.join(WAIT_S)
    assert errors == []


@pytest.fixture
def rig(tmp_path, broker, monkeypatch):
    monkeypatch.setattr("app.wiring.reload.DRAIN_S", WAIT_S)  # a busy machine takes its time over the last frames
    with running(Rig(tmp_path, broker.port)) as rig:
        yield rig
    for name in rig.product.ledger.cameras:
        counts = rig.product.ledger.counts(name)
        assert counts.balanced, f"{name}: {counts}"


def numbers(rig, name):
    return [outcome.seq for outcome in rig.of(name)]


def without_gap(rig, name):
    found = numbers(rig, name)
    return found == list(range(1, len(found) + 1))


def test_another_threshold_holds_from_the_next_frame_on_and_no_frame_is_lost(rig):
    before = rig.product.reload.in_force.sha256[:12]
    rig.configure(camera("front", score=0.99), camera("side"))
    found = rig.reload()
    rig.wait_for_more("front", 5)
    assert str(found) == "judged anew front"
    assert without_gap(rig, "front")
    assert without_gap(rig, "side")
    after = rig.product.reload.in_force.sha256[:12]
    assert before != after
    hashes = [outcome.config_hash for outcome in rig.of("front")]
    assert list(dict.fromkeys(hashes)) == [before, after], "each result says by which file it was judged"
    verdicts = Counter(o.judgement.verdict.value for o in rig.of("front") if o.config_hash == after)
    assert set(verdicts) == {"UNKNOWN"}, "nothing scores 0.99"
    assert "OK" in {outcome.judgement.verdict.value for outcome in rig.of("side")[-8:]}


def test_a_camera_more_is_opened_and_the_others_see_nothing_of_it(rig):
    rig.configure(camera("front"), camera("side"), camera("top"))
    assert rig.reload().added == ("top",)
    rig.wait_for_more("top", 4)
    assert without_gap(rig, "top")
    assert without_gap(rig, "front")
    assert without_gap(rig, "side")
    assert set(rig.product.board.health().cameras) == {"front", "side", "top"}


def test_a_camera_that_is_taken_off_gives_its_last_verdicts_and_is_forgotten(rig, broker):
    rig.configure(camera("front"))
    assert rig.reload().removed == ("side",)
    last = len(rig.of("side"))
    rig.wait_for_more("front", 5)
    assert len(rig.of("side")) == last
    assert without_gap(rig, "side")
    assert without_gap(rig, "front")
    assert rig.product.ledger.counts("side").waiting == 0
    assert set(rig.product.board.health().cameras) == {"front"}
    with Subscriber(sections.Mqtt(port=broker.port)) as subscriber:
        assert subscriber.wait_until_subscribed(WAIT_S)
        named = set()
        while (arrival := subscriber.get(0.5)) is not None and not isinstance(arrival.message, Result):
            if isinstance(arrival.message, Status):
                named.add(arrival.message.camera)
    assert named == {"", "front"}, "the broker has forgotten it as well"


def test_another_source_closes_the_camera_and_opens_it_again(rig):
    rig.configure(camera("front", fps=9), camera("side"))
    assert rig.reload().reopened == ("front",)
    before = len(rig.of("front"))
    rig.wait_for_more("front", 5)
    again = numbers(rig, "front")[before:]
    assert again == list(range(again[0], again[0] + len(again)))
    assert without_gap(rig, "side")


def test_the_only_camera_can_be_exchanged_without_an_end_of_the_service(rig):
    rig.configure(camera("front"))
    rig.reload()
    rig.configure(camera("front", fps=9))
    assert rig.reload().reopened == ("front",)
    rig.wait_for_more("front")


@pytest.mark.parametrize(
    ("cameras", "more", "why"),
    [
        ([camera("front", score=0.9)], "jsonl: {path: x.jsonl}\n", "jsonl: can't be changed while the line runs"),
        ([camera("front", score=30)], "", "cameras.front.judge.score"),
        ([camera("front").replace("require: cover", "require: lid")], "", "lid"),
    ],
)
def test_what_can_not_be_taken_is_refused_whole_and_the_line_goes_on(rig, cameras, more, why):
    before = rig.product.reload.in_force
    rig.configure(*cameras, camera("side", score=0.9), camera("top"), more=more)
    with pytest.raises(ConfigError, match=why):
        rig.reload()
    assert rig.product.reload.in_force is before
    rig.wait_for_more("front")
    rig.wait_for_more("side")
    assert without_gap(rig, "front")
    assert without_gap(rig, "side")
    assert not rig.of("top")


def test_a_reload_is_an_event(rig, broker):
    with Subscriber(sections.Mqtt(port=broker.port)) as subscriber:
        assert subscriber.wait_until_subscribed(WAIT_S)
        rig.configure(camera("front", score=0.4), camera("side"))
        rig.reload()
        events = []
        until_s = time.monotonic() + WAIT_S
        while not events and time.monotonic() < until_s:
            arrival = subscriber.get(1.0)
            if arrival is not None and isinstance(arrival.message, Event) and arrival.message.kind == "reload":
                events.append(arrival.message)
    assert events[0].text == "reloaded: judged anew front"
