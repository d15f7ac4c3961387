"""Ways of running a network side by side: what is timed, what the table says, which batches can be compared."""

import io
import json
import re
from types import SimpleNamespace

import numpy as np
import onnx.parser
import pytest
from rich.console import Console
from typer.testing import CliRunner

from app.building import engine_bench_command, engine_bench_onnx
from app.building.engine_bench import LEAST_RUNS, Row, Split, Subject, best_by_batch, measure
from app.building.engine_bench_command import Bench, Wanted, busy_note, engine_batches, run_bench, shapes_of, show_bench
from app.building.engine_bench_onnx import batches_of, device_ways, free_bytes, random_feeds, read_for_bench, with_batch
from app.cli import app
from app.errors import ModelError
from app.inference.engine_file import EngineInput, Machine, Manifest, Range
from app.inference.ort_device import DeviceBinding
from app.inference.ort_gpu import Opened
from app.inference.ort_session import open_session
from app.latency.percentiles import percentiles
from app.model import TensorSpec
from tests.conftest import ROOT

COVERS = ROOT / "engines" / "covers_640.onnx"

TWICE = """
    <ir_version: 8, opset_import: ["" : 17]>
    agraph (float[n,3,8,8] images) => (float[n,3,8,8] doubled) { doubled = Add(images, images) }
"""


@pytest.fixture
def twice(tmp_path):
    """A model that takes batches of any size."""
    path = tmp_path / "twice.onnx"
    onnx.save(onnx.parser.parse_model(TWICE), path)
    return path


def row(way, batch, ms, gpu_ms=None):
    part = None if gpu_ms is None else percentiles([gpu_ms])
    return Row(way, batch, percentiles([ms]), part, part)


# ── measuring ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_ways_are_run_in_turns_and_each_often_enough():
    calls = []
    ways = [
        Subject("eager", 2, lambda: calls.append("e"), lambda: Split(0.5, 3.0)),
        Subject("graph", 2, lambda: calls.append("g")),
    ]
    eager, graph = measure(ways, 0.0)
    assert (eager.whole.count, graph.whole.count) == (LEAST_RUNS, LEAST_RUNS)
    turns = re.findall(r"e+|g+", "".join(calls))
    assert len(turns) >= 2 * LEAST_RUNS / 5, "many short turns, not one long one each"
    assert (eager.enqueue.p50, eager.gpu.p50) == (0.5, 3.0)
    assert (graph.enqueue, graph.gpu, graph.overhead_ms) == (None, None, None)


def test_progress_rises_to_the_end():
    told = []
    measure([Subject("one", 1, lambda: None)], 0.0, told.append)
    assert told == sorted(told)
    assert told[-1] == 1.0


def test_what_a_run_takes_beyond_the_gpu_is_told():
    assert row("graph", 4, 10.0, 7.5).overhead_ms == pytest.approx(2.5)
    assert row("graph", 4, 10.0).pictures_per_s == pytest.approx(400)


def test_the_fastest_way_of_each_batch_counts():
    rows = [row("eager", 2, 12), row("graph", 2, 10), row("eager", 1, 6), row("graph", 1, 7)]
    assert [(one.batch, one.way) for one in best_by_batch(rows)] == [(1, "eager"), (2, "graph")]


# ── what can be compared ─────────────────────────────────────────────────────────────────────────────────────────────


def test_an_open_batch_takes_all_sizes_and_a_fixed_one_its_own(twice):
    assert batches_of(read_for_bench(twice), (4, 1, 4)) == ((1, 4), "")
    sizes, note = batches_of(read_for_bench(COVERS), (1, 2))
    assert (sizes, note.split(":")[0]) == ((1,), "the file fixes its batch to 1")
    assert batches_of(read_for_bench(COVERS), (1,)) == ((1,), "")


def test_a_batch_is_run_whole(twice):
    info = read_for_bench(twice)
    assert with_batch(info, 4).inputs[0].shape == (4, 3, 8, 8)


MANIFEST = Manifest(
    "lid.onnx",
    "a" * 64,
    "b" * 64,
    Machine("tensorrt", "10.3.0"),
    ("8.7",),
    "fp16",
    (
        EngineInput(
            "images",
            "float32",
            (
                Range((1, 3, 64, 64), (1, 3, 64, 64), (1, 3, 64, 64)),
                Range((2, 3, 64, 64), (4, 3, 64, 64), (8, 3, 64, 64)),
            ),
        ),
    ),
    (TensorSpec("output0", (None, 6, 84), "float32"),),
)


