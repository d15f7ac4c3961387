"""Which family a head belongs to, told from its file or refused."""

from collections.abc import Callable

import pytest

from app.config.sections import Decode
from app.decode.family import detect_family
from app.errors import ModelError
from app.model import Family, ModelInfo, TensorSpec

Describe = Callable[..., ModelInfo]
AUTO = Decode()


def names(count: int) -> tuple[str, ...]:
    return tuple(f"thing {index}" for index in range(count))


PROTOTYPES = (1, 32, 160, 160)

CLEAR = [
    # shapes, number of names, input size, metadata → family, classes
    ([(1, 84, 8400)], 80, (640, 640), {}, Family.YOLOV8, 80),
    ([(1, 8400, 84)], 80, (640, 640), {}, Family.YOLOV8, 80),  # the other way round
    ([(1, 84, 8400)], None, (640, 640), {}, Family.YOLOV8, 80),  # no names: 84 is no number of cells
    ([(1, 9, 6300)], 5, (640, 480), {"task": "detect"}, Family.YOLOV8, 5),  # not square
    ([(1, 5, 8400)], 1, (640, 640), {}, Family.YOLOV8, 1),  # DEC-03
    ([(1, 6, 21504)], 2, (1024, 1024), {}, Family.YOLOV8, 2),
    ([(1, 84, 34000)], 80, (640, 640), {}, Family.YOLOV8, 80),  # a fourth, finer grid
    ([(1, 84, 8500)], 80, (640, 640), {}, Family.YOLOV8, 80),  # a fourth, coarser grid
    ([(1, 300, 84)], 80, (640, 640), {}, Family.YOLOV8, 80),  # RT-DETR: 300 queries in place of cells
    ([(1, 84, 21)], 80, (32, 32), {}, Family.YOLOV8, 80),  # DEC-04: fewer candidates than channels
    ([(1, 84, 21)], None, (32, 32), {}, Family.YOLOV8, 80),
    ([(1, 84, 84)], 80, (64, 64), {}, Family.YOLOV8, 80),  # DEC-04: as many as channels, the names tell
    ([(1, 16, 8400)], 12, (640, 640), {}, Family.YOLOV8, 12),  # DEC-04
    ([(1, 25200, 85)], 80, (640, 640), {}, Family.YOLOV5, 80),
    ([(1, 25200, 85)], None, (640, 640), {}, Family.YOLOV5, 80),  # three anchors a cell
    ([(1, 25200, 6)], 1, (640, 640), {}, Family.YOLOV5, 1),  # DEC-03: six columns are not end to end
    ([(1, 25200, 6)], None, (640, 640), {}, Family.YOLOV5, 1),
    ([(1, 8400, 85)], 80, (640, 640), {}, Family.YOLOX, 80),  # one candidate a cell
    ([(1, 3549, 85)], 80, (416, 416), {}, Family.YOLOX, 80),
    ([(1, 300, 6)], 80, (640, 640), {}, Family.END_TO_END, 80),
    ([(1, 300, 6)], 2, (640, 640), {"task": "detect"}, Family.END_TO_END, 2),  # 4 + 2 channels are chance
    ([(1, 300, 6)], None, (640, 640), {}, Family.END_TO_END, 0),  # only the rows know the classes
    ([(None, None, None)], 80, (640, 640), {"end2end": "True", "task": "detect"}, Family.END_TO_END, 80),
    ([(None, None, None)], 5, (None, None), {"task": "detect", "imgsz": "[320, 320]"}, Family.YOLOV8, 5),
    ([(None, 84, None)], 80, (None, None), {}, Family.YOLOV8, 80),
    ([(None, 84, None)], None, (None, None), {}, Family.YOLOV8, 80),
    ([(1, 116, 8400), PROTOTYPES], 80, (640, 640), {}, Family.SEGMENT, 80),  # DEC-12
    ([(None, 116, None), (None, 32, None, None)], None, (None, None), {}, Family.SEGMENT, 80),
    ([(1, 25200, 117), PROTOTYPES], 80, (640, 640), {}, Family.YOLOV5, 80),
    ([(1, 300, 38), PROTOTYPES], 80, (640, 640), {}, Family.END_TO_END, 80),
    ([(1, 20, 8400)], 15, (640, 640), {"task": "obb"}, Family.OBB, 15),  # DEC-13
    ([(1, 8400, 4), (1, 8400, 80)], 80, (640, 640), {}, Family.TWO_OUTPUTS, 80),  # DEC-10
    ([(1, 8400, 80), (1, 8400, 4)], 80, (640, 640), {}, Family.TWO_OUTPUTS, 80),  # DEC-10, the other order
    ([(None, 7)], 80, (640, 640), {}, Family.YOLOV7_ROWS, 80),
    ([(1, 8, 8400)], 3, (640, 640), {}, Family.YOLOV8, 4),  # MDL-08: a name too few changes no family
    ([(1, 8, 8400)], 5, (640, 640), {}, Family.YOLOV8, 4),  # MDL-08: a name too many
    # old exports give the raw grids beside the finished tensor
    (
        [(1, 25200, 85), (1, 3, 80, 80, 85), (1, 3, 40, 40, 85), (1, 3, 20, 20, 85)],
        80,
        (640, 640),
        {},
        Family.YOLOV5,
        80,
    ),
]


