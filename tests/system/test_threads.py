"""How many threads the whole product has: as many as docs/tuning.md says, on any number of cores."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.inference.threads import allowed_cpus
from tests.capture.videos import write_video
from tests.conftest import ROOT

CAMERAS = 4
FIXED, PER_CAMERA = 14, 3

CONFIG = """
line: threads
cameras:
{cameras}
models: {{covers: {{path: "{root}/engines/covers_640.onnx"}}}}
mqtt: {{port: {port}}}
jsonl: {{path: "{folder}/results.jsonl"}}
evidence: {{path: "{folder}/evidence"}}
"""

CAMERA = """
  camera_{number}:
    source: {{kind: video, path: "{path}", on_end: loop, paced: true}}
    model: covers
    judge: {{rules: [{{require: cover}}]}}
"""


@pytest.fixture
def said(tmp_path: Path, free_port: int) -> dict:
    """What a run of four file cameras says of its threads, in a process of its own."""
    path = write_video(tmp_path / "belt.mp4", codec="libx264")
    cameras = "".join(CAMERA.format(number=number, path=path) for number in range(CAMERAS))
    config = tmp_path / "threads.yaml"
    config.write_text(CONFIG.format(cameras=cameras, root=ROOT, port=free_port, folder=tmp_path))
    command = [sys.executable, str(Path(__file__).with_name("thread_count.py")), str(config)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def test_mdl_18_four_file_cameras_have_a_bounded_and_documented_number_of_threads(said: dict) -> None:
    bound = FIXED + PER_CAMERA * CAMERAS + allowed_cpus() - 1
    assert said["threads"] <= bound, said
    assert said["opencv"] == 1, "set by the product, whatever OpenCV's own default is"
    captures = [name for name in said["python"] if name.startswith("capture-")]
    assert len(captures) == CAMERAS
    documented = f"{FIXED} + {PER_CAMERA} × cameras"
    assert documented in (ROOT / "docs" / "tuning.md").read_text(encoding="utf-8")
