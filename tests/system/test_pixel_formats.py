"""Every kind of pixel format through the whole product: two looks, rules and evidence, as if the camera sent BGR."""

from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from app.bgr import to_bgr
from app.capture.scripted import Scripted
from app.config import LoadedConfig, load, sections
from app.frame import AnyImage, Image, Picture, PixelFormat, Pixels
from app.verdict import Outcome
from app.wiring import Watchers, build
from app.wiring.swap import Swap
from tests.system.lines import CONFIGS

NAMES = ("002_OK.jpg", "003_NG.jpg")


def sent(image_hwc: Image, pixels: PixelFormat) -> Pixels:
    """What a camera with these pixels would send of a scene."""
    height, width = image_hwc.shape[:2]
    yuv = cv2.cvtColor(image_hwc, cv2.COLOR_BGR2YUV_I420)
    chroma = yuv[height:].reshape(2, height // 2, width // 2).transpose(1, 2, 0)
    match pixels:
        case PixelFormat.GRAY8:
            return Pixels(cv2.cvtColor(image_hwc, cv2.COLOR_BGR2GRAY), pixels)
        case PixelFormat.NV12:
            return Pixels(np.concatenate([yuv[:height], chroma.reshape(height // 2, width)]), pixels)
        case PixelFormat.YUYV:
            pairs = chroma.repeat(2, axis=0).reshape(height, width)
            return Pixels(np.stack([yuv[:height], pairs], axis=2), pixels)
    data = np.empty((height, width), pixels.dtype)
    for place, letter in enumerate(pixels.bayer or ""):
        rows, columns = slice(place // 2, None, 2), slice(place % 2, None, 2)
        data[rows, columns] = image_hwc[rows, columns, "bgr".index(letter)]
    return Pixels(data * 16 if pixels.bits > 8 else data, pixels)


def line(folder: Path) -> LoadedConfig:
    """A camera with a second look, and evidence of every part."""
    loaded = load(CONFIGS / "folder.yaml")
    refine = sections.Refine(mode="grid", tile_width=640, tile_height=480, max_regions=4)
    camera = loaded.config.cameras["covers"].model_copy(update={"refine": refine})
    evidence = sections.Evidence(path=str(folder), verdicts=["OK", "NG", "UNKNOWN"])
    update = {"cameras": {"covers": camera}, "mqtt": None, "jsonl": None, "evidence": evidence}
    return replace(loaded, config=loaded.config.model_copy(update=update))


def run(images: list[AnyImage], folder: Path) -> list[Outcome]:
    outcomes: list[Outcome] = []
    pictures = [
        Picture(image.data, 1, 2, format=image.format) if isinstance(image, Pixels) else Picture(image, 1, 2)
        for image in images
    ]
    product = build(line(folder), Watchers(on_judged=outcomes.append), Swap(lambda *_: Scripted(pictures)))
    product.service.run()
    assert product.ledger.counts("covers").balanced
    return outcomes


@pytest.mark.parametrize(
    "pixels", [PixelFormat.NV12, PixelFormat.YUYV, PixelFormat.GRAY8, PixelFormat.BAYER_GRBG8, PixelFormat.BAYER_RGGB12]
)
def test_cam_15_the_same_is_seen_whatever_the_camera_sends(pixels, covers, tmp_path):
    scenes = [cv2.imread(str(covers / name)) for name in NAMES]
    images = [sent(scene, pixels) for scene in scenes]
    raw = run(images, tmp_path / "raw")
    bgr = run([to_bgr(image) for image in images], tmp_path / "bgr")

    assert [outcome.size_wh for outcome in raw] == [(960, 720)] * len(NAMES)
    for one, other in zip(raw, bgr, strict=True):
        assert one.judgement.verdict is other.judgement.verdict
        assert one.looked == other.looked
        assert one.looked
        np.testing.assert_array_equal(one.detections.classes, other.detections.classes)
        np.testing.assert_allclose(one.detections.xyxy, other.detections.xyxy, atol=0.5)
        np.testing.assert_allclose(one.detections.scores, other.detections.scores, atol=0.01)
    if pixels in (PixelFormat.NV12, PixelFormat.YUYV):  # with colours that are nearly the scene's own
        assert [outcome.judgement.verdict.value for outcome in raw] == ["OK", "NG"]
    saved = [cv2.imread(str(path)) for path in sorted((tmp_path / "raw").rglob("*.jpg"))]
    expected = [cv2.imread(str(path)) for path in sorted((tmp_path / "bgr").rglob("*.jpg"))]
    assert len(saved) == len(NAMES)
    for one, other in zip(saved, expected, strict=True):
        assert one.shape == other.shape
        assert np.abs(one[:720].astype(int) - other[:720]).mean() < 1
