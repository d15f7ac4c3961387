"""What the decoding tests share: the canonical object (KBOX) and a model's description without a model."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from app.letterbox import Letterbox, fit
from app.model import ModelInfo, TensorSpec

COCO = tuple(f"thing {index}" for index in range(80))


@pytest.fixture
def eighty() -> tuple[str, ...]:
    """Eighty class names."""
    return COCO


@pytest.fixture
def landscape() -> Letterbox:
    """A 1280 x 720 picture in a 640 x 640 input: gain 0.5, 140 px of padding above and below."""
    return fit((1280, 720), (640, 640))


@pytest.fixture
def kbox_yolov8() -> np.ndarray:
    """[1, 84, 8400] with KBOX (centre 320, 240, size 100 x 50, class 17, score 0.9) at anchor 4000."""
    output = np.zeros((1, 84, 8400), np.float32)
    output[0, :4, 4000] = 320, 240, 100, 50
    output[0, 4 + 17, 4000] = 0.9
    return output


Describe = Callable[..., ModelInfo]


@pytest.fixture
def describe() -> Describe:
    """Build what a model file says of itself."""

    def build(
        *outputs: tuple[int | None, ...] | TensorSpec,
        names: tuple[str, ...] | None = COCO,
        input_wh: tuple[int | None, int | None] = (640, 640),
        **metadata: str,
    ) -> ModelInfo:
        specs = tuple(
            output if isinstance(output, TensorSpec) else TensorSpec(f"output{index}", output, "float32")
            for index, output in enumerate(outputs)
        )
        images = TensorSpec("images", (1, 3, input_wh[1], input_wh[0]), "float32")
        return ModelInfo(Path("model.onnx"), "0" * 64, (images,), specs, names, metadata)

    return build
