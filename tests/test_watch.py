"""The subscriber, as a customer would run it."""

import io
import json
import threading
import time

import numpy as np
import pytest
from rich.console import Console

from app import watch as module
from app.broker import LocalBroker, free_port
from app.config.sections import Mqtt
from app.detections import Detections
from app.errors import SinkLost
from app.publish.backoff import Backoff
from app.publish.build import event_of, result_of
from app.publish.clock import Label
from app.publish.message import Status, decode, encode
from app.publish.mqtt import MqttSink
from app.publish.outbox import Outbox
from app.trace import Trace
from app.verdict import Code, Judgement, Outcome, Reason, Verdict
from app.watch import Subscriber, line_of, watch

WAIT_S = 20
pytestmark = pytest.mark.broker


def make_outcome(seq, verdict=Verdict.OK, *, camera="cam 1", rev=1, part=None, spent_ms=20):
    trace = Trace(f"run-{camera}-{seq}", 0)
    trace.add("capture", 0, spent_ms * 1_000_000)
    reasons = () if verdict is Verdict.OK else (Reason(Code.COUNT, "3 screws, 4 are wanted"),)
    none = Detections(np.zeros((0, 4), np.float32), np.zeros(0, np.float32), np.zeros(0, np.int64), ())
    judgement = Judgement(verdict, reasons)
    return Outcome(trace.trace_id, camera, seq, judgement, (4, 3), none, trace, 100.0, 0, rev=rev, part=part)


@pytest.fixture
def port():
    return free_port()


@pytest.fixture
def broker(port):
    with LocalBroker(port, "mosquitto") as running:
        yield running


@pytest.fixture
def service(port):
    """An outbox that publishes to the port; `shown` is set when a subscriber has acknowledged."""
    shown = threading.Event()
    outbox = Outbox(
        "Linie 1",
        max_waiting=100,
        max_waiting_bytes=1 << 20,
        max_age_s=60.0,
        on_shown=lambda outcome: shown.set(),
    )
    sink = MqttSink(Mqtt(port=port), "Linie 1", ["cam 1"], outbox, on_ack=outbox.shown, backoff=Backoff(0.05, 0.1))
    outbox.add("mqtt", sink, answers=True)
    outbox.shown_by_somebody = shown
    return outbox


@pytest.fixture
def subscribe(port):
    def make(**names):
        return Subscriber(Mqtt(port=port), backoff=Backoff(0.05, 0.1), **names)

    return make


def next_result(subscriber):
    until_s = time.monotonic() + WAIT_S
    while time.monotonic() < until_s:
        arrival = subscriber.get(WAIT_S)
        if arrival is not None and hasattr(arrival.message, "verdict"):
            return arrival
    pytest.fail("no result came")


def test_results_arrive_and_their_acknowledgement_goes_back(broker, service, subscribe):
    with subscribe() as subscriber, service:
        assert subscriber.wait_until_subscribed(WAIT_S)
        service.put(make_outcome(1))
        arrival = next_result(subscriber)
        assert (arrival.message.camera, arrival.message.seq) == ("cam 1", 1)
        subscriber.acknowledge(arrival)
        assert service.shown_by_somebody.wait(WAIT_S)


def test_mq_16_a_restarted_broker_is_subscribed_to_again(port, service, subscribe):
    with subscribe() as subscriber, service:
        for seq in (1, 2):
            with LocalBroker(port, "mosquitto"):
                assert subscriber.wait_until_subscribed(WAIT_S)
                service.put(make_outcome(seq))
                assert next_result(subscriber).message.seq == seq


def test_mq_17_a_result_that_comes_twice_is_shown_once(subscribe):
    subscriber = subscribe()
    payload = encode(result_of(make_outcome(1), "l"))
    revised = encode(result_of(make_outcome(1, rev=2), "l"))
    for one in (payload, payload, revised):
        subscriber.received("t/l/cam-1/result", one, retained=False)
    assert [subscriber.get(0).message.rev for _ in range(2)] == [1, 2]
    assert subscriber.get(0) is None
    assert subscriber.duplicates == 1


