"""What the tests of the fused engine share: a machine that seems to have a GPU."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from app.engine import Engine
from app.picture_memory import PictureMemory
from tests.fused.cells import FusedEngine, fused_engine, host_engine, our_kernels
from tests.gpu.fake_driver import FakeDriver, seeming_gpu

Make = Callable[..., FusedEngine]


@pytest.fixture
def driver() -> Iterator[FakeDriver]:
    """A machine that seems to have a GPU; whatever a test takes there, it has given back in the end."""
    our_kernels()
    with seeming_gpu() as fake:
        yield fake


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Engine]:
    """The same network, step after step on the host."""
    engine = host_engine(tmp_path)
    with engine.backend:
        yield engine


@pytest.fixture
def memory() -> PictureMemory:
    """A camera's."""
    return PictureMemory()


@pytest.fixture
def told() -> list[str]:
    """What an engine told."""
    return []


@pytest.fixture
def make(driver: FakeDriver, tmp_path: Path, told: list[str]) -> Make:
    """Make an engine that is not entered yet; with options of `Lanes`, and faults of the engine by name."""

    def engine(*, most: int = 1, options: dict[str, Any] | None = None, **faults: object) -> FusedEngine:
        return fused_engine(tmp_path, most=most, faults=faults, **({"tell": told.append} | (options or {})))

    return engine
