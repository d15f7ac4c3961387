"""Names of kept files."""

import pytest

from app.evidence.names import STEM, evidence_stem, is_derived, is_spare, sample_stem
from app.verdict import Verdict
from tests.evidence.conftest import MORNING_NS

AT_NS = 1_796_004_000 * 10**9  # 2026-11-30 02:00 UTC


@pytest.mark.parametrize(
    ("changes", "why", "stem"),
    [
        ({}, ("verdict",), "2026-11-30/covers/0200/covers-000007-NG-1a2b3c4d"),
        ({"part": 12}, ("verdict",), "2026-11-30/covers/0200/covers-000007-NG-p00012-1a2b3c4d"),
        ({"rev": 2}, ("verdict", "borderline"), "2026-11-30/covers/0200/covers-000007-NG-r2-borderline-1a2b3c4d"),
        ({"camera": "Ofen-Tür 2"}, ("asked",), "2026-11-30/ofen-tuer-2/0200/ofen-tuer-2-000007-NG-asked-1a2b3c4d"),
        ({"camera": "+++a"}, ("verdict",), "2026-11-30/a/0200/a-000007-NG-1a2b3c4d"),  # no topic can have such a name
        ({"camera": "+"}, ("verdict",), "2026-11-30/camera/0200/camera-000007-NG-1a2b3c4d"),
        ({"camera": "../../etc"}, ("verdict",), "2026-11-30/etc/0200/etc-000007-NG-1a2b3c4d"),
        ({"trace_id": "../x-covers-7"}, ("verdict",), "2026-11-30/covers/0200/covers-000007-NG-x"),
    ],
)
def test_a_piece_lies_under_its_day_camera_and_time(changes, why, stem, outcome):
    made = evidence_stem(outcome(7, captured_utc_ns=AT_NS, **changes), why)
    assert made == stem
    assert STEM.search(made), "else nothing would ever remove it"


def test_a_sample_lies_under_its_camera_first(outcome):
    stem = sample_stem(outcome(7, Verdict.OK, captured_utc_ns=MORNING_NS))
    assert stem == "covers/2026-11-30/covers-000007-OK-1a2b3c4d"
    assert STEM.search(stem)


@pytest.mark.parametrize(
    ("name", "derived"),
    [
        ("covers-000007-NG-1a2b3c4d.view.jpg", True),
        ("covers-000007-NG-p00012-1a2b3c4d.crop.png", True),
        ("left-000012-NG.jpg", True),  # as a version before wrote them
        ("covers-000007-NG-1a2b3c4d.png", False),
        ("covers-000007-OK-1a2b3c4d.png", False),
        ("002_OK.jpg", False),
        ("holiday-1-2.jpg", False),
    ],
)
def test_views_and_crops_are_told_from_pictures(name, derived):
    assert is_derived(name) is derived


@pytest.mark.parametrize(
    ("stem", "spare"),
    [
        ("a/covers-000007-OK-1a2b3c4d", True),
        ("a/covers-000007-OK-p00012-r2-1a2b3c4d", True),
        ("a/covers-000007-OK-borderline-1a2b3c4d", False),
        ("a/covers-000007-OK-asked-1a2b3c4d", False),
        ("a/covers-000007-NG-1a2b3c4d", False),
        ("a/covers-000007-UNKNOWN-1a2b3c4d", False),
        ("holiday", False),
    ],
)
def test_only_a_plain_ok_is_spare(stem, spare):
    assert is_spare(stem) is spare
