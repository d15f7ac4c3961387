"""Which pictures calibrate."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import cv2
import numpy as np
import pytest

from app.building.int8.pictures import CalibrationSet, choose, thumbnail_of
from app.errors import ConfigError


def write(folder: Path, count: int, camera: str = "", *, start: int = 0, hours: float = 0.1, name: str = "p") -> None:
    """Write small pictures that all differ; with the result beside them where a camera is named."""
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(len(camera) * 1000 + start + len(name) * 77)
    for index in range(start, start + count):
        path = folder / f"{name}-{index}.png"
        cv2.imwrite(str(path), random.integers(0, 256, (32, 48, 3), np.uint8))
        if camera:
            minutes = int(index * hours * 60)
            taken = f"2026-03-{2 + minutes // 1440:02d}T{minutes // 60 % 24:02d}:{minutes % 60:02d}:00.000Z"
            path.with_suffix(".json").write_text(json.dumps({"camera": camera, "captured_utc": taken, "verdict": "OK"}))


def by_camera(chosen: CalibrationSet) -> Counter[str]:
    return Counter(picture.camera for picture in (*chosen.calibrate, *chosen.held_out))


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, "0 of 0 pictures can calibrate; INT8 needs 100 that differ"),
        (5, "5 of 5 pictures can calibrate; INT8 needs 100 that differ"),
        (99, "99 of 99 pictures can calibrate; INT8 needs 100 that differ"),
    ],
)
def test_mdl_15_too_few_pictures_are_refused_with_the_remedy(count: int, said: str, tmp_path: Path) -> None:
    write(tmp_path, count)
    with pytest.raises(ConfigError, match=said) as refused:
        choose([tmp_path])
    assert "let the line collect more" in str(refused.value)
    assert "--fp16" in str(refused.value)


def test_mdl_15_a_hundred_are_enough_and_a_picture_that_can_not_be_read_is_skipped_and_counted(tmp_path: Path) -> None:
    write(tmp_path, 100)
    whole = (tmp_path / "p-0.png").read_bytes()
    (tmp_path / "torn.png").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "empty.jpg").write_bytes(b"")
    chosen = choose([tmp_path])
    assert chosen.found == 102
    assert [line.split(":")[0] for line in chosen.skipped] == ["empty.jpg", "torn.png"]
    assert len(chosen.calibrate) + len(chosen.held_out) == 100


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nowhere: there is no such folder"):
        choose([tmp_path / "nowhere"])


def test_every_third_picture_is_held_out_and_none_is_in_both(tmp_path: Path) -> None:
    write(tmp_path, 30)
    chosen = choose([tmp_path], least=30)
    both = [picture.path.name for picture in (*chosen.calibrate, *chosen.held_out)]
    assert (len(chosen.calibrate), len(chosen.held_out), len(set(both))) == (20, 10, 30)
    assert [picture.path.name for picture in chosen.held_out[:3]] == ["p-0.png", "p-3.png", "p-6.png"]


def test_copies_and_pictures_of_a_line_that_stood_still_are_one_picture(tmp_path: Path) -> None:
    write(tmp_path, 10)
    random, image = np.random.default_rng(7), cv2.imread(str(tmp_path / "p-4.png"))
    large = cv2.resize(image, (960, 640), interpolation=cv2.INTER_NEAREST)
    (tmp_path / "copies").mkdir()
    (tmp_path / "copies" / "copy.png").write_bytes((tmp_path / "p-3.png").read_bytes())
    for index in range(5):
        noise = random.normal(0, 3, large.shape)
        cv2.imwrite(str(tmp_path / f"still-{index}.png"), np.clip(large + noise, 0, 255).astype(np.uint8))
    chosen = choose([tmp_path], least=10)
    assert chosen.found == 16
    assert chosen.duplicates == 6
    assert len(chosen.calibrate) + len(chosen.held_out) == 10


def test_the_same_part_with_a_scratch_is_another_picture() -> None:
    plain = np.full((720, 960, 3), 120, np.uint8)
    scratched = plain.copy()
    cv2.line(scratched, (400, 300), (460, 330), (200, 200, 200), 3)
    assert np.abs(thumbnail_of(plain) - thumbnail_of(scratched)).max() > 2


def test_pictures_are_spread_over_cameras_and_over_the_time_of_each(tmp_path: Path) -> None:
    write(tmp_path / "a", 60, "left")
    write(tmp_path / "b", 12, "right")
    write(tmp_path / "c", 60, "top")
    chosen = choose([tmp_path / "a", tmp_path / "b", tmp_path / "c"], least=10, most=50)
    assert by_camera(chosen) == {"left": 19, "right": 12, "top": 19}
    times = sorted(picture.taken for picture in (*chosen.calibrate, *chosen.held_out) if picture.camera == "left")
    assert times[0].startswith("2026-03-02T00:00")
    assert times[-1].startswith("2026-03-02T05:54")
    assert chosen.notes == ()


def test_time_is_that_of_the_result_beside_a_picture_and_not_the_order_of_the_names(tmp_path: Path) -> None:
    write(tmp_path, 6, "left", hours=2)
    for index, hour in enumerate((23, 3, 11, 7, 19, 15)):
        said = json.dumps({"camera": "left", "captured_utc": f"2026-03-02T{hour:02d}:00:00.000Z"})
        (tmp_path / f"p-{index}.json").write_text(said)
    chosen = choose([tmp_path], least=6)
    assert [picture.path.name for picture in chosen.held_out] == ["p-1.png", "p-5.png"]  # of 3 and of 15 o'clock


@pytest.mark.parametrize("beside", ["", "{", "[1, 2]", '{"camera": 7}', "\x00\xff"])
def test_a_file_beside_a_picture_that_is_no_result_does_no_harm(beside: str, tmp_path: Path) -> None:
    write(tmp_path / "shift 1", 3)
    (tmp_path / "shift 1" / "p-0.json").write_text(beside)
    assert choose([tmp_path], least=3).cameras == ("shift 1",)


def test_pictures_that_boxes_are_drawn_on_never_calibrate(tmp_path: Path) -> None:
    write(tmp_path, 10)
    image = cv2.imread(str(tmp_path / "p-1.png"))
    cv2.imwrite(str(tmp_path / "left-000012-NG.jpg"), cv2.rotate(image, cv2.ROTATE_180))
    chosen = choose([tmp_path], least=10)
    assert chosen.skipped == ("left-000012-NG.jpg: it is a view or a crop of evidence",)
    with pytest.raises(ConfigError, match="1 are evidence, or show what the network never sees"):
        choose([tmp_path], least=11)


@pytest.mark.parametrize("code", ["black", "torn", "frozen"])
def test_pictures_that_the_line_never_asks_the_network_about_do_not_calibrate(code: str, tmp_path: Path) -> None:
    write(tmp_path, 10, "left")
    for index, reason in ((2, code), (3, "late"), (4, "forbidden")):
        said = {"camera": "left", "verdict": "UNKNOWN", "reasons": [{"code": reason, "text": "…", "boxes": []}]}
        (tmp_path / f"p-{index}.json").write_text(json.dumps(said))
    assert choose([tmp_path], least=9).skipped == (
        f"p-2.png: the network is never asked about such a picture ({code})",
    )


@pytest.mark.parametrize(
    ("camera", "hours", "note"),
    [
        ("left", 0.1, r"all pictures are of one camera \(left\)"),
        ("left", 0.02, "all pictures are of 13 minutes"),
        ("", 0.1, "no result beside the pictures says when they were taken"),
    ],
)
def test_a_set_that_is_all_of_a_kind_says_so(camera: str, hours: float, note: str, tmp_path: Path) -> None:
    write(tmp_path, 12, camera, hours=hours)
    assert any(re.match(note, line) for line in choose([tmp_path], least=12).notes)


def test_hidden_folders_are_left_alone(tmp_path: Path) -> None:
    write(tmp_path, 5)
    write(tmp_path / ".trash", 5, name="old")
    assert choose([tmp_path], least=5).found == 5


def test_every_picture_that_is_read_is_told(tmp_path: Path) -> None:
    write(tmp_path, 7)
    told: list[int] = []
    choose([tmp_path], least=7, on_picture=lambda: told.append(1))
    assert len(told) == 7
