"""Previews through a real broker: on demand, each watcher at its own pace, and nothing while nobody asks."""

import threading
import time
from dataclasses import replace

import cv2
import numpy as np
import pytest

from app.config.sections import Mqtt
from app.config.sections import Previews as Section
from app.detections import Detections
from app.publish import credits as credits_module
from app.publish import previews as module
from app.publish.backoff import Backoff
from app.publish.message import Ack, Preview, Want, decode, encode
from app.publish.previews import Previews
from app.publish.thumbnail import thumbnail
from app.verdict import Verdict
from tests.publish.conftest import CAMERA, LINE, Listener, make_outcome

WAIT_S = 20
IMAGE = np.full((480, 640, 3), 90, np.uint8)
BASE = "linie-1/ofen-tuer"


class Watcher(Listener):
    """A customer's watcher that owes nothing to the product."""

    def __init__(self, port, root, name):
        self.name = name
        self.topic = f"{root}/{BASE}"
        super().__init__(port, f"{self.topic}/preview/{name}")

    def say(self, message):
        self.client.publish(f"{self.topic}/ack", encode(message))

    def want(self, previews=True):
        self.say(Want(client=self.name, previews=previews))

    def previews(self):
        return [decode(payload) for _, payload, _ in self.messages.items]

    def wait(self, count):
        return self.messages.wait_for(count, WAIT_S)

    def show(self, preview, hold_ms=1.0):
        ack = Ack(id=preview.id, trace_id=preview.trace_id, hold_ms=hold_ms, client=self.name, shows="preview")
        self.say(ack)


@pytest.fixture
def watcher(broker, request):
    """Return a function that connects a watcher of this test's previews."""
    open_now = []

    def connect(name):
        open_now.append(Watcher(broker.port, root_of(request), name))
        return open_now[-1]

    yield connect
    for one in open_now:
        one.close()


def root_of(request):
    return "p" + str(abs(hash(request.node.nodeid)))


@pytest.fixture
def shown(collector):
    return collector()


@pytest.fixture
def make(broker, request, shown):
    """Return a function that makes the previews of a line, with a limit of the rate that does not matter."""

    def start(cameras=(CAMERA,), encoding="json", lull=lambda _: None, **changes):
        limits = {"max_fps": 1000.0, **changes}
        section = Mqtt(port=broker.port, root=root_of(request), encoding=encoding, previews=Section(**limits))
        return Previews(section, LINE, cameras, on_shown=shown, lull=lull, backoff=Backoff(0.05, 0.1))

    return start


def until(is_so):
    until_s = time.monotonic() + WAIT_S
    while not is_so():
        assert time.monotonic() < until_s, "it did not come to that"
        time.sleep(0.005)


def ask(previews, *watchers):
    """Have each ask until it is heard: the service may not be connected yet."""
    until_s = time.monotonic() + WAIT_S
    while previews.watchers()[CAMERA] < len(watchers):
        assert time.monotonic() < until_s, "nobody hears"
        for one in watchers:
            one.want()
        time.sleep(0.02)


def test_a_slow_watcher_gets_fewer_pictures_and_the_fast_one_beside_it_gets_all(make, watcher, shown, monkeypatch):
    monkeypatch.setattr(credits_module, "UNANSWERED_NS", 1 << 62)  # however slow the machine
    fast, slow = watcher("fast"), watcher("slow")
    with make() as previews:
        ask(previews, fast, slow)
        for seq in range(1, 31):
            previews.put(make_outcome(seq), IMAGE)
            assert fast.wait(seq), f"picture {seq} did not come"
            fast.show(fast.previews()[-1])
        assert [one.seq for one in fast.previews()] == list(range(1, 31))
        assert [one.seq for one in slow.previews()] == [1], "the first is not shown yet"
        slow.show(slow.previews()[0], hold_ms=250.0)
        assert slow.wait(2)
        assert slow.previews()[1].seq == 30, "what comes next is the newest, not the oldest"
        slow.show(slow.previews()[1])
        assert shown.wait_for(32)
    by_client = {one.client: one for one in shown.items}
    assert set(by_client) == {"fast", "slow"}
    assert all(one.camera == CAMERA and one.round_trip_ms > 0 for one in shown.items)
    assert previews.sent == {CAMERA: 32}


def test_a_picture_is_drawn_once_no_frame_is_looked_at_or_after_a_while(make, watcher, monkeypatch):
    steps, thumbnail = [], module.thumbnail
    monkeypatch.setattr(module, "thumbnail", lambda *what: (steps.append("drawn"), thumbnail(*what))[1])
    one = watcher("one")
    with make(lull=steps.append) as previews:
        ask(previews, one)
        previews.put(make_outcome(1), IMAGE)
        assert one.wait(1)
    assert steps == [module.LULL_S, "drawn"]


def test_nothing_is_kept_or_drawn_while_nobody_asks(make, monkeypatch):
    monkeypatch.setattr(module, "thumbnail", lambda *_: pytest.fail("nobody asked"))
    with make() as previews:
        previews.put(make_outcome(1), IMAGE)
        assert previews._cameras[CAMERA].newest is None
    assert previews.sent == {CAMERA: 0}


def test_a_watcher_that_leaves_gets_no_more_and_the_picture_is_let_go(make, watcher):
    one = watcher("panel")
    with make() as previews:
        ask(previews, one)
        previews.put(make_outcome(1), IMAGE)
        assert one.wait(1)
        one.want(previews=False)
        until(lambda: previews.watchers() == {CAMERA: 0})
        previews.put(make_outcome(2), IMAGE)
        assert previews._cameras[CAMERA].newest is None