def test_an_engine_is_measured_with_the_batches_that_it_takes():
    sizes, note = engine_batches(MANIFEST, (1, 4, 16))
    assert sizes == (1, 4)
    assert note.startswith("batch 16 left out: the engine takes images ")
    assert shapes_of(MANIFEST, 4) == {"images": (4, 3, 64, 64)}
    with pytest.raises(ModelError, match="none of --batch 16,32"):
        engine_batches(MANIFEST, (16, 32))


def test_an_engine_needs_its_gpu(tmp_path, monkeypatch):
    monkeypatch.setattr(engine_bench_command, "read_engine", lambda path: SimpleNamespace(manifest=MANIFEST))
    monkeypatch.setattr(engine_bench_command, "find_gpu", lambda: None)
    with pytest.raises(ModelError, match="an engine runs on nothing else"):
        run_bench(Wanted(tmp_path / "lid.engine"), Console(file=io.StringIO()))


# ── a device, played by the CPU ──────────────────────────────────────────────────────────────────────────────────────


def opened(path, *warnings):
    info = with_batch(read_for_bench(path), 2)
    binding = DeviceBinding(open_session(path, open_axes={"n": 2}), info.inputs, info.outputs, device="cpu")
    return Opened(binding, "CUDAExecutionProvider", warnings), random_feeds(info.inputs)


def test_a_device_is_measured_with_its_graph_and_without(twice):
    session, feeds = opened(twice)
    ways = list(device_ways(session, feeds, 2))
    assert [one.way for one in ways] == ["ONNX Runtime, CUDA, CUDA graph", "ONNX Runtime, CUDA, eager"]
    assert [np.array_equal(one.run()["doubled"], feeds["images"] * 2) for one in ways] == [True, True]


def test_a_device_without_a_graph_is_measured_eagerly_alone(twice):
    session, feeds = opened(twice, "no CUDA graph, so each frame takes a little longer: its shapes are open")
    assert [one.way for one in device_ways(session, feeds, 2)] == ["ONNX Runtime, CUDA, eager"]


# ── memory ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_free_memory_is_the_machine_s_for_the_cpu_and_the_device_s_else(tmp_path, monkeypatch):
    (tmp_path / "meminfo").write_text("MemTotal:  16000 kB\nMemAvailable:   8000 kB\n")
    assert free_bytes("cpu", tmp_path / "meminfo") == 8_192_000
    assert free_bytes("cpu", tmp_path / "nothing") is None
    monkeypatch.setattr(engine_bench_onnx, "find_gpu", lambda: SimpleNamespace(free_bytes=7))
    assert free_bytes("cuda") == 7
    monkeypatch.setattr(engine_bench_onnx, "find_gpu", lambda: None)
    assert free_bytes("cuda") is None


# ── the command ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_command_compares_batches_and_says_which_to_use(twice, tmp_path):
    figures = tmp_path / "bench.json"
    options = ["--batch", "1,2", "--seconds", "0", "--cameras", "2", "--fps", "1", "--budget", "5000"]
    said = CliRunner().invoke(app, ["engine", "bench", str(twice), *options, "--json", str(figures)])
    assert said.exit_code == 0, said.output
    assert "2 cameras at 1 fps within 5000 ms: batch 1;" in said.output
    assert re.search(r"memory allows batches up to \d+", said.output)
    tree = json.loads(figures.read_text())
    assert [one["batch"] for one in tree["rows"]] == [1, 2]
    assert tree["rows"][0]["whole"]["count"] >= LEAST_RUNS
    assert tree["room"]["seed"] >= 1
    assert tree["says"][-1].startswith("2 cameras at 1 fps")


def test_the_table_shows_the_gpu_s_part_where_it_is_known():
    console = Console(file=io.StringIO(), width=200)
    show_bench(Bench((row("eager", 1, 6, 4), row("graph", 1, 5, 4)), None), None, console)
    text = console.file.getvalue()
    assert "enqueue ms" in text
    assert "beyond the GPU ms" in text
    show_bench(Bench((row("ONNX Runtime, CPU", 1, 6),), None), None, console := Console(file=io.StringIO(), width=200))
    assert "enqueue" not in console.file.getvalue()


def test_what_takes_no_pictures_is_refused(tmp_path):
    flat = TWICE.replace("[n,3,8,8]", "[n,8]")
    onnx.save(onnx.parser.parse_model(flat), tmp_path / "flat.onnx")
    with pytest.raises(ModelError, match="no batch of pictures"):
        read_for_bench(tmp_path / "flat.onnx")


def test_figures_of_a_busy_machine_say_so():
    assert busy_note(0.4, 2) == ""
    assert busy_note(13.5, 2).startswith("the machine was busy before it began (load 13.5 on 2 CPUs)")
