"""The bench runs whole, and what it says can be read by a machine. How fast anything was is not asked here."""

import io
import json

import numpy as np
import pytest
from rich.console import Console

from app.bench import allocation, decode, machine, overhead, run
from app.bench.letterbox import picture
from app.publish.message import Result
from app.publish.message import decode as read_message
from app.verdict import Code, Verdict


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(run, "QUICK_ROUNDS", 1)
    monkeypatch.setattr(run, "QUICK_FRAMES", 4)


@pytest.fixture
def model(root):
    return root / "engines" / "covers_640.onnx"


def test_the_bench_prints_a_table_and_writes_the_same_as_json(quick, model, tmp_path):
    screen, json_file = io.StringIO(), tmp_path / "bench.json"

    code = run.main(Console(file=screen, width=200), quick=True, json_file=json_file, model=model)

    report = json.loads(json_file.read_text())
    assert {"processor", "cpus", "python", "numpy", "load"} <= report["machine"].keys()
    assert all(row["what"] in screen.getvalue() for row in report["rows"])
    missed = [row for row in report["rows"] if row["met"] is False]
    assert code == (1 if missed else 0)
    assert screen.getvalue().count("missed") == len(missed)


@pytest.mark.parametrize(("candidates", "truncated"), [(300, False), (8400, True)])
def test_the_output_to_be_decoded_has_the_candidates_that_it_says(candidates, truncated):
    data = decode.output(8400, candidates, objects=30)

    detections = decode.decoder().run({decode.OUTPUT: data}, decode.LETTERBOX, decode.MIN_SCORE)

    assert np.count_nonzero(data[0, 4:].max(axis=0) > decode.MIN_SCORE) == candidates
    assert detections.truncated is truncated
    assert len(detections) >= 15


def test_a_frame_of_the_overhead_goes_all_the_way_to_a_message():
    with overhead.backend() as engine:
        bench = overhead.Bench(engine)
        for seq in (1, 2):
            spent_ns, columns = bench.run(picture(), seq)

    message = read_message(bench.payload)
    assert isinstance(message, Result)
    assert message.verdict is not Verdict.UNKNOWN
    assert Code.BAD_OUTPUT not in [reason.code for reason in message.reasons]
    assert len(message.detections) >= 15
    assert bench.ledger.counts(overhead.CAMERA).judged == 2
    assert spent_ns > 0
    assert columns["preprocess"] > 0


def test_memory_that_is_kept_and_memory_that_is_given_back_are_told_apart():
    kept = []

    def keep():
        kept.append(bytes(1000))

    assert allocation.growth(lambda: bytes(100_000), 10)[0] < 1000
    assert allocation.growth(lambda: bytes(100_000), 10)[1] > 100_000
    assert allocation.growth(keep, 10)[0] > 10_000


@pytest.mark.parametrize(
    ("cpuinfo", "name"),
    [
        (
            "processor : 0\nmodel name : Some CPU\ncpu family : 6\nmodel : 9\n\nprocessor : 1\nmodel name : Other\n",
            "Some CPU (family 6, model 9)",  # the first one of several
        ),
        ("processor : 0\nBogoMIPS : 31.25\n", machine.platform.machine()),  # ARM kernels give no name
    ],
)
def test_the_processor_is_named_as_the_kernel_names_it(cpuinfo, name, tmp_path):
    file = tmp_path / "cpuinfo"
    file.write_text(cpuinfo)

    assert machine._processor(file) == name


def test_a_system_without_cpuinfo_gives_its_architecture(tmp_path):
    assert machine._processor(tmp_path / "none") == machine.platform.machine()
