"""One network on the CPU as the service wires it, which counts how often it is asked to look."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from typing_extensions import Self

from app.config.sections import Model
from app.detections import Detections
from app.engine import Look
from app.errors import BadOutput
from app.wiring.models import build_model

LEAST = 0.1
"""Of the scores that a look gives, where nothing else is asked for."""


class Network:
    """An engine that is entered for as long as it is used; `keys` are those of the section of a model.

    Attributes:
        looks: pictures looked at so far.
    """

    def __init__(self, path: Path, **keys: object) -> None:
        wired = build_model("covers", Model(path=str(path), threads=1, **keys))
        self.engine, self.names = wired.engine, wired.names
        self.looks = 0

    def __enter__(self) -> Self:
        self.engine.backend.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self.engine.backend.__exit__(*error)

    def look(self, view: np.ndarray, min_score: float = LEAST) -> Detections:
        return self.look_at_all([view], min_score)[0]

    def look_at_all(self, views: Sequence[np.ndarray], min_score: float = LEAST) -> list[Detections]:
        self.looks += len(views)
        found = self.engine.look([Look(view, min_score) for view in views])
        assert not any(isinstance(one, BadOutput) for one in found)
        return found


def with_open_batch(path: Path, out: Path) -> Path:
    """Write a model again with its batch axis open, the weights untouched; returns where."""
    model = onnx.load(path)
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.shape.dim[0].dim_param = "batch"
    # The shapes between the layers say 1, too.
    del model.graph.value_info[:]
    onnx.save(model, out)
    return out
