"""Every head family gives the canonical object (KBOX) the same place in the picture, and never a wrong answer quietly.

KBOX: centre (320, 240), size 100 x 50, class 17, score 0.9 in a 640 x 640 input that shows a 1280 x 720 picture.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from app.config.sections import Decode, Nms
from app.decode.decoder import Decoder
from app.decode.family import detect_family
from app.decode.heads import head_for
from app.detections import Detections
from app.errors import BadOutput
from app.letterbox import fit
from app.model import Family, ModelInfo, TensorSpec

NAMES = tuple(f"thing {index}" for index in range(80))
INPUT_WH = (640, 640)
PICTURE_WH = (1280, 720)
XYXY = (270, 215, 370, 265)


@dataclass(frozen=True)
class Export:
    """A network without the network: its outputs with KBOX in them, and what its file says."""

    family: Family
    outputs: dict[str, np.ndarray]
    score: float = 0.9
    metadata: tuple[tuple[str, str], ...] = ()
    rows: tuple[int, ...] = (0, 1, 2, 3)
    place: tuple[float, ...] = (540, 150, 740, 250)

    def info(self, *, is_open: bool = False) -> ModelInfo:
        """What stands in the file; with open axes where a dynamic export has them."""
        specs = [
            TensorSpec(name, tuple(None if is_open and size > 99 else size for size in array.shape), str(array.dtype))
            for name, array in self.outputs.items()
        ]
        images = TensorSpec("images", (1, 3, 640, 640), "float32")
        return ModelInfo(Path("model.onnx"), "0" * 64, (images,), tuple(specs), NAMES, dict(self.metadata))

    def decoder(self, *, is_open: bool = False, family: str | None = None) -> Decoder:
        """The decoder that a service would use for it."""
        info, section = self.info(is_open=is_open), Decode(family=family)
        found, classes = detect_family(info, section)
        assert found is self.family
        return Decoder(head_for(found, info, classes, INPUT_WH, section), Nms(), NAMES, classes)

    def run(self, outputs: dict[str, np.ndarray], min_score: float = 0.25) -> Detections:
        """Decode outputs as this export's, on the landscape picture."""
        letterbox = fit(PICTURE_WH, INPUT_WH, top_left=self.family is Family.YOLOX)
        return self.decoder().run(outputs, letterbox, min_score)


def filled(shape: tuple[int, ...], index: tuple, values: dict[object, float]) -> np.ndarray:
    """Zeros with a few values along one candidate."""
    array = np.zeros(shape, np.float32)
    row = array[index]
    for where, value in values.items():
        row[where] = value
    return array


CENTRE = {0: 320, 1: 240, 2: 100, 3: 50}
CORNERS = dict(enumerate(XYXY))

