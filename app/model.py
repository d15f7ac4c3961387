"""What a model file says of itself: its tensors, its names, its family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path


class Family(str, Enum):
    """How a YOLO head lays out its numbers; the config key `decode.family` takes these words.

    Shapes are for one picture; C is the number of classes, N the number of candidates.
    """

    YOLOV5 = "yolov5"  # [1, N, 5 + C]: cx, cy, w, h, objectness, classes (v5, v7, v6 as its own tools export it)
    YOLOV8 = "yolov8"  # [1, 4 + C, N]: cx, cy, w, h, classes (v8, v9, v11, v12, Ultralytics' v6); also transposed
    END_TO_END = "end_to_end"  # [1, N, 6]: x1, y1, x2, y2, score, class (v10, YOLO26)
    YOLOV7_ROWS = "yolov7_rows"  # [N, 7]: batch, x1, y1, x2, y2, class, score (v7 exported with its NMS)
    YOLOX = "yolox"  # [1, N, 5 + C] not grid-decoded; top-left letterbox, BGR, 0…255
    NMS_IN_GRAPH = "nms_in_graph"  # num_dets, boxes, scores, classes (EfficientNMS and its like)
    TWO_OUTPUTS = "two_outputs"  # [1, N, 4] x1, y1, x2, y2 and [1, N, C] scores
    SEGMENT = "segment"  # [1, 4 + C + 32, N] and mask prototypes [1, 32, h, w]
    OBB = "obb"  # [1, 4 + C + 1, N]: cx, cy, w, h, classes, angle in radians


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """One input or output of a network.

    Attributes:
        shape: its axes; None where the file leaves one open.
        dtype: as NumPy names it: "float32", "float16", "uint8", "int64", …
    """

    name: str
    shape: tuple[int | None, ...]
    dtype: str


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What stands in one model file, before any of it runs.

    Attributes:
        sha256: of the file, 64 hex digits.
        names: the class names by index, or None where the file has none that can be read.
        metadata: the file's own key and value texts, unread.
        warnings: what a person should know before trusting it, one line each.
    """

    path: Path
    sha256: str
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    names: tuple[str, ...] | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def check_names(names: Sequence[str] | None, channels: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return exactly one name for each class channel of the output, and the warnings that a person should read.

    Channels without a name are called `class_17`, so no class id is ever without one; names without a channel go.

    Args:
        names: of the file or the configuration; None where neither has any, which was warned of when it was read.
        channels: how many classes the output has.
    """
    found = tuple(names or ())
    filled = found[:channels] + tuple(f"class_{index}" for index in range(len(found), channels))
    if names is None or len(found) == channels:
        return filled, ()
    end = "the rest are called class_N" if len(found) < channels else "the rest are not used"
    return filled, (
        f"names: there are {len(found)} and the output has {channels} class channels; {end}: check `names`",
    )
