"""The kernels through the real PyCUDA: on a driver on host memory in every run, and on a GPU bit for bit."""

import itertools

import numpy as np
import pytest

from app.frame import PixelFormat
from app.gpu.context import Context
from app.gpu.kernels.letterbox_jobs import BLOCK, JOB, FrameMemory, Wanted, entry_point, grid, letterbox_job
from app.letterbox import fit
from tests.gpu.fake_driver import EMULATED, fake_driver
from tests.gpu.kernels.device import DeviceKernels, gpu_is_here

WHS = ((1920, 1080), (640, 480), (334, 518))
NETWORK_WH = (320, 256)


def filled(kernels, pixels, size_wh, dtype, *, area):
    """One network input, made by some kernels."""
    highest = 4096 if pixels.bits == 12 else 256
    data = np.random.default_rng(1).integers(0, highest, pixels.shape(size_wh)).astype(pixels.dtype)
    wanted = Wanted("nchw", "rgb", 1.0 if dtype == "uint8" else 1 / 255, 114)
    memory = FrameMemory.packed(pixels, size_wh)
    jobs = np.array([letterbox_job(memory, wanted, fit(size_wh, NETWORK_WH), area=area)], JOB)
    out = np.zeros((3, *NETWORK_WH[::-1]), dtype)
    kernels.launch(entry_point(pixels, dtype), grid(NETWORK_WH, 1), BLOCK, data, out, jobs)
    return out


@pytest.mark.parametrize("pixels", [PixelFormat.BGR8, PixelFormat.NV12, PixelFormat.BAYER_BGGR12])
def test_launched_through_pycuda_the_arguments_arrive(driver, host_kernels, kernel_library, tmp_path, pixels):
    fake_driver().add_kernels(kernel_library)
    with Context() as context:
        emulated = DeviceKernels(context, tmp_path, lambda *_: EMULATED)

        found = filled(emulated, pixels, (334, 518), "float32", area=True)

    np.testing.assert_array_equal(found, filled(host_kernels, pixels, (334, 518), "float32", area=True))


@pytest.mark.gpu
@pytest.mark.skipif(not gpu_is_here(), reason="there is no NVIDIA GPU here")
def test_a_gpu_and_the_processor_give_the_same_bits(host_kernels, device_kernels):
    for pixels, size_wh, dtype, area in itertools.product(
        PixelFormat, WHS, ("float32", "float16", "uint8"), (False, True)
    ):
        on_gpu, on_host = (
            filled(kernels, pixels, size_wh, dtype, area=area) for kernels in (device_kernels, host_kernels)
        )
        np.testing.assert_array_equal(
            on_gpu.view(np.uint8), on_host.view(np.uint8), err_msg=f"{pixels} {size_wh} {dtype}"
        )
