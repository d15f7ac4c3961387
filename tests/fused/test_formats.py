"""Every format of a camera, whole and in parts, against the steps on the host; threads; many lives."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.detections import Detections
from app.engine import Engine, Look
from app.errors import GpuError
from app.frame import AnyImage, PixelFormat, Pixels, crop
from tests.fused.cells import host_engine, painted
from tests.fused.conftest import Make
from tests.gpu.fake_driver import FakeDriver

SLACK = 1.001 / 255
"""How far scores may lie apart: the host rounds to whole bytes when it has resized."""

FORMATS = [pixels for pixels in PixelFormat if pixels is not PixelFormat.BGR8]


def sent(seed: int, pixels: PixelFormat, size_wh: tuple[int, int]) -> Pixels:
    """A picture of patches in a camera's format: its bytes are what they are, whatever they show."""
    random = np.random.default_rng(seed)
    shape = pixels.shape(size_wh)
    data = random.integers(20, 60, shape)
    for _ in range(4):
        y, x = random.integers(0, shape[0] - 30), random.integers(0, shape[1] - 30)
        data[y : y + 30, x : x + 30] = random.integers(0, 256)
    if pixels.bits > 8:
        data *= 16
    return Pixels(data.astype(pixels.dtype), pixels)


def found_by(engine: Engine, image: AnyImage, min_score: float) -> np.ndarray:
    """The corners of what scores enough, (n, 4); not its class, since two colours may be equally bright."""
    (found,) = engine.look([Look(image, min_score)])
    assert isinstance(found, Detections)
    return found.xyxy


def assert_agree(fused: Engine, host: Engine, image: AnyImage) -> None:
    """What one surely finds, the other finds."""
    for one, other in ((fused, host), (host, fused)):
        sure, all_ = found_by(one, image, 0.4 + SLACK), found_by(other, image, 0.4)
        apart = np.abs(sure[:, np.newaxis] - all_).max(axis=2, initial=0)
        assert (apart.min(axis=1, initial=np.inf) < 0.1).all()


@pytest.mark.parametrize("pixels", FORMATS, ids=lambda pixels: pixels.value)
def test_a_camera_s_format_and_parts_of_it_are_seen_as_on_the_host(
    make: Make, tmp_path: Path, pixels: PixelFormat
) -> None:
    fused, host = make(options={"formats": [(pixels, (160, 120))]}), host_engine(tmp_path)
    with fused.backend, host.backend:
        for seed in range(3):
            image = sent(seed, pixels, (160, 120))
            for region in ((0, 0, 160, 120), (10, 6, 150, 110), (33, 17, 94, 80), (0, 0, 64, 64)):
                assert_agree(fused, host, crop(image, region))


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    size_wh=st.tuples(st.integers(41, 200), st.integers(41, 200)),
    corners=st.tuples(*[st.floats(0, 1)] * 4),
    seed=st.integers(0, 99),
)
def test_any_size_and_any_part_is_seen_as_on_the_host(
    make: Make, tmp_path: Path, size_wh: tuple[int, int], corners: tuple[float, ...], seed: int
) -> None:
    width, height = size_wh
    left, right = sorted((int(corners[0] * (width - 8)), int(corners[1] * (width - 8))))
    top, bottom = sorted((int(corners[2] * (height - 8)), int(corners[3] * (height - 8))))
    image = painted(seed, size_wh)
    fused, host = make(), host_engine(tmp_path)
    with fused.backend, host.backend:
        assert_agree(fused, host, image)
        assert_agree(fused, host, crop(image, (left, top, right + 8, bottom + 8)))


def test_another_thread_may_not_look(make: Make) -> None:
    fused = make()
    said: list[str] = []

    def elsewhere() -> None:
        try:
            fused.look([Look(painted(0), 0.5)])
        except GpuError as error:
            said.append(str(error))

    with fused.backend:
        other = threading.Thread(target=elsewhere, name="elsewhere")
        other.start()
        other.join()
    assert "used on the thread 'elsewhere', but 'MainThread' owns the context" in said[0]


def test_many_lives_leave_nothing_behind(make: Make, driver: FakeDriver) -> None:
    fused = make(options={"formats": [(PixelFormat.BGR8, (160, 120))]})
    for seed in range(20):
        with fused.backend:
            fused.look([Look(painted(seed), 0.5)])
        assert driver.live() == {}
    assert driver.depth() == 0
