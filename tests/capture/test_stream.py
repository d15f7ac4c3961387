"""Network cameras, against real servers on loopback."""

import base64
import os
import socket
import threading
import traceback
from pathlib import Path
from time import monotonic

import av
import numpy as np
import pytest

from app.capture.feed import Feed
from app.capture.guard import Guard
from app.capture.state import CameraState
from app.capture.stream import Stream
from app.config.sections import Guard as GuardSection
from app.config.sections import Reopen, StreamSource
from app.errors import SourceLost
from app.verdict import Code
from tests.capture.servers import PASSWORD, SIZE_WH, USERNAME

FPS = 30
"""Of the RTSP server."""
LEAKS = (PASSWORD, "Geh3im%21x", base64.b64encode(f"{USERNAME}:{PASSWORD}".encode()).decode())


def stream(url: str, **keys) -> Stream:
    patient = {"open_timeout_s": 20.0, "read_timeout_s": 20.0}  # a busy machine's camera may be silent for long
    return Stream(StreamSource(kind="stream", url=url, **patient | keys))


def read_until_lost(source: Stream) -> tuple[list, str]:
    pictures = []
    with source, pytest.raises(SourceLost) as caught:
        _read_for_ever(source, pictures)
    return pictures, str(caught.value)


def _read_for_ever(source: Stream, pictures: list):
    while True:
        picture = source.read(0.1)
        pictures += [picture] if picture is not None else []


@pytest.fixture
def password_file(tmp_path: Path) -> str:
    path = tmp_path / "password"
    path.write_text(PASSWORD + "\n")
    return str(path)


