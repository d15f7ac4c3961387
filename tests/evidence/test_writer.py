"""Pictures that are kept beside the line's beat."""

import threading

import cv2
import numpy as np
import pytest

from app.errors import ConfigError
from app.evidence import piece, png, writer
from app.evidence.pixels import decode
from app.evidence.record import read_record
from app.evidence.writer import PATIENCE_S
from app.frame import NO_IMAGE
from app.verdict import Code, Judgement, Reason, Verdict
from tests.evidence.conftest import IMAGE

STEM = "2026-11-30/covers/0320/covers-000007-NG-p00003-1a2b3c4d"
OUT_OF_LIGHT = Reason(Code.BLACK, "no pixel is brighter than 12")


def test_a_picture_of_ng_is_kept_with_its_part_a_view_and_its_record(kept, outcome):
    with kept() as here:
        named = here.put(outcome(7, part=3, region_xyxy=(8.4, 4.0, 40.2, 30.0)))
    assert named.evidence.endswith("-NG-p00003-1a2b3c4d.json")
    stem = named.evidence.removesuffix(".json")
    assert here.files() == [f"{stem}{ending}" for ending in (".crop.png", ".json", ".png", ".view.jpg")]
    np.testing.assert_array_equal(cv2.imread(str(here.root / f"{stem}.png")), IMAGE)
    np.testing.assert_array_equal(cv2.imread(str(here.root / f"{stem}.crop.png")), IMAGE[4:30, 8:41])
    assert cv2.imread(str(here.root / f"{stem}.view.jpg")).shape[1] == 64


def test_the_message_names_what_is_kept_of_it_and_nothing_else(kept, outcome):
    with kept() as here:
        named = here.put(outcome(7))
        unnamed = here.put(outcome(8, Verdict.OK))
    assert here.record(named)["evidence"] == named.evidence
    assert (here.root / named.evidence).is_file()
    assert unnamed.evidence == ""
    assert here.writer.counts().saved == 1


def test_a_record_is_the_message_and_says_by_what_it_was_judged(kept, outcome):
    one = outcome(7, boxes=2)
    with kept() as here:
        named = here.put(one)
    record = read_record((here.root / named.evidence).read_bytes())
    assert (record.result.camera, record.result.verdict, record.result.line) == ("covers", Verdict.NG, "Linie 1")
    assert record.replay.why == ["verdict"]
    np.testing.assert_array_equal(record.replay.boxes.detections().xyxy, one.detections.xyxy)
    setting = record.replay.setting
    assert setting is not None
    assert setting.config.startswith(one.config_hash)
    assert setting.camera["judge"]["scores"]["scratch"] == 0.3
    assert setting.models["covers"].sha256 == "f" * 64
    picture = (here.root / named.evidence).with_suffix(record.replay.picture.ending)
    np.testing.assert_array_equal(decode(record.replay.picture, picture.read_bytes()), IMAGE)


def test_a_picture_waits_so_that_its_message_goes_first_but_not_at_the_end(kept, outcome, monkeypatch):
    monkeypatch.setattr(writer, "HEAD_START_S", 3600.0)
    with kept() as here:
        for seq in (1, 2):
            here.put(outcome(seq))
        assert here.writer.counts().waiting == 2
    assert here.writer.counts().saved == 2


def test_a_picture_gives_way_to_frames_before_each_step_but_not_for_ever(kept, outcome, monkeypatch):
    monkeypatch.setattr(png, "STRIP_BYTES", IMAGE[:4].nbytes)
    asked_s, now_s = [], [0.0]
    monkeypatch.setattr(writer, "monotonic", lambda: now_s[0])

    def lull(most_s):
        asked_s.append(most_s)
        now_s[0] += PATIENCE_S / 8  # on a full line none comes

    with kept(lull=lull) as here:
        here.put(outcome(1))
        here.settled()
        assert asked_s == [PATIENCE_S * (8 - step) / 8 for step in range(8)]
        del asked_s[:]
        here.put(outcome(2))
        here.settled()
    assert len(asked_s) == 8, "each picture has as much patience"
    assert here.writer.counts().saved == 2


