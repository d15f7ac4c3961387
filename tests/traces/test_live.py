"""Who makes the tail of a running line, heard through a real broker."""

import io
import threading
from concurrent.futures import ThreadPoolExecutor

import paho.mqtt.client as paho
import pytest
from rich.console import Console

from app.bench.hang_up import hang_up
from app.broker import LocalBroker
from app.config import sections
from app.publish.message import Event, Result, Stages, encode
from app.traces.commands import show_live_tail
from app.traces.live import Subscriber
from app.verdict import Verdict


def result(seq: int, inference_ms: float) -> Result:
    return Result(
        id=f"r{seq}",
        trace_id=f"run-front-{seq:06d}",
        line="l",
        camera="front",
        seq=seq,
        rev=1,
        verdict=Verdict.OK,
        reasons=[],
        part=None,
        label="",
        width=640,
        height=480,
        detections=[],
        region=None,
        stages_ms=Stages(capture=4.0, wait=1.0, preprocess=2.0, inference=inference_ms, postprocess=1.5),
        total_ms=9.0 + inference_ms,
        budget_ms=100.0,
        late=False,
        level="full",
        looked=[],
        skipped=[],
        captured_utc="",
        clock="ok",
        model="",
        config="",
        invalid_fields=[],
        truncated=False,
    )


@pytest.mark.broker
def test_the_tail_of_a_running_line_is_told_from_what_it_publishes(monkeypatch: pytest.MonkeyPatch) -> None:
    subscribed = threading.Event()
    as_before = Subscriber.subscribed

    def tell(self: Subscriber) -> None:
        as_before(self)
        subscribed.set()

    monkeypatch.setattr(Subscriber, "subscribed", tell)
    console, errors = Console(file=io.StringIO(), width=140), Console(file=io.StringIO())
    with LocalBroker() as broker, ThreadPoolExecutor() as pool:
        section = sections.Mqtt(port=broker.port)
        done = pool.submit(show_live_tail, section, console, errors, line="l", camera="", seconds=2.0)
        assert subscribed.wait(10)
        client = paho.Client(paho.CallbackAPIVersion.VERSION2)
        client.connect(broker.host, broker.port)
        client.loop_start()
        for seq in range(1, 31):
            message = result(seq, 90.0 if seq in (4, 9, 14, 19, 24) else 20.0)
            client.publish("taktsight/l/front/result", encode(message), qos=1).wait_for_publish(5)
        event = Event(id="e", line="l", camera="front", kind="level", text="level late, before full", utc="")
        client.publish("taktsight/l/front/event", encode(event), qos=1).wait_for_publish(5)
        done.result(30)
        hang_up(client)
    said = " ".join(console.file.getvalue().split())
    assert "Inference makes the tail: 100% of the time that the slowest 5 of 30 frames took longer" in said
    assert "change of the budget's level" in said
    assert "a result can't know its own way to the broker" in said
