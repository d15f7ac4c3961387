"""The broker as a sink, against a real mosquitto and against brokers that misbehave."""

import json
import threading
import time

import msgspec
import pytest

from app.config.sections import Mqtt
from app.errors import SinkLost
from app.publish.build import result_of
from app.publish.message import Ack, decode, encode
from app.publish.mqtt import MqttSink
from app.publish.topics import Topics
from app.verdict import Code, Reason, Verdict

WAIT_S = 20
pytestmark = pytest.mark.broker


def results(listener):
    return [json.loads(payload) for payload in listener.on("/result")]


def states(listener, topic_end="linie-1/status"):
    return [json.loads(payload)["state"] for payload in listener.on(topic_end)]


def wait_until(is_true, timeout_s=WAIT_S):
    """Poll what has no event to wait for."""
    until_s = time.monotonic() + timeout_s
    while not is_true() and time.monotonic() < until_s:
        threading.Event().wait(0.02)
    return is_true()


def test_mq_01_a_result_goes_through_a_real_broker_and_is_acknowledged(broker, rig, listen, outcome):
    mine = rig(broker.port)
    listener = listen(broker.port, f"{mine.section.root}/#")
    with mine:
        mine.put(outcome(1, Verdict.NG), outcome(2))
        assert mine.done.wait_for(2)
        assert mine.sink.protocol == "5"
        assert listener.wait_for("/result", 2)
    assert [result["seq"] for result in results(listener)] == [1, 2]
    assert mine.done.items[0].trace.columns_ms()["network"] > 0


def test_mq_03_the_topic_has_the_slug_and_the_payload_the_name(broker, rig, listen, outcome):
    mine = rig(broker.port)
    listener = listen(broker.port, f"{mine.section.root}/linie-1/ofen-tuer/result")
    with mine:
        mine.put(outcome())
        assert listener.wait_for("/result", 1)
    result = results(listener)[0]
    assert (result["line"], result["camera"]) == ("Linie 1", "Ofen-Tür")


@pytest.mark.parametrize("name", ["a/+/b", "cam#", "cam\0one", ""])
def test_mq_02_a_name_that_cannot_be_a_topic_is_refused_before_anything_starts(rig, name):
    with pytest.raises(ValueError, match="name "):
        MqttSink(Mqtt(), "line", [name], receipts=None)


def test_mq_02_a_name_that_gets_through_all_the_same_costs_one_message(broker, rig, outcome):
    with rig(broker.port) as mine:
        mine.put(outcome(1, camera="a/+/b"), outcome(2))
        mine.outbox.event("#", "odd", "an event of a camera that has no topic goes to the line's")
        assert mine.done.wait_for(1)
        assert wait_until(lambda: mine.outbox.counts()["mqtt"].delivered == 2)
    assert mine.done.items[0].seq == 2
    assert mine.outbox.counts()["mqtt"].refused == 1


def test_mq_04_what_is_published_before_the_connection_is_kept_and_comes_in_order(restartable, rig, listen, outcome):
    with rig(restartable.port) as mine:
        with pytest.raises(SinkLost, match="not connected"):
            mine.sink.send(result_of(outcome(), "l"))
        mine.put(*(outcome(seq) for seq in range(30)))
        restartable()
        listener = listen(restartable.port)
        assert mine.done.wait_for(30)
        assert mine.outbox.counts()["mqtt"].delivered == 30
    assert [one.seq for one in mine.done.items] == list(range(30))
    seen = [result["seq"] for result in results(listener)]
    assert seen == sorted(seen)


def test_mq_05_a_broker_that_is_not_there_at_boot_is_found_when_it_comes(restartable, rig, outcome):
    with rig(restartable.port) as mine:
        mine.put(outcome())
        assert not mine.sink.is_up
        assert mine.outbox.oldest_age_s() > 0
        restartable()
        assert mine.done.wait_for(1)
        assert mine.outbox.oldest_age_s() == 0


def test_mq_05_a_broker_that_goes_and_comes_back_gets_everything(restartable, rig, outcome):
    restartable()
    with rig(restartable.port) as mine:
        mine.put(outcome(1))
        assert mine.done.wait_for(1)
        restartable.stop()
        mine.put(*(outcome(seq) for seq in range(2, 60)))
        restartable()
        assert mine.done.wait_for(59)
    assert [one.seq for one in mine.done.items] == list(range(1, 60))


