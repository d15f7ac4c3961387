"""What every test folder shares: where the repository and its demo data lie."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests import ports
from tests.capture.gst_here import WHY_NOT
from tests.triton_rig import Server, write_model

ROOT = Path(__file__).resolve().parent.parent

# The same examples each time, and none is refused because the machine was busy while it was made; chance is for scripts/fuzz.
settings.register_profile("same", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("same")


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository's folder."""
    return ROOT


@pytest.fixture(scope="session")
def covers() -> Path:
    """The folder of the demo line's tiles."""
    return ROOT / "samples" / "covers"


@pytest.fixture(scope="session")
def covers_truth(covers: Path) -> list[dict]:
    """Ground truth of the tiles in belt order: file, verdict, objects."""
    return json.loads((covers / "truth.json").read_text())["photos"]


@pytest.fixture
def free_port() -> int:
    """A loopback port that nobody listens on."""
    return ports.free_port()


@pytest.fixture(scope="session")
def triton(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A real Triton server for the whole run, with a model that doubles pictures; for tests that leave it alone."""
    folder = tmp_path_factory.mktemp("triton")
    server = Server(folder)
    server.put(write_model(folder / "doubling.onnx"))
    server.start()
    yield server
    server.kill()


def pytest_report_header() -> str | None:
    """Say plainly which real things this Python can't have, so that nothing stays away in silence."""
    return None if WHY_NOT is None else f"real GStreamer pipelines are not tested: {WHY_NOT}"
