"""Cameras that fail again and again, against real servers on loopback."""

import gc
import random
import re
import socket
import threading
from contextlib import ExitStack, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from time import monotonic

import av
import cv2
import numpy as np
import pytest

from app.capture.feed import Feed
from app.capture.guard import Guard
from app.capture.isolated import Isolated, python_module
from app.capture.scripted import Scripted, picture_of
from app.capture.stream import Stream
from app.config.sections import Guard as GuardSection
from app.config.sections import Reopen, StreamSource
from app.errors import SourceLost
from app.verdict import Code
from tests.capture.servers import silent_listener
from tests.capture.videos import write_video

WAIT_S = 60
QUICK = Reopen(first_s=0.01, max_s=0.05, jitter=0.0)
COLOURS = {"red": (0, 0, 220), "green": (0, 220, 0), "blue": (220, 0, 0), "yellow": (0, 220, 220)}


class ColourHandler(BaseHTTPRequestHandler):
    """Sends pictures of one colour, a stripe moving through it, and hangs up when the server says so."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "multipart/x-mixed-replace; boundary=frame")
        self.end_headers()
        with suppress(BrokenPipeError, ConnectionResetError):
            for index in range(self.server.pictures):
                self.send(index)
                if self.server.closing.wait(self.server.every_s):
                    return
            if self.server.stays:
                self.server.closing.wait()

    def send(self, index):
        image = np.full((120, 160, 3), self.server.colour, np.uint8)
        image[:, index * 4 % 160 : index * 4 % 160 + 4] = 128
        data = cv2.imencode(".jpg", image)[1].tobytes()
        head = f"--frame\r\nContent-Type: image/jpeg\r\nContent-Length: {len(data)}\r\n\r\n"
        self.wfile.write(head.encode() + data + b"\r\n")

    def log_message(self, *_):
        """Say nothing."""


class Camera:
    """A network camera on a port of its own that can be switched off and on."""

    def __init__(self, colour=(90, 140, 200), pictures=1_000_000, every_s=0.01, port=0, stays=False):
        self.colour, self.pictures, self.every_s, self.port = colour, pictures, every_s, port
        self.stays = stays
        self.on()

    def on(self):
        self.server = ThreadingHTTPServer(("127.0.0.1", self.port), ColourHandler)
        self.server.daemon_threads = False
        self.server.block_on_close = True
        self.server.colour, self.server.pictures, self.server.every_s = self.colour, self.pictures, self.every_s
        self.server.closing, self.server.stays = threading.Event(), self.stays
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), name="camera")
        self.thread.start()

    def off(self):
        self.server.closing.set()
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.off()

    @property
    def section(self):
        return StreamSource(kind="stream", url=f"http://127.0.0.1:{self.port}/x", open_timeout_s=2.0)


@contextmanager
def feeding(name, make, put, reopen=QUICK, told=lambda state, text: None, **guard):
    """Run a feed while the block runs."""
    stop = threading.Event()
    section = GuardSection(**{"frozen": False, **guard})
    feed = Feed(name, make, guard=Guard(section, live=True), reopen=reopen, put=put, on_state=told)
    thread = threading.Thread(target=feed.run, args=(stop,), name=f"capture-{name}")
    thread.start()
    try:
        yield feed
    finally:
        stop.set()
        thread.join(WAIT_S)
        assert not thread.is_alive()


def until(true, limit_s=WAIT_S):
    """Wait for something; return how long it took."""
    began, pause = monotonic(), threading.Event()
    while not true():
        assert monotonic() - began < limit_s, "it never came"
        pause.wait(0.01)
    return monotonic() - began


def test_cam_25_the_pictures_under_a_name_are_always_that_camera_s():
    """Four cameras of one colour each, one of them in a process of its own, hung up on at random under load."""
    wrong, seen, reconnects = [], dict.fromkeys(COLOURS, 0), 0

    def put_of(name):
        def put(frame):
            found = frame.image_hwc.astype(int).mean((0, 1)) - COLOURS[name]
            seen[name] += 1
            if frame.camera != name or np.abs(found).max() > 30:
                wrong.append((name, frame.camera, frame.seq, found))

        return put

    chance = random.Random(7)
    with ExitStack() as stack:
        cameras = {name: stack.enter_context(Camera(colour, every_s=0.02)) for name, colour in COLOURS.items()}
        makes = {name: lambda camera=camera: Stream(camera.section) for name, camera in cameras.items()}
        makes["blue"] = lambda: Isolated(cameras["blue"].section, python_module("app.wiring.isolate"), 20.0)
        feeds = {name: stack.enter_context(feeding(name, make, put_of(name))) for name, make in makes.items()}
        until(lambda: all(seen.values()))
        for _ in range(8):
            name = chance.choice(["red", "green", "yellow", "blue"])
            before = seen[name], feeds[name].reconnects
            cameras[name].off()
            cameras[name].on()
            until(lambda: seen[name] > before[0] + 3 and feeds[name].reconnects > before[1])  # noqa: B023 - called now
        reconnects = sum(feed.reconnects for feed in feeds.values())
    assert not wrong
    assert reconnects >= 8
    assert min(seen.values()) > 20


def held() -> tuple[int, int, int]:
    """Return open files, threads and resident bytes of this process."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return len(list(Path("/proc/self/fd").iterdir())), len(list(Path("/proc/self/task").iterdir())), pages * 4096