def test_mq_06_the_age_of_the_oldest_unacknowledged_message_is_known(rude_broker, rig, outcome):
    silent = rude_broker(on_publish=lambda size, mid: "withhold")
    with rig(silent.port, version="3.1.1") as mine:
        mine.put(*(outcome(seq) for seq in range(40)))
        assert silent.published.wait_for(16)
        age_s = mine.sink.oldest_unacked_s()
        assert age_s > 0
        assert wait_until(lambda: mine.sink.oldest_unacked_s() > age_s)
        assert mine.outbox.oldest_age_s() >= mine.sink.oldest_unacked_s()
        assert wait_until(lambda: len(mine.sink._on_their_way) == 16)
        with pytest.raises(SinkLost, match="16 messages wait"):
            mine.sink.send(result_of(outcome(99), "l"))
        counts = mine.outbox.counts()["mqtt"]
        assert (counts.delivered, counts.waiting) == (0, 40)


def test_mq_17_what_had_no_acknowledgement_comes_again_with_the_same_id(rude_broker, rig, outcome):
    first = []

    def withhold_then_cut(size, mid):
        first.append(mid)
        return "withhold" if len(first) < 3 else "close" if len(first) == 3 else "ack"

    rude = rude_broker(on_publish=withhold_then_cut)
    with rig(rude.port, version="3.1.1") as mine:
        mine.put(*(outcome(seq) for seq in range(3)))
        assert mine.done.wait_for(3)
    ids = [json.loads(payload)["id"] for payload in rude.published.items]
    assert ids[:3] == ids[3:6]


def test_mq_09_a_message_that_ends_every_connection_loses_its_boxes(rude_broker, rig, outcome):
    small = rude_broker(on_publish=lambda size, mid: "close" if size > 100_000 else "ack")
    reasons = [Reason(Code.FORBIDDEN, "screw must not be there", (0,))]
    with rig(small.port, version="3.1.1") as mine:
        mine.put(outcome(1), outcome(2, Verdict.NG, boxes=4000, reasons=reasons), outcome(3))
        assert mine.done.wait_for(3)
        connections = small.connections
        mine.put(outcome(4, boxes=4000))
        assert mine.done.wait_for(4)
        assert small.connections == connections
    last = {one["seq"]: one for one in map(json.loads, small.published.items)}
    assert (last[2]["verdict"], last[2]["detections"], last[2]["truncated"]) == ("NG", [], True)
    assert last[3]["truncated"] is False


def test_mq_09_a_small_message_that_ends_every_connection_is_given_up(rude_broker, rig, outcome):
    hated = rude_broker()
    hated.on_publish = lambda size, mid: "close" if b'"seq":2,' in hated.last else "ack"
    take = hated._take

    def remember(connection, body):
        hated.last = body
        return take(connection, body)

    hated._take = remember
    with rig(hated.port, version="3.1.1") as mine:
        mine.put(outcome(1), outcome(2), outcome(3))
        assert mine.done.wait_for(2)
    assert [one.seq for one in mine.done.items] == [1, 3]
    assert mine.outbox.counts()["mqtt"].refused == 1


def test_mq_12_a_clean_stop_says_offline_once_and_the_broker_adds_nothing(broker, rig, listen, outcome):
    mine = rig(broker.port)
    listener = listen(broker.port, f"{mine.section.root}/#")
    with mine:
        assert listener.wait_for("linie-1/status", 1)
    assert listener.wait_for("linie-1/status", 2)
    listener.client.publish(f"{mine.section.root}/end", "")  # whatever the broker had to add comes before this
    assert listener.wait_for("/end", 1)
    assert states(listener) == ["online", "offline"]
    assert json.loads(listener.on("linie-1/status")[1])["reason"] == "stopped"
    assert states(listener, "ofen-tuer/status") == ["online", "offline"]
    late = listen(broker.port, f"{mine.section.root}/linie-1/status")
    assert late.wait_for("/status", 1)
    assert late.messages.items[0][2], "the last status is retained"
    assert states(late) == ["offline"]


def test_mq_12_a_client_that_dies_is_reported_by_the_broker(broker, rig, listen):
    mine = rig(broker.port)
    listener = listen(broker.port, f"{mine.section.root}/linie-1/status")
    with mine:
        assert listener.wait_for("/status", 1)
        mine.sink._link._client.socket().close()  # as a power cut does: no goodbye
        assert listener.wait_for("/status", 2)
    assert states(listener)[:2] == ["online", "offline"]
    assert json.loads(listener.on("/status")[1])["reason"] == "lost"


