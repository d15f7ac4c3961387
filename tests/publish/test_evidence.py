"""Annotated pictures of what was not OK."""

import threading

import cv2
import numpy as np
import pytest

from app.config.sections import Evidence as Section
from app.detections import Detections
from app.errors import ConfigError
from app.frame import NO_IMAGE
from app.publish import evidence as module
from app.publish.draw import COUNTED, DECISIVE, VERDICT_COLOURS, annotate
from app.publish.evidence import Evidence
from app.verdict import Code, Reason, Verdict

IMAGE = np.full((480, 640, 3), 120, np.uint8)
REASON = Reason(Code.FORBIDDEN, "screw in Ofen-Tür, must not be there", (0,))


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "evidence"


@pytest.fixture
def keep(folder):
    def make(**changes):
        return Evidence(Section(path=str(folder), **changes))

    return make


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def has_colour(image, colour):
    return bool((image == np.array(colour, np.uint8)).all(axis=2).any())


def test_a_picture_of_ng_is_saved_under_a_name_that_says_which(keep, folder, outcome):
    with keep() as evidence:
        evidence.put(outcome(7, Verdict.NG, part=3, reasons=[REASON]), IMAGE)
        evidence.put(outcome(8, Verdict.OK), IMAGE)
        evidence.put(outcome(9, Verdict.NG), IMAGE)
    assert names(folder) == ["ofen-tuer-000007-NG-00003.jpg", "ofen-tuer-000009-NG.jpg"]
    saved = cv2.imread(str(folder / "ofen-tuer-000007-NG-00003.jpg"))
    assert saved.shape[0] > 480
    assert saved.shape[1] == 640


def test_a_picture_waits_so_that_its_message_goes_first_but_not_at_the_end(keep, folder, outcome, monkeypatch):
    monkeypatch.setattr(module, "HEAD_START_S", 3600.0)
    with keep() as evidence:
        for seq in (1, 2):
            evidence.put(outcome(seq, Verdict.NG), IMAGE)
        assert evidence.counts().waiting == 2
    assert evidence.counts().saved == 2


def test_what_a_run_before_left_is_not_overwritten(keep, folder, outcome):
    for _ in range(3):
        with keep() as evidence:
            evidence.put(outcome(1, Verdict.NG), IMAGE)
    assert names(folder) == ["ofen-tuer-000001-NG-r2.jpg", "ofen-tuer-000001-NG-r3.jpg", "ofen-tuer-000001-NG.jpg"]


def test_the_oldest_go_when_there_are_too_many_and_other_files_stay(keep, folder, outcome):
    folder.mkdir()
    (folder / "holiday-1-2.jpg").write_bytes(b"not ours")
    with keep(max_files=3) as evidence:
        for seq in (1, 2):
            evidence.put(outcome(seq, Verdict.NG), IMAGE)
    with keep(max_files=3) as evidence:
        for seq in (3, 4):
            evidence.put(outcome(seq, Verdict.NG), IMAGE)
    assert [name[:16] for name in names(folder)] == ["holiday-1-2.jpg", *(f"ofen-tuer-00000{n}" for n in (2, 3, 4))]


def test_a_slow_disk_drops_pictures_and_counts_them(keep, outcome, monkeypatch):
    release = threading.Event()
    monkeypatch.setattr(module, "annotate", lambda *_: (release.wait(20), IMAGE)[1])
    with keep() as evidence:
        for seq in range(40):
            evidence.put(outcome(seq, Verdict.NG), IMAGE)
        release.set()
    counts = evidence.counts()
    assert (counts.wanted, counts.failed, counts.waiting) == (40, 0, 0)
    assert counts.saved + counts.dropped == 40
    assert counts.dropped >= 23


def test_a_full_disk_is_said_once_and_leaves_no_torn_file(keep, folder, outcome, monkeypatch, caplog):
    monkeypatch.setattr(module.Path, "write_bytes", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left")))
    with keep() as evidence:
        for seq in range(3):
            evidence.put(outcome(seq, Verdict.NG), IMAGE)
    assert evidence.counts().failed == 3
    assert caplog.text.count("the disk is full") == 1
    assert names(folder) == []


def test_a_picture_that_cannot_be_drawn_does_not_stop_the_others(keep, folder, outcome, monkeypatch, caplog):
    monkeypatch.setattr(module, "annotate", lambda one, image: 1 / 0 if one.seq == 1 else image)
    with keep() as evidence:
        evidence.put(outcome(1, Verdict.NG), IMAGE)
        evidence.put(outcome(2, Verdict.NG), IMAGE)
    assert names(folder) == ["ofen-tuer-000002-NG.jpg"]
    assert "could not be drawn" in caplog.text


def test_a_folder_that_cannot_be_made_is_an_error_of_the_configuration(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"evidence\.path"):
        Evidence(Section(path=str(tmp_path / "file" / "x"))).__enter__()


# ── the drawing ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("verdict", list(Verdict))
def test_the_banner_has_the_verdicts_colour_and_the_picture_stays_untouched(outcome, verdict):
    drawn = annotate(outcome(1, verdict, reasons=[REASON]), IMAGE)
    assert has_colour(drawn[:20], VERDICT_COLOURS[verdict])
    assert (IMAGE == 120).all()


def test_boxes_that_decided_stand_out(outcome):
    plain = annotate(outcome(1, Verdict.NG), IMAGE)
    decided = annotate(outcome(1, Verdict.NG, reasons=[REASON]), IMAGE)
    assert not has_colour(plain[-480:], DECISIVE)
    assert has_colour(decided[-480:], DECISIVE)
    counted = annotate(outcome(1, Verdict.NG, reasons=[Reason(Code.COUNT, "2 wanted", (0,))]), IMAGE)
    assert has_colour(counted[-480:], COUNTED)


@pytest.mark.parametrize(
    "image",
    [
        NO_IMAGE,  # it could not be decoded
        np.zeros((24, 32, 3), np.uint8),  # smaller than a word
        np.zeros((40, 3000, 3), np.uint8),  # a line camera's strip
    ],
)
def test_any_picture_can_be_drawn_on(outcome, image):
    reasons = [Reason(Code.TORN, "the picture is torn " * 20)] * 9
    drawn = annotate(outcome(1, Verdict.UNKNOWN, boxes=3, reasons=reasons, region_xyxy=(0.0, 0.0, 9.0, 9.0)), image)
    assert drawn.dtype == np.uint8
    assert drawn.shape[0] > image.shape[0]


def test_a_box_that_is_nowhere_is_left_out(outcome):
    boxes = np.array([[np.nan, 0, 1, 1], [-1e30, -5, 1e30, 1e9]], np.float32)
    found = Detections(boxes, np.ones(2, np.float32), np.zeros(2, np.int64), ("a",))
    drawn = annotate(outcome(1, Verdict.NG, detections=found, region_xyxy=(0.0, np.inf, 1.0, 1.0)), IMAGE)
    assert (drawn[-100:] == 120).all()