def cycles(make, count):
    """Run a feed until its source was opened again so often; return what is held then and before, and the frames."""
    with feeding("front", make, lambda _: None, Reopen(first_s=0.001, max_s=0.001, jitter=0.0)) as feed:
        until(lambda: feed.reconnects >= 20)
        warm, before = held()[2], feed.captured
        until(lambda: feed.reconnects >= count + 20)
        return held()[2] - warm, feed.captured - before


def test_cam_21_300_connections_that_fail_leave_nothing_behind(free_port):
    before = held()
    grown, _ = cycles(lambda: Stream(StreamSource(kind="stream", url=f"rtsp://127.0.0.1:{free_port}/x")), 300)
    until(lambda: held()[0] <= before[0] and held()[1] <= before[1])
    assert grown < 20 << 20


def test_cam_21_300_connections_of_five_pictures_leave_nothing_behind():
    with Camera(pictures=5, every_s=0.0) as camera:
        before = held()
        grown, frames = cycles(lambda: Stream(camera.section), 300)
        until(lambda: held()[0] <= before[0] and held()[1] <= before[1])
    assert frames >= 300 * 3, "FFmpeg may drop what it probed"
    assert grown < 20 << 20


HELD_S = 600.0
"""A silent camera may take so long to answer: until the test lets go of it."""


@contextmanager
def being_opened():
    """A feed whose camera takes the connection and never answers, all the while; yields what was said of it."""
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"rtsp://127.0.0.1:{listener.getsockname()[1]}/x"
    silent = StreamSource(kind="stream", url=url, open_timeout_s=HELD_S, read_timeout_s=HELD_S)
    states = []
    with ExitStack() as stack:
        stack.enter_context(
            feeding("silent", lambda: Stream(silent), lambda _: None, told=lambda state, _: states.append(state.value))
        )
        stack.callback(listener.close)  # first, so that nobody waits for its answer
        taken = stack.enter_context(listener.accept()[0])
        yield states
        assert states == ["connecting"], "it was being opened from first to last"
        taken.close()


def test_cam_22_one_dead_camera_and_one_that_fails_in_unforeseen_ways_take_nothing_from_the_others():
    """Of each hundred pictures that three cameras send while a fourth is being opened more than 95 are handed over."""
    sent, count = 100, dict.fromkeys("abc", 0)

    def put_of(name):
        return lambda frame: count.__setitem__(name, count[name] + 1)

    bad = Scripted([picture_of(90), ZeroDivisionError("bug")])
    with ExitStack() as stack:
        cameras = [stack.enter_context(Camera(pictures=sent, every_s=0.02, stays=True)) for _ in count]
        stack.enter_context(being_opened())
        stack.enter_context(feeding("bad", lambda: bad, lambda _: None))
        for name, camera in zip(count, cameras, strict=True):
            stack.enter_context(feeding(name, lambda camera=camera: Stream(camera.section), put_of(name)))
        until(lambda: min(count.values()) > 0.95 * sent)
        until(lambda: bad.entered > 5)
    assert max(count.values()) <= sent


def test_cam_03_three_cameras_of_which_one_is_silent_begin_without_waiting_for_it():
    with ExitStack() as stack:
        cameras = [stack.enter_context(Camera()) for _ in "ab"]
        stack.enter_context(being_opened())
        came = set()
        for name, camera in zip("ab", cameras, strict=True):
            make = lambda camera=camera: Stream(camera.section)  # noqa: E731 - bound now
            stack.enter_context(feeding(name, make, lambda frame: came.add(frame.camera)))
        until(lambda: len(came) == 2)
    assert came == {"a", "b"}


