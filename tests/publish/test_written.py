"""When a result is with the operating system's network: what the deadline aims by."""

from __future__ import annotations

import pytest

from app.config.sections import Mqtt
from app.publish.mqtt import MqttSink
from app.publish.outbox import Outbox
from app.verdict import Verdict

CAMERA = "Ofen-Tür"


@pytest.fixture
def line(outcome, collector):
    """Return a function that makes an outbox with a broker, and collectors for what is written and what is done."""

    def make(port, root):
        written, done = collector(), collector()
        outbox = Outbox(
            "Linie 1",
            max_waiting=100,
            max_waiting_bytes=1 << 25,
            max_age_s=60,
            on_done=done,
            on_written=lambda *what: written(what),
        )
        section = Mqtt(port=port, root=root, version="3.1.1")
        outbox.add("mqtt", MqttSink(section, "Linie 1", (CAMERA,), outbox, on_written=outbox.written), answers=True)
        return outbox, written, done

    return make


@pytest.mark.broker
def test_each_result_is_written_once_before_the_broker_has_it_and_events_do_not_count(broker, line, outcome):
    outbox, written, done = line(broker.port, "written")
    with outbox:
        outbox.put(outcome(1))
        assert done.wait_for(1)
        outbox.event(CAMERA, "camera", "an event")
        for seq in range(2, 22):
            outbox.put(outcome(seq, Verdict.NG))
        assert done.wait_for(21)
    assert len(written.items) == 21
    network_ms = [one.trace.columns_ms()["network"] for one in done.items[1:]]
    took_ms = [(at_ns - put_ns) / 1e6 for _, put_ns, at_ns in written.items]
    assert min(took_ms) > 0
    assert sorted(took_ms[1:])[10] <= sorted(network_ms)[10]


def test_a_broker_that_withholds_its_answer_does_not_withhold_the_time(rude_broker, line, outcome):
    broker = rude_broker(on_publish=lambda size, mid: "withhold")
    outbox, written, done = line(broker.port, "silent")
    with outbox:
        outbox.put(outcome(1))
        assert written.wait_for(1)
        assert done.items == []


def test_a_lost_connection_writes_nothing(rude_broker, line, outcome):
    broker = rude_broker(on_publish=lambda size, mid: "close")
    outbox, written, _ = line(broker.port, "lost")
    with outbox:
        outbox.put(outcome(1))
        assert broker.published.wait_for(1)
    assert len(written.items) <= broker.connections, "once for each time that it was sent at most"
