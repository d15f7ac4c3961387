"""The letterbox: the numbers of the exports, the way back, and the edges of a picture."""

import numpy as np
import pytest

from app.letterbox import Letterbox, clip, fit, pixels, unpad_mask, xywh_to_xyxy

KBOX_NETWORK = np.array([[270, 215, 370, 265]], np.float32)  # centre (320, 240), 100 x 50, of a 640 x 640 input


def boxes(*rows):
    return np.array(rows, np.float32).reshape(-1, 4)


def pads(letterbox: Letterbox):
    return letterbox.pad_left, letterbox.pad_top, letterbox.pad_right, letterbox.pad_bottom


@pytest.mark.parametrize(
    ("image_wh", "network_wh", "resized_wh", "left_top_right_bottom"),
    [
        ((3775, 1571), (1280, 1280), (1280, 533), (0, 373, 0, 374)),  # an odd row goes to the bottom
        ((1600, 2128), (320, 320), (241, 320), (39, 0, 40, 0)),  # an odd column goes to the right
        ((1600, 2128), (640, 640), (481, 640), (79, 0, 80, 0)),  # the same picture, another input
        ((1200, 8), (100, 100), (100, 1), (0, 49, 0, 50)),  # 0.67 px high
        ((4000, 8), (100, 100), (100, 1), (0, 49, 0, 50)),  # 0.2 px high must not vanish
        ((8, 4000), (100, 100), (1, 100), (49, 0, 50, 0)),  # nor the other way round
        ((1920, 1080), (640, 640), (640, 360), (0, 140, 0, 140)),  # the everyday one
        ((320, 240), (640, 640), (640, 480), (0, 80, 0, 80)),  # a small picture is enlarged
        ((640, 640), (640, 640), (640, 640), (0, 0, 0, 0)),  # nothing to do
        ((1, 1), (640, 640), (640, 640), (0, 0, 0, 0)),  # the smallest picture
    ],
)
def test_geo_01_sizes_and_pads_are_those_of_the_exports(image_wh, network_wh, resized_wh, left_top_right_bottom):
    letterbox = fit(image_wh, network_wh)

    assert letterbox.resized_wh == resized_wh
    assert pads(letterbox) == left_top_right_bottom


@pytest.mark.parametrize(
    ("image_wh", "resized_wh", "left_top_right_bottom"),
    [
        ((1600, 2128), (481, 640), (0, 0, 159, 0)),  # 481.2
        ((3775, 1571), (640, 266), (0, 0, 0, 374)),  # 266.3
        ((1226, 370), (640, 193), (0, 0, 0, 447)),  # 193.1
        ((1000, 999), (640, 639), (0, 0, 0, 1)),  # 639.4
        ((1000, 867), (640, 554), (0, 0, 0, 86)),  # 554.9 is cut off, not rounded up
        ((8000, 3), (640, 1), (0, 0, 0, 639)),  # 0.24 px high must not vanish
    ],
)
def test_geo_01_top_left_cuts_sizes_off_and_pads_right_and_below(image_wh, resized_wh, left_top_right_bottom):
    letterbox = fit(image_wh, (640, 640), top_left=True)

    assert letterbox.resized_wh == resized_wh
    assert pads(letterbox) == left_top_right_bottom


EDGES = [
    (image_wh, network_wh)
    for image_wh in ((16, 4096), (4096, 16), (16, 16), (4096, 4096))
    for network_wh in ((320, 1280), (1280, 320), (320, 320), (1280, 1280))
]


def sizes(count):
    """Sizes of pictures and of networks: the extremes, then so many of any."""
    chance = np.random.default_rng(1)
    yield from EDGES
    for _ in range(count):
        yield tuple(chance.integers(16, 4097, 2).tolist()), tuple(chance.integers(320, 1281, 2).tolist())


@pytest.mark.parametrize("top_left", [False, True])
def test_geo_01_there_and_back_loses_less_than_a_thousandth_of_a_pixel(top_left):
    chance = np.random.default_rng(2)
    for image_wh, network_wh in sizes(2000):
        letterbox = fit(image_wh, network_wh, top_left=top_left)
        corners = np.array([(0, 0, 1, 1), (1, 0, 0, 1), chance.random(4)])
        xyxy = boxes(*(corners * (image_wh * 2)))

        in_network = letterbox.to_network(xyxy)

        where = f"{image_wh} in {network_wh}"
        assert np.abs(letterbox.to_image(in_network) - xyxy).max() <= 1e-3, where
        assert min(pads(letterbox)) >= 0, where
        assert pads(letterbox)[2] - pads(letterbox)[0] in (0, 1) or top_left, where
        assert (in_network >= -1e-3).all(), where
        assert (in_network <= np.array(network_wh * 2) + 1e-3).all(), where


def test_geo_01_pads_of_the_inverse_are_those_applied():
    letterbox = fit((3775, 1571), (1280, 1280))

    corner = letterbox.to_image(boxes([0, 373, 1280, 373 + 533]))

    np.testing.assert_allclose(corner, [[0, 0, 3775, 1571]], atol=1e-3)