def test_cam_03_a_silent_camera_is_lost_by_its_own_time_out_and_not_by_ffmpeg_s():
    """Of FFmpeg's own 30 s nothing is left: it is given the section's, and keeps them."""
    given, real = [], av.open
    with pytest.MonkeyPatch.context() as patch, silent_listener() as port:
        patch.setattr(av, "open", lambda url, **how: given.append(how) or real(url, **how))
        section = StreamSource(kind="stream", url=f"rtsp://127.0.0.1:{port}/x", open_timeout_s=1.5, read_timeout_s=0.7)
        with pytest.raises(SourceLost, match=r"after (\d+\.\d) s; is the camera on") as lost:
            Stream(section).__enter__()
    assert given[0]["timeout"] == (1.5, 0.7)
    assert given[0]["container_options"]["timeout"] == "1500000", "microseconds without a byte"
    assert float(re.search(r"after (\d+\.\d) s", str(lost.value))[1]) >= 1.5, "not sooner"


def test_cam_23_a_camera_that_was_down_is_back_with_the_first_or_second_try_after_it_is_up_five_times():
    """With short pauses, and a real server; how long a pause is at most is tested below, by a clock of the test."""
    frames, tries, reopen = [], [], Reopen(first_s=0.01, max_s=0.04)
    with Camera() as camera:
        section = camera.section.model_copy(update={"open_timeout_s": HELD_S})
        with feeding("front", lambda: Stream(section), frames.append, reopen) as feed:
            for _ in range(5):
                until(lambda: frames)
                camera.off()
                gone = feed.reconnects
                until(lambda: feed.reconnects >= gone + 5)  # noqa: B023 - called now; by then each pause is the longest
                frames.clear()
                camera.on()
                up = feed.reconnects
                until(lambda: frames)
                tries.append(feed.reconnects - up)
    assert len(tries) == 5
    assert max(tries) <= 2, "the one that was under way when it came up, and the next"


class Away:
    """A camera that is away for the first minute after each picture, by a clock of the test's own."""

    def __init__(self, now_s):
        self.now_s, self.back_s, self.given = now_s, 0.0, []

    def __enter__(self):
        self.now_s[0] += 0.1
        if self.now_s[0] < self.back_s:
            raise SourceLost("away")
        return self

    def __exit__(self, *_):
        """Nothing is held."""

    def read(self, timeout_s):
        if self.given and self.given[-1] >= self.back_s:
            self.back_s = self.now_s[0] + 60.0
            raise SourceLost("gone")
        self.given.append(self.now_s[0])
        return picture_of(100 + len(self.given))


def test_cam_23_after_a_minute_away_it_is_back_within_the_longest_pause_in_compressed_time():
    now_s, reopen = [0.0], Reopen()
    camera, late_s = Away(now_s), []

    class Stop(threading.Event):
        def wait(self, timeout=None):
            now_s[0] += timeout
            return False

    stop = Stop()

    def put(frame):
        late_s.append(now_s[0] - camera.back_s)
        if len(late_s) == 6:
            stop.set()

    Feed(
        "front",
        lambda: camera,
        guard=Guard(GuardSection(), live=True),
        reopen=reopen,
        put=put,
        on_state=lambda *_: None,
    ).run(stop)
    assert max(late_s[1:]) <= reopen.max_s + 5
    assert now_s[0] > 300, "five minutes away in all"


def damaged(path: Path, share: float) -> Path:
    """Overwrite bytes in the middle of a stream's pictures."""
    data, dice = bytearray(path.read_bytes()), random.Random(3)
    for _ in range(round(len(data) * share)):
        data[dice.randrange(len(data) // 4, len(data))] ^= 1 << dice.randrange(8)
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("share", [0.001, 0.01, 0.1])
def test_cam_19_damaged_h264_is_torn_and_never_ends_the_process(share, tmp_path):
    path = damaged(write_video(tmp_path / "a.ts", "libx264", frames=60), share)
    frames = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "video/mp2t")
            self.end_headers()
            with suppress(BrokenPipeError, ConnectionResetError):
                self.wfile.write(path.read_bytes())

        def log_message(self, *_):
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), name="camera")
    thread.start()
    try:
        section = StreamSource(kind="stream", url=f"http://127.0.0.1:{server.server_address[1]}/a.ts")
        with feeding("front", lambda: Stream(section), frames.append) as feed:
            until(lambda: feed.reconnects >= 2)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    torn = [frame for frame in frames if frame.picture.fault and frame.picture.fault.code is Code.TORN]
    assert torn or not frames, "what came was told to be damaged"


def test_cam_19_rtsp_goes_over_tcp_unless_udp_is_asked_for():
    assert StreamSource(kind="stream", url="rtsp://camera/x").transport == "tcp"
    assert StreamSource(kind="stream", url="rtsp://camera/x", transport="udp").transport == "udp"
