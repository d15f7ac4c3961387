"""The engine's threads, seen from outside: each test looks at a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.inference.ort_session import open_session

ROOT = Path(__file__).parents[2]

ENTER = """
import json, os, sys, time
from pathlib import Path
import numpy as np
from app.config.sections import Model
from app.inference.model_file import read_model
from app.inference.onnxruntime import OnnxBackend

path, threads, cpus = json.loads(sys.argv[1])
if cpus:
    os.sched_setaffinity(0, cpus)
count = lambda: len(os.listdir("/proc/self/task"))
info = read_model(Path(path))
before = count()
with OnnxBackend(info, Model(path=path, threads=threads)) as backend:
    feeds = {"images": np.zeros(backend.inputs[0].shape, np.float32)}
    BODY
"""

COUNT = """
    print(json.dumps(count() - before))
"""

FIVE_A_SECOND = """
    began, spent, idle = time.monotonic(), time.process_time(), 0.0
    for turn in range(8):
        backend.infer(feeds)
        paused = time.process_time()
        time.sleep(max(0, began + 0.2 * (turn + 1) - time.monotonic()))
        idle += time.process_time() - paused
    took = time.monotonic() - began
    print(json.dumps([(time.process_time() - spent) / took, idle / took]))
"""


def watch(path: Path, body: str, *, threads: int | None = None, cpus: list[int] | None = None) -> Any:
    """Run a backend in a fresh process and return what the body prints; nothing may come on stderr."""
    argument = json.dumps([str(path), threads, cpus])
    done = subprocess.run(
        [sys.executable, "-c", ENTER.replace("    BODY\n", body), argument],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


@pytest.fixture
def convolution(save_graph: Callable[..., Path]) -> Path:
    """A small convolution, enough work for ONNX Runtime to share it out among its threads."""
    weights = ", ".join("0.01" for _ in range(8 * 3 * 3 * 3))
    return save_graph(
        "agraph (float[1,3,160,160] images) => (float[1,8,160,160] output0) "
        f"<float[8,3,3,3] w = {{{weights}}}> {{ output0 = Conv<pads = [1, 1, 1, 1]>(images, w) }}",
        metadata={"names": "['part']"},
    )


def test_mdl_16_on_one_allowed_cpu_it_starts_no_thread_and_prints_no_affinity_error(convolution: Path) -> None:
    one = min(os.sched_getaffinity(0))
    assert watch(convolution, COUNT, cpus=[one]) == 0


def test_mdl_16_more_threads_than_cpus_are_not_pinned_to_cpus_that_are_not_there(convolution: Path) -> None:
    one = min(os.sched_getaffinity(0))
    assert watch(convolution, COUNT, threads=4, cpus=[one]) == 3


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_mdl_18_it_starts_one_thread_less_than_configured_as_the_caller_works_too(
    convolution: Path, threads: int
) -> None:
    assert watch(convolution, COUNT, threads=threads) == threads - 1


def test_mdl_18_without_a_count_there_is_one_for_each_allowed_cpu(convolution: Path) -> None:
    assert watch(convolution, COUNT) <= len(os.sched_getaffinity(0)) - 1


def test_mdl_17_five_frames_a_second_leave_the_cpu_idle(convolution: Path) -> None:
    whole, idle = watch(convolution, FIVE_A_SECOND, threads=2)
    assert whole < 0.2
    assert idle < 0.03  # between two frames; threads that spin took 0.09 … 0.14 of a core here


@pytest.mark.parametrize(
    ("spin_us", "spins"),
    [
        (0, "0"),  # asleep as soon as there is nothing to do
        (30, "1"),
    ],
)
def test_a_thread_without_work_looks_for_more_as_long_as_it_is_told(
    convolution: Path, spin_us: int, spins: str
) -> None:
    options = open_session(convolution, threads=2, spin_us=spin_us).get_session_options()
    assert options.get_session_config_entry("session.intra_op.allow_spinning") == spins
    assert options.get_session_config_entry("session.intra_op.spin_duration_us") == str(spin_us)
    assert options.get_session_config_entry("session.inter_op.allow_spinning") == "0"
