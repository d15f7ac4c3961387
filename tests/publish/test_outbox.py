"""The outbox never blocks, keeps order, counts all, and keeps one sink's trouble from the others."""

import resource
import threading
import time
from pathlib import Path

import pytest

from app.errors import SinkLost
from app.publish.message import Ack, Event
from app.publish.outbox import Outbox
from app.verdict import Verdict

WAIT_S = 20


class FakeSink:
    """Takes messages, or does not, as its test says."""

    def __init__(self, collector):
        self.taken = collector
        self.is_away = False
        self.error = None
        self.hold = threading.Event()
        self.hold.set()
        self.tries = 0
        self.entered = 0

    def __enter__(self):
        self.entered += 1
        return self

    def __exit__(self, *_):
        self.entered -= 1

    def send(self, message):
        self.tries += 1
        self.hold.wait(WAIT_S)
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        if self.is_away:
            raise SinkLost("away")
        self.taken(message)


@pytest.fixture
def sink(collector):
    return FakeSink(collector())


@pytest.fixture
def other_sink(collector):
    return FakeSink(collector())


@pytest.fixture
def make_outbox(collector):
    def make(*sinks, answers=False, **changes):
        limits = {"max_waiting": 1000, "max_waiting_bytes": 1 << 25, "max_age_s": 3600.0, "grace_s": 0.2} | changes
        done, shown = collector(), collector()
        outbox = Outbox("line", **limits, on_done=done, on_shown=shown)
        outbox.done, outbox.shown_items = done, shown
        for number, one in enumerate(sinks):
            outbox.add(f"sink{number}", one, answers=answers and number == 0)
        return outbox

    return make


def seqs(sink):
    return [message.seq for message in sink.taken.items if not isinstance(message, Event)]


def resident_bytes():
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize()


def adds_up(counts):
    return counts.put == counts.delivered + counts.dropped + counts.refused + counts.replaced + counts.waiting


def test_messages_reach_every_sink_in_order(make_outbox, sink, other_sink, outcome):
    with make_outbox(sink, other_sink) as outbox:
        for seq in range(50):
            outbox.put(outcome(seq))
        assert sink.taken.wait_for(50)
        assert other_sink.taken.wait_for(50)
    assert seqs(sink) == seqs(other_sink) == list(range(50))
    assert (sink.entered, other_sink.entered) == (0, 0)


def test_every_sink_gets_the_same_words(make_outbox, sink, other_sink, outcome):
    with make_outbox(sink, other_sink) as outbox:
        outbox.put(outcome())
        assert other_sink.taken.wait_for(1)
    assert sink.taken.items == other_sink.taken.items


def test_the_primary_sinks_delivery_ends_the_network_stage(make_outbox, sink, outcome):
    outbox = make_outbox(sink)
    with outbox:
        outbox.put(outcome())
        assert outbox.done.wait_for(1)
    done = outbox.done.items[0]
    assert [step for step, _, _ in done.trace.spans][-1] == "publish"
    assert done.trace.columns_ms()["network"] > 0


def test_put_does_not_wait_for_a_sink_that_hangs_nor_do_the_other_sinks(make_outbox, sink, other_sink, outcome):
    sink.hold.clear()
    outbox = make_outbox(sink, other_sink)
    with outbox:
        for seq in range(20):
            outbox.put(outcome(seq))
        assert other_sink.taken.wait_for(20)
        assert sink.taken.items == []
        sink.hold.set()
        assert sink.taken.wait_for(20)


def test_a_sink_that_comes_back_gets_everything_in_order(make_outbox, sink, outcome):
    sink.is_away = True
    outbox = make_outbox(sink)
    with outbox:
        for seq in range(5):
            outbox.put(outcome(seq))
        sink.is_away = False  # the next try comes by itself
        assert sink.taken.wait_for(5)
    assert seqs(sink) == [0, 1, 2, 3, 4]


def test_ready_wakes_a_lane_that_waits(make_outbox, sink, outcome, monkeypatch):
    monkeypatch.setattr("app.publish.lane.PAUSE_NS", 3600 * 10**9)
    tried = threading.Event()
    sink.is_away = True
    outbox = make_outbox(sink, answers=True)
    send = sink.send

    def send_and_tell(message):
        try:
            send(message)
        finally:
            tried.set()

    sink.send = send_and_tell
    with outbox:
        outbox.put(outcome(1))
        assert tried.wait(WAIT_S)
        sink.is_away = False
        outbox.ready()
        assert sink.taken.wait_for(1)


def test_a_steady_flow_does_not_put_off_the_next_try(make_outbox, sink, outcome):
    sink.is_away = True
    outbox = make_outbox(sink)
    with outbox:
        until_s = time.monotonic() + WAIT_S
        seq = 0
        while sink.tries < 3 and time.monotonic() < until_s:
            outbox.put(outcome(seq := seq + 1))
            threading.Event().wait(0.01)
    assert sink.tries >= 3


def test_mq_07_what_is_too_much_is_dropped_counted_and_reported(make_outbox, sink, outcome):
    sink.is_away = True
    outbox = make_outbox(sink, max_waiting=10)
    with outbox:
        for seq in range(40):
            outbox.put(outcome(seq, Verdict.NG if seq % 10 == 0 else Verdict.OK))
        counts = outbox.counts()["sink0"]
        assert (counts.put, counts.waiting) == (40, 10)
        assert adds_up(counts)
        sink.is_away = False
        is_report = lambda items: any(isinstance(item, Event) for item in items)  # noqa: E731 - reads best here
        assert sink.taken.wait_for(is_report)
    assert {0, 10, 20, 30} <= set(seqs(sink))
    report = next(item for item in sink.taken.items if isinstance(item, Event))
    assert (report.kind, report.data) == ("dropped", {"sink": "sink0", "OK": 30})


