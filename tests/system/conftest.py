"""A real broker, and a line at it to which everything can happen."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.broker import LocalBroker
from tests.system.resilient import Rig, running


@pytest.fixture(scope="module")
def broker() -> Iterator[LocalBroker]:
    """A mosquitto for one module."""
    with LocalBroker(kind="mosquitto") as running_broker:
        yield running_broker


@pytest.fixture
def rig(tmp_path: Path, broker: LocalBroker, free_port: int) -> Iterator[Rig]:
    """A line that runs and is well, and ended without an error."""
    with running(Rig(tmp_path, broker.port, free_port)) as rig:
        rig.wait_until_well()
        yield rig
        assert rig.error is None