EXPORTS = {
    "yolov5": Export(
        Family.YOLOV5,
        {"output0": filled((1, 25200, 85), (0, 12345), {**CENTRE, 4: 0.95, 5 + 17: 0.9})},
        score=0.855,
    ),
    # segmentation of the YOLOv5 kind: mask coefficients are no classes
    "yolov5 with masks": Export(
        Family.YOLOV5,
        {
            "output0": filled((1, 25200, 117), (0, 12345), {**CENTRE, 4: 0.95, 5 + 17: 0.9, 110: 5.0}),
            "output1": np.zeros((1, 32, 160, 160), np.float32),
        },
        score=0.855,
    ),
    "yolov8": Export(
        Family.YOLOV8,
        {"output0": filled((1, 84, 8400), (0, slice(None), 4000), {**CENTRE, 4 + 17: 0.9})},
    ),
    "yolov8 in rows": Export(
        Family.YOLOV8,
        {"output0": filled((1, 8400, 84), (0, 4000), {**CENTRE, 4 + 17: 0.9})},
    ),
    "end to end": Export(
        Family.END_TO_END,
        {"output0": filled((1, 300, 6), (0, 0), {**CORNERS, 4: 0.9, 5: 17})},
    ),
    "yolov7 rows": Export(
        Family.YOLOV7_ROWS,
        {"output": filled((1, 7), (0,), {0: 0, **{1 + i: x for i, x in enumerate(XYXY)}, 5: 17, 6: 0.9})},
    ),
    # top left, so no 140 px of padding are taken off
    "yolox": Export(
        Family.YOLOX,
        {
            "output": filled(
                (1, 8400, 85), (0, 2359), {0: 1, 1: 1, 2: np.log(12.5), 3: np.log(6.25), 4: 0.95, 5 + 17: 0.9}
            )
        },
        score=0.855,
        place=(540, 430, 740, 530),
    ),
    "suppression in the graph": Export(
        Family.NMS_IN_GRAPH,
        {
            "num_dets": np.array([[1]], np.int32),
            "det_boxes": filled((1, 100, 4), (0, 0), CORNERS),
            "det_scores": filled((1, 100), (0,), {0: 0.9}),
            "det_classes": filled((1, 100), (0,), {0: 17}).astype(np.int32),
        },
    ),
    "two outputs": Export(
        Family.TWO_OUTPUTS,
        {
            "boxes": filled((1, 8400, 4), (0, 4000), CORNERS),
            "scores": filled((1, 8400, 80), (0, 4000), {17: 0.9}),
        },
    ),
    "segment": Export(
        Family.SEGMENT,
        {
            "output0": filled((1, 116, 8400), (0, slice(None), 4000), {**CENTRE, 4 + 17: 0.9, 100: 5.0}),
            "output1": np.zeros((1, 32, 160, 160), np.float32),
        },
    ),
    "rotated": Export(
        Family.OBB,
        {"output0": filled((1, 85, 8400), (0, slice(None), 4000), {**CENTRE, 4 + 17: 0.9, 84: 1.2})},
        metadata=(("task", "obb"),),
    ),
}


@pytest.fixture(params=EXPORTS, ids=lambda name: name.replace(" ", "_"))
def export(request: pytest.FixtureRequest) -> Export:
    """Every way that people export their networks."""
    return EXPORTS[request.param]


def test_canonical_object_lies_where_it_is_in_the_picture(export: Export) -> None:
    found = export.run(export.outputs)
    assert found.classes.tolist() == [17]
    assert found.name(0) == "thing 17"
    np.testing.assert_allclose(found.scores, [export.score], rtol=1e-6)
    np.testing.assert_allclose(found.xyxy, [export.place], atol=2e-3)


def test_dec_06_family_is_found_without_a_word_in_the_configuration_and_with_the_right_one(export: Export) -> None:
    for family in (None, export.family.value):
        assert isinstance(export.decoder(family=family), Decoder)


def test_open_axes_give_the_same_head_where_the_family_is_named(export: Export) -> None:
    decoder = export.decoder(is_open=True, family=export.family.value)
    found = decoder.run(export.outputs, fit(PICTURE_WH, INPUT_WH, top_left=export.family is Family.YOLOX), 0.25)
    np.testing.assert_allclose(found.xyxy, [export.place], atol=2e-3)


def test_score_decides_at_the_threshold(export: Export) -> None:
    assert len(export.run(export.outputs, export.score - 0.005)) == 1
    assert len(export.run(export.outputs, export.score + 0.005)) == 0


def test_dec_05_padding_of_score_zero_is_never_a_detection(export: Export) -> None:
    empty = {name: np.zeros_like(array) for name, array in export.outputs.items()}
    if export.family is Family.NMS_IN_GRAPH:
        empty["num_dets"] = np.array([[100]], np.int32)
    assert len(export.run(empty, 0.0)) == 0


def test_dec_01_score_that_cannot_be_is_an_error_and_no_detection(export: Export) -> None:
    broken = {name: np.where(array == np.float32(0.9), 94, array) for name, array in export.outputs.items()}
    with pytest.raises(BadOutput, match=f"read as {export.family.value}: a score of 94 is not within"):
        export.run(broken)


def test_nan_is_an_error_and_no_detection(export: Export) -> None:
    main = max(export.outputs, key=lambda name: export.outputs[name].ndim == 3)
    broken = dict(export.outputs)
    broken[main] = np.where(broken[main] == broken[main].max(), np.nan, broken[main]).astype(np.float32)
    with pytest.raises(BadOutput):
        export.run(broken)


