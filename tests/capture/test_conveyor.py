"""The camera over the strip of tiles."""

import itertools
from pathlib import Path

import cv2
import numpy as np
import pytest

from app.capture.conveyor import KEPT_TILES, Conveyor, Tiles
from app.config.sections import ConveyorSource
from app.errors import SourceError
from app.verdict import Code
from tests.capture.reading import read_all


def conveyor(path: Path, **keys) -> Conveyor:
    return Conveyor(ConveyorSource(kind="conveyor", path=str(path), **{"paced": False, **keys}))


@pytest.fixture
def tiles(tmp_path: Path) -> Path:
    """Three tiles of 100 × 20 whose grey value is 50, 100, 150 and whose column 0 is white."""
    for number in range(3):
        tile = np.full((20, 100, 3), 50 * (number + 1), np.uint8)
        tile[:, 0] = 255
        cv2.imwrite(str(tmp_path / f"tile{number}.png"), tile)
    return tmp_path


def test_each_picture_shows_what_the_geometry_says(tiles):
    source = conveyor(tiles, belt_px_s=300.0, fps=10.0, parts=4)
    pictures = read_all(source)
    for index, picture in enumerate(pictures):
        for part, offset in source.belt.in_view(index):
            left = max(0, offset)
            assert picture.image_hwc[5, min(99, left + 1), 0] == 50 * (part % 3 + 1)
            assert (picture.image_hwc[5, left, 0] == 255) == (offset >= 0)
    assert len(pictures) == 14, "centre line at 0, 30, … 390 px; 420 is past the fourth part"


def test_the_label_is_the_belt_s_position_under_the_centre_line(tiles):
    pictures = read_all(conveyor(tiles, belt_px_s=300.0, fps=10.0, parts=1))
    assert [picture.label for picture in pictures] == ["belt 0 px", "belt 30 px", "belt 60 px", "belt 90 px"]


def test_a_picture_is_the_reader_s_own_and_never_written_again(tiles):
    with conveyor(tiles, belt_px_s=1.0, fps=10.0) as source:
        first = source.read(0.0)
        kept = first.image_hwc.copy()
        assert not np.shares_memory(first.image_hwc, source.read(0.0).image_hwc)
    np.testing.assert_array_equal(first.image_hwc, kept)


def test_few_tiles_are_kept_in_memory(tiles):
    for number in range(3, 12):
        (tiles / f"tile{number}.png").write_bytes((tiles / "tile0.png").read_bytes())
    strip = Tiles(tiles)
    strip.open()
    for part in range(40):
        strip.get(part)
    assert len(strip._decoded) <= KEPT_TILES


def test_a_torn_tile_is_a_picture_with_a_fault(tiles):
    data = (tiles / "tile1.png").read_bytes()
    (tiles / "tile1.png").write_bytes(data[: len(data) // 2])
    pictures = read_all(conveyor(tiles, belt_px_s=1000.0, fps=10.0, parts=3))
    faults = [picture.fault and picture.fault.code for picture in pictures]
    assert faults == [None, Code.TORN, Code.TORN, None], "tile 1 is in view around belt positions 100 and 200"


def test_tiles_of_different_sizes_are_refused_with_their_name(tiles):
    cv2.imwrite(str(tiles / "tile1.png"), np.zeros((20, 90, 3), np.uint8))
    with pytest.raises(SourceError, match=r"tile1\.png: the tile is 90x20, the first is 100x20"):
        read_all(conveyor(tiles, belt_px_s=1000.0, fps=10.0, parts=3))


@pytest.mark.parametrize("folder", ["empty", "nowhere"])
def test_a_folder_without_tiles_is_an_error(folder, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match=folder), conveyor(tmp_path / folder):
        pass


def test_the_covers_line_shows_every_cover_whole_where_its_truth_says(covers, covers_truth):
    source = conveyor(covers, belt_px_s=960.0, fps=10.0, parts=5)
    whole = set()
    for index, picture in enumerate(read_all(source)):
        for part, offset in source.belt.in_view(index):
            x1, y1, x2, y2 = covers_truth[part % len(covers_truth)]["objects"][0]["bbox_xyxy"]
            if x1 + offset < 0 or x2 + offset > 960:
                continue
            whole.add(part)
            inside = picture.image_hwc[
                round(y1) + 20 : round(y2) - 20, round(x1 + offset) + 20 : round(x2 + offset) - 20
            ]
            assert inside.mean() > picture.image_hwc[:8].mean(), "a cover is brighter than the belt"
    assert whole >= set(range(5))


def test_a_paced_camera_exposes_on_its_own_clock(tiles):
    with conveyor(tiles, fps=200.0, paced=True) as source:
        pictures = [source.read(1.0) for _ in range(10)]
    steps = {(b.exposed_ns - a.exposed_ns) % 5_000_000 for a, b in itertools.pairwise(pictures)}
    assert steps == {0}, "whole periods of 5 ms, whenever they were read"
    assert all(picture.exposed_ns <= picture.arrived_ns for picture in pictures)