def test_mq_07_an_hour_offline_stays_within_its_bytes(make_outbox, sink, outcome):
    sink.is_away = True
    outbox = make_outbox(sink, max_waiting=36_000)
    with outbox:
        before = resident_bytes()
        for seq in range(36_000):
            outbox.put(outcome(seq, Verdict.NG, boxes=2))
        grown = resident_bytes() - before
        assert outbox.counts()["sink0"].dropped > 0
    assert grown < 50e6


def test_mq_07_what_is_too_old_is_not_sent_as_if_live(make_outbox, sink, outcome):
    sink.is_away = True
    outbox = make_outbox(sink, max_age_s=1.0)
    with outbox:
        outbox.put(outcome(1, Verdict.NG))
        until_s = time.monotonic() + WAIT_S
        while outbox.counts()["sink0"].dropped == 0 and time.monotonic() < until_s:
            threading.Event().wait(0.02)
        sink.is_away = False
        outbox.put(outcome(2))
        assert sink.taken.wait_for(lambda items: seqs(sink) == [2])


def test_a_fault_in_a_sink_costs_one_message(make_outbox, sink, outcome, caplog):
    sink.error = RuntimeError("broken")
    outbox = make_outbox(sink)
    with outbox:
        outbox.put(outcome(1))
        outbox.put(outcome(2))
        assert sink.taken.wait_for(1)
    counts = outbox.counts()["sink0"]
    assert (seqs(sink), counts.refused, counts.delivered) == ([2], 1, 1)
    assert "could not be sent" in caplog.text


def test_a_fault_in_a_listener_does_not_end_the_sinks_thread(make_outbox, sink, outcome, caplog):
    outbox = make_outbox(sink)
    outbox._on_done = lambda _: 1 / 0
    with outbox:
        outbox.put(outcome(1))
        outbox.put(outcome(2))
        assert sink.taken.wait_for(2)
    assert "listener" in caplog.text


def test_mq_17_returned_messages_go_again_with_the_same_id_and_in_order(make_outbox, sink, outcome):
    outbox = make_outbox(sink, answers=True)
    with outbox:
        for seq in range(3):
            outbox.put(outcome(seq))
        assert sink.taken.wait_for(3)
        assert outbox.oldest_age_s() > 0
        outbox.returned([message.id for message in sink.taken.items])
        assert sink.taken.wait_for(6)
        for message in sink.taken.items[3:]:
            outbox.delivered(message.id, time.monotonic_ns())
        assert outbox.done.wait_for(3)
        assert outbox.oldest_age_s() == 0
    assert seqs(sink) == [0, 1, 2, 0, 1, 2]
    assert sink.taken.items[0].id == sink.taken.items[3].id


def test_a_receipt_that_comes_twice_or_for_nothing_counts_once(make_outbox, sink, outcome):
    outbox = make_outbox(sink, answers=True)
    with outbox:
        outbox.put(outcome())
        assert sink.taken.wait_for(1)
        for message_id in (sink.taken.items[0].id, sink.taken.items[0].id, "unknown"):
            outbox.delivered(message_id, time.monotonic_ns())
    assert len(outbox.done.items) == 1
    assert adds_up(outbox.counts()["sink0"])


@pytest.mark.parametrize("is_shown_first", [False, True])
def test_a_subscribers_acknowledgement_ends_the_presentation_stage(make_outbox, sink, outcome, is_shown_first):
    outbox = make_outbox(sink, answers=True)
    with outbox:
        outbox.put(outcome())
        assert sink.taken.wait_for(1)
        result = sink.taken.items[0]
        ack = Ack(id=result.id, trace_id=result.trace_id, hold_ms=3.0)
        now_ns = time.monotonic_ns()
        if is_shown_first:  # the broker may serve the subscriber before it answers the publisher
            outbox.shown(ack, now_ns)
        outbox.delivered(result.id, now_ns)
        if not is_shown_first:
            outbox.shown(ack, now_ns + 5_000_000)
        outbox.shown(ack, now_ns + 9_000_000)  # a second subscriber
    assert len(outbox.shown_items.items) == 1
    presented_ms = outbox.shown_items.items[0].trace.columns_ms()["presentation"]
    assert presented_ms == (0.0 if is_shown_first else 5.0)


def test_outcomes_that_nobody_acknowledges_are_forgotten(make_outbox, sink, outcome):
    outbox = make_outbox(sink)
    with outbox:
        for seq in range(700):
            outbox.put(outcome(seq))
        assert outbox.done.wait_for(700)
        assert len(outbox._answers._awaited) <= 512


def test_leaving_gives_a_slow_sink_time_and_one_that_is_away_none(make_outbox, sink, other_sink, outcome):
    other_sink.is_away = True
    outbox = make_outbox(sink, other_sink, grace_s=WAIT_S)
    with outbox:
        sink.hold.clear()
        outbox.put(outcome())
        threading.Timer(0.1, sink.hold.set).start()
    assert outbox.counts()["sink0"].delivered == 1
    assert outbox.counts()["sink1"].waiting == 1


def test_without_any_sink_outcomes_are_still_done(make_outbox, outcome):
    outbox = make_outbox()
    with outbox:
        outbox.put(outcome())
        assert outbox.done.wait_for(1)


def test_a_sink_that_cannot_be_opened_stops_what_was_started(make_outbox, sink, other_sink):
    other_sink.__class__ = type("Closed", (FakeSink,), {"__enter__": lambda self: 1 / 0})
    with pytest.raises(ZeroDivisionError), make_outbox(sink, other_sink):
        pytest.fail("it was entered")
    assert sink.entered == 0
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("outbox")]
