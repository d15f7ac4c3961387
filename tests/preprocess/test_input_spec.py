"""What a network is fed is read from its file, and asked for where the file does not tell."""

import logging
from pathlib import Path

import pytest

from app.config.sections import Input
from app.errors import ModelError
from app.model import Family, ModelInfo, TensorSpec
from app.preprocess.input_spec import InputSpec, input_spec

NCHW = (1, 3, 640, 640)
OPEN = (None, 3, None, None)


def info(shape=NCHW, dtype="float32", **metadata):
    tensor = TensorSpec("images", shape, dtype)
    return ModelInfo(Path("parts.onnx"), "0" * 64, (tensor,), (), metadata=metadata)


def test_a_plain_export_gets_rgb_between_0_and_1_in_the_centre():
    assert input_spec(info(), Input()) == InputSpec(
        name="images",
        width=640,
        height=640,
        layout="nchw",
        dtype="float32",
        channels=3,
        colour="rgb",
        scale=1 / 255,
        placement="centre",
        pad_value=114,
        batch=1,
    )


def test_mdl_01_the_type_is_the_file_s_own():
    assert input_spec(info(dtype="float16"), Input()).dtype == "float16"


def test_mdl_02_a_fixed_square_stays_square():
    spec = input_spec(info(imgsz="[384, 640]"), Input())

    assert spec.sample_shape == (3, 640, 640)


@pytest.mark.parametrize(
    ("asked", "metadata", "network_wh"),
    [
        ({"width": 320, "height": 256}, {}, (320, 256)),  # the configuration says it
        ({}, {"imgsz": "[480, 640]"}, (640, 480)),  # the export says it, height first
        ({}, {"imgsz": "(480, 640)"}, (640, 480)),  # as a tuple
        ({}, {"imgsz": "640"}, (640, 640)),  # as one number
        ({"width": 320, "height": 256}, {"imgsz": "[480, 640]"}, (320, 256)),  # the configuration wins
        ({"height": 256}, {"imgsz": "[480, 640]"}, (640, 256)),  # each side by itself
        ({"width": 500, "height": 321}, {}, (512, 352)),  # up to a multiple of 32
        ({"width": 500, "height": 321}, {"stride": "64"}, (512, 384)),  # up to the file's own stride
        ({"width": 500, "height": 321}, {"stride": "[8, 16, 64]"}, (512, 384)),  # of the coarsest level
        ({"width": 500, "height": 321}, {"stride": "x"}, (512, 352)),  # unreadable: the usual stride
    ],
)
def test_mdl_03_an_open_size_comes_from_the_configuration_or_the_export(asked, metadata, network_wh):
    assert input_spec(info(OPEN, **metadata), Input(**asked)).network_wh == network_wh


@pytest.mark.parametrize(
    "imgsz",
    [
        "",  # nothing there
        "large",  # no number
        "[480, 640, 3]",  # one too many
        "[480.5, 640]",  # no whole pixels
        "[0, 640]",  # no picture
        "[480, 99999999]",  # no sane picture
        "[True, True]",  # Python takes these for 1
        "__import__('os').abort()",  # a file is not a program
        "[" * 60,  # nested beyond reason
        "640" + " " * 100,  # longer than any size
    ],
)
def test_mdl_03_an_open_size_that_nobody_gives_is_refused_with_the_key_to_set(imgsz):
    with pytest.raises(ModelError, match=r"parts\.onnx: input 'images' \[open, 3, open, open\].* set input\.height"):
        input_spec(info(OPEN, imgsz=imgsz), Input())


def test_mdl_03_one_open_side_is_asked_for_by_itself():
    with pytest.raises(ModelError, match=r"set input\.width"):
        input_spec(info((1, 3, 640, None)), Input())


def test_mdl_03_a_rounded_size_is_said(caplog):
    with caplog.at_level(logging.WARNING):
        input_spec(info(OPEN), Input(width=500, height=320))

    assert "width 500 is rounded up to 512" in caplog.text


@pytest.mark.parametrize(("axis", "batch"), [(1, 1), (4, 4), (None, 1)])
def test_mdl_04_the_batch_is_the_file_s_own_and_one_where_it_is_open(axis, batch):
    assert input_spec(info((axis, 3, 640, 640)), Input()).batch == batch


