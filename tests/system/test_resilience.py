"""What a running line says of itself while parts of it fail, the clock is set and the disk is full."""

import errno
import io
import json
import os
import threading
import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from app.broker import LocalBroker
from app.config import sections
from app.publish.clock import UtcClock
from app.publish.message import Event, Result
from app.watch import Subscriber
from tests.system.resilient import LONG_S, WAIT_S, Rig, running

pytestmark = pytest.mark.broker


# ── what the health says ─────────────────────────────────────────────────────────────────────────────────────────────


def test_a_line_that_is_well_says_what_runs_and_what_it_takes(rig):
    service = rig.health()["service"]
    assert service["engines"] == ["soak:quick"]
    assert service["broker"] == ""
    assert service["disk_free_bytes"] > 0
    assert service["rss_bytes"] > 0
    assert "hottest_c" in service, "null on a machine that has no such sensor"
    assert service["p99_ms"] is None or service["p99_ms"] > 0
    for camera in rig.health()["cameras"].values():
        assert camera["state"] == "online"
        assert camera["level"] == "full"
        assert camera["frames"]["captured"] > 0


def test_a_lost_camera_is_said_to_be_lost_with_the_reason_and_only_that_one(rig):
    rig.troubles.begin("lost side", LONG_S)
    said = rig.wait_for_problem("camera side: lost: ")
    assert said == "camera side: lost: side: the plug was pulled, says the soak"
    assert rig.health()["cameras"]["front"]["state"] == "online"
    rig.wait_for_more("front")
    rig.troubles.begin("lost side", 0.0)
    rig.wait_until_well()
    assert rig.health()["cameras"]["side"]["reconnects_per_h"] == 1
    assert rig.health()["cameras"]["front"]["reconnects_per_h"] == 0


def test_a_frozen_camera_is_said_to_be_frozen_and_its_pictures_are_unknown(rig):
    rig.troubles.begin("frozen side", LONG_S)
    rig.wait_for_problem("camera side: frozen: ")
    rig.wait(
        lambda: any(reason.code.value == "frozen" for one in tuple(rig.outcomes) for reason in one.judgement.reasons),
        "UNKNOWN for that reason",
    )
    rig.troubles.begin("frozen side", 0.0)
    rig.wait_until_well()
    assert rig.health()["cameras"]["side"]["stalls_per_h"] >= 1


def test_a_black_camera_is_said_to_be_black(rig):
    rig.troubles.begin("black side", LONG_S)
    said = rig.wait_for_problem("camera side: black: ")
    assert "no pixel is brighter" in said
    rig.troubles.begin("black side", 0.0)
    rig.wait_until_well()


def test_cam_22_while_a_camera_blocks_in_a_read_the_page_answers_and_the_other_camera_goes_on(rig, monkeypatch):
    lets_go = threading.Event()
    monkeypatch.setattr("app.bench.soak.unruly.Event", lambda: SimpleNamespace(wait=lambda _: lets_go.wait(WAIT_S)))
    rig.troubles.begin("silent side", LONG_S)
    rig.wait_for_problem("camera side: stale: ")
    rig.wait_for_more("front", 10)
    rig.wait_for_problem("camera side: stale: ")
    assert rig.health()["cameras"]["front"]["state"] == "online"
    rig.troubles.begin("silent side", 0.0)
    lets_go.set()
    rig.wait_until_well()


def test_a_stopped_broker_is_said_to_be_away_and_what_waits_is_counted(tmp_path, free_port):
    with LocalBroker(kind="mosquitto") as broker, running(Rig(tmp_path, broker.port, free_port)) as rig:
        rig.wait_until_well()
        broker.__exit__(None, None, None)
        problem = rig.wait_for_problem(f"broker 127.0.0.1:{broker.port}: ")
        assert rig.health()["service"]["broker"] == problem
        rig.wait(lambda: rig.health()["service"]["outbox_waiting"] > 3, "results that wait")
        rig.wait_for_more("front")
        with LocalBroker(broker.port, "mosquitto"):
            rig.wait(lambda: not rig.problems and rig.health()["service"]["outbox_oldest_s"] < 1, "all is delivered")


