"""Evidence of the covers line, as the product writes it."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from app.config import load
from app.wiring import build
from tests.conftest import ROOT

PICTURES = 16
SMALL = ROOT / "engines" / "covers_320.onnx"


def write_config(folder, **changes):
    """Write the folder line's configuration for the small model, without a broker; return its path."""
    tree = yaml.safe_load((ROOT / "configs" / "folder.yaml").read_text())
    pictures = folder / "pictures"
    if not pictures.exists():
        pictures.mkdir()
        for file in sorted((ROOT / "samples" / "covers").glob("*.jpg"))[:PICTURES]:
            (pictures / file.name).symlink_to(file)
    tree["cameras"]["covers"]["source"]["path"] = str(pictures)
    tree["models"]["covers"]["path"] = str(SMALL)
    tree["mqtt"], tree["jsonl"] = None, None
    tree["evidence"] = {
        "path": str(folder / "evidence"),
        "verdicts": ["OK", "NG", "UNKNOWN"],
        "max_per_s": 1000.0,
        "min_free_bytes": 0,
        "max_waiting_bytes": 1 << 30,
        "original": "raw",
        "view": False,
    }
    tree["cameras"]["covers"]["judge"] |= changes.pop("judge", {})
    tree["cameras"]["covers"] |= changes.pop("camera", {})
    tree |= changes
    path = folder / "line.yaml"
    path.write_text(yaml.safe_dump(tree))
    return path


def run_line(path, **config):
    """Run a configuration until its source ends."""
    loaded = load(path)
    loaded = replace(loaded, config=loaded.config.model_copy(update=config)) if config else loaded
    build(loaded).service.run()


@pytest.fixture(scope="session")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of evidence of a run over the sample pictures; only to be read."""
    folder = tmp_path_factory.mktemp("covers")
    run_line(write_config(folder))
    return folder / "evidence"


@pytest.fixture
def config(tmp_path):
    """Return what writes the line's configuration with changes."""
    return lambda **changes: write_config(tmp_path, **changes)
