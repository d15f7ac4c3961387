"""One picture of each camera, from real sources and from some that never give one."""

from __future__ import annotations

import time

import cv2
import numpy as np
import pytest

from app.config import load
from app.config.sections import GstreamerSource, V4l2Source
from app.doctor.cameras import check_cameras, line_of
from app.doctor.line import Level
from tests.capture.servers import counting_server, rtsp_server, silent_listener

RULES = "judge: {rules: [{forbid: hole}]}"


@pytest.fixture
def lines_of(tmp_path, root):
    """Check cameras of these sources; the lines by camera."""

    def look(seconds=5.0, **sources):
        cameras = "".join(f"  {name}: {{source: {text}, model: m, {RULES}}}\n" for name, text in sources.items())
        path = tmp_path / "line.yaml"
        path.write_text(
            f"line: l\nmqtt: null\nmodels: {{m: {{path: {root}/engines/covers_640.onnx}}}}\ncameras:\n{cameras}"
        )
        return {line.topic.removeprefix("camera "): line for line in check_cameras(load(path), seconds)}

    return look


def test_sources_of_every_kind_give_one_picture_each_at_the_same_time(lines_of, root, tmp_path):
    black = tmp_path / "black"
    black.mkdir()
    cv2.imwrite(str(black / "a.png"), np.zeros((48, 64, 3), np.uint8))
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "a.jpg").write_bytes(b"\xff\xd8 no picture")
    with rtsp_server() as (rtsp, _), counting_server([0.05 * n for n in range(400)]) as (http, _):
        found = lines_of(
            20.0,
            folder=f"{{kind: images, path: {root}/samples/covers}}",
            made="{kind: synthetic, width: 320, height: 240}",
            rtsp=f"{{kind: stream, url: '{rtsp}/h264'}}",
            http=f"{{kind: stream, url: '{http}'}}",
            dark=f"{{kind: images, path: {black}}}",
            damaged=f"{{kind: images, path: {broken}}}",
        )
    assert {name: line.level.value for name, line in found.items()} == {
        "folder": "ok", "made": "ok", "rtsp": "ok", "http": "ok", "dark": "warn", "damaged": "warn"
    }, found  # fmt: skip
    assert "a picture of 320 × 240" in found["made"].text
    assert "it is black" in found["dark"].text
    assert "cap" in found["dark"].remedy
    assert "damaged" in found["damaged"].text


def test_a_camera_that_never_answers_is_given_up_in_time_and_holds_up_no_other(lines_of, monkeypatch):
    monkeypatch.setattr("app.doctor.cameras.START_S", 5.0)
    began_s = time.monotonic()
    with silent_listener() as port:
        stream = f"{{kind: stream, url: 'rtsp://127.0.0.1:{port}/x', open_timeout_s: 60, read_timeout_s: 60}}"
        found = lines_of(1.0, silent=stream, made="{kind: synthetic}")
    assert time.monotonic() - began_s < 40
    assert found["silent"].level is Level.FAIL
    assert "no answer within" in found["silent"].text
    assert found["made"].level is Level.OK


def test_a_camera_that_refuses_says_why(lines_of, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    found = lines_of(
        3.0,
        away="{kind: stream, url: 'rtsp://127.0.0.1:9/x'}",
        empty=f"{{kind: images, path: {empty}}}",
        gone="{kind: v4l2, device: /dev/video77}",
    )
    assert {found["away"].level, found["empty"].level} == {Level.FAIL}
    assert found["away"].remedy
    assert found["empty"].text


def test_ops_01_a_camera_that_is_not_there_is_waited_for_and_so_only_to_be_looked_at(lines_of):
    line = lines_of(3.0, gone="{kind: v4l2, device: /dev/video77}")["gone"]
    assert line.level is Level.WARN
    assert "/dev/video77" in line.text
    assert "the service starts without it and waits for it" in line.remedy


PICTURE = {"open_s": 0.1, "first_s": 0.4, "size_wh": [1280, 720], "is_black": False, "damage": ""}

ANSWERS = [
    # what the child found, the level, what is said or advised
    (PICTURE, Level.OK, "1280 × 720 after 0.4 s"),
    (
        {"fault": "/dev/video0: another program or camera entry uses this camera"},
        Level.WARN,
        "taktsight status",
    ),  # the service, most likely
    ({"fault": "/dev/video0: no permission; put the user into the group video"}, Level.FAIL, "group video"),  # OPS-02
    ({"fault": "it opens, but no picture came within 10 s"}, Level.FAIL, "no picture came"),
    ("the attempt was ended by SIGSEGV", Level.FAIL, "SIGSEGV"),
]


@pytest.mark.parametrize(("found", "level", "said"), ANSWERS)
def test_answers_become_lines(found, level, said):
    line = line_of("front", found, None)
    assert line.level is level
    assert said in f"{line.text} → {line.remedy}"


def test_ops_01_a_camera_named_by_number_is_advised_its_lasting_name(tmp_path):
    by_id = tmp_path / "by-id"
    by_id.mkdir()
    (by_id / "usb-cam-index0").symlink_to("/dev/video0")
    for device in (0, "/dev/video0"):
        line = line_of("front", PICTURE, V4l2Source(kind="v4l2", device=device), by_id)
        assert line.level is Level.WARN
        assert line.remedy == f"write device: {by_id}/usb-cam-index0"
    hardware = GstreamerSource(kind="gstreamer", preset="v4l2-hw", device="/dev/video0")
    assert line_of("front", PICTURE, hardware, by_id).level is Level.WARN
    assert line_of("front", PICTURE, GstreamerSource(kind="gstreamer", preset="test"), by_id).level is Level.OK
    lasting = V4l2Source(kind="v4l2", device=f"{by_id}/usb-cam-index0")
    assert line_of("front", PICTURE, lasting, by_id).level is Level.OK
    assert line_of("front", PICTURE, V4l2Source(kind="v4l2", device=3), by_id).level is Level.OK
