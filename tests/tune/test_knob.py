"""Which buffer a source has, and which sizes are tried."""

from pathlib import Path

import pytest

from app.config.sections import ImagesSource, StreamSource, V4l2Source
from app.errors import ConfigError
from app.tune.knob import FALLBACK_BYTES, halves, knob_of, system_bytes


@pytest.mark.parametrize(
    ("largest", "smallest", "sizes"),
    [
        (4, 1, (4, 2, 1)),
        (5, 1, (5, 2, 1)),
        (1, 1, (1,)),
        (131072, 32768, (131072, 65536, 32768)),
        (40000, 32768, (40000,)),
    ],
)
def test_each_size_is_half_of_the_one_before(largest, smallest, sizes) -> None:
    assert halves(largest, smallest) == sizes


def test_a_v4l2_camera_is_tried_from_opencv_s_own_default() -> None:
    assert knob_of(V4l2Source(kind="v4l2", device=0)).sizes == (4, 2, 1)
    assert knob_of(V4l2Source(kind="v4l2", device=0, buffers=8)).sizes == (8, 4, 2, 1)


@pytest.mark.parametrize(("url", "transport"), [("http://c/x", "tcp"), ("rtsp://c/x", "udp")])
def test_a_stream_is_tried_from_the_system_s_default(url, transport) -> None:
    knob = knob_of(StreamSource(kind="stream", url=url, transport=transport))
    assert knob.key == "buffer_bytes"
    assert knob.sizes[0] >= 16384
    assert knob.sizes[-1] >= 8192


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (StreamSource(kind="stream", url="rtsp://c/x"), "transport: udp"),
        (ImagesSource(kind="images", path="x"), "no buffer to tune"),
    ],
)
def test_a_source_without_a_buffer_is_told(source, words) -> None:
    with pytest.raises(ConfigError, match=words):
        knob_of(source)


@pytest.mark.parametrize(
    ("text", "number"),
    [("4096\t131072\t6291456\n", 131072), ("212992\n", 212992), ("", FALLBACK_BYTES), ("x", FALLBACK_BYTES)],
)
def test_the_system_s_default_is_read_where_it_stands(text, number, tmp_path: Path) -> None:
    (tmp_path / "x").write_text(text)
    assert system_bytes(tmp_path / "x") == number


def test_where_the_system_does_not_tell_there_is_a_usual_size(tmp_path: Path) -> None:
    assert system_bytes(tmp_path / "missing") == FALLBACK_BYTES