@pytest.mark.parametrize("case", CLEAR, ids=str)
def test_dec_04_family_and_classes_come_from_everything_the_file_says(case: tuple, describe: Describe) -> None:
    shapes, count, input_wh, metadata, family, classes = case
    info = describe(*shapes, names=None if count is None else names(count), input_wh=input_wh, **metadata)
    assert detect_family(info, AUTO) == (family, classes)


AMBIGUOUS = [
    # imgsz 64 has 84 cells, as many as channels, and no names tell
    ((1, 84, 84), None, (64, 64), "yolov8 with 80 classes or yolox with 79 classes"),
    # a column more or less is objectness or a class
    ((1, 8400, 85), None, (640, 640), "yolov8 with 81 classes or yolox with 80 classes"),
    ((1, 8400, 6), None, (640, 640), "yolov8 with 2 classes or yolox with 1 classes"),
    # an open number of candidates could be one or three a cell
    ((None, None, 85), 80, (None, None), "yolov5 with 80 classes or yolox with 80 classes"),
    # everything open, and no exporter's task
    ((None, None, None), 5, (None, None), "end_to_end with 5 classes or yolov5 with 5 classes or yolov8"),
]


@pytest.mark.parametrize(("shape", "count", "input_wh", "says"), AMBIGUOUS)
def test_dec_04_ambiguous_file_is_refused_with_the_key_to_set(
    shape: tuple, count: int | None, input_wh: tuple, says: str, describe: Describe
) -> None:
    info = describe(shape, names=None if count is None else names(count), input_wh=input_wh)
    with pytest.raises(
        ModelError, match=rf"^model\.onnx: output output0 \[.*ambiguous.*{says}.*set decode\.family"
    ) as error:
        detect_family(info, AUTO)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("shape", "family", "classes"),
    [
        ((1, 84, 84), "yolov8", 80),
        ((1, 84, 84), "yolox", 79),
        ((1, 8400, 85), "yolox", 80),
        ((1, 8400, 85), "yolov8", 81),
    ],
)
def test_dec_04_configuration_settles_what_is_ambiguous(
    shape: tuple, family: str, classes: int, describe: Describe
) -> None:
    info = describe(shape, names=None, input_wh=(64, 64) if shape[1] == 84 else (640, 640))
    assert detect_family(info, Decode(family=family)) == (Family(family), classes)


def test_open_axes_take_their_classes_from_the_names(describe: Describe) -> None:
    info = describe((None, None, None), names=names(5), input_wh=(None, None))
    assert detect_family(info, Decode(family="yolov8")) == (Family.YOLOV8, 5)


def test_open_axes_without_names_are_refused_with_the_key_to_set(describe: Describe) -> None:
    info = describe((None, None, None), names=None, input_wh=(None, None))
    with pytest.raises(ModelError, match="read as yolov8, its number of classes is open: set names"):
        detect_family(info, Decode(family="yolov8"))


def test_dec_06_the_file_decides_between_the_two_forms_of_one_network(describe: Describe) -> None:
    assert detect_family(describe((1, 300, 6), task="detect", end2end="True"), AUTO)[0] is Family.END_TO_END
    assert detect_family(describe((1, 84, 8400), task="detect", end2end="False"), AUTO)[0] is Family.YOLOV8


@pytest.mark.parametrize(
    ("shape", "asked", "really"),
    [
        ((1, 84, 8400), "end_to_end", "yolov8"),
        ((1, 300, 6), "yolov8", "end_to_end"),
        ((1, 25200, 85), "yolov8", "yolov5"),  # would be 81 classes, the first of them objectness
        ((1, 84, 8400), "yolov5", "yolov8"),
        ((None, 7), "yolov8", "yolov7_rows"),
    ],
)
def test_dec_06_configuration_that_contradicts_the_file_is_an_error_naming_both(
    shape: tuple, asked: str, really: str, describe: Describe
) -> None:
    with pytest.raises(
        ModelError, match=f"decode.family is {asked}, but the file is {really}: correct it or leave it out"
    ):
        detect_family(describe(shape), Decode(family=asked))


