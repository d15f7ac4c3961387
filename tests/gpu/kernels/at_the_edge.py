"""Run in a process of its own: frames that end where readable memory ends, so that reading on would end the process."""

import ctypes
import itertools
import mmap
import sys

import numpy as np

from app.frame import PixelFormat
from app.gpu.kernels.letterbox_jobs import BLOCK, FrameMemory, Wanted, entry_point, grid, letterbox_job
from app.letterbox import fit
from tests.gpu.kernels.host import HostKernels

PAGES = 16
SIZES_WH = [(67, 43), (70, 50), (66, 38), (33, 3), (3, 33)]
NETWORK_WH = (8, 8)


def memory_before_a_wall():
    """Readable and writable bytes, after which nothing may be touched."""
    whole = mmap.mmap(-1, (PAGES + 1) * mmap.PAGESIZE)
    array = np.frombuffer(whole, np.uint8)
    wall = ctypes.c_void_p(array.ctypes.data + PAGES * mmap.PAGESIZE)
    assert ctypes.CDLL(None).mprotect(wall, ctypes.c_size_t(mmap.PAGESIZE), 0) == 0
    return array[: PAGES * mmap.PAGESIZE]


def main(library: str) -> None:
    kernels, memory = HostKernels(library), memory_before_a_wall()
    out = np.zeros((3, *NETWORK_WH), np.float32)
    for pixels, (width, height), area in itertools.product(PixelFormat, SIZES_WH, (True, False)):
        even = pixels in (PixelFormat.NV12, PixelFormat.YUYV)
        size_wh = (width + width % 2, height + height % 2) if even else (width, height)
        nbytes = int(np.prod(pixels.shape(size_wh))) * pixels.dtype.itemsize
        frame, letterbox = memory[-nbytes:], fit(size_wh, NETWORK_WH)
        wanted = Wanted("nchw", "rgb", 1.0, 0)
        job = letterbox_job(FrameMemory.packed(pixels, size_wh), wanted, letterbox, area=area)
        kernels.launch(entry_point(pixels, "float32"), grid(NETWORK_WH, 1), BLOCK, frame, out, job.reshape(1))


if __name__ == "__main__":
    main(sys.argv[1])
