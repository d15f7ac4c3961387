"""The pipeline of each preset, and the end that one of the user's gets."""

import pytest

from app.capture.gst_text import EVERY, NEWEST, wanted
from app.config.pipeline_text import check_pipeline, elements, warnings
from app.config.sections import GstreamerSource

PRESETS = [
    {"preset": "csi"},
    {"preset": "csi", "sensor": 1, "pixel_format": "bgr8"},
    {"preset": "rtsp-hw", "url": "rtsp://192.168.1.20/a?b=1&c=2"},
    {"preset": "rtsp-hw", "url": "rtsp://h/x", "codec": "h265", "pixel_format": "gray8"},
    {"preset": "v4l2-hw", "device": "/dev/v4l/by-id/a b"},
    {"preset": "test"},
]


def section(**keys) -> GstreamerSource:
    return GstreamerSource(kind="gstreamer", **keys)


@pytest.mark.parametrize("keys", PRESETS, ids=str)
def test_cam_05_every_preset_keeps_one_picture_and_the_newest(keys):
    text = wanted(section(**keys)).text
    assert text.endswith("! appsink max-buffers=1 drop=true sync=false")
    assert warnings(check_pipeline(text)) == []


@pytest.mark.parametrize(
    ("keys", "names"),
    [
        ({"preset": "csi"}, ["nvarguscamerasrc", "nvvidconv", "appsink"]),
        (
            {"preset": "rtsp-hw", "url": "rtsp://h/x"},
            ["rtspsrc", "rtph264depay", "h264parse", "nvv4l2decoder", "nvvidconv", "appsink"],
        ),
        (
            {"preset": "rtsp-hw", "url": "rtsp://h/x", "codec": "h265"},
            ["rtspsrc", "rtph265depay", "h265parse", "nvv4l2decoder", "nvvidconv", "appsink"],
        ),
        ({"preset": "v4l2-hw", "device": "/dev/video0"}, ["v4l2src", "nvv4l2decoder", "nvvidconv", "appsink"]),
        (
            {"preset": "csi", "pixel_format": "bgr8"},  # the converter of the Jetson has no three bytes a pixel
            ["nvarguscamerasrc", "nvvidconv", "videoconvert", "appsink"],
        ),
        ({"preset": "test"}, ["videotestsrc", "appsink"]),
    ],
)
def test_the_hardware_s_elements_are_used(keys, names):
    assert [element.name for element in elements(wanted(section(**keys)).text)] == names


def test_size_rate_and_camera_are_asked_of_the_sensor():
    text = wanted(section(preset="csi", sensor=2, width=1280, height=720, fps=59.94)).text
    assert "sensor-id=2 ! video/x-raw(memory:NVMM),width=1280,height=720,framerate=2997/50" in text


@pytest.mark.parametrize(
    ("keys", "properties"),
    [
        ({"preset": "rtsp-hw", "url": "rtsp://h/x%20y"}, {"location": "rtsp://h/x%20y"}),
        ({"preset": "v4l2-hw", "device": '/dev/a" ! filesink location=x'}, {"device": '/dev/a" ! filesink location=x'}),
        ({"preset": "csi"}, {}),
    ],
)
def test_names_are_no_part_of_the_text_where_they_could_be_read_as_more(keys, properties):
    plan = wanted(section(**keys))
    assert plan.properties == properties
    for value in properties.values():
        assert value not in plan.text


@pytest.mark.parametrize(
    ("pipeline", "text"),
    [
        ("videotestsrc ! videoconvert", f"videotestsrc ! videoconvert ! {NEWEST}"),
        ("videotestsrc ! ", f"videotestsrc  ! {NEWEST}"),
        ("filesrc location=a.mp4 ! decodebin", f"filesrc location=a.mp4 ! decodebin ! {EVERY}"),
        ("videotestsrc ! appsink name=mine", "videotestsrc ! appsink name=mine"),
    ],
)
def test_a_pipeline_of_the_user_s_is_used_as_it_is_and_gets_an_end_where_it_has_none(pipeline, text):
    assert wanted(section(preset="own", pipeline=pipeline)).text.split() == text.split()


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ({"preset": "own"}, "preset own needs pipeline"),
        ({"preset": "csi", "pipeline": "videotestsrc"}, "preset own needs pipeline, and nothing else does"),
        ({"preset": "rtsp-hw"}, "preset rtsp-hw needs url"),
        ({"preset": "test", "url": "rtsp://h/x"}, "nothing else does"),
        ({"preset": "v4l2-hw"}, "preset v4l2-hw needs device"),
        ({"preset": "rtsp-hw", "url": "http://h/x"}, "http is kind: stream"),
        ({"preset": "rtsp-hw", "url": "rtsp://h/x", "password_file": "p"}, "add username"),
        ({"preset": "own", "pipeline": "filesrc location=x ! appsink drop=true"}, "remove drop=true"),
        ({"preset": "test", "width": 641}, "multiple of 2"),  # NV12 has one chroma for two columns
    ],
)
def test_a_section_that_can_be_no_camera_is_refused(keys, why):
    with pytest.raises(ValueError, match=why):
        section(**keys)