@pytest.mark.parametrize(
    ("shape", "layout", "sample_shape", "colour"),
    [
        ((1, 3, 480, 640), "nchw", (3, 480, 640), "rgb"),  # the 3 is second
        ((1, 480, 640, 3), "nhwc", (480, 640, 3), "rgb"),  # the 3 is last
        ((1, 1, 480, 640), "nchw", (1, 480, 640), "grey"),  # one channel, second
        ((1, 480, 640, 1), "nhwc", (480, 640, 1), "grey"),  # one channel, last
        ((1, None, None, 3), "nhwc", (480, 640, 3), "rgb"),  # the size is open, the 3 is not
    ],
)
def test_mdl_05_the_layout_follows_from_where_the_colours_are(shape, layout, sample_shape, colour):
    spec = input_spec(info(shape, imgsz="[480, 640]"), Input())

    assert (spec.layout, spec.sample_shape, spec.colour) == (layout, sample_shape, colour)


@pytest.mark.parametrize(
    ("shape", "layout", "sample_shape"),
    [
        ((1, 3, 3, 3), "nchw", (3, 3, 3)),  # a picture of 3 x 3
        ((1, 3, 640, 3), "nchw", (3, 640, 3)),  # 3 pixels wide
        ((1, 3, 640, 3), "nhwc", (3, 640, 3)),  # 3 pixels high
        ((1, None, None, None), "nhwc", (480, 640, 3)),  # everything open
    ],
)
def test_mdl_05_a_layout_that_can_not_be_told_is_refused_until_it_is_set(shape, layout, sample_shape):
    model = info(shape, imgsz="[480, 640]")

    with pytest.raises(ModelError, match=r"set input\.layout to nchw or nhwc"):
        input_spec(model, Input())
    assert input_spec(model, Input(layout=layout)).sample_shape == sample_shape


def test_mdl_05_a_uint8_input_gets_the_values_as_they_are():
    assert input_spec(info((1, 640, 640, 3), "uint8"), Input()).scale == 1.0


def test_yolox_has_its_own_way_with_pictures():
    spec = input_spec(info(), Input(), Family.YOLOX)

    assert (spec.colour, spec.scale, spec.placement, spec.pad_value) == ("bgr", 1.0, "top_left", 114)


def test_the_configuration_is_asked_before_the_family():
    section = Input(colour="rgb", scale=0.5, placement="centre", pad_value=0)

    spec = input_spec(info(), section, Family.YOLOX)

    assert (spec.colour, spec.scale, spec.placement, spec.pad_value) == ("rgb", 0.5, "centre", 0)


@pytest.mark.parametrize(
    ("model", "section", "says"),
    [
        (info((1, 3, 640)), {}, "four axes"),
        (info(dtype="int64"), {}, "is int64; pictures can be given as float32, float16, uint8"),
        (info((1, 4, 640, 640)), {}, "no axis could hold the 3"),
        (info((1, 4, 640, 640)), {"layout": "nchw"}, "4 channels"),
        (info(), {"layout": "nhwc"}, "640 channels; .* check input.layout"),
        (info(), {"colour": "grey"}, "input.colour is grey, but the model takes 3 channels"),
        (info((1, 1, 640, 640)), {"colour": "bgr"}, "input.colour is bgr, but the model takes 1 channels"),
        (info((1, 640, 640, 3), "uint8"), {"scale": 0.5}, "leave input.scale out"),
        (info(), {"width": 320}, "input.width is 320, but the file is fixed to 640"),
        (ModelInfo(Path("parts.onnx"), "", (), ()), {}, "has 0 inputs"),
    ],
)
def test_what_can_not_be_fed_is_refused(model, section, says):
    with pytest.raises(ModelError, match=rf"^parts\.onnx: .*{says}"):
        input_spec(model, Input(**section))


def test_two_inputs_are_refused_by_name():
    tensors = (TensorSpec("images", NCHW, "float32"), TensorSpec("orig_sizes", (1, 2), "int64"))

    with pytest.raises(ModelError, match=r"has 2 inputs \(images, orig_sizes\)"):
        input_spec(ModelInfo(Path("parts.onnx"), "", tensors, ()), Input())