@pytest.mark.parametrize(
    ("path", "intervals"),
    [
        ("/h264", 1),  # FFmpeg gives a picture when the next one begins, so it is an interval old by then
        ("/jpeg", 0),  # the end of a JPEG is known at once
    ],
)
def test_a_picture_is_as_old_as_its_own_bytes_and_not_as_what_made_ffmpeg_give_it(rtsp, path, intervals):
    url, _ = rtsp
    with stream(url + path) as source:
        pictures = [picture for _ in range(40) if (picture := source.read(1.0)) is not None][10:]
    ages = sorted(picture.arrived_ns - picture.exposed_ns for picture in pictures)
    assert round(ages[len(ages) // 2] / 1e9 * FPS) == intervals


@pytest.mark.parametrize("path", ["/h264", "/jpeg"])
@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_a_real_rtsp_camera_is_read(path, transport, rtsp):
    url, _ = rtsp
    with stream(url + path, transport=transport) as source:
        pictures = []
        while len(pictures) < 10:
            picture = source.read(0.1)
            pictures += [picture] if picture else []
    assert {picture.size_wh for picture in pictures} == {SIZE_WH}
    assert all(picture.fault is None for picture in pictures)
    assert all(picture.exposed_ns <= picture.arrived_ns for picture in pictures)
    assert pictures[0].image_hwc.std() > 20, "the colour bars, not a grey field"


def test_a_real_rtsp_camera_that_dies_is_lost_and_can_be_asked_again(rtsp):
    url, process = rtsp
    with stream(url + "/h264") as source:
        while source.read(0.1) is None:
            pass
        process.kill()
        process.wait()
        with pytest.raises(SourceLost):
            _read_for_ever(source, [])
    with pytest.raises(SourceLost, match="refused"), source:
        pass


def test_an_rtsp_path_that_is_not_there_is_told(rtsp):
    with pytest.raises(SourceLost, match=r"127\.0\.0\.1:\d+/nothing: "), stream(rtsp[0] + "/nothing"):
        pass


def test_http_pictures_are_read_and_the_end_of_the_connection_is_a_loss(camera_url):
    pictures, text = read_until_lost(stream(camera_url + "close"))
    assert len(pictures) >= 18, "FFmpeg may drop the one it probed"
    assert all(picture.fault is None and picture.size_wh == SIZE_WH for picture in pictures)
    assert "closed the stream" in text


def test_cam_18_a_torn_jpeg_of_a_stream_is_told_and_the_next_is_good(camera_url):
    pictures, _ = read_until_lost(stream(camera_url + "torn"))
    faults = [picture.fault for picture in pictures if picture.fault is not None]
    assert [fault.code for fault in faults] == [Code.TORN]
    assert pictures[-1].fault is None


def test_a_camera_that_hangs_is_lost_within_the_read_time_out(camera_url, monkeypatch):
    monkeypatch.setattr("app.capture.stream.QUIET_S", 60.0)  # so that only the read time-out is left
    with stream(camera_url + "hang", read_timeout_s=0.5, open_timeout_s=60.0) as source:
        pictures = []
        began = monotonic()
        with pytest.raises(SourceLost, match="no data"):
            _read_for_ever(source, pictures)
    assert len(pictures) >= 18
    assert monotonic() - began < 20, "bounded; FFmpeg's own limit would be for ever"


@pytest.mark.parametrize("scheme", ["rtsp", "http"])
def test_a_silent_camera_is_lost_before_a_stop_is_held_up_and_others_go_on(scheme, silent_port):
    beats, stop = [], threading.Event()

    def beat():
        while not stop.wait(0.01):
            beats.append(monotonic())

    thread = threading.Thread(target=beat, name="another camera")
    thread.start()
    silent = stream(f"{scheme}://127.0.0.1:{silent_port}/x", read_timeout_s=1.0, open_timeout_s=60.0)
    began = monotonic()
    with pytest.raises(SourceLost, match=r"127\.0\.0\.1"), silent:
        pass
    took_s = monotonic() - began
    stop.set()
    thread.join()
    assert took_s < 30, "the limit on silence, not the one on opening"
    assert len(beats) > 20, "FFmpeg waits without holding up Python"


def test_a_host_that_is_not_there_is_named_and_asked_about():
    with pytest.raises(SourceLost, match=r"no\.such\.host\.invalid/x: .*host"), stream("rtsp://no.such.host.invalid/x"):
        pass


def test_a_page_that_is_not_there_is_told(camera_url):
    with pytest.raises(SourceLost, match="404"), stream(camera_url + "missing"):
        pass


def test_a_refused_port_is_lost_at_once(free_port):
    with pytest.raises(SourceLost, match="refused"), stream(f"rtsp://127.0.0.1:{free_port}/x"):
        pass


def test_the_login_reaches_the_camera(camera_url, password_file):
    pictures, _ = read_until_lost(stream(camera_url + "private", username=USERNAME, password_file=password_file))
    assert len(pictures) >= 18


@pytest.fixture
def unhappy_urls(camera_url, silent_port, free_port) -> list[str]:
    """A refused port, silence, a host that is not there, a token, and a camera that hangs up."""
    return [
        f"rtsp://127.0.0.1:{free_port}/x",
        f"http://127.0.0.1:{free_port}/x?token={PASSWORD}",
        f"rtsp://127.0.0.1:{silent_port}/x",
        "rtsp://no.such.host.invalid/x",
        camera_url + "close",
    ]


def test_cfg_09_no_error_shows_the_password(unhappy_urls, password_file, capfd, caplog):
    caplog.set_level(0)
    for url in unhappy_urls:
        source = stream(url, username=USERNAME, password_file=password_file, open_timeout_s=0.5)
        try:
            with source:
                _read_for_ever(source, [])
        except SourceLost as error:
            text = "".join(traceback.format_exception(error)) + repr(vars(source))
        written = "".join(capfd.readouterr()) + caplog.text + text
        assert not [leak for leak in LEAKS if leak in written], url


def test_cfg_09_ffmpeg_s_own_log_is_off():
    assert av.logging.get_level() is None


def test_cfg_09_a_refused_login_does_not_show_it(camera_url, tmp_path, capfd):
    path = tmp_path / "password"
    path.write_text("wr0ng!pass")
    with (
        pytest.raises(SourceLost, match="refuses the login") as caught,
        stream(camera_url + "private", username=USERNAME, password_file=str(path)),
    ):
        pass
    written = "".join(traceback.format_exception(caught.value)) + "".join(capfd.readouterr())
    assert "wr0ng!pass" not in written
    assert "wr0ng%21pass" not in written


def test_cfg_09_a_password_in_the_url_is_masked(free_port):
    with pytest.raises(SourceLost) as caught, stream(f"rtsp://me:{PASSWORD}@127.0.0.1:{free_port}/x"):
        pass
    assert PASSWORD not in str(caught.value)
    assert f"127.0.0.1:{free_port}" in str(caught.value)


def test_cam_07_a_camera_that_repeats_its_picture_is_frozen_and_never_judged(camera_url):
    frames, stop, states = [], threading.Event(), []

    def put(frame):
        frames.append(frame)
        if len(frames) == 30:
            stop.set()

    feed = Feed(
        "front",
        lambda: stream(camera_url + "repeat"),
        guard=Guard(GuardSection(frozen_after=3), live=True),
        reopen=Reopen(),
        put=put,
        on_state=lambda state, _: states.append(state),
    )
    feed.run(stop)
    codes = [frame.picture.fault and frame.picture.fault.code for frame in frames]
    assert codes[:2] == [None, None]
    assert set(codes[2:30]) == {Code.FROZEN}


def test_cam_09_the_rate_of_a_stream_is_measured_and_not_claimed(camera_url):
    frames, stop = [], threading.Event()

    def put(frame):
        frames.append(frame)
        if len(frames) == 15:
            stop.set()

    feed = Feed(
        "front",
        lambda: stream(camera_url + "close"),
        guard=Guard(GuardSection(), live=True),
        reopen=Reopen(),
        put=put,
        on_state=lambda *_: None,
    )
    feed.run(stop)
    arrived = np.array([frame.picture.arrived_ns for frame in frames])
    assert feed.fps == pytest.approx(14e9 / (arrived[-1] - arrived[0]))
    assert feed.state is CameraState.ONLINE


def test_a_feed_stops_while_its_camera_hangs(camera_url):
    online, stop = threading.Event(), threading.Event()
    feed = Feed(
        "front",
        lambda: stream(camera_url + "hang"),
        guard=Guard(GuardSection(), live=True),
        reopen=Reopen(),
        put=lambda _: online.set(),
        on_state=lambda *_: None,
    )
    thread = threading.Thread(target=feed.run, args=(stop,), name="feed")
    thread.start()
    assert online.wait(30)
    stop.set()
    thread.join(timeout=20)
    assert not thread.is_alive()


def receive_buffers() -> list[int]:
    """The sizes of the receive buffers of this process's sockets."""
    sizes = []
    for entry in Path("/proc/self/fd").iterdir():
        if entry.is_socket():
            with socket.socket(fileno=os.dup(int(entry.name))) as duplicate:
                sizes.append(duplicate.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF))
    return sizes


@pytest.mark.parametrize(("scheme", "keys"), [("http", {}), ("rtsp", {"transport": "udp"})])
def test_the_socket_has_the_buffer_that_was_asked_for(scheme, keys, camera_url, rtsp):
    asked, url = 24_576, {"http": camera_url + "repeat", "rtsp": rtsp[0] + "/jpeg"}[scheme]
    with stream(url, buffer_bytes=asked, **keys) as source:
        while source.read(0.1) is None:
            pass
        assert 2 * asked in receive_buffers(), "Linux doubles what it is asked for"
