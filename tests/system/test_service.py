"""The running service: a real broker, a real subscriber, signals, and cameras that hang."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from app.broker import LocalBroker
from app.config import sections
from app.publish.message import Event, Result, Status
from app.watch import Subscriber
from tests.capture.servers import fault_server, silent_listener
from tests.conftest import ROOT
from tests.system.lines import demo_line, run

pytestmark = pytest.mark.broker
TRIES = 3
"""A machine that others keep busy takes a moment more, but not always."""


@pytest.fixture
def broker() -> Iterator[LocalBroker]:
    with LocalBroker(kind="mosquitto") as running:
        yield running


def test_a_subscriber_receives_every_verdict_once_and_sees_the_line_come_and_go(
    broker: LocalBroker, covers_truth: list[dict], tmp_path: Path
) -> None:
    mqtt = sections.Mqtt(port=broker.port)
    with Subscriber(mqtt) as subscriber:
        assert subscriber.wait_until_subscribed(10)
        jsonl = sections.Jsonl(path=str(tmp_path / "results.jsonl"))
        outcomes, product = run(demo_line(mqtt=mqtt, jsonl=jsonl, fps=15.0, parts=6, paced=False))
        messages = []
        while (arrival := subscriber.get(timeout_s=1.0)) is not None:
            messages.append(arrival.message)
    results = [message for message in messages if isinstance(message, Result)]
    assert [result.id for result in results] == [f"{outcome.trace_id}.1" for outcome in outcomes]
    assert [result.verdict.value for result in results] == [tile["verdict"] for tile in covers_truth[:6]]
    assert [result.part for result in results] == [1, 2, 3, 4, 5, 6]
    statuses = [message for message in messages if isinstance(message, Status) and not message.camera]
    assert (statuses[0].state, statuses[-1].state) == ("online", "offline")
    assert any("CPUExecutionProvider" in model for status in statuses for model in status.models), (
        "where it really runs"
    )
    assert any(isinstance(message, Event) and message.kind == "camera" for message in messages)
    lines = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    assert [line["verdict"] for line in lines if line.get("verdict")] == [result.verdict.value for result in results]
    assert product.ledger.counts("covers").balanced


CONFIG = """
line: stop
cameras:
  hung:
    source: {{kind: stream, url: "{url}", open_timeout_s: 30, read_timeout_s: 30}}
    model: covers
    judge: {{rules: [{{count: screw, equals: 4}}]}}
  folder:
    source: {{kind: images, path: "{root}/samples/covers", on_end: loop}}
    model: covers
    judge: {{rules: [{{count: screw, equals: 4}}]}}
models:
  covers: {{path: "{root}/engines/covers_320.onnx"}}
mqtt: {{port: {broker}}}
jsonl: {{path: "{out}/results.jsonl"}}
"""


def wait_for_lines(path: Path, lines: int, process: subprocess.Popen[str]) -> None:
    """Wait until the product has written so many results."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        if path.exists() and path.read_text().count('"verdict"') >= lines:
            return
        time.sleep(0.05)
    pytest.fail(f"no results: {process.communicate(timeout=5)[1]}")


def wait_until_hung(path: Path) -> None:
    """Wait until the camera `hung` has given nothing for longer than it waits between two pictures."""
    seen, since = -1, time.monotonic()
    while time.monotonic() - since < 0.5:
        now = path.read_text().count('"hung"')
        if now != seen:
            seen, since = now, time.monotonic()
        time.sleep(0.05)


@contextmanager
def blocked_in_open() -> Iterator[str]:
    """A camera that takes the connection and never answers."""
    with silent_listener() as port:
        yield f"rtsp://127.0.0.1:{port}/x"


@contextmanager
def blocked_in_read() -> Iterator[str]:
    """A camera that sends some pictures and then hangs, connection open."""
    with fault_server() as url:
        yield f"{url}/hang"


@pytest.mark.parametrize("camera", [blocked_in_open, blocked_in_read], ids=["open", "read"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_ops_03_a_signal_stops_within_2_s_with_a_blocked_camera_and_no_broker(
    number: signal.Signals, camera: Callable[[], AbstractContextManager[str]], tmp_path: Path, free_port: int
) -> None:
    for turn in range(TRIES):
        (out := tmp_path / str(turn)).mkdir()
        with camera() as url:
            took_s = stopped_s(number, CONFIG.format(url=url, root=ROOT, broker=free_port, out=out), out)
        if took_s < 2.0:
            break
    assert took_s < 2.0


def stopped_s(number: signal.Signals, config: str, out: Path) -> float:
    """Run a line until its camera is blocked, send it a signal twice, and return the seconds until its end."""
    (out / "stop.yaml").write_text(config)
    command = [sys.executable, "-m", "app", "run", str(out / "stop.yaml")]
    process = subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for_lines(out / "results.jsonl", 3, process)
    wait_until_hung(out / "results.jsonl")
    asked = time.monotonic()
    process.send_signal(number)
    os.sched_yield()
    process.send_signal(number)  # an impatient second one must not end in a traceback
    _, said = process.communicate(timeout=28)  # less than the camera is blocked for
    took_s = time.monotonic() - asked
    assert process.returncode == 0, said
    assert "Traceback" not in said
    assert "folder" in said, "what became of the frames is said at the end"
    return took_s


def test_the_line_is_inspected_while_no_broker_is_there(free_port: int) -> None:
    outcomes, product = run(demo_line(mqtt=sections.Mqtt(port=free_port), fps=15.0, parts=2, paced=False))
    assert len(outcomes) == 2
    assert product.ledger.counts("covers").balanced
    assert product.outbox.counts()["mqtt"].waiting >= 2, "results wait, and are counted"
