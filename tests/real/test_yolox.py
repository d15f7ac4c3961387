"""A public YOLOX network that nobody here made finds what is in public photos (outside the repository; else skipped)."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from app.config.sections import Decode, Input, Model, Nms
from app.decode.decoder import Decoder
from app.decode.family import detect_family
from app.decode.heads import head_for
from app.detections import Detections
from app.errors import ModelError
from app.inference.model_file import read_model
from app.inference.onnxruntime import OnnxBackend
from app.model import Family
from app.preprocess.cpu import CpuPreprocessor
from app.preprocess.input_spec import input_spec

ROOT = Path(__file__).resolve().parents[2]
NETWORK = ROOT.parent / "shared" / "models" / "yolox_nano_coco_416.onnx"
PHOTOS = Path("/usr/share/doc/opencv-doc/examples/data")
PERSON, BALL, ORANGE, BOOK = 0, 32, 49, 73
NAMES = [f"coco {index}" for index in range(80)]

pytestmark = pytest.mark.skipif(not NETWORK.exists(), reason=f"needs {NETWORK.name}, which is not part of the project")


def look(photo: str, tmp_path: Path) -> tuple[Detections, tuple[int, int]]:
    """Run one photo the whole way, told nothing but the names."""
    image = cv2.imread(str(PHOTOS / photo))
    if image is None:
        pytest.skip(f"needs {PHOTOS / photo}, from the Debian package opencv-doc")
    info = read_model(NETWORK, names=NAMES)
    family, classes = detect_family(info, Decode())
    spec = input_spec(info, Input(), family)
    feed = np.empty((1, *spec.sample_shape), spec.dtype)
    letterbox = CpuPreprocessor(spec).run(image, feed[0])
    head = head_for(family, info, classes, spec.network_wh, Decode())
    with OnnxBackend(info, Model(path=str(NETWORK)), cache=tmp_path) as backend:
        outputs = backend.infer({spec.name: feed})
        found = Decoder(head, Nms(), info.names or (), classes).run(outputs, letterbox, 0.3)
    return found, (image.shape[1], image.shape[0])


@pytest.mark.parametrize(
    ("photo", "expected"),
    [
        ("fruits.jpg", {ORANGE: 0.64}),
        ("messi5.jpg", {PERSON: 0.85, BALL: 0.89}),
        ("box_in_scene.png", {BOOK: 0.48}),
    ],
)
def test_dec_08_things_in_real_photos_are_found(photo: str, expected: dict[int, float], tmp_path: Path) -> None:
    found, (width, height) = look(photo, tmp_path)
    best = {int(cls): float(found.scores[found.classes == cls].max()) for cls in set(found.classes.tolist())}
    assert {cls: best.get(cls) for cls in expected} == pytest.approx(expected, abs=0.03)
    assert (found.xyxy >= 0).all()
    assert (found.xyxy <= [width, height, width, height]).all()


def test_dec_08_ball_lies_where_the_ball_is(tmp_path: Path) -> None:
    found, _ = look("messi5.jpg", tmp_path)
    ball = found.where(found.classes == BALL)
    # Measured by eye in the photo; padding above would move it down by half the difference of the sides.
    np.testing.assert_allclose(ball.centres()[0], (362, 312), atol=8)


def test_dec_04_without_names_the_file_is_ambiguous_and_says_what_to_set() -> None:
    with pytest.raises(ModelError, match=r"ambiguous.*set decode\.family"):
        detect_family(read_model(NETWORK), Decode())
    assert detect_family(read_model(NETWORK), Decode(family="yolox")) == (Family.YOLOX, 80)