def test_ids_are_remembered_within_bounds(subscribe, monkeypatch):
    monkeypatch.setattr(module, "REMEMBERED_IDS", 5)
    subscriber = subscribe()
    for seq in range(50):
        subscriber.received("t", encode(result_of(make_outcome(seq), "l")), retained=False)
    assert len(subscriber._seen) == 5


def test_a_subscriber_that_nobody_reads_keeps_the_newest(subscribe, monkeypatch):
    monkeypatch.setattr(module, "MAX_WAITING", 3)
    subscriber = subscribe()
    for seq in range(5):
        subscriber.received("t", encode(result_of(make_outcome(seq), "l")), retained=False)
    assert [subscriber.get(0).message.seq for _ in range(3)] == [2, 3, 4]
    assert subscriber.overrun == 2


def test_rubbish_is_counted_and_forgotten(subscribe):
    subscriber = subscribe()
    subscriber.received("t", b"{", retained=False)
    assert (subscriber.get(0), subscriber.malformed) == (None, 1)


def test_one_camera_can_be_watched_alone_by_its_name(broker, service, subscribe):
    with subscribe(line="Linie 1", camera="cam 1") as subscriber, service:
        assert subscriber.wait_until_subscribed(WAIT_S)
        service.put(make_outcome(1, camera="cam 2"))
        service.put(make_outcome(2))
        assert next_result(subscriber).message.seq == 2


@pytest.mark.parametrize("as_json", [False, True])
def test_watch_prints_one_line_a_message_until_it_has_enough(broker, port, service, as_json):
    printed = io.StringIO()
    console = Console(file=printed, width=40, highlight=False)
    watching = threading.Thread(
        target=watch, args=(Mqtt(port=port),), kwargs={"as_json": as_json, "count": 2, "console": console}
    )
    with service:
        watching.start()
        seq = 0
        while watching.is_alive() and seq < 2000:  # it may not be subscribed yet
            service.put(make_outcome(seq := seq + 1, Verdict.NG, part=seq))
            watching.join(0.02)
        watching.join(WAIT_S)
    results = [line for line in printed.getvalue().splitlines() if "wanted" in line]
    assert len(results) == 2
    if as_json:
        assert json.loads(results[0])["verdict"] == "NG"
        assert decode(results[0].encode()).line == "Linie 1"
    else:
        assert "NG" in results[0]
        assert "3 screws, 4 are wanted  20.0 ms" in results[0]


def test_watch_without_a_broker_ends_with_what_to_check(port, monkeypatch):
    monkeypatch.setattr(module, "FIRST_CONNECTION_S", 0.1)
    with pytest.raises(SinkLost, match=rf"127\.0\.0\.1:{port}: not reached.*--host and --port"):
        watch(Mqtt(port=port))


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (result_of(make_outcome(3, part=7), "l"), ["OK", "cam 1", "part 7 (#3)", "20.0 ms"]),
        (result_of(make_outcome(3, Verdict.NG, rev=2), "l"), ["NG", "#3", "revision 2", "4 are wanted"]),
        (
            event_of("e", "l", camera="", kind="dropped", text="3 lost", data={}, at=Label(0, "ok")),
            ["dropped", "l", "3 lost"],
        ),
        (Status(state="offline", reason="lost", line="l", version="1.0", utc=""), ["offline", "l", "lost, 1.0"]),
        (Status(state="online", reason="running", line="l", camera="cam", version="", utc=""), ["online", "cam"]),
    ],
)
def test_every_message_has_a_line_for_people(message, words):
    line = line_of(message).plain
    assert all(word in line for word in words)
    assert "\n" not in line


def test_a_result_over_its_budget_is_marked():
    late, on_time = (line_of(result_of(make_outcome(1, spent_ms=spent), "l")) for spent in (150, 50))
    assert "red" in str(late.spans)
    assert "red" not in str(on_time.spans)
