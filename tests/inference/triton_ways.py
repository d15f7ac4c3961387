"""Measures one network here and on a Triton server beside it, by every way of its tensors, in turns.

python -m tests.inference.triton_ways [MODEL.onnx | bytes] [SECONDS]; the server is the tests' own, on the CPU. `bytes` is a network
that does next to nothing with 640 × 640 pictures, so that only the way counts.
"""

import os
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from time import monotonic_ns

from rich.console import Console
from rich.table import Table

from app.building.engine_bench import Subject, measure
from app.config.sections import Model, Triton
from app.inference.model_file import read_model
from app.inference.onnxruntime import OnnxBackend
from app.inference.triton_backend import TritonBackend
from app.inference.triton_check import noise
from tests.conftest import ROOT
from tests.triton_rig import Server, write_model

BYTES = """
    <ir_version: 8, opset_import: ["" : 17]>
    agraph (float[1,3,640,640] images) => (float[1,3,80,80] most)
    { most = MaxPool<kernel_shape = [8, 8], strides = [8, 8]>(images) }
"""
WAYS = [
    # how it is called, the server's address, shared memory
    ("gRPC over TCP", False, "off"),
    ("gRPC over TCP, shared memory", False, "on"),
    ("gRPC over a Unix socket", True, "off"),
    ("gRPC over a Unix socket, shared memory", True, "on"),
]


def timed(backend, feeds, spent_ms):
    """Return a call that also notes how long it took: the least time is what a busy machine disturbs least."""

    def run():
        began_ns = monotonic_ns()
        backend.infer(feeds)
        spent_ms.append((monotonic_ns() - began_ns) / 1e6)

    return run


def main(model: Path, seconds: float) -> None:
    """Print a table: p50 and p99 of each way, and how much of that is more than the local engine's."""
    load = os.getloadavg()[0]
    if str(model) == "bytes":
        model = write_model(Path(tempfile.mkdtemp()) / "bytes.onnx", BYTES)
    section = Model(path=str(model))  # as many threads here as the server has
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        servers = {}
        for unix in (False, True):
            place = folder / str(unix)
            place.mkdir()
            servers[unix] = Server(place)
            stack.callback(servers[unix].kill)
            servers[unix].put(model)
            servers[unix].start(unix=unix)
        backends = [("here", OnnxBackend(read_model(model), section))]
        for name, unix, shared in WAYS:
            there = Triton(url=servers[unix].url, shared_memory=shared, fail_over=False, timeout_ms=10_000)
            backends.append((name, TritonBackend(model, there, OnnxBackend(read_model(model), section))))
        subjects, least = [], {}
        for name, backend in backends:
            stack.enter_context(backend)
            feeds = noise(backend.inputs)
            subjects.append(Subject(name, 1, timed(backend, feeds, least.setdefault(name, []))))
        rows = measure(subjects, seconds)
    title = f"{model.name}, load {load:.1f} before, {os.getloadavg()[0]:.1f} after"
    table = Table("way", "calls", "p50 ms", "p99 ms", "least ms", "p50, × here", "least, × here", title=title)
    for row in rows:
        whole, here = row.whole, rows[0].whole
        table.add_row(
            *(row.way, str(whole.count), f"{whole.p50:.2f}", f"{whole.p99:.2f}"),
            *(f"{min(least[row.way]):.2f}", f"{whole.p50 / here.p50:.2f}"),
            f"{min(least[row.way]) / min(least['here']):.2f}",
        )
    Console(width=120).print(table)


if __name__ == "__main__":
    arguments = sys.argv[1:]
    main(
        Path(arguments[0]) if arguments else ROOT / "engines" / "covers_640.onnx",
        float(arguments[1]) if len(arguments) > 1 else 6.0,
    )
