"""The owner of a source."""

import threading
import time
from threading import Event

import numpy as np
import pytest

from app.capture.feed import Feed
from app.capture.guard import Guard
from app.capture.images import Images
from app.capture.scripted import Block, Scripted, picture_of
from app.capture.state import CameraState
from app.config.sections import Guard as GuardSection
from app.config.sections import ImagesSource, Reopen
from app.errors import EndOfStream, SourceError, SourceLost
from app.frame import NO_IMAGE, Picture
from app.verdict import Code

QUICK = Reopen(first_s=0.001, max_s=0.002, jitter=0.0)


class Run:
    """A feed of a scripted source, and what came of it."""

    def __init__(self, source, live: bool = True, reopen: Reopen = QUICK, put=None, **keys):
        self.frames, self.states = [], []
        self.stop = Event()
        self.feed = Feed(
            "front",
            source if callable(source) else lambda: source,
            guard=Guard(GuardSection(**{"blank": False, **keys}), live),
            reopen=reopen,
            put=put or self.frames.append,
            on_state=lambda state, text: self.states.append((state.value, text)),
            chance=lambda: 0.0,
        )

    def __call__(self) -> "Run":
        self.feed.run(self.stop)
        return self

    @property
    def state_names(self) -> list[str]:
        return [state for state, _ in self.states]


def moving(count: int, start: int = 100) -> list[Picture]:
    return [picture_of(start + index) for index in range(count)]


def test_frames_are_numbered_from_1_and_handed_over_in_order():
    run = Run(Scripted([*moving(2), None, *moving(1, 150)]))()
    assert [(frame.camera, frame.seq) for frame in run.frames] == [("front", 1), ("front", 2), ("front", 3)]
    assert [int(frame.image_hwc[0, 0, 0]) for frame in run.frames] == [100, 101, 150]
    assert run.feed.captured == 3


def test_src_01_the_end_is_a_state_and_no_loss():
    run = Run(Scripted(moving(3)))()
    assert run.state_names == ["connecting", "online", "ended"]
    assert run.feed.reconnects == 0
    assert run.feed.state is CameraState.ENDED


def test_a_lost_source_is_opened_again_and_the_numbers_go_on():
    source = Scripted([*moving(2), SourceLost("cable")], [SourceLost("still away")], moving(2, 150))
    run = Run(source)()
    assert [frame.seq for frame in run.frames] == [1, 2, 3, 4]
    assert run.states[2] == ("lost", "cable")
    assert run.state_names == ["connecting", "online", "lost", "online", "ended"], "lost is told once, not at each try"
    assert run.feed.reconnects == 2
    assert source.entered == source.left == 3


def test_a_camera_is_online_with_its_first_picture_and_not_before():
    run = Run(
        Scripted(
            [
                None,
                None,
                SourceLost("no picture came"),
            ],
            [EndOfStream("end")],
        )
    )()
    assert "online" not in run.state_names


def test_the_pause_grows_with_each_failure_and_starts_anew_after_a_picture():
    pauses = []

    class Stop(Event):
        def wait(self, timeout=None):
            pauses.append(timeout)
            return False

    lost = [SourceLost("away")]
    run = Run(Scripted(lost, lost, lost, [*moving(1), *lost], lost, moving(1)), reopen=Reopen(jitter=0.0))
    run.feed.run(Stop())
    assert pauses == [0.5, 1.0, 2.0, 0.5, 1.0]


def test_cam_22_an_error_that_nobody_foresaw_is_a_loss_of_that_camera_and_its_traceback_is_logged_once(caplog):
    broken = [*moving(1), ZeroDivisionError("bug")]
    source = Scripted(broken, broken, broken, moving(2, 150))
    run = Run(source)()
    assert run.state_names == ["connecting", "online", "lost", "online", "lost", "online", "lost", "online", "ended"]
    assert run.states[2][1] == "the source failed in a way nobody foresaw: ZeroDivisionError: bug"
    assert source.entered == source.left == 4
    assert len([record for record in caplog.records if record.exc_info]) == 1


def test_an_error_of_our_own_hand_over_ends_the_run_and_leaves_the_source():
    source = Scripted(moving(2))

    def put(_):
        raise ZeroDivisionError("bug")

    with pytest.raises(ZeroDivisionError):
        Run(source, put=put)()
    assert source.left == 1


