"""What the tests of the GPU share: a driver on host memory, and one kernel."""

import importlib.metadata
import os
from collections.abc import Iterator

import pytest

from tests.gpu.fake_driver import HERE, FakeDriver, compile_c, fake_driver, seeming_gpu, stand_in

stand_in()

from app.gpu.context import Context  # noqa: E402 - see `stand_in`
from tests.gpu.kernels.device import gpu_is_here  # noqa: E402


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run every test of the GPU's objects on a real GPU, too, where there is one, unless it steers the driver."""
    if "context" in metafunc.fixturenames:
        real = (
            os.environ.get("TAKTSIGHT_TEST_DRIVER") == "real"
            and gpu_is_here()
            and "driver" not in metafunc.fixturenames
        )
        where = ["host", *([pytest.param("device", marks=pytest.mark.gpu)] if real else [])]
        metafunc.parametrize("context", where, indirect=True)


@pytest.fixture(scope="session")
def tiny_kernel(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The kernel `scale` of tiny.c can be found."""
    assert importlib.metadata.version("pycuda"), "scripts/test builds it"
    library = tmp_path_factory.mktemp("tiny") / "libtiny.so"
    compile_c(HERE / "tiny.c", library)
    fake_driver().add_kernels(library)


@pytest.fixture
def driver(tiny_kernel: None) -> Iterator[FakeDriver]:
    """A machine that seems to have a GPU; whatever a test takes there, it has given back in the end."""
    with seeming_gpu() as fake:
        yield fake


@pytest.fixture
def context(request: pytest.FixtureRequest) -> Iterator[Context]:
    """The primary context, entered."""
    if request.param == "host":
        request.getfixturevalue("driver")
    with Context() as entered:
        yield entered
