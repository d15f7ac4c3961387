"""The letterbox kernel against the exact preprocessor (1e-4), and the processor's own way (1/255)."""

import itertools
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.bgr import to_bgr, to_grey
from app.frame import PixelFormat, Pixels
from app.gpu.kernels.letterbox_jobs import BLOCK, JOB, NO_SAMPLE, FrameMemory, Wanted, entry_point, grid, letterbox_job
from app.letterbox import fit
from app.preprocess.cpu import CpuPreprocessor
from app.preprocess.exact import ExactPreprocessor
from app.preprocess.input_spec import InputSpec
from app.preprocess.reference import ReferencePreprocessor
from app.preprocess.resample import Filter, choose
from tests.conftest import ROOT

FORMATS = list(PixelFormat)
SPEC = InputSpec("images", 96, 64)
WHOLE = {"float32": 1e-4, "float16": 6e-4, "uint8": 0.5 + 1e-4}
"""How far each type may be from the exact numbers, of 0 … 1 (uint8: of 0 … 255, half a level is rounding)."""


def wanted(spec):
    return Wanted(spec.layout, spec.colour, spec.scale, spec.pad_value)


def picture(pixels, size_wh, seed=0, levels=None):
    """Noise in a format, the hardest thing to resample."""
    highest = 4095 if pixels.bits == 12 else 255
    shape = pixels.shape(size_wh)
    return np.random.default_rng(seed).integers(0, (levels or highest) + 1, shape).astype(pixels.dtype)


def image_of(data, pixels, region=None):
    """A picture or a part of it as the preprocessors take it."""
    return Pixels(data, pixels, region)


def run(kernels, data, pixels, spec, *, regions=(None,), memory=None):
    """Fill one sample with each region by one launch; (regions, *sample)."""
    size_wh = pixels.size_wh(data) if memory is None else memory.size_wh
    jobs = np.zeros(len(regions), JOB)
    for sample, region in enumerate(regions):
        left, top, right, bottom = region or (0, 0, *size_wh)
        letterbox = fit((right - left, bottom - top), spec.network_wh, top_left=spec.top_left)
        jobs[sample] = letterbox_job(
            memory or FrameMemory.packed(pixels, size_wh),
            wanted(spec),
            letterbox,
            sample=sample,
            area=choose(letterbox, spec.resize) is Filter.AREA,
            corner_xy=(left, top),
        )
    out = np.full((len(regions), *spec.sample_shape), 77, spec.dtype)
    kernels.launch(entry_point(pixels, spec.dtype), grid(spec.network_wh, len(jobs)), BLOCK, data, out, jobs)
    return out


def expected(preprocessor, spec, image):
    """What another preprocessor makes of it, in float64 and not rounded to the spec's type where it can be."""
    out = np.empty(spec.sample_shape, np.float64)
    preprocessor(spec).run(image, out)
    return out


SPECS = [
    InputSpec("images", 96, 64, layout, dtype, 1 if colour == "grey" else 3, colour, scale, placement)
    for layout, (dtype, scale), colour, placement in itertools.product(
        ("nchw", "nhwc"),
        (("float32", 1 / 255), ("float32", 1.0), ("float16", 1 / 255), ("uint8", 1.0)),
        ("rgb", "bgr", "grey"),
        ("centre", "top_left"),
    )
]


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_every_layout_type_order_and_placement_gives_the_exact_numbers(kernels, spec):
    for pixels, size_wh in itertools.product((PixelFormat.BGR8, PixelFormat.NV12), ((192, 108), (70, 120), (480, 320))):
        data = picture(pixels, size_wh)

        (out,) = run(kernels, data, pixels, spec)

        exact = expected(ExactPreprocessor, spec, image_of(data, pixels))
        np.testing.assert_allclose(
            out, exact, rtol=0, atol=WHOLE[spec.dtype] * (spec.scale * 255 if spec.dtype == "float32" else 1)
        )


# odd both ways where the format allows it; a dot; strips; larger than the network; shrunk by area; the network's own size
SIZES_WH = [(71, 53), (1, 1), (1, 90), (400, 1), (300, 200), (500, 330), (96, 64), (40, 30)]


