"""What the kind of a source decides."""

import pytest
from pydantic import TypeAdapter

from app.capture.kinds import default_queue, is_live
from app.config.sections import Source


@pytest.mark.parametrize(
    ("section", "live", "queue"),
    [
        ({"kind": "images", "path": "x"}, False, "every"),
        ({"kind": "images", "path": "x", "watch": True}, False, "every"),  # a triggered camera that writes files
        ({"kind": "video", "path": "x"}, False, "every"),
        ({"kind": "v4l2", "device": 0}, True, "latest"),
        ({"kind": "stream", "url": "rtsp://h/x"}, True, "latest"),
        ({"kind": "gstreamer", "preset": "csi"}, True, "latest"),
        ({"kind": "gstreamer", "preset": "own", "pipeline": "v4l2src"}, True, "latest"),
        ({"kind": "gstreamer", "preset": "own", "pipeline": "filesrc location=x ! decodebin"}, False, "every"),
        ({"kind": "synthetic"}, True, "latest"),
        ({"kind": "conveyor", "path": "x"}, True, "latest"),
        ({"kind": "synthetic", "paced": False}, False, "every"),  # as fast as wanted, so it can wait
        ({"kind": "conveyor", "path": "x", "paced": False}, False, "every"),
    ],
)
def test_cam_10_the_section_alone_decides_what_is_live(section, live, queue):
    source = TypeAdapter(Source).validate_python(section)
    assert is_live(source) is live
    assert default_queue(source) == queue
