"""The cameras that misbehave, and pictures on disk."""

from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest

from tests.capture.gst_here import WHY_NOT
from tests.capture.servers import fault_server, rtsp_server, silent_listener

collect_ignore = [] if WHY_NOT is None else ["test_gstreamer.py"]


@pytest.fixture
def camera_url() -> Iterator[str]:
    """The URL of a camera that does what its path says."""
    with fault_server() as url:
        yield url


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port that accepts and never answers."""
    with silent_listener() as port:
        yield port


@pytest.fixture
def rtsp() -> Iterator[tuple]:
    """A real RTSP server: its URL and its process."""
    with rtsp_server() as served:
        yield served


@pytest.fixture
def noise() -> np.ndarray:
    """A picture of 480 rows that no compression makes small."""
    return np.random.default_rng(7).integers(0, 256, (480, 640, 3), np.uint8)


@pytest.fixture
def save(tmp_path: Path):
    """A function that writes a picture below the test's folder, whatever its name is."""

    def write(name: str, image: np.ndarray, cut: float = 1.0) -> Path:
        path = tmp_path / name
        data = cv2.imencode(path.suffix, image)[1].tobytes()
        path.write_bytes(data[: round(len(data) * cut)])
        return path

    return write
