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
from app.config.sections import Previews as PreviewsSection
from app.detections import Detections
from app.errors import ConfigError, SinkLost
from app.publish.backoff import Backoff
from app.publish.build import event_of, result_of
from app.publish.clock import Label
from app.publish.message import Latency, Preview, Status, decode, encode
from app.publish.mqtt import MqttSink
from app.publish.outbox import Outbox
from app.publish.previews import Previews
from app.publish.spread import Spread, Window
from app.publish.spread import Subscriber as Row
from app.trace import Trace
from app.verdict import Code, Judgement, Outcome, Reason, Verdict
from app.watch import Gallery, Subscriber, line_of, watch

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


def latency(count=20, p99=74.25, subscribers=(), previews=()):
    def spread(p99, count=count):
        return Spread(count=count, p50=66.1, p90=71.9, p99=p99, p999=p99, max=p99, exact=True)

    stages = {"capture": spread(5.0), "inference": spread(40.0), "total": spread(p99)} if count else {}
    rows = [
        [Row(client=name, network=spread(9.0), hold=spread(4.0), mostly="network", per_s=2.0) for name in names]
        for names in (subscribers, previews)
    ]
    return Latency(
        id="a.1", line="l", camera="cam", utc="", budget_ms=100.0, frames=9, misses=0, level="no_refine", breaches={},
        windows=[Window(seconds=10, stages=stages)], subscribers=rows[0], others=0, previews=rows[1],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (latency(), ["p50 66.1, p99 74.2 of 100 ms (20 in 10 s)", "inference p99 40.0 ms", "level no_refine"]),
        (latency(count=0), ["cam", "no result in the last 10 s"]),  # a line that stands
        (latency(p99=None), ["p99 over 10 s of 100 ms"]),  # longer than can be told
        (latency(subscribers=["panel"]), ["shown slowest by panel", "mostly network, 2 a second"]),
        (latency(previews=["tablet"]), ["previews slowest by tablet"]),
    ],
)
def test_latencies_have_a_line_for_people(message, words):
    line = line_of(message).plain
    assert all(word in line for word in words), line
    assert "\n" not in line


def test_latencies_over_the_budget_are_marked():
    assert "red" in str(line_of(latency(p99=101.0)).spans)
    assert "red" not in str(line_of(latency()).spans)


def preview(jpeg, camera="cam 1"):
    return Preview(
        id="p.1", trace_id="t", line="Linie 1", camera=camera, seq=1, rev=1, verdict=Verdict.OK, captured_utc="", jpeg=jpeg
    )  # fmt: skip


def test_the_newest_preview_takes_the_place_of_the_last_one(tmp_path):
    gallery = Gallery(tmp_path / "new" / "folder")
    for jpeg in (b"one", b"two"):
        path = gallery.hang("taktsight/linie-1/cam-1/preview/me", preview(jpeg))
    assert path == tmp_path / "new" / "folder" / "linie-1-cam-1.jpg"
    assert path.read_bytes() == b"two"
    assert list(path.parent.iterdir()) == [path], "nothing half written is left"


def test_a_folder_that_takes_no_previews_is_an_error_that_says_so(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"--previews .*file.*name a folder"):
        Gallery(tmp_path / "file" / "folder")
    gallery = Gallery(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(ConfigError, match=r"--previews .*gone.*make room"):
        gallery.hang("t/l/c/preview/me", preview(b""))


def test_watching_previews_keeps_the_newest_of_each_camera_in_a_file(broker, port, service, tmp_path):
    section = Mqtt(port=port, previews=PreviewsSection(max_fps=100.0))
    previews = Previews(section, "Linie 1", ["cam 1"], backoff=Backoff(0.05, 0.1))
    watching = threading.Thread(
        target=watch, args=(section,), kwargs={"count": 1, "console": Console(file=io.StringIO()), "previews": tmp_path}
    )
    path = tmp_path / "linie-1-cam-1.jpg"
    with service, previews:
        watching.start()
        seq, until_s = 0, time.monotonic() + WAIT_S
        while not path.exists() and time.monotonic() < until_s:
            previews.put(make_outcome(seq := seq + 1), np.zeros((3, 4, 3), np.uint8))
            watching.join(0.02)
        while watching.is_alive() and time.monotonic() < until_s:
            service.put(make_outcome(seq := seq + 1))
            watching.join(0.02)
        while previews.watchers() != {"cam 1": 0} and time.monotonic() < until_s:  # it says goodbye
            watching.join(0.02)
        assert previews.watchers() == {"cam 1": 0}
    assert path.read_bytes()[:2] == b"\xff\xd8"


def test_a_watcher_asks_again_as_long_as_it_watches(subscribe, monkeypatch):
    asked = []
    subscriber = subscribe(previews=True)
    monkeypatch.setattr(subscriber._link, "publish", lambda topic, payload, **_: asked.append((topic, decode(payload))))
    status = Status(state="online", reason="running", line="l", camera="cam", version="", utc="")
    subscriber.received("t/l/cam/status", encode(status), retained=True)
    subscriber.ask_again()
    assert [topic for topic, _ in asked] == ["t/l/cam/ack"]
    monkeypatch.setattr(module, "ASK_S", 0.0)
    subscriber.ask_again()
    assert [(want.client, want.previews) for _, want in asked] == [(subscriber.client, True)] * 2


def test_a_result_over_its_budget_is_marked():
    late, on_time = (line_of(result_of(make_outcome(1, spent_ms=spent), "l")) for spent in (150, 50))
    assert "red" in str(late.spans)
    assert "red" not in str(on_time.spans)
