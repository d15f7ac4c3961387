"""Which node a camera is, and what keeps it from opening."""

import errno
import os
from pathlib import Path

import pytest

from app.capture.devices import Capability, device_path, explain, list_cameras, query, refusal, same_devices

PICTURES = Capability("Line Cam", "usb-1", has_pictures=True)
METADATA = Capability("Line Cam", "usb-1", has_pictures=False)


@pytest.fixture
def dev(tmp_path: Path) -> Path:
    """A /dev with two cameras of two nodes each, and links by id as udev makes them."""
    for number in (0, 1, 2, 10):
        (tmp_path / f"video{number}").touch()
    links = tmp_path / "v4l" / "by-id"
    links.mkdir(parents=True)
    (links / "usb-Line_Cam-index0").symlink_to("../../video2")
    (links / "usb-Other-index0").symlink_to("../../video10")
    return tmp_path


def asked(answers: dict[str, Capability | int]):
    """A query whose answers are written down; a number is an errno."""

    def ask(path: Path) -> Capability:
        answer = answers.get(path.name, errno.ENOENT)
        if isinstance(answer, int):
            raise OSError(answer, os.strerror(answer), str(path))
        return answer

    return ask


@pytest.mark.parametrize(
    ("device", "node"),
    [
        (0, "video0"),
        ("0", "video0"),  # as YAML gives it in quotes
        ("/dev/video0", "video0"),
        (10, "video10"),
        ("/dev/v4l/by-id/usb-Line_Cam-index0", "video2"),
        ("/dev/video7", "video7"),  # not there yet; opening it says so
    ],
)
def test_cam_11_index_path_and_link_name_the_same_real_node(device, node, dev):
    assert device_path(device, dev) == dev.resolve() / node


def test_cam_11_two_cameras_on_one_device_are_told_whatever_they_are_called(dev):
    cameras = {"front": "/dev/v4l/by-id/usb-Line_Cam-index0", "back": 10, "top": "2"}
    (fault,) = same_devices(cameras, dev)
    assert "cameras.top.source.device" in fault
    assert "camera front" in fault
    assert same_devices({"front": 0, "back": 2}, dev) == []


def test_cam_12_the_list_hides_metadata_nodes_and_sorts_by_number(dev):
    ask = asked({"video0": METADATA, "video1": errno.EACCES, "video2": PICTURES, "video10": PICTURES})
    assert [path.name for path in list_cameras(dev, ask)] == ["video2", "video10"]


def test_cam_12_a_metadata_node_names_the_node_to_try(dev):
    ask = asked({"video0": METADATA, "video2": PICTURES, "video10": Capability("Other", "usb-2", has_pictures=True)})
    why = refusal(dev / "video0", dev, ask)
    assert why.endswith(f"this node carries no video; try {dev / 'video2'}")


def test_a_camera_that_is_not_there_names_those_that_are(dev):
    why = refusal(dev / "video7", dev, asked({"video2": PICTURES}))
    assert "is it plugged in?" in why
    assert f"{dev / 'video2'} (Line Cam)" in why


def test_a_node_with_pictures_is_not_refused(dev):
    assert refusal(dev / "video2", dev, asked({"video2": PICTURES})) is None


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (errno.EACCES, "group video"),
        (errno.ENOSPC, "USB bandwidth"),
        (errno.EBUSY, "another program"),
        (errno.ENODEV, "plugged in"),
        (errno.ENOTTY, "no V4L2 camera"),
        (errno.EIO, "Input/output error"),  # what the system says, where we know no better
    ],
)
def test_cam_14_errors_are_explained_with_what_to_do(number, text):
    assert text in explain(OSError(number, os.strerror(number)))


def test_a_file_that_is_no_camera_is_told_by_the_real_query(tmp_path):
    path = tmp_path / "video0"
    path.touch()
    with pytest.raises(OSError, match="ioctl"):
        query(path)
    assert refusal(path, tmp_path).endswith("this is no V4L2 camera")
    assert "is it plugged in?" in refusal(tmp_path / "video1", tmp_path)
