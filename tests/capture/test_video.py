"""Video files as a source."""

import logging
from time import monotonic_ns

import numpy as np
import pytest

from app.capture.decoder import packets_of
from app.capture.synthetic import draw
from app.capture.video import MISSES, Video
from app.config.sections import VideoSource
from app.errors import EndOfStream, SourceError, SourceLost
from app.verdict import Code
from tests.capture.reading import read_all
from tests.capture.videos import SIZE_WH, damage_frame, frame_spans, write_video


def video(path, **keys) -> Video:
    return Video(VideoSource(kind="video", path=str(path), **keys))


@pytest.mark.parametrize(("name", "codec"), [("a.mp4", "libx264"), ("a.avi", "mjpeg"), ("a.mkv", "libx264")])
def test_src_01_every_frame_is_read_once_and_the_end_stays_the_end(name, codec, tmp_path):
    with video(write_video(tmp_path / name, codec)) as source:
        pictures = [source.read(0.0) for _ in range(30)]
        for _ in range(3):
            with pytest.raises(EndOfStream):
                source.read(0.0)
    assert [picture.label for picture in pictures] == [f"{name} frame {index}" for index in range(1, 31)]
    assert all(picture.fault is None and picture.loop == 0 for picture in pictures)
    for index, picture in enumerate(pictures):
        difference = picture.image_hwc.astype(int) - draw(index, SIZE_WH)
        assert np.abs(difference).mean() < 5, "the right frame, give or take the codec"


def test_src_01_a_file_that_loops_marks_the_round_and_goes_on(tmp_path):
    with video(write_video(tmp_path / "a.mp4", "libx264", frames=3), on_end="loop") as source:
        pictures = [source.read(0.0) for _ in range(7)]
    assert [picture.loop for picture in pictures] == [0, 0, 0, 1, 1, 1, 2]
    assert [picture.label[-1] for picture in pictures] == ["1", "2", "3", "1", "2", "3", "1"]
    assert np.abs(pictures[0].image_hwc.astype(int) - pictures[3].image_hwc).max() == 0


def test_src_02_all_of_100_frames_come_in_order(tmp_path):
    pictures = read_all(video(write_video(tmp_path / "a.avi", frames=100)))
    assert [picture.label for picture in pictures] == [f"a.avi frame {index}" for index in range(1, 101)]


@pytest.mark.parametrize(
    "filling",
    [
        b"\x00",  # an empty patch
        b"\x55",  # noise
    ],
)
def test_src_03_a_broken_frame_in_the_middle_is_told_and_the_rest_is_read(filling, tmp_path):
    pictures = read_all(video(damage_frame(write_video(tmp_path / "a.avi"), 9, filling)))
    bad = [picture.label for picture in pictures if picture.fault is not None]
    assert bad == ["a.avi frame 10"]
    assert len(pictures) == 30
    assert pictures[9].fault.code is Code.TORN


def test_src_03_frames_that_build_upon_a_broken_one_are_torn_up_to_the_next_key_frame(tmp_path):
    path = damage_frame(write_video(tmp_path / "a.avi", "libx264", key_every=10), 13)
    faults = [picture.fault is not None for picture in read_all(video(path))]
    assert faults == [False] * 13 + [True] * 7 + [False] * 10


def test_src_03_it_gives_up_after_too_many_broken_frames_in_a_row(tmp_path):
    path = write_video(tmp_path / "a.avi", frames=MISSES + 5)
    for index in range(1, MISSES + 1):
        damage_frame(path, index)
    with pytest.raises(SourceError, match="broken frames in a row") as caught:
        read_all(video(path))
    assert not isinstance(caught.value, SourceLost)


def test_src_03_one_less_is_read_to_the_end(tmp_path):
    path = write_video(tmp_path / "a.avi", frames=MISSES + 5)
    for index in range(1, MISSES):
        damage_frame(path, index)
    assert sum(picture.fault is not None for picture in read_all(video(path))) == MISSES - 1


def test_src_03_only_broken_frames_in_a_row_count(tmp_path):
    path = write_video(tmp_path / "a.avi", frames=2 * MISSES + 1)
    for index in [*range(1, MISSES), *range(MISSES + 1, 2 * MISSES)]:
        damage_frame(path, index)
    pictures = read_all(video(path))
    assert len(pictures) == 2 * MISSES + 1
    assert pictures[MISSES].fault is None