def test_strips_view_and_files_are_steps_of_their_own(kept, outcome, monkeypatch):
    steps = []
    monkeypatch.setattr(png, "STRIP_BYTES", IMAGE[:8].nbytes)
    with kept(lull=steps.append) as here:
        here.put(outcome(1))
        here.settled()
    strips = -(-len(IMAGE) // 8)
    assert len(steps) == strips + 2, "the view, and what is written to the disk"


def test_nothing_gives_way_where_somebody_waits_for_the_end(kept, outcome, monkeypatch):
    monkeypatch.setattr(writer, "HEAD_START_S", 3600.0)
    steps = []
    with kept(lull=steps.append) as here:
        here.put(outcome(1))
    assert (steps, here.writer.counts().saved) == ([], 1)


@pytest.mark.parametrize(("pictures", "gives_way"), [(4, True), (5, False)])
def test_nothing_gives_way_where_half_of_the_room_is_taken(kept, outcome, monkeypatch, pictures, gives_way):
    monkeypatch.setattr(writer, "HEAD_START_S", 0.5)
    image = np.zeros((100, 100, 3), np.uint8)
    steps = []
    with kept(lull=steps.append, max_waiting_bytes=9 * image.nbytes, view=False) as here:
        for seq in range(pictures):
            here.put(outcome(seq), image)
        here.settled()
        assert here.writer.counts().saved == pictures
    assert (len(steps) == 2 * pictures) is gives_way


def test_no_folder_holds_more_than_ten_minutes_of_one_camera(kept, outcome):
    ten_minutes_ns = 600 * 10**9
    with kept() as here:
        stems = [
            here.put(outcome(seq, camera=camera, captured_utc_ns=1_796_000_400 * 10**9 + late_ns)).evidence
            for seq, (camera, late_ns) in enumerate(
                [("left", 0), ("left", ten_minutes_ns - 1), ("left", ten_minutes_ns), ("right", 0)]
            )
        ]
    folders = [stem.rpartition("/")[0] for stem in stems]
    assert folders[0] == folders[1]
    assert len(set(folders)) == 3


def test_what_can_not_be_decoded_is_kept_without_pixels(kept, outcome):
    torn = Judgement(Verdict.UNKNOWN, (Reason(Code.UNREADABLE, "no picture"),))
    with kept() as here:
        named = here.put(outcome(1, judgement=torn), NO_IMAGE)
    stem = named.evidence.removesuffix(".json")
    assert here.files() == [f"{stem}.json", f"{stem}.view.jpg"]
    assert here.record(named)["replay"]["picture"]["ending"] == ""


def test_without_views_only_what_replays_is_written(kept, outcome):
    with kept(view=False, original="raw") as here:
        stem = here.put(outcome(1)).evidence.removesuffix(".json")
    assert here.files() == [f"{stem}.bgr8", f"{stem}.json"]
    assert (here.root / f"{stem}.bgr8").read_bytes() == IMAGE.tobytes()


def test_a_picture_that_was_asked_for_is_kept_whatever_its_verdict(kept, outcome):
    with kept(verdicts=["NG"]) as here:
        named = here.put(outcome(1, Verdict.OK), asked=True)
        again = here.put(outcome(2, Verdict.OK))
    assert "-OK-asked-" in named.evidence
    assert again.evidence == ""


def test_a_slow_disk_drops_pictures_counts_them_and_no_message_names_them(kept, outcome, monkeypatch):
    release, begun = threading.Event(), threading.Event()
    real = piece.annotate
    monkeypatch.setattr(piece, "annotate", lambda *what: (begun.set(), release.wait(20), real(*what))[2])
    with kept(max_waiting_bytes=10 * IMAGE.nbytes) as here:
        here.put(outcome(0))
        assert begun.wait(20)
        named = [here.put(outcome(seq)).evidence for seq in range(1, 40)]
        release.set()
        here.settled()
    counts = here.writer.counts()
    assert (counts.wanted, counts.failed, counts.waiting) == (40, 0, 0)
    assert counts.dropped == named.count("") == 30
    assert sum(event.count for event in here.events if event.kind == "evidence_dropped") == 30
    assert all((here.root / path).is_file() for path in named if path)


def test_a_picture_larger_than_all_the_room_is_kept_where_nothing_else_waits(kept, outcome):
    large = np.zeros((300, 300, 3), np.uint8)
    with kept(max_waiting_bytes=65_536) as here:
        assert here.put(outcome(1), large).evidence


def test_a_picture_that_can_not_be_drawn_does_not_stop_the_others_and_is_told_of(kept, outcome, monkeypatch, caplog):
    real = piece.annotate
    monkeypatch.setattr(piece, "annotate", lambda one, image: 1 / 0 if one.seq == 1 else real(one, image))
    with kept() as here:
        lost = here.put(outcome(1)).evidence
        here.put(outcome(2))
    assert [name for name in here.files() if "000001" in name] == []
    assert here.writer.counts().failed == 1
    (event,) = here.events
    assert (event.kind, event.count, event.pictures) == ("evidence_lost", 1, [lost])
    assert "could not be written" in caplog.text


def test_what_a_run_before_left_is_not_overwritten(kept, outcome):
    runs = ("aaaa", "bbbb", "cccc")
    for run in runs:
        with kept() as here:
            here.put(outcome(1, trace_id=f"{run}-covers-000001"))
    assert [name.split("-")[-1] for name in here.files() if name.endswith(".json")] == [f"{run}.json" for run in runs]


def test_the_end_waits_for_the_disk_for_a_moment_only_and_tells_what_is_lost(kept, outcome, monkeypatch):
    monkeypatch.setattr(writer, "GRACE_S", -1.0)
    monkeypatch.setattr(writer, "HEAD_START_S", 3600.0)
    with kept(hurried=True) as here:
        named = [here.put(outcome(seq)).evidence for seq in (1, 2, 3)]
    lost = [path for event in here.events for path in event.pictures]
    assert sorted(lost) == sorted(path for path in named if not (here.root / path).exists())
    assert len(lost) == 3


@pytest.mark.parametrize("which", ["evidence", "collect"])
def test_a_folder_that_can_not_be_made_is_an_error_of_the_configuration(kept, tmp_path, which):
    (tmp_path / "file").write_text("")
    more = {"evidence": False, "collect": {}} if which == "collect" else {}
    with pytest.raises(ConfigError, match=rf"{which}\.path"):
        kept(tmp_path / "file", **more).__enter__()


def test_all_counts_add_up_for_evidence_and_sample_together(kept, outcome):
    with kept(collect={"every_s": 0.001}) as here:
        for seq in range(20):
            here.put(outcome(seq, [Verdict.OK, Verdict.NG, Verdict.UNKNOWN][seq % 3]))
    counts = here.writer.counts()
    assert counts.wanted == counts.saved + counts.dropped + counts.failed
    assert counts.waiting == 0
