"""How a line ends: on a signal with everything blocked, and when one of its threads dies."""

import json
import os
import signal
import subprocess
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from app.broker import LocalBroker
from app.config import sections
from app.log.setup import logging_to_stderr
from app.publish.message import Result
from app.service import BEAT_S, ThreadDied
from app.watch import Subscriber
from tests.conftest import ROOT
from tests.system.resilient import WAIT_S, Rig, blocked, running
from tests.system.thread_killer import kill

pytestmark = pytest.mark.broker


# ── OPS-03: it stops ─────────────────────────────────────────────────────────────────────────────────────────────────


def delivered(text: str) -> Counter:
    """How many results there are of each camera."""
    messages = [json.loads(line) for line in text.splitlines()]
    return Counter(message["camera"] for message in messages if "verdict" in message)


def judged(log: str) -> Counter:
    """How many verdicts each camera was given, as the last lines of the log say."""
    counts = {line["camera"]: line["counts"] for line in map(json.loads, log.splitlines()) if "counts" in line}
    return Counter({camera: one["judged"] + one["failed"] + one["late"] for camera, one in counts.items()})


def test_ops_03_with_a_blocked_camera_and_a_broker_that_hangs_all_that_can_be_delivered_is(tmp_path):
    with LocalBroker(kind="mosquitto") as broker:
        pid = mosquitto_of(broker.port)
        with blocked(tmp_path, broker.port) as process:
            os.kill(pid, signal.SIGSTOP)  # it takes connections and bytes, and says nothing more
            try:
                asked = time.monotonic()
                process.send_signal(signal.SIGTERM)
                process.send_signal(signal.SIGTERM)
                _, said = process.communicate(timeout=WAIT_S)
                took_s = time.monotonic() - asked
            finally:
                os.kill(pid, signal.SIGCONT)
    assert process.returncode == 0, said
    assert took_s < 15.0, "the camera is blocked for thirty, and the broker for ever"
    assert "Traceback" not in said
    written = delivered((tmp_path / "results.jsonl").read_text())
    assert written == judged(said), "the file could take all of it"
    assert written["folder"] > 0


def test_ops_03_with_a_blocked_camera_the_broker_has_every_verdict_at_the_end(tmp_path, broker):
    with Subscriber(sections.Mqtt(port=broker.port), line="stop") as subscriber:
        assert subscriber.wait_until_subscribed(WAIT_S)
        with blocked(tmp_path, broker.port) as process:
            process.send_signal(signal.SIGTERM)
            _, said = process.communicate(timeout=WAIT_S)
        came = Counter()
        while (arrival := subscriber.get(timeout_s=1.0)) is not None:
            if isinstance(arrival.message, Result):
                came[arrival.message.camera] += 1
    assert came == judged(said)


def mosquitto_of(port: int) -> int:
    """The process that listens on a port, by its configuration."""
    for folder in Path("/proc").iterdir():
        try:
            words = (folder / "cmdline").read_bytes().decode().split("\0")
            if "mosquitto" in words[0] and f"listener {port} " in Path(words[2]).read_text():
                return int(folder.name)
        except (OSError, IndexError):
            continue
    raise AssertionError("the broker of the test is not there")


# ── OPS-07: a thread dies ────────────────────────────────────────────────────────────────────────────────────────────

THREADS = [
    "outbox mqtt",  # the lane of the broker
    "outbox jsonl",  # and of the file
    "outbox store",  # of the results on disk
    "deadline",
    "latency",  # the rounds: figures, alerts, health
    "trace",
    "evidence",
    "previews",
    "previews mqtt",  # paho's loop of the previews
    "commands",  # and of the commands
    "metrics",
    "inspect",
    "capture-front",
]


dies = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnhandledThreadExceptionWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
"""Without these pytest takes the thread's end, and the file that it was writing, for a fault of the test."""


def is_meant(thread, name):
    """Whether a thread has this name; of paho's for the results only the beginning is known."""
    return thread.startswith(name) if name.endswith(" ") else thread == name


@dies
@pytest.mark.parametrize("name", [*THREADS, "mqtt "])  # the last: paho's loop of the results, by its beginning
def test_ops_07_a_thread_that_dies_is_noticed_and_ends_the_service(name, tmp_path, broker, free_port):
    assert BEAT_S <= 1.0, "so that it is noticed within two seconds, however busy the machine is"
    with running(Rig(tmp_path, broker.port, free_port)) as rig:
        (victim,) = [thread for thread in threading.enumerate() if is_meant(thread.name, name)]
        until_s = time.monotonic() + WAIT_S
        while victim.is_alive():  # again, where it was raised in a place that Python takes no exception from
            assert time.monotonic() < until_s
            kill(victim.name)
            victim.join(1.0)
        rig.thread.join(WAIT_S)
        assert isinstance(rig.error, ThreadDied), rig.error
        assert victim.name in str(rig.error)


@dies
def test_ops_07_a_reader_that_dies_is_started_again_with_its_camera(rig):
    assert kill("read-front")
    rig.wait_for_more("front", 10)
    assert any(thread.name == "read-front" for thread in threading.enumerate())


@pytest.fixture
def others():
    """Threads that were there before the line: those of whatever runs the tests."""
    return set(threading.enumerate())


def test_ops_07_every_thread_of_the_line_is_one_that_is_looked_after(others, rig):
    names = {thread.name for thread in set(threading.enumerate()) - others} - {rig.thread.name}
    readers = {name for name in names if name.startswith("read-")}
    known = {*THREADS, "capture-side"}
    assert {name for name in names - readers if not name.startswith("mqtt ")} == known


@pytest.mark.parametrize("name", ["outbox mqtt", "log", "inspect"])
def test_ops_07_the_process_ends_with_a_code_even_while_a_camera_is_blocked(name, tmp_path, broker):
    killer = str(ROOT / "tests" / "system" / "thread_killer.py")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "more": (name,)}
    with blocked(tmp_path, broker.port, killer, **pipes) as process:
        out, said = process.communicate("now\n", timeout=WAIT_S)
        took_s = (time.monotonic_ns() - int(out.split()[-1])) / 1e9
    assert process.returncode == 1, said
    assert name in said
    assert took_s < 20.0, "the thread is blocked for thirty"


def test_ops_07_a_log_that_is_dead_is_noticed_by_whoever_looks_after_it():
    with logging_to_stderr(sections.Log()) as log:
        assert log.writer.thread.is_alive()