def test_nothing_is_written_to_the_borrowed_outputs(export: Export) -> None:
    outputs = {name: array.copy() for name, array in export.outputs.items()}
    for array in outputs.values():
        array.flags.writeable = False
    assert len(export.run(outputs)) == 1


def test_nothing_of_the_borrowed_outputs_is_kept(export: Export) -> None:
    outputs = {name: array.copy() for name, array in export.outputs.items()}
    found = export.run(outputs)
    before = found.xyxy.copy(), found.scores.copy(), found.classes.copy()
    for array in outputs.values():
        array.fill(0)
    for kept, copied in zip((found.xyxy, found.scores, found.classes), before, strict=True):
        np.testing.assert_array_equal(kept, copied)


NUMBERS = st.one_of(
    st.floats(width=32),
    st.floats(0, 1, width=32),
    st.sampled_from([0, 0.25, 0.9, 1, 17, 79, 80, 320, 640, -1, -0.0, 3e38, 65536, 1e-45]).map(np.float32),
)


def garbage(shape: tuple[int, ...]) -> st.SearchStrategy:
    return arrays.arrays(np.float32, shape, elements=NUMBERS, fill=st.just(np.float32(0)))


def patched(draw: Callable, outputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The outputs with garbage over a few candidates, and now and then another shape or type."""
    result = {}
    for name, array in outputs.items():
        copy = array.astype(draw(st.sampled_from([np.float32, np.float32, np.float32, np.float16])))
        flat = copy.reshape(-1)
        values = draw(garbage((16,)))
        with np.errstate(over="ignore"):
            flat[draw(arrays.arrays(np.int64, 16, elements=st.integers(0, flat.size - 1)))] = values
        result[name] = draw(st.sampled_from([copy, copy, copy, copy[..., :0], copy[:0], copy.reshape(-1)]))
    return result


def is_sound(decode: Callable[[], Detections]) -> bool:
    """Whether decoding gives possible detections, best first, or a planned error of one line."""
    try:
        found = decode()
    except BadOutput as error:
        return "\n" not in str(error) and str(error).startswith("output '")
    possible = ((found.scores > 0) & (found.scores <= 1)).all() and np.isfinite(found.xyxy).all()
    return bool(possible and (np.diff(found.scores) <= 0).all())


@settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_garbage_gives_detections_or_bad_output_and_nothing_else(export: Export, data: st.DataObject) -> None:
    outputs = patched(data.draw, export.outputs)
    min_score = data.draw(st.sampled_from([0.0, 0.25, 1.0]))
    assert is_sound(lambda: export.run(outputs, min_score))


GRAPHS = {
    Family.YOLOV5: ("output0", (1, 63, 85)),
    Family.YOLOV8: ("output0", (1, 84, 21)),
    Family.END_TO_END: ("output0", (1, 300, 6)),
    Family.YOLOV7_ROWS: ("output", (20, 7)),
    Family.YOLOX: ("output", (1, 21, 85)),
    Family.OBB: ("output0", (1, 85, 21)),
}


@pytest.mark.parametrize("family", GRAPHS)
@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_garbage_everywhere_gives_detections_or_bad_output(family: Family, data: st.DataObject) -> None:
    name, shape = GRAPHS[family]
    spec = TensorSpec(name, shape, "float32")
    images = TensorSpec("images", (1, 3, 32, 32), "float32")
    info = ModelInfo(Path("model.onnx"), "0" * 64, (images,), (spec,), NAMES)
    section = Decode(family=family.value)
    found, classes = detect_family(info, section)
    decoder = Decoder(head_for(found, info, classes, (32, 32), section), Nms(), NAMES, classes)
    output = data.draw(garbage(shape))
    if data.draw(st.booleans()):
        # Possible scores, so that the garbage in the boxes gets further.
        boxes = (slice(None), slice(4)) if shape[1] > shape[-1] else (..., slice(4))
        tame = np.nan_to_num(np.clip(output, 0, 1))
        tame[boxes] = output[boxes]
        output = tame
    assert is_sound(lambda: decoder.run({name: output}, fit((64, 48), (32, 32)), 0.1))
