"""Parts that do what they are told to."""

import time

import numpy as np
import pytest

from app.bench.soak.unruly import NOT_FOUND_EVERY, QuickEngine, Troubles, UnrulySource
from app.bench.soak.wall import WallClock
from app.capture.scripted import Scripted, picture_of
from app.engine import Look
from app.errors import SourceLost

LONG_S = 1000.0


@pytest.fixture
def troubles():
    return Troubles()


@pytest.fixture
def source(troubles):
    return UnrulySource("side", Scripted([picture_of(value) for value in range(100, 110)]), troubles)


def read(source):
    return source.read(0.1).data[0, 0, 0]


def test_without_trouble_it_is_the_camera_itself(source):
    with source:
        assert [read(source), read(source)] == [100, 101]


def test_a_lost_camera_can_be_neither_read_nor_opened(source, troubles):
    with source:
        troubles.begin("lost side", LONG_S)
        with pytest.raises(SourceLost):
            source.read(0.1)
    with pytest.raises(SourceLost):
        source.__enter__()


def test_a_frozen_camera_gives_its_last_picture_and_a_black_one_nothing_to_see(source, troubles):
    with source:
        assert read(source) == 100
        troubles.begin("frozen side", LONG_S)
        assert [read(source), read(source)] == [100, 100]
        troubles.begin("black side", LONG_S)
        assert read(source) == 0


def test_a_trouble_of_one_camera_is_none_of_another_and_ends_by_itself(source, troubles):
    troubles.begin("black top", LONG_S)
    troubles.begin("black side", 0.0)
    with source:
        assert read(source) == 100


def test_the_quick_engine_finds_a_cover_nearly_always():
    engine = QuickEngine(("cover",))
    counts = [len(found) for found in engine.look([Look(np.zeros((9, 9, 3), np.uint8), 0.1)] * NOT_FOUND_EVERY)]
    assert counts == [1] * (NOT_FOUND_EVERY - 1) + [0]


def test_the_wall_clock_can_be_set_and_the_monotonic_one_goes_on():
    clock, began_s, monotonic_s = WallClock(), time.time(), time.monotonic()
    undo = clock.take_over()
    try:
        clock.step(-7200)
        assert time.time() - began_s == pytest.approx(-7200, abs=60)
        assert time.time_ns() / 1e9 - began_s == pytest.approx(-7200, abs=60)
        assert 0 <= time.monotonic() - monotonic_s < 60
    finally:
        undo()
    assert time.time() >= began_s
