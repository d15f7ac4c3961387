"""What the tests of the kernels share: the kernels on the processor."""

import pytest

from tests.gpu.kernels.host import HostKernels, build


@pytest.fixture(scope="session")
def host_kernels(tmp_path_factory):
    return HostKernels(build(tmp_path_factory.mktemp("kernels")))
