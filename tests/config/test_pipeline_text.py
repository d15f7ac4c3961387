"""Pipelines as people write them: what is refused, what gets a warning, and what each warning says to write."""

import pytest

from app.config.pipeline_text import check_pipeline, elements, reads_file, warnings

LIVE = "v4l2src device=/dev/video0 ! videoconvert ! video/x-raw,format=NV12"
FILE = "filesrc location=film.mp4 ! decodebin ! videoconvert ! video/x-raw,format=BGR"


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        (f"{LIVE} ! appsink", ["drop=true", "max-buffers=1", "sync=false"]),
        (f"{LIVE} ! appsink drop=true", ["max-buffers=1", "sync=false"]),
        (f"{LIVE} ! appsink drop=true max-buffers=8 sync=false", ["max-buffers=1"]),
        (f"{LIVE} ! appsink drop=false max-buffers=1 sync=false", ["drop=true"]),
        (f"{LIVE} ! appsink drop=1 max-buffers=1 sync=TRUE name=a", ["sync=false"]),
        ("nvarguscamerasrc ! nvvidconv ! appsink max-buffers=1 sync=0", ["drop=true"]),
    ],
)
def test_cam_05_a_live_pipeline_whose_pictures_queue_up_is_told_what_to_write(text, missing):
    (told,) = warnings(text)
    assert told.endswith("write appsink " + " ".join(missing))
    assert check_pipeline(text) == text


@pytest.mark.parametrize(
    "text",
    [
        LIVE,  # gets an end of its own
        f"{LIVE} ! appsink drop=true max-buffers=1 sync=false",
        f"{LIVE} ! appsink name=a drop=True sync=False max-buffers=1",
        "rtspsrc location=rtsp://h/x latency=0 ! rtph264depay ! avdec_h264",
        f"{FILE} ! appsink sync=false",
    ],
)
def test_a_pipeline_that_keeps_pictures_young_or_whole_is_left_alone(text):
    assert warnings(text) == []
    assert check_pipeline(text) == text


@pytest.mark.parametrize(
    "text",
    [
        f"{FILE} ! appsink drop=true",
        "filesrc location='a film.mp4' ! qtdemux ! h264parse ! avdec_h264 ! appsink max-buffers=1 drop=TRUE",
        "multifilesrc location=%d.png ! pngdec ! appsink drop=1",
        "uridecodebin uri=file:///film.mp4 ! appsink drop=yes",
    ],
)
def test_cam_05_a_file_whose_pictures_would_be_dropped_is_refused(text):
    assert reads_file(text)
    with pytest.raises(ValueError, match="drop=true on a file leaves out pictures without a word; remove drop=true"):
        check_pipeline(text)


def test_the_two_seconds_that_rtspsrc_holds_pictures_back_are_told():
    (told,) = warnings("rtspsrc location=rtsp://h/x ! rtph264depay ! avdec_h264")
    assert told.endswith("write latency=0")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "there is no element in it"),
        ("  ! ", "there is no element in it"),
        (f"{LIVE} ! appsink t. ! queue ! appsink", "2 appsinks; one camera has one"),
        ("filesrc location='film.mp4 ! decodebin", "no closing quotation"),
    ],
)
def test_what_can_be_no_pipeline_is_refused(text, why):
    with pytest.raises(ValueError, match=why):
        check_pipeline(text)


def test_elements_and_their_properties_are_told_from_caps_and_pads():
    found = elements(
        'v4l2src device="/dev/my cam" ! video/x-raw, width=64 ! tee name=t t. ! (queue) ! appsink sync=false'
    )
    assert [element.name for element in found] == ["v4l2src", "tee", "appsink"]
    assert found[0].properties["device"] == "/dev/my cam"
    assert found[2].properties == {"sync": "false"}


@pytest.mark.parametrize("text", [LIVE, "videotestsrc", "uridecodebin uri=rtsp://h/x", "appsrc"])
def test_what_does_not_read_a_file_is_live(text):
    assert not reads_file(text)