def test_yolov6_with_its_constant_objectness_is_read_as_yolov5_when_asked(describe: Describe) -> None:
    assert detect_family(describe((1, 8400, 85)), Decode(family="yolov5")) == (Family.YOLOV5, 80)


@pytest.mark.parametrize(
    "shapes",
    [
        [(1, 3, 80, 80, 85), (1, 3, 40, 40, 85), (1, 3, 20, 20, 85)],
        [(1, 255, 80, 80), (1, 255, 40, 40), (1, 255, 20, 20)],
        [(1, 3, 80, 80, 85)],
    ],
)
def test_dec_09_raw_grids_are_refused_at_load(shapes: list, describe: Describe) -> None:
    with pytest.raises(ModelError, match="exported without the detection head; re-export"):
        detect_family(describe(*shapes), AUTO)


def test_dec_10_two_outputs_that_cannot_be_told_apart_are_refused(describe: Describe) -> None:
    with pytest.raises(ModelError, match="no known layout"):
        detect_family(describe((1, 8400, 4), (1, 8400, 4), names=names(4)), AUTO)


def test_dec_10_names_of_the_outputs_tell_what_shapes_cannot(describe: Describe) -> None:
    scores, boxes = (TensorSpec(name, (1, 8400, 4), "float32") for name in ("scores", "boxes"))
    assert detect_family(describe(scores, boxes, names=names(4)), AUTO) == (Family.TWO_OUTPUTS, 4)


def test_suppression_in_the_graph_is_told_by_names_or_by_shapes_and_types(describe: Describe) -> None:
    shapes = {"num_dets": (1, 1), "det_boxes": (1, 100, 4), "det_scores": (1, 100), "det_classes": (1, 100)}
    by_name = [TensorSpec(name, shape, "float32") for name, shape in shapes.items()]
    types = ["int32", "float32", "float32", "int32"]
    by_shape = [TensorSpec(f"{i}", shape, types[i]) for i, shape in enumerate(shapes.values())]
    for outputs in (by_name, by_shape, by_name[::-1], by_shape[::-1], by_name[1:]):
        assert detect_family(describe(*outputs), AUTO) == (Family.NMS_IN_GRAPH, 80)


def test_four_outputs_that_say_nothing_are_not_guessed(describe: Describe) -> None:
    with pytest.raises(ModelError, match=r"no known layout.*docs/heads\.md"):
        detect_family(describe((1, 1), (1, 100, 4), (1, 100), (1, 100)), AUTO)


def test_dec_13_rotated_boxes_need_the_files_word_or_the_configurations(describe: Describe) -> None:
    info = describe((1, 20, 8400), names=names(15))
    assert detect_family(info, Decode(family="obb")) == (Family.OBB, 15)
    # Without either it may as well be a name too few, which is warned of elsewhere.
    assert detect_family(info, AUTO) == (Family.YOLOV8, 16)


def test_dec_13_rotated_boxes_are_never_read_as_upright_ones(describe: Describe) -> None:
    info = describe((1, 20, 8400), names=names(15), task="obb")
    with pytest.raises(ModelError, match=r"decode.family is yolov8, but the file is obb"):
        detect_family(info, Decode(family="yolov8"))


def test_finished_rows_of_rotated_boxes_are_refused(describe: Describe) -> None:
    with pytest.raises(ModelError, match="export with end2end=False"):
        detect_family(describe((1, 300, 7), names=names(15), task="obb"), AUTO)


@pytest.mark.parametrize("task", ["pose", "classify"])
def test_networks_for_other_tasks_are_refused(task: str, describe: Describe) -> None:
    with pytest.raises(ModelError, match=f"a network for '{task}' can't be used"):
        detect_family(describe((1, 56, 8400), names=names(1), task=task), AUTO)


def test_file_without_outputs_is_refused(describe: Describe) -> None:
    with pytest.raises(ModelError, match="output none: no known layout"):
        detect_family(describe(), AUTO)


def test_channels_last_input_gives_its_size_too(describe: Describe) -> None:
    info = describe((1, 84, 84), names=None)
    nhwc = ModelInfo(info.path, info.sha256, (TensorSpec("images", (1, 32, 32, 3), "uint8"),), info.outputs)
    # 32 x 32 has 21 cells, so 84 candidates fit nothing and both axes are as unlikely.
    with pytest.raises(ModelError, match="ambiguous"):
        detect_family(nhwc, AUTO)
