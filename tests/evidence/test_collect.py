"""The sample for calibration: within its bounds, spread over time, and as the INT8 tools read it."""

import cv2
import numpy as np

from app.bgr import to_bgr
from app.building.int8.collected import collected_in
from app.building.int8.pictures import choose
from app.evidence.retention import Piece, Spread
from app.evidence.waiting import Job, Waiting
from app.frame import PixelFormat, Pixels
from app.verdict import Verdict
from tests.evidence.conftest import MORNING_NS

RANDOM = np.random.default_rng(11)
MINUTE_NS = 60 * 10**9


def pictures(count):
    return [RANDOM.integers(0, 255, (48, 64, 3)).astype(np.uint8) for _ in range(count)]


def test_each_camera_has_a_folder_of_pictures_with_their_results_and_no_message_names_them(kept, outcome):
    with kept(evidence=False, collect={"every_s": 0.000001}) as here:
        for seq, image in enumerate(pictures(3)):
            for camera in ("left", "right"):
                assert here.put(outcome(seq, Verdict.OK, camera=camera), image).evidence == ""
    names = here.files(here.collected)
    assert names[:2] == [
        "left/2026-11-30/left-000000-OK-1a2b3c4d.json",
        "left/2026-11-30/left-000000-OK-1a2b3c4d.png",
    ]
    assert len(names) == 12


def test_the_int8_tools_choose_from_it_by_camera_and_time(kept, outcome):
    with kept(evidence=False, collect={"every_s": 0.000001}) as here:
        for seq, image in enumerate(pictures(24)):
            camera = ("left", "right")[seq % 2]
            at_ns = MORNING_NS + seq * 10 * MINUTE_NS
            here.put(outcome(seq, Verdict.OK, camera=camera, captured_utc_ns=at_ns), image)
    chosen = choose([here.collected], least=20, most=24)
    assert chosen.cameras == ("left", "right")
    assert (chosen.found, chosen.duplicates, chosen.skipped, chosen.notes) == (24, 0, (), ())


def test_evidence_gives_its_original_pictures_to_the_int8_tools_and_neither_views_nor_crops(kept, outcome):
    with kept() as here:
        for seq, image in enumerate(pictures(4)):
            here.put(outcome(seq, Verdict.NG, region_xyxy=(4.0, 4.0, 40.0, 40.0)), image)
    found = list(collected_in(here.root))
    assert len([one for one in found if not one.unfit]) == 4
    assert {one.unfit for one in found if one.unfit} == {"it is a view or a crop of evidence"}


def test_a_camera_in_any_format_gives_pictures_that_every_reader_knows(kept, outcome):
    nv12 = Pixels(RANDOM.integers(0, 255, (72, 64)).astype(np.uint8), PixelFormat.NV12)
    with kept(evidence=False, collect={}) as here:
        here.put(outcome(1, Verdict.OK), nv12)
    (path,) = here.collected.rglob("*.png")
    np.testing.assert_array_equal(cv2.imread(str(path)), to_bgr(nv12))


def test_samples_make_room_for_evidence_and_never_the_other_way(outcome):
    image = pictures(1)[0]
    waiting = Waiting(4 * image.nbytes)
    samples = [Job(outcome(seq, Verdict.OK), image, f"s{seq}", ("sample",), sample=True) for seq in range(5)]
    evidence = [Job(outcome(seq), image, f"e{seq}", ("verdict",)) for seq in range(5)]
    assert [waiting.promise(job) for job in samples] == [True] * 4 + [False]
    for job in samples[:4]:
        waiting.put(job)
    assert [waiting.promise(job) for job in evidence] == [True] * 4 + [False]
    for job in evidence[:4]:
        waiting.put(job)
    taken = [waiting.next(0.0, 0.0).stem for _ in range(4)]
    assert taken == ["e0", "e1", "e2", "e3"]
    assert waiting.next(0.0, 0.0) is None
    assert waiting.counts().dropped == 6


def spread_over(hours, every_s, max_files):
    """Collect for so long; return the times that are left, in seconds."""
    kept_now, left = Spread(1 << 40, max_files), []
    for second in range(0, int(hours * 3600), every_s):
        gone = {piece.stem for piece in kept_now.excess(second, 10)}
        left = [time_s for time_s in left if f"a/{time_s}" not in gone] + [second]
        kept_now.add(Piece(f"a/{second}", 10, second))
    return left


def test_what_is_left_of_a_long_time_is_spread_over_all_of_it():
    left = spread_over(hours=48, every_s=60, max_files=100)
    assert len(left) == 100
    assert left[0] == 0
    assert left[-1] == 48 * 3600 - 60
    gaps = np.diff(left)
    assert gaps.max() <= 4 * np.median(gaps)


def test_the_camera_with_the_most_gives_way():
    kept_now = Spread(1000, 10_000)
    for number in range(90):
        for piece in kept_now.excess(number, 10):
            assert piece.group == "a"
        kept_now.add(Piece(f"{'b' if number % 10 == 0 else 'a'}/{number}", 10, number))
    for number in range(90, 140):
        gone = list(kept_now.excess(number, 10))
        kept_now.add(Piece(f"a/{number}", 10, number))
        assert all(piece.group == "a" for piece in gone)
    assert sum(piece.group == "b" for piece in kept_now.pieces()) == 9
    assert kept_now.size <= 1000
