"""GStreamer that is not there: what is missing, and which package brings it."""

import sys

import pytest

from app.capture import gst
from app.capture.gst_packages import JETPACK, missing_element, package_of
from app.capture.gstreamer import Gstreamer
from app.config.sections import GstreamerSource
from app.errors import SourceError, SourceLost


@pytest.fixture
def without_bindings(monkeypatch, tmp_path):
    """A Python that has no `gi`, and a system that has none either."""
    monkeypatch.setitem(sys.modules, "gi", None)
    monkeypatch.setattr(gst, "SYSTEM", tmp_path)
    gst._load.cache_clear()
    yield tmp_path
    gst._load.cache_clear()


def test_cam_06_missing_bindings_are_an_error_that_names_the_packages_and_nothing_else_is_tried(without_bindings):
    camera = Gstreamer(GstreamerSource(kind="gstreamer", preset="test"))
    with pytest.raises(SourceError, match=r"install python3-gi gir1\.2-gst-plugins-base-1\.0$") as caught:
        camera.__enter__()
    assert not isinstance(caught.value, SourceLost), "nobody should try again"
    assert "\n" not in str(caught.value)
    camera.__exit__(None, None, None)


def test_cam_06_bindings_for_another_python_are_named(tmp_path):
    (tmp_path / "gi").mkdir()
    (tmp_path / "gi" / "_gi.cpython-38-aarch64-linux-gnu.so").touch()
    assert gst.refusal(tmp_path, (3, 8)) is None
    why = gst.refusal(tmp_path, (3, 12))
    assert why == (
        "GStreamer's Python bindings are for the system's Python (cpython-38-aarch64-linux-gnu), this is Python 3.12; "
        "install Taktsight with the system's Python"
    )
    assert gst.refusal(tmp_path, (3, 80)) is not None


@pytest.mark.parametrize(
    ("element", "package"),
    [
        ("nvarguscamerasrc", JETPACK),
        ("nvv4l2decoder", JETPACK),
        ("nvvidconv", JETPACK),
        ("avdec_h264", "gstreamer1.0-libav"),
        ("h264parse", "gstreamer1.0-plugins-bad"),
        ("x264enc", "gstreamer1.0-plugins-ugly"),
        ("videotestsrc", "gstreamer1.0-plugins-base"),
        ("videoconvert", "gstreamer1.0-plugins-base"),
        ("appsink", "gstreamer1.0-plugins-base"),
        ("uridecodebin", "gstreamer1.0-plugins-base"),
        ("v4l2src", "gstreamer1.0-plugins-good"),
        ("rtspsrc", "gstreamer1.0-plugins-good"),
        ("rtph264depay", "gstreamer1.0-plugins-good"),
        ("qtdemux", "gstreamer1.0-plugins-good"),
        ("jpegdec", "gstreamer1.0-plugins-good"),
    ],
)
def test_cam_06_every_element_of_a_preset_or_a_usual_pipeline_has_its_package(element, package):
    assert package_of(element) == package


def test_the_element_is_read_from_what_gstreamer_says():
    assert missing_element('no element "nvvidconv"') == "nvvidconv"
    assert missing_element('no property "x" in element "y"') is None