def test_cam_18_a_frame_that_lacks_nothing_but_its_end_marker_is_torn(tmp_path):
    path = write_video(tmp_path / "a.avi", frames=3)
    content = bytearray(path.read_bytes())
    end = frame_spans(bytes(content))[1].stop
    last = content.rindex(b"\xff\xd9", 0, end)
    content[last:end] = bytes(end - last)
    path.write_bytes(content)
    assert [picture.fault is None for picture in read_all(video(path))] == [True, False, True]


def test_src_04_an_mp4_without_its_index_is_named(tmp_path):
    path = write_video(tmp_path / "half.mp4", "libx264")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(SourceError, match=r"half\.mp4: file incomplete \(no index\)"), video(path):
        pass


def test_src_04_an_avi_cut_short_is_read_with_a_warning(tmp_path, caplog):
    path = write_video(tmp_path / "half.avi")
    content = path.read_bytes()
    middle_of_13 = frame_spans(content)[12]
    path.write_bytes(content[: (middle_of_13.start + middle_of_13.stop) // 2])
    pictures = read_all(video(path))
    assert [picture.fault is None for picture in pictures] == [True] * 12 + [False]
    assert "ended early: 13 of 30 frames" in caplog.text


def test_a_whole_file_gives_no_warning(tmp_path, caplog):
    read_all(video(write_video(tmp_path / "a.avi")))
    read_all(video(write_video(tmp_path / "a.mp4", "libx264")))
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


def test_src_05_odd_names_are_read_and_kept(tmp_path):
    for name in ("지단.avi", "a#b?.avi", "one\ntwo.avi", "%d.avi"):
        pictures = read_all(video(write_video(tmp_path / name, frames=2)))
        assert pictures[0].label == f"{name} frame 1"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, "No such file"),
        (b"", "can't read this file"),
        (b"hello" * 100, "can't read this file"),
    ],
)
def test_what_is_no_video_is_an_error(content, text, tmp_path):
    path = tmp_path / "a.mp4"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SourceError, match=text), video(path):
        pass


def test_a_paced_file_keeps_to_its_time_stamps(tmp_path):
    path = write_video(tmp_path / "a.mp4", "libx264", frames=5, fps=25)
    before_ns = monotonic_ns()
    with video(path, paced=True) as source:
        pictures = []
        while len(pictures) < 5:
            picture = source.read(0.001)
            pictures += [picture] if picture else []
    assert pictures[-1].exposed_ns >= before_ns + 4 * 40_000_000, "four periods of 40 ms after the first"


def test_a_paced_frame_that_is_not_due_is_kept_for_the_next_read(tmp_path):
    path = write_video(tmp_path / "a.mp4", "libx264", frames=2, fps=1)
    with video(path, paced=True) as source:
        assert source.read(0.0).label.endswith("frame 1")
        assert source.read(0.0) is None
        assert source.read(30.0).label.endswith("frame 2")


def test_a_video_of_a_codec_that_ffmpeg_does_not_know_is_refused(tmp_path):
    """Found by fuzzing: there is a stream of video in it, and no decoder for it."""
    path = write_video(tmp_path / "odd.mkv", "libx264", frames=3)
    path.write_bytes(path.read_bytes().replace(b"V_MPEG4/ISO/AVC", b"V_MPEG4/ISO/XYZ"))
    with pytest.raises(SourceError, match="no video in this file that can be decoded"), video(path):
        pass


def test_a_video_whose_title_is_not_utf_8_is_read(tmp_path):
    """Found by fuzzing: a recorder in Latin-1 would have been enough."""
    path = write_video(tmp_path / "a.mkv", "libx264", frames=3)
    path.write_bytes(path.read_bytes().replace(b"Lavf", b"T\xfcrf"))
    with video(path) as source:
        assert source.read(0.0).fault is None


class GainsAStream:
    """A container in which a stream begins that was not there at the opening, as PyAV gives it."""

    def __init__(self, *turns):
        self.turns = list(turns)

    def demux(self, stream):
        yield from self.turns.pop(0)
        if self.turns:
            raise IndexError("list index out of range")


def test_packets_of_a_stream_that_begins_in_the_middle_are_passed_over():
    assert list(packets_of(GainsAStream([1, 2], [], [3], [4, 5]), None)) == [1, 2, 3, 4, 5]