# ── OPS-05: the wall clock is set ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("step_s", [-7200, 86_400])  # back by two hours, forth by a day
def test_ops_05_a_step_of_the_clock_makes_no_time_negative_and_no_alarm(
    step_s, tmp_path, broker, free_port, monkeypatch
):
    offset = [0]
    stepped = partial(UtcClock, wall_ns=lambda: time.time_ns() + offset[0])
    monkeypatch.setattr("app.wiring.foundation.UtcClock", stepped)
    with Subscriber(sections.Mqtt(port=broker.port), line="resilient") as subscriber:
        assert subscriber.wait_until_subscribed(WAIT_S)
        with running(Rig(tmp_path, broker.port, free_port)) as rig:
            rig.wait_until_well()
            offset[0] = step_s * 10**9
            rig.wait_for_more("front", 20)
            assert rig.problems == []
            assert rig.health()["service"]["verdicts_per_s"] < 100, "two cameras give 25 each"
        messages = []
        while (arrival := subscriber.get(timeout_s=1.0)) is not None:
            messages.append(arrival.message)
    results = [message for message in messages if isinstance(message, Result)]
    assert {result.clock for result in results} == {"ok", "step"}
    assert all(result.total_ms >= 0 for result in results)
    stages = [spent for result in results for spent in msgspec.to_builtins(result.stages_ms).values()]
    assert all(spent >= 0 for spent in stages if spent is not None)
    assert not any(reason.code in ("frozen", "stale") for result in results for reason in result.reasons)
    kinds = {message.kind for message in messages if isinstance(message, Event)}
    assert not kinds & {"alert", "error", "dropped"}, kinds


# ── OPS-06: the disk is full ─────────────────────────────────────────────────────────────────────────────────────────


class FullDisk:
    """Opens files as ever; while it is full they take nothing."""

    def __init__(self):
        self.is_full = False
        disk = self

        class File(io.FileIO):
            def write(self, data):
                if disk.is_full:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                return super().write(data)

        self.file = File

    def opener(self):
        """Return what stands in the place of `Path.open`."""
        real = Path.open

        def open_(path, mode="r", *how, **more):
            is_ours = mode == "ab" and path.suffix == ".jsonl"
            return self.file(path, "a") if is_ours else real(path, mode, *how, **more)

        return open_


def test_ops_06_a_full_disk_stops_neither_inspection_nor_mqtt_and_the_files_go_on_once_there_is_room(
    tmp_path, broker, free_port, monkeypatch, caplog
):
    disk = FullDisk()
    monkeypatch.setattr(Path, "open", disk.opener())
    with Subscriber(sections.Mqtt(port=broker.port), line="resilient") as subscriber:
        assert subscriber.wait_until_subscribed(WAIT_S)
        with running(Rig(tmp_path, broker.port, free_port)) as rig:
            disk.is_full = True
            rig.wait_for_more("front", 30)
            disk.is_full = False
            last = len(rig.outcomes)
            rig.wait_for_more("front", 30)
            assert rig.problems == [] or all("disk" in one for one in rig.problems)
        arrived = set()
        while (arrival := subscriber.get(timeout_s=1.0)) is not None:
            if isinstance(arrival.message, Result):
                arrived.add(arrival.message.id)
    ids = {f"{outcome.trace_id}.{outcome.rev}" for outcome in rig.outcomes}
    assert arrived == ids, "the broker has every one"
    lines = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines() if line]
    assert {line["id"] for line in lines if "verdict" in line} == ids, "kept while the disk was full, and written then"
    traced = (tmp_path / "trace.jsonl").read_text()
    assert rig.outcomes[last + 10].trace_id in traced, "tracing goes on"
    for path in ("results.jsonl", "trace.jsonl"):
        told = [
            record for record in caplog.records if path in record.getMessage() and "No space" in record.getMessage()
        ]
        assert len(told) == 1, f"{path}: one alarm"