def possible(pixels, size_wh):
    """The nearest size that the format has."""
    width, height = size_wh
    if pixels in (PixelFormat.NV12, PixelFormat.YUYV):
        width += width % 2
    if pixels is PixelFormat.NV12:
        height += height % 2
    return (max(width, 3), max(height, 3)) if pixels.bayer else (width, height)


@pytest.mark.parametrize("pixels", FORMATS)
@pytest.mark.parametrize("size_wh", SIZES_WH)
@pytest.mark.parametrize("resize", ["auto", "linear", "area"])
def test_every_format_and_size_gives_the_exact_numbers(kernels, pixels, size_wh, resize):
    data, spec = picture(pixels, possible(pixels, size_wh)), InputSpec("images", 96, 64, resize=resize)

    (out,) = run(kernels, data, pixels, spec)

    np.testing.assert_allclose(out, expected(ExactPreprocessor, spec, image_of(data, pixels)), rtol=0, atol=1e-5)


@st.composite
def pictures_of(draw, pixels):
    """The size of a picture in a format, and up to three regions inside."""
    width, height = possible(pixels, (draw(st.integers(1, 260)), draw(st.integers(1, 260))))
    regions = []
    for _ in range(draw(st.integers(1, 3))):
        left, top = draw(st.integers(0, width - 1)), draw(st.integers(0, height - 1))
        regions.append((left, top, draw(st.integers(left + 1, width)), draw(st.integers(top + 1, height))))
    return (width, height), regions


@st.composite
def regions_of_pictures(draw):
    """A format, the size of a picture in it, and up to three regions inside."""
    pixels = draw(st.sampled_from(FORMATS))
    return pixels, *draw(pictures_of(pixels))


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(drawn=regions_of_pictures(), seed=st.integers(0, 1000), colour=st.sampled_from(["rgb", "bgr", "grey"]))
def test_regions_of_any_picture_in_one_launch_look_as_they_do_in_the_whole(kernels, drawn, seed, colour):
    pixels, size_wh, regions = drawn
    data = picture(pixels, size_wh, seed)
    spec = InputSpec("images", 48, 32, colour=colour, channels=1 if colour == "grey" else 3)

    out = run(kernels, data, pixels, spec, regions=regions)

    for sample, region in enumerate(regions):
        exact = expected(ExactPreprocessor, spec, image_of(data, pixels, region))
        np.testing.assert_allclose(out[sample], exact, rtol=0, atol=1e-5)


@st.composite
def inputs(draw):
    """A network's input of any type, order, layout and filter, of odd sizes too."""
    colour, dtype = draw(st.sampled_from(["rgb", "bgr", "grey"])), draw(st.sampled_from(list(WHOLE)))
    return InputSpec(
        "images",
        draw(st.integers(1, 70)),
        draw(st.integers(1, 50)),
        draw(st.sampled_from(["nchw", "nhwc"])),
        dtype,
        1 if colour == "grey" else 3,
        colour,
        1.0 if dtype == "uint8" else 1 / 255,
        draw(st.sampled_from(["centre", "top_left"])),
        resize=draw(st.sampled_from(["auto", "linear", "area"])),
    )


@pytest.mark.parametrize("pixels", FORMATS)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), spec=inputs(), seed=st.integers(0, 1000))
def test_any_region_is_the_exact_one_and_within_one_of_255_of_the_processor_s(kernels, pixels, data, spec, seed):
    size_wh, (region, *_) = data.draw(pictures_of(pixels))
    image = Pixels(picture(pixels, size_wh, seed), pixels, region)

    (out,) = run(kernels, image.data, pixels, spec, regions=(region,))

    found = out.astype(np.float64)
    np.testing.assert_allclose(found, expected(ExactPreprocessor, spec, image), rtol=0, atol=WHOLE[spec.dtype])
    for kind in (CpuPreprocessor, ReferencePreprocessor):
        theirs = np.empty(spec.sample_shape, spec.dtype)
        kind(spec).run(image, theirs)
        assert np.abs(found - theirs).max() / spec.scale <= 1.0