def test_mq_13_online_is_published_again_on_every_connection(restartable, rig, listen):
    restartable()
    with rig(restartable.port) as mine:
        assert wait_until(lambda: mine.sink.is_up)
        restartable()  # it keeps nothing: a subscriber finds no status unless it is published again
        listener = listen(restartable.port)
        assert listener.wait_for("linie-1/status", 1)
        assert listener.wait_for("ofen-tuer/status", 1)
        assert states(listener)[-1] == "online"


def test_the_status_of_one_camera_can_change_alone(broker, rig, listen):
    mine = rig(broker.port)
    listener = listen(broker.port, f"{mine.section.root}/#")
    with mine:
        assert listener.wait_for("ofen-tuer/status", 1)
        mine.sink.set_camera("Ofen-Tür", online=False)
        assert listener.wait_for("ofen-tuer/status", 2)
    assert states(listener, "ofen-tuer/status")[:2] == ["online", "offline"]
    assert states(listener)[0] == "online"


def test_mq_16_acknowledgements_arrive_also_after_the_broker_was_restarted(restartable, rig, listen, outcome):
    restartable()
    with rig(restartable.port) as mine:
        mine.put(outcome(1))
        assert mine.done.wait_for(1)
        restartable()
        mine.put(outcome(2))
        assert mine.done.wait_for(2)
        listener = listen(restartable.port)
        ack = Ack(id="run-Ofen-Tür-2.1", trace_id="run-Ofen-Tür-2", hold_ms=1.0)
        listener.client.publish(Topics(mine.section.root, "Linie 1").ack("Ofen-Tür"), encode(ack), qos=1)
        assert mine.shown.wait_for(1)
    assert mine.shown.items[0].seq == 2


def test_mq_14_rubbish_on_the_acknowledgement_topic_changes_nothing(broker, rig, listen, outcome):
    mine = rig(broker.port)
    listener = listen(broker.port, f"{mine.section.root}/#")
    topic = f"{mine.section.root}/linie-1/ofen-tuer/ack"
    with mine:
        mine.put(outcome(1))
        assert mine.done.wait_for(1)
        good = Ack(id="run-Ofen-Tür-1.1", trace_id="run-Ofen-Tür-1", hold_ms=1.0)
        for payload in (b"", b"{", b"[1]", b"x" * 1_000_000, encode(good)):
            listener.client.publish(topic, payload, qos=1)
        assert mine.shown.wait_for(1)
        mine.put(outcome(2))
        assert mine.done.wait_for(2)


def test_mq_18_a_retained_acknowledgement_is_not_taken_for_a_new_one(broker, rig, listen, outcome):
    mine = rig(broker.port)
    listener = listen(broker.port, f"{mine.section.root}/#")
    old = Ack(id="run-Ofen-Tür-1.1", trace_id="run-Ofen-Tür-1", hold_ms=1.0)
    listener.client.publish(f"{mine.section.root}/linie-1/ofen-tuer/ack", encode(old), qos=1, retain=True)
    assert listener.wait_for("/ack", 1)
    with mine:
        mine.put(outcome(1))
        assert mine.done.wait_for(1)
    assert mine.shown.items == []


def test_mq_19_a_burst_larger_than_what_may_be_on_its_way_arrives_in_order(broker, rig, outcome):
    with rig(broker.port) as mine:
        mine.put(*(outcome(seq) for seq in range(200)))
        assert mine.done.wait_for(200)
    assert [one.seq for one in mine.done.items] == list(range(200))


def test_message_pack_is_published_where_it_is_asked_for(broker, rig, listen, outcome):
    mine = rig(broker.port, encoding="msgpack")
    listener = listen(broker.port, f"{mine.section.root}/#")
    with mine:
        mine.put(outcome())
        assert listener.wait_for("/result", 1)
    assert msgspec.msgpack.decode(listener.on("/result")[0])["verdict"] == "OK"


def test_dropped_log_lines_are_in_the_retained_status(broker, rig, listen):
    with rig(broker.port) as line:
        listener = listen(broker.port, f"{line.section.root}/+/status")
        assert listener.wait_for("/status", 1)
        line.sink.set_log_dropped(7)
        assert listener.messages.wait_for(lambda _: any(decode(one).log_dropped == 7 for one in listener.on("/status")))
