"""Calibration pictures are prepared as the running line prepares them, to the last bit."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from app.building.int8.feeds import calibration_sha256, feeds_of
from app.building.int8.pictures import CalibrationPicture, CalibrationSet, choose
from app.capture.images import Images
from app.config import sections
from app.config.sources import ImagesSource
from app.engine import HostEngine, Look
from app.errors import ConfigError
from app.wiring.models import build_model
from tests.building.int8.conftest import COVERS, PICTURES


@dataclass
class Recording:
    """Stands for the network: keeps what the running engine feeds it."""

    fed: list[bytes]
    provider: str = "none"

    def infer(self, feeds):
        self.fed.append(next(iter(feeds.values())).tobytes())
        return {"output0": np.zeros((1, 9, 2100), np.float32)}


def wired(**input_section: object) -> HostEngine:
    section = sections.Model(path=str(COVERS), input=sections.Input(**input_section))
    return build_model("covers", section).engine


def chosen(line: Path) -> CalibrationSet:
    return choose([line], least=PICTURES)


@pytest.mark.parametrize(
    "size_wh",
    [
        (320, 240),  # as collected
        (1920, 1080),  # shrunk
        (101, 333),  # enlarged, odd, taller than wide
    ],
)
def test_mdl_15_calibration_feeds_are_bit_identical_to_what_the_running_line_feeds(
    size_wh: tuple[int, int], engine: HostEngine, tmp_path: Path
) -> None:
    random = np.random.default_rng(3)
    for index in range(3):
        image = random.integers(0, 256, (size_wh[1], size_wh[0], 3), np.uint8)
        cv2.imwrite(str(tmp_path / f"{index}.png"), image)
    running = Recording([])
    source = Images(ImagesSource(kind="images", path=str(tmp_path)))
    with source:
        pictures = [source.read(1.0) for _ in range(3)]
    other = replace(wired(), backend=running)
    for picture in pictures:
        other.look([Look(picture.image_hwc, 0.25)])
    set_of_three = choose([tmp_path], least=3)
    ordered = sorted((*set_of_three.calibrate, *set_of_three.held_out), key=lambda picture: picture.path.name)
    calibrating = [next(iter(feeds.values())).tobytes() for feeds in feeds_of(engine, ordered)]
    assert calibrating == running.fed
    assert len(set(calibrating)) == 3


def test_the_hash_is_the_same_for_the_same_pictures_and_preprocessing(line: Path) -> None:
    assert calibration_sha256(wired(), chosen(line)) == calibration_sha256(wired(), chosen(line))


@pytest.mark.parametrize(
    "other",
    [
        {"scale": 1.0},  # 0…255, the classic: a calibration in another range than the line's
        {"colour": "bgr"},
        {"placement": "top_left"},
        {"pad_value": 0},
    ],
)
def test_mdl_15_another_preprocessing_is_another_calibration(other: dict[str, object], line: Path) -> None:
    assert calibration_sha256(wired(**other), chosen(line)) != calibration_sha256(wired(), chosen(line))


def test_other_pictures_and_another_split_are_another_calibration(engine: HostEngine, line: Path) -> None:
    whole = chosen(line)
    without_one = replace(whole, calibrate=whole.calibrate[1:])
    swapped = replace(whole, calibrate=(whole.held_out[0], *whole.calibrate), held_out=whole.held_out[1:])
    hashes = {calibration_sha256(engine, one) for one in (whole, without_one, swapped)}
    assert len(hashes) == 3


def test_a_picture_that_went_away_is_named(engine: HostEngine, tmp_path: Path) -> None:
    gone = CalibrationPicture(tmp_path / "gone.png", "", "", hashlib.sha256(b"").hexdigest())
    with pytest.raises(ConfigError, match=r"gone\.png.*leave the folder alone"):
        next(feeds_of(engine, [gone]))