@pytest.mark.parametrize("pixels", FORMATS)
@pytest.mark.parametrize("dtype", ["float32", "uint8"])
@pytest.mark.parametrize("colour", ["rgb", "grey"])
@pytest.mark.parametrize("size_wh", [(192, 128), (333, 217), (90, 130), (640, 480), (503, 331)])
def test_pictures_of_many_pixels_are_within_one_of_255_of_the_processor_s(kernels, pixels, dtype, colour, size_wh):
    scale = 1.0 if dtype == "uint8" else 1 / 255
    spec = InputSpec("images", 96, 64, "nchw", dtype, 1 if colour == "grey" else 3, colour, scale)
    data = picture(pixels, possible(pixels, size_wh))

    (out,) = run(kernels, data, pixels, spec)

    theirs = np.empty(spec.sample_shape, dtype)
    CpuPreprocessor(spec).run(image_of(data, pixels), theirs)
    assert np.abs(out.astype(np.float64) - theirs).max() / scale <= 1.0


@pytest.mark.parametrize("pixels", FORMATS)
def test_where_nothing_is_resized_the_bytes_are_the_processor_s_own(kernels, pixels):
    """So that a pixel means the same here and there, to the last bit."""
    data, size_wh = picture(pixels, possible(pixels, (96, 64))), possible(pixels, (96, 64))
    for colour, made in (("bgr", to_bgr), ("grey", to_grey)):
        channels = 1 if colour == "grey" else 3
        spec = InputSpec("images", *size_wh, "nhwc", "uint8", channels, colour, 1.0)

        (out,) = run(kernels, data, pixels, spec)

        np.testing.assert_array_equal(out, made(image_of(data, pixels)).reshape(out.shape))


@pytest.mark.parametrize("pixels", [PixelFormat.BGR8, PixelFormat.NV12, PixelFormat.BAYER_GRBG12])
def test_a_large_picture_is_as_exact_at_its_far_corner(kernels, pixels):
    data, spec = picture(pixels, (3840, 216)), InputSpec("images", 640, 64, resize="linear")

    (out,) = run(kernels, data, pixels, spec)

    np.testing.assert_allclose(out, expected(ExactPreprocessor, spec, image_of(data, pixels)), rtol=0, atol=1e-5)


@pytest.mark.parametrize("pixels", [PixelFormat.BGR8, PixelFormat.GRAY8, PixelFormat.NV12, PixelFormat.BAYER_RGGB12])
def test_rows_may_lie_apart_and_frames_behind_one_another(kernels, pixels):
    """As a camera's driver or a ring of buffers lays them out."""
    data, gap = picture(pixels, (70, 50)), 16
    rows = data.view(np.uint8).reshape(len(data), -1)
    pitch = rows.shape[1] + gap
    loose = np.full((3 + len(rows), pitch), 0xEE, np.uint8)  # three rows of another frame before it
    loose[3:, : rows.shape[1]] = rows
    memory = FrameMemory(pixels, (70, 50), pitch, start=3 * pitch, chroma=(3 + 50) * pitch, chroma_pitch=pitch)

    (out,) = run(kernels, loose, pixels, SPEC, memory=memory)

    np.testing.assert_array_equal(out, run(kernels, data, pixels, SPEC)[0])


def test_chroma_may_lie_in_memory_of_its_own_with_longer_rows(kernels):
    data = picture(PixelFormat.NV12, (70, 50))
    loose = np.full(50 * 70 + 25 * 128, 0xEE, np.uint8)
    loose[: 50 * 70] = data[:50].ravel()
    loose[50 * 70 :].reshape(25, 128)[:, :70] = data[50:]
    memory = FrameMemory(PixelFormat.NV12, (70, 50), 70, chroma=50 * 70, chroma_pitch=128)

    (out,) = run(kernels, loose, PixelFormat.NV12, SPEC, memory=memory)

    np.testing.assert_array_equal(out, run(kernels, data, PixelFormat.NV12, SPEC)[0])


