"""Pictures of the covers line as a shift would give them: the belt at any position, the light a little different."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path

import cv2
import numpy as np

from app.capture.conveyor import Conveyor
from app.config.sections import ConveyorSource

ROOT = Path(__file__).resolve().parents[3]
BEGIN = datetime(2026, 3, 2, 6, 0, tzinfo=timezone.utc)
STEP_PX = 997  # of the belt, from picture to picture: a part of 960 px and a little, so that no two lie alike


def write_line(folder: Path, count: int, *, seed: int = 0, scale: float = 1.0, camera: str = "covers") -> Path:
    """Write pictures and the results that lie beside them; one every two minutes."""
    random = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    tiles = str(ROOT / "samples" / "covers")
    section = ConveyorSource(kind="conveyor", path=tiles, belt_px_s=STEP_PX, fps=1, paced=False, parts=0)
    with Conveyor(section) as conveyor:
        for index in range(count):
            picture = conveyor.read(1.0)
            image = lit(picture.image_hwc, random)
            if scale != 1.0:
                image = cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
            path = folder / f"{camera}-{index:06d}.png"
            cv2.imwrite(str(path), image, [cv2.IMWRITE_PNG_COMPRESSION, 1])
            taken = (BEGIN + timedelta(minutes=2 * index)).isoformat().replace("+00:00", "Z")
            path.with_suffix(".json").write_text(json.dumps({"camera": camera, "captured_utc": taken, "seq": index}))
    return folder


def lit(image: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Another lamp: brighter or darker by an eighth, from one side, a little warmer, with the sensor's noise."""
    height, width = image.shape[:2]
    gain = random.uniform(0.88, 1.12) * (1 + random.uniform(-0.06, 0.06) * np.linspace(-1, 1, width)[None, :, None])
    warm = 1 + random.uniform(-0.03, 0.03) * np.array([-1, 0, 1])
    noise = random.normal(0, 1.5, (height, width, 1))
    return np.clip(image * gain * warm + noise, 0, 255).round().astype(np.uint8)