@pytest.mark.parametrize(
    ("image_wh", "expected"),
    [
        ((1280, 720), (540, 150, 740, 250)),  # padding above and below
        ((720, 1280), (260, 430, 460, 530)),  # portrait: padding left and right
    ],
)
def test_geo_02_the_pad_is_taken_off_the_axis_that_has_it(image_wh, expected):
    xyxy = fit(image_wh, (640, 640)).to_image(KBOX_NETWORK)

    np.testing.assert_array_equal(xyxy, boxes(expected))


def test_geo_03_boxes_end_at_the_edges_of_the_picture():
    xyxy = xywh_to_xyxy(boxes([639, 10, 100, 100]))

    clipped, kept = clip(xyxy, (640, 640))

    np.testing.assert_array_equal(clipped, boxes([589, 0, 640, 60]))
    assert kept.all()
    assert (clipped / 640 <= 1).all()


def test_geo_03_clipping_leaves_the_boxes_it_was_given_alone():
    xyxy = boxes([-5, -5, 10, 10])

    clip(xyxy, (8, 8))

    np.testing.assert_array_equal(xyxy, boxes([-5, -5, 10, 10]))


@pytest.mark.parametrize(
    ("box", "rows_columns"),
    [
        ((576, 0, 640, 10), (10, 64)),  # x2 = width is an edge, not an index
        ((575.5, 0, 640, 9.2), (10, 65)),  # half a pixel is touched
        ((-20, -20, 5, 5), (5, 5)),  # begins outside: no wrap-around from the far side
        ((630, 630, 700, 700), (10, 10)),  # ends outside
        ((700, 10, 710, 20), (10, 0)),  # nothing of it inside
        ((-30, 10, -10, 20), (10, 0)),  # the same on the left
    ],
)
def test_geo_04_a_crop_holds_the_pixels_that_the_box_touches(box, rows_columns):
    image = np.zeros((640, 640), np.uint8)

    assert image[pixels(np.array(box, np.float32), (640, 640))].shape == rows_columns


def test_geo_05_centre_and_size_become_corners_before_they_are_clipped():
    clipped, kept = clip(xywh_to_xyxy(boxes([110, 30, 180, 180])), (200, 100))

    np.testing.assert_array_equal(clipped, boxes([20, 0, 200, 100]))
    assert kept.all()


@pytest.mark.parametrize(
    ("box", "kept"),
    [
        ((690, 690, 710, 710), False),  # beyond the corner
        ((-20, 5, -1, 10), False),  # left of it
        ((640, 5, 650, 10), False),  # touches the edge from outside: no width left
        ((639.5, 5, 650, 10), True),  # half a pixel inside
        ((50, 50, 50, 60), False),  # never had a width
        ((60, 50, 50, 60), False),  # turned inside out
    ],
)
def test_geo_06_a_box_of_which_nothing_is_left_is_not_kept(box, kept):
    _, mask = clip(boxes(box), (640, 640))

    assert mask.tolist() == [kept]


def test_geo_07_a_network_that_is_not_square_gets_the_right_pads():
    letterbox = fit((100, 100), (300, 200))

    assert letterbox.resized_wh == (200, 200)
    assert pads(letterbox) == (50, 0, 50, 0)


def test_geo_08_a_mask_of_the_whole_picture_covers_it_to_the_last_row():
    letterbox = fit((1226, 370), (640, 640))
    mask = np.zeros((640, 640), bool)
    mask[letterbox.inner] = True

    unpadded = unpad_mask(mask, letterbox)

    assert letterbox.resized_wh == (640, 193)
    assert pads(letterbox) == (0, 223, 0, 224)
    assert unpadded.shape == (370, 1226)
    assert unpadded.all()


def test_geo_08_pads_that_are_no_whole_cells_of_a_coarse_mask_do_not_shift_it():
    letterbox = fit((1226, 370), (640, 640))  # the pads are 55.75 and 56 cells of a 160 x 160 mask
    mask = np.zeros((160, 160), bool)
    mask[55:104] = True  # every cell that the picture touches
    mask[:, :80] = False  # only the right half of it

    unpadded = unpad_mask(mask, letterbox)

    assert unpadded[:, 613:].all()
    assert not unpadded[:, :613].any()


@pytest.mark.parametrize(("image_wh", "network_wh"), [((0, 10), (640, 640)), ((10, 10), (640, 0))])
def test_a_side_of_nothing_is_refused(image_wh, network_wh):
    with pytest.raises(ValueError, match="at least 1 px"):
        fit(image_wh, network_wh)


def test_no_boxes_stay_no_boxes():
    letterbox = fit((10, 10), (32, 32))
    none = boxes()

    clipped, kept = clip(letterbox.to_image(xywh_to_xyxy(none)), (10, 10))

    assert clipped.shape == (0, 4)
    assert kept.shape == (0,)
