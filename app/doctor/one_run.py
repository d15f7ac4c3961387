"""One model where its section says: loaded, verified, a picture looked at a few times; a child of the doctor."""

from __future__ import annotations

import logging
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from app.config import load, sections
from app.doctor.child import answer
from app.engine import Engine, Look
from app.errors import TaktsightError
from app.wiring.models import build_model

LOOKS = 10
SIZE_WH = (1280, 720)
MIN_SCORE = 0.5


def run(name: str, section: sections.Model) -> dict[str, Any]:
    """Return where a model runs, how long loading and a look at a picture take, and its warnings; or `fault`."""
    began_s = time.monotonic()
    try:
        engine = build_model(name, section).engine
        with engine.backend:
            load_s = time.monotonic() - began_s
            times_ms = _looks(engine)
            provider = engine.label().rpartition(":")[2]
    except TaktsightError as error:
        return {"fault": " ".join(str(error).split())}
    return {
        "provider": provider,
        "load_s": round(load_s, 2),
        "look_ms": round(median(times_ms), 2),
        "warnings": list(getattr(engine.backend, "warnings", ())),
    }


def _looks(engine: Engine) -> list[float]:
    """Return the milliseconds of each look at a picture of noise."""
    picture = np.random.default_rng(0).integers(0, 256, (SIZE_WH[1], SIZE_WH[0], 3), np.uint8)
    times_ms = []
    for _ in range(LOOKS):
        began_ns = time.perf_counter_ns()
        engine.look([Look(picture, MIN_SCORE)])
        times_ms.append((time.perf_counter_ns() - began_ns) / 1e6)
    return times_ms


if __name__ == "__main__":
    logging.disable()
    answer(run(sys.argv[2], load(Path(sys.argv[1])).config.models[sys.argv[2]]))