def test_twelve_bits_of_more_than_4095_are_white(kernels):
    data = picture(PixelFormat.BAYER_RGGB12, (70, 50), levels=20_000)

    (out,) = run(kernels, data, PixelFormat.BAYER_RGGB12, SPEC)

    exact = expected(ExactPreprocessor, SPEC, image_of(data, PixelFormat.BAYER_RGGB12))
    np.testing.assert_allclose(out, exact, rtol=0, atol=1e-5)


def test_bytes_are_the_nearest_to_the_exact_numbers(kernels):
    spec = InputSpec("images", 96, 64, dtype="uint8", scale=1.0)
    data = picture(PixelFormat.BGR8, (333, 217))

    (out,) = run(kernels, data, PixelFormat.BGR8, spec)

    exact = expected(ExactPreprocessor, spec, data)
    clear = np.abs(exact % 1 - 0.5) > 1e-3
    np.testing.assert_array_equal(out[clear], np.rint(exact[clear]))


def test_halves_are_the_nearest_to_the_floats(kernels):
    data = picture(PixelFormat.BGR8, (333, 217))
    single, double = (InputSpec("images", 96, 64, dtype=dtype) for dtype in ("float32", "float16"))

    (floats,), (halves,) = (run(kernels, data, PixelFormat.BGR8, spec) for spec in (single, double))

    np.testing.assert_array_equal(halves, floats.astype(np.float16))


def test_no_byte_behind_a_frame_is_touched(kernel_library):
    command = [sys.executable, "-m", "tests.gpu.kernels.at_the_edge", str(kernel_library)]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")  # -11 where one was


def test_a_sample_is_overwritten_whole_and_no_other_is_touched(kernels):
    data = picture(PixelFormat.BGR8, (192, 108))
    letterbox = fit((192, 108), SPEC.network_wh)
    memory = FrameMemory.packed(PixelFormat.BGR8, (192, 108))
    jobs = np.zeros(2, JOB)
    jobs[0] = letterbox_job(memory, wanted(SPEC), letterbox, sample=2)
    jobs[1] = letterbox_job(
        memory, wanted(SPEC), letterbox, sample=NO_SAMPLE
    )  # fewer regions than the graph has room for
    out = np.full((4, *SPEC.sample_shape), np.nan, np.float32)

    kernels.launch("letterbox_bgr8_float32", grid(SPEC.network_wh, 2), BLOCK, data, out, jobs)

    assert not np.isnan(out[2]).any()
    assert np.isnan(out[[0, 1, 3]]).all()


def test_a_defect_one_pixel_wide_is_never_missed_by_area(kernels):
    """The reason for shrinking by area: linear sees the line or not, as the belt moves."""
    seen = []
    for column in range(300, 320):
        data = np.full((640, 960), 255, np.uint8)
        data[:, column] = 0
        both = [
            run(kernels, data, PixelFormat.GRAY8, InputSpec("images", 96, 64, resize=resize))[0].min()
            for resize in ("linear", "area")
        ]
        seen.append(both)
    linear, area = np.array(seen).T
    assert linear.max() == 1  # missed where it falls between
    np.testing.assert_allclose(area, 0.9, atol=1e-5)  # a tenth of a pixel darker, wherever it lies


def test_a_network_input_of_an_odd_size_is_filled_to_its_last_pixel(kernels):
    spec = InputSpec("images", 33, 9)
    data = picture(PixelFormat.BGR8, (33, 9))

    (out,) = run(kernels, data, PixelFormat.BGR8, spec)

    np.testing.assert_allclose(out, data[:, :, ::-1].transpose(2, 0, 1) / 255, rtol=0, atol=1e-6)


@pytest.mark.parametrize("corner_xy", [(-1, 0), (0, -1), (41, 0), (0, 31)])
def test_a_region_outside_the_frame_is_refused(corner_xy):
    memory = FrameMemory.packed(PixelFormat.GRAY8, (100, 80))
    with pytest.raises(ValueError, match=r"region: 60 x 50 px at .* do not lie in a frame of \(100, 80\)"):
        letterbox_job(memory, wanted(SPEC), fit((60, 50), (96, 64)), corner_xy=corner_xy)


def test_the_record_is_as_long_as_the_kernel_takes_it():
    assert JOB.itemsize == 104
