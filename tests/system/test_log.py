"""The service beside a log that nobody reads."""

import fcntl
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from tests.conftest import ROOT

CONFIG = """
line: log
cameras:
  folder:
    source: {{kind: images, path: "{root}/samples/covers", on_end: loop}}
    model: covers
    judge: {{rules: [{{count: screw, equals: 99}}]}}
models:
  covers: {{path: "{root}/engines/covers_320.onnx"}}
mqtt: null
jsonl: {{path: "{out}/results.jsonl"}}
log: {{max_waiting: 16}}
metrics: {{port: {port}}}
"""

LINES_IN_A_FULL_PIPE = 16
RESULTS = 60


def wait_for_results(path: Path, process: subprocess.Popen) -> None:
    deadline = time.monotonic() + 100
    while time.monotonic() < deadline and process.poll() is None:
        if path.exists() and path.read_text().count('"verdict"') >= RESULTS:
            return
        time.sleep(0.05)
    pytest.fail("no results: the line waits for its log")


def dropped(port: int) -> float:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=20) as answer:
        page = answer.read().decode()
    return float(re.search(r"^taktsight_log_dropped_total (\S+)$", page, re.MULTILINE)[1])


def test_with_stderr_stalled_the_line_goes_on_says_what_it_dropped_and_a_signal_still_ends_it(
    tmp_path: Path, free_port: int
) -> None:
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    config = tmp_path / "log.yaml"
    config.write_text(CONFIG.format(root=ROOT, out=tmp_path, port=free_port))
    process = subprocess.Popen([sys.executable, "-m", "app", "run", str(config)], cwd=ROOT, stderr=writing)
    os.close(writing)
    try:
        wait_for_results(tmp_path / "results.jsonl", process)
        assert dropped(free_port) >= RESULTS - 2 * LINES_IN_A_FULL_PIPE - 1
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0, "the writer gives up; it would else wait for ever for somebody to read"
    finally:
        process.kill()
        process.wait()
    said = os.read(reading, 1 << 20)
    os.close(reading)
    assert said.count(b'"event":"frame"') <= LINES_IN_A_FULL_PIPE, "every part is NG, and nobody read"
