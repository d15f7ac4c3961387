"""What the tests of the kernels share: the kernels on the processor, and on a GPU where one is here."""

import os
from pathlib import Path

import pytest

from app.gpu.compiler import nvrtc
from app.gpu.context import Context
from tests.gpu.kernels.device import DeviceKernels, gpu_is_here
from tests.gpu.kernels.host import HostKernels, build


def pytest_generate_tests(metafunc):
    """Run every test of a kernel once more on the GPU where there is one."""
    if "kernels" in metafunc.fixturenames:
        where = ["host", *([pytest.param("device", marks=pytest.mark.gpu)] if gpu_is_here() else [])]
        metafunc.parametrize("kernels", where, indirect=True, scope="session")


@pytest.fixture(scope="session")
def kernel_library(tmp_path_factory):
    """All kernels for the processor, as one library."""
    return build(tmp_path_factory.mktemp("kernels"))


@pytest.fixture(scope="session")
def host_kernels(kernel_library):
    return HostKernels(kernel_library)


@pytest.fixture(scope="session")
def device_kernels(tmp_path_factory):
    folder = Path(os.environ.get("TAKTSIGHT_TEST_KERNELS") or tmp_path_factory.mktemp("compiled"))
    with Context() as context:
        yield DeviceKernels(context, folder, nvrtc)


@pytest.fixture(scope="session")
def kernels(request):
    return request.getfixturevalue(f"{request.param}_kernels")
