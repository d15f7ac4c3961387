"""A synthetic load on the line, and sources in memory."""

import io

import numpy as np
import pytest
from rich.console import Console

from app.bench.held import Held, Limited
from app.bench.load import Load, run_load, size_of, synthetic
from app.config import load
from app.errors import ConfigError, EndOfStream
from app.frame import Picture
from tests.conftest import ROOT


def pictures(count: int) -> list[Picture]:
    return [Picture(np.full((4, 4, 3), number, np.uint8), 0, 0, str(number)) for number in range(count)]


def test_held_pictures_go_round_and_are_exposed_when_they_are_read():
    with Held(pictures(2)) as source:
        read = [source.read(0.0) for _ in range(5)]
    assert [picture.label for picture in read] == ["0", "1", "0", "1", "0"]
    assert all(0 < picture.exposed_ns <= picture.arrived_ns for picture in read)
    assert [one.exposed_ns for one in read] == sorted(one.exposed_ns for one in read)


def test_a_limited_source_ends_after_so_many_pictures_and_knows_when_it_was_asked():
    source = Limited(Held(pictures(2)), 3)
    with source:
        for _ in range(3):
            source.read(0.0)
        with pytest.raises(EndOfStream):
            source.read(0.0)
    assert len(source.asked_ns) == 4


def test_a_limited_source_ends_sooner_where_its_watcher_has_had_enough():
    with Limited(Held(pictures(2)), 9, lambda picture: picture.label != "1") as source:
        source.read(0.0)
        source.read(0.0)
        with pytest.raises(EndOfStream):
            source.read(0.0)


@pytest.mark.parametrize(("text", "size_wh"), [("1920x1080", (1920, 1080)), (" 64X48 ", (64, 48)), ("4×3", (4, 3))])
def test_a_size_is_width_by_height(text, size_wh):
    assert size_of(text) == size_wh


@pytest.mark.parametrize("text", ["", "1920", "0x4", "axb", "1920x1080x3", "99999x1"])
def test_what_is_no_size_is_refused_with_an_example(text):
    with pytest.raises(ConfigError, match="1920x1080"):
        size_of(text)


def test_every_camera_of_the_load_is_like_the_first_one_but_for_its_source():
    line = synthetic(load(ROOT / "configs" / "demo.yaml"), Load(3, 5.0, (320, 240), 1.0))
    assert list(line.config.cameras) == ["camera-1", "camera-2", "camera-3"]
    for camera in line.config.cameras.values():
        assert (camera.source.width, camera.source.height, camera.source.fps) == (320, 240, 5.0)
        assert camera.gate is None
        assert [rule.region for rule in camera.judge.rules] == [None] * 4


def test_every_picture_of_the_load_gets_a_verdict_or_is_counted():
    console = Console(file=io.StringIO(), width=120)
    found = run_load(console, load(ROOT / "configs" / "demo.yaml"), Load(2, 10.0, (320, 240), 0.5))
    assert found["total"].count >= 2
    assert {"capture", "wait", "network", "total"} <= found.keys()
    assert "10 pictures" in console.file.getvalue()