def test_a_picture_that_nobody_acknowledges_is_taken_for_lost(make, watcher, monkeypatch):
    monkeypatch.setattr(credits_module, "UNANSWERED_NS", 50_000_000)
    one = watcher("panel")
    with make() as previews:
        ask(previews, one)
        previews.put(make_outcome(1), IMAGE)
        assert one.wait(1)
        previews.put(make_outcome(2), IMAGE)
        assert one.wait(2)


@pytest.mark.parametrize("encoding", ["json", "msgpack"])
def test_the_picture_is_a_small_jpeg_of_the_result(make, watcher, encoding):
    one = watcher("panel")
    with make(encoding=encoding, max_side_px=320) as previews:
        ask(previews, one)
        previews.put(make_outcome(7, Verdict.NG), IMAGE)
        assert one.wait(1)
    (preview,) = one.previews()
    assert isinstance(preview, Preview)
    assert (preview.camera, preview.seq, preview.rev, preview.verdict) == (CAMERA, 7, 1, Verdict.NG)
    height, width, _ = cv2.imdecode(np.frombuffer(preview.jpeg, np.uint8), cv2.IMREAD_COLOR).shape
    assert width == 320
    assert 240 < height < 340, "the picture below its banner"


def test_too_many_watchers_too_large_a_picture_and_rubbish_are_said_once_and_harm_nobody(make, watcher, caplog):
    first, second = watcher("first"), watcher("second")
    with make(max_watchers=1) as previews:
        ask(previews, first)
        second.want()
        until(lambda: "max_watchers" in caplog.text)  # before the rubbish, since only the first of all is said
        for rubbish in (b"{", b"\xff", encode(Want(client="a/#")), encode(Want(client="x" * 500))):
            first.client.publish(f"{first.topic}/ack", rubbish)
        previews._mqtt = previews._mqtt.model_copy(update={"max_payload_bytes": 1024})
        previews.put(make_outcome(1), IMAGE)
        until(lambda: previews._cameras[CAMERA].payload)
        previews._mqtt = previews._mqtt.model_copy(update={"max_payload_bytes": 262144})
        assert first.wait(1)
        first.show(first.previews()[0])  # comes after the rubbish
        previews.put(make_outcome(2), IMAGE)
        assert first.wait(2)
        assert previews.watchers() == {CAMERA: 1}
    assert len([record for record in caplog.records if record.levelname == "WARNING"]) == 1


def test_an_answer_of_somebody_else_or_to_an_old_picture_gives_no_credit(make, watcher, monkeypatch):
    monkeypatch.setattr(credits_module, "UNANSWERED_NS", 1 << 62)
    one, other = watcher("panel"), watcher("other")
    with make() as previews:
        ask(previews, one)
        previews.put(make_outcome(1), IMAGE)
        assert one.wait(1)
        other.show(one.previews()[0])
        one.show(replace_id(one.previews()[0], "another"))
        previews.put(make_outcome(2), IMAGE)
        one.show(one.previews()[0])
        assert one.wait(2)
    assert [preview.seq for preview in one.previews()] == [1, 2]


def replace_id(preview, new):
    return Preview(**{name: getattr(preview, name) for name in preview.__struct_fields__} | {"id": new})


def test_its_threads_are_not_called_like_the_urgent_ones(make):
    before = set(threading.enumerate())
    with make():
        names = {thread.name for thread in set(threading.enumerate()) - before}
    assert names == {"previews", "previews mqtt"}
    assert set(threading.enumerate()) <= before


def test_the_path_of_a_frame_waits_for_nobody(make, watcher):
    one = watcher("panel")
    with make() as previews:
        ask(previews, one)
        done = threading.Event()
        with previews._changed:  # the thread that draws, or the link's, at its worst
            frame = threading.Thread(target=lambda: (previews.put(make_outcome(1), IMAGE), done.set()))
            frame.start()
            assert done.wait(WAIT_S)
        frame.join()
        assert one.wait(1)


def test_previews_come_back_with_the_broker(restartable, request, collector):
    root = root_of(request)
    restartable()
    section = Mqtt(port=restartable.port, root=root, previews=Section(max_fps=1000.0))
    with Previews(section, LINE, (CAMERA,), backoff=Backoff(0.05, 0.1)) as previews:
        for seq in (1, 2):
            one = Watcher(restartable.port, root, f"panel-{seq}")
            until(lambda one=one, seq=seq: one.want() or previews.watchers()[CAMERA] == seq)
            previews.put(make_outcome(seq), IMAGE)
            assert one.wait(1)
            one.close()
            restartable.stop()
            previews.put(make_outcome(seq + 10), IMAGE)
            restartable()


def test_boxes_move_with_the_picture_as_it_shrinks(monkeypatch):
    drawn = []
    monkeypatch.setattr(
        "app.publish.thumbnail.annotate", lambda outcome, image: drawn.append((outcome, image)) or image
    )
    box = Detections(np.array([[64, 48, 320, 240]], np.float32), np.ones(1, np.float32), np.zeros(1, np.int64), ("a",))
    outcome = replace(make_outcome(), detections=box, region_xyxy=(0.0, 0.0, 640.0, 480.0))
    for side, factor in ((320, 0.5), (640, 1.0), (1920, 1.0)):
        thumbnail(outcome, IMAGE, side, 70)
        small, image = drawn[-1]
        assert image.shape == (480 * factor, 640 * factor, 3)
        assert np.allclose(small.detections.xyxy, box.xyxy * factor)
        assert small.region_xyxy == (0.0, 0.0, 640.0 * factor, 480.0 * factor)


def test_a_frame_without_a_picture_has_a_preview_too():
    assert thumbnail(make_outcome(verdict=Verdict.UNKNOWN), np.zeros((0, 0, 3), np.uint8), 320, 70)[:2] == b"\xff\xd8"