def test_a_source_that_can_never_give_pictures_is_not_tried_again():
    source = Scripted([SourceError("no such file")])
    with pytest.raises(SourceError, match="no such file"):
        Run(source)()
    assert source.entered == 1


def test_bad_pictures_are_frames_too_with_a_fault():
    black, good = picture_of(0), picture_of(90)
    run = Run(Scripted([black, good, Picture(NO_IMAGE, 1, 2)]))()
    faults = [frame.picture.fault and frame.picture.fault.code for frame in run.frames]
    assert faults == [Code.BLACK, None, Code.UNREADABLE]
    assert run.frames[0].image_hwc is black.image_hwc, "nothing is copied"


def test_src_06_a_last_picture_given_for_ever_is_frozen_and_then_lost():
    source = Scripted([*moving(3), *[picture_of(90)] * 1000], moving(1))
    run = Run(source)()
    assert len(run.frames) < 100, "no endless loop"
    judged = [frame for frame in run.frames if frame.picture.fault is None]
    assert len(judged) == 3 + 4 + 1, "the first four of the same picture could not be told apart from a still line"
    assert source.entered == 2, "opened again"
    assert run.state_names == ["connecting", "online", "frozen", "ended"], "frozen all the while, and told once"


def test_cam_09_the_rate_is_measured():
    pictures = [
        Picture(np.full((4, 4, 3), 50 + index, np.uint8), index * 40_000_000, index * 40_000_000) for index in range(10)
    ]
    assert Run(Scripted(pictures))().feed.fps == pytest.approx(25.0)
    assert Run(Scripted(pictures[:1]))().feed.fps is None


def test_src_02_every_file_of_a_folder_is_handed_over_in_order_however_slow_the_reader_is(tmp_path, save):
    for index in range(100):
        save(f"{index}.png", np.full((4, 4, 3), 50 + index, np.uint8))
    labels, room = [], threading.Semaphore(0)

    def put(frame):
        assert room.acquire(timeout=30)
        labels.append(frame.picture.label)

    run = Run(Images(ImagesSource(kind="images", path=str(tmp_path))), live=False, put=put)
    thread = threading.Thread(target=run, name="feed")
    thread.start()
    for _ in range(100):
        room.release()
    thread.join()
    assert labels == [f"{index}.png" for index in range(100)]
    assert run.feed.captured == 100


def test_stop_ends_a_feed_whose_camera_gives_nothing():
    run = Run(Scripted([None] * 10 + [Block(0.05)] * 1000))
    thread = threading.Thread(target=run, name="feed")
    thread.start()
    run.stop.set()
    thread.join(timeout=30)
    assert not thread.is_alive()


def test_stop_ends_the_pause_before_the_next_try():
    run = Run(Scripted([SourceLost("away")]), reopen=Reopen(first_s=1000.0, max_s=1000.0))
    thread = threading.Thread(target=run, name="feed")
    thread.start()
    run.stop.set()
    thread.join(timeout=30)
    assert not thread.is_alive()
    assert run.feed.reconnects == 0


def test_ops_05_steps_of_the_wall_clock_do_not_matter(monkeypatch):
    wall_s = iter([7200.0, 0.0, 86400.0] * 1000)
    monkeypatch.setattr(time, "time", lambda: next(wall_s))
    monkeypatch.setattr(time, "time_ns", lambda: round(next(wall_s) * 1e9))
    run = Run(Scripted(moving(20)))()
    times = [(frame.picture.exposed_ns, frame.picture.arrived_ns, frame.queued_ns) for frame in run.frames]
    assert all(list(stamps) == sorted(stamps) for stamps in times)
    assert all(frame.picture.fault is None for frame in run.frames)
    assert "lost" not in run.state_names


def test_ops_05_no_file_of_capture_reads_the_wall_clock_but_for_the_dates_of_files(root):
    for path in (root / "app" / "capture").glob("*.py"):
        text = path.read_text()
        words = ("time.time", "datetime", "import time_ns", "st_mtime")
        assert path.name == "watch.py" or not any(word in text for word in words), path
