"""A network on a real Triton server: every way of the tensors, and a server that dies, hangs, or has another model."""

import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from app.config.sections import Model, Triton
from app.engine import hand_over, take_over
from app.errors import ModelError
from app.inference import triton_link
from app.inference.model_file import read_model
from app.inference.onnxruntime import OnnxBackend
from app.inference.triton_backend import TritonBackend
from app.inference.triton_check import result_fault
from app.inference.triton_fault import TritonAway, TritonLate
from app.inference.triton_shared import FOLDER, Shared
from app.model import TensorSpec
from app.wiring.models import build_model
from tests.triton_rig import DOUBLING, Server, write_model

WAIT_S = 60
SOON = {"retry_s": 0.05, "well_after": 2, "timeout_ms": 20_000}
TRIPLING = DOUBLING.replace("Add(images, images)", "Sum(images, images, images)")


def make(folder, url, *, text=DOUBLING, batches=(1, 4), tell=lambda text: None, **section):
    path = write_model(folder / "doubling.onnx", text)
    local = OnnxBackend(read_model(path), Model(path=str(path), batches=list(batches)))
    return TritonBackend(path, Triton(url=url, **(SOON | section)), local, tell)


def picture(value, rows=1):
    return np.full((rows, 3, 8, 8), value, np.float32)


def until(is_so):
    """Wait until something has come about that a thread or a server is about to do."""
    end = time.monotonic() + WAIT_S
    while not is_so():
        assert time.monotonic() < end, "it never came to that"
        threading.Event().wait(0.02)


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A server on a Unix socket that the tests here may kill and start again."""
    folder = tmp_path_factory.mktemp("own")
    server = Server(folder)
    server.put(write_model(folder / "doubling.onnx"))
    server.start(unix=True)
    yield server
    server.kill()


WAYS = [
    # where the server is, how tensors go, what the label says of that
    ("tcp", "off", "grpc)"),
    ("tcp", "on", "grpc+shm)"),
    ("tcp", "auto", "grpc+shm)"),
    ("unix", "off", "grpc)"),
    ("unix", "on", "grpc+shm)"),
]


@pytest.mark.parametrize(("where", "shared", "said"), WAYS)
def test_every_way_gives_the_files_own_numbers_in_every_batch(tmp_path, triton, own, where, shared, said):
    url = triton.url if where == "tcp" else own.url
    with make(tmp_path, url, shared_memory=shared, fail_over=False) as backend:
        assert backend.provider == f"Triton({url}, {said}"
        for rows, value in ((1, 3), (4, 5), (1, 7)):
            outputs = backend.infer({"images": picture(value, rows)})
            assert outputs["doubled"].shape == (rows, 3, 8, 8)
            assert (outputs["doubled"] == 2 * value).all()
            assert (outputs["most"] == value).all()
    assert not list(FOLDER.glob(f"taktsight-triton-{os.getpid()}-*")), "shared memory was left behind"


def test_a_killed_server_costs_no_call_and_is_used_again_once_it_has_been_well(tmp_path, own):
    told = []
    with make(tmp_path, own.url, tell=told.append) as backend:
        assert backend.provider.startswith("Triton(")
        own.kill()
        assert (backend.infer({"images": picture(2)})["doubled"] == 4).all()
        assert backend.provider == "CPUExecutionProvider(Triton away)"
        assert (backend.infer({"images": picture(3, 4)})["doubled"] == 6).all()
        assert len(told) == 1
        assert "can't be reached" in told[0]
        assert "running it here" in told[0]
        assert "\n" not in told[0]
        own.start(unix=True)

        def is_back():
            assert (backend.infer({"images": picture(4)})["doubled"] == 8).all()
            return backend.provider.startswith("Triton(")

        until(is_back)
        assert len(told) == 2
        assert "well again" in told[1]


def within(seconds):
    """A deadline, which decides how long a server may take."""
    return time.monotonic_ns() + int(seconds * 1e9)


def test_a_server_that_hangs_is_late_then_away_and_its_old_answers_never_become_new_ones(tmp_path, own):
    told = []
    with make(tmp_path, own.url, tell=told.append, late_calls=8) as backend:
        own.freeze()
        try:
            for value in (2, 3):
                backend.due(within(0.1))
                assert (backend.infer({"images": picture(value)})["doubled"] == 2 * value).all()
            assert told == []  # late twice is not away yet; nor are a few more while it wakes up
        finally:
            own.thaw()

        def is_back():  # what was late is written now, while other pictures are looked at
            backend.due(within(10))
            return (backend.infer({"images": picture(50)})["doubled"] == 100).all() and backend._late == 0

        until(is_back)
        own.freeze()
        try:
            for value in range(5, 13):
                backend.due(within(0.1))
                assert (backend.infer({"images": picture(value)})["doubled"] == 2 * value).all()
        finally:
            own.thaw()
        assert len(told) == 1
        assert "did not answer in time" in told[0]
        assert backend.provider.endswith("(Triton away)")
        until(lambda: (backend.infer({"images": picture(8)})["doubled"] == 16).all() and len(told) == 2)


def test_a_call_waits_no_longer_than_leaves_the_local_engine_its_time(tmp_path, own):
    with make(tmp_path, own.url, timeout_ms=20_000) as backend:
        own.freeze()
        try:
            began = time.monotonic()
            backend.due(within(0.4))
            assert (backend.infer({"images": picture(2)})["doubled"] == 4).all()
            assert time.monotonic() - began < 10  # not the twenty seconds that a call may take at most
        finally:
            own.thaw()


DEADLINES = [
    # milliseconds that are left, that the local engine needs, that a call may take; what it then waits
    (None, 30, 200, 200),  # nobody knows of a deadline
    (100, 30, 200, 70),  # so that both could be in time
    (100, 80, 200, 50),  # there is not time for both: half of it
    (500, 30, 200, 200),  # no longer than a call may take
    (-5, 30, 200, 200),  # late already
    (1, 30, 200, 1),  # the least
]


@pytest.mark.parametrize(("left", "local", "most", "waits"), DEADLINES)
def test_the_wait_comes_of_deadline_and_local_time(tmp_path, monkeypatch, left, local, most, waits):
    monkeypatch.setattr("app.inference.triton_backend.monotonic_ns", lambda: 10**12)
    backend = make(tmp_path, "127.0.0.1:9", timeout_ms=most)
    backend._local_s = local / 1e3
    backend.due(None if left is None else 10**12 + left * 1_000_000)
    assert backend._wait_s() * 1e3 == pytest.approx(waits)


def test_a_server_that_is_away_at_the_start_is_waited_for_on_the_local_engine(tmp_path):
    told = []
    with make(tmp_path, "127.0.0.1:9", tell=told.append) as backend:
        assert backend.provider == "CPUExecutionProvider(Triton away)"
        assert len(told) == 1


def test_without_a_local_engine_a_server_that_is_away_is_refused(tmp_path):
    with pytest.raises(ModelError, match=r"start the server, or correct triton\.url"):
        make(tmp_path, "127.0.0.1:9", fail_over=False).__enter__()


def test_without_a_local_engine_a_server_that_dies_ends_the_call(tmp_path, own):
    with make(tmp_path, own.url, fail_over=False) as backend:
        own.kill()
        try:
            with pytest.raises(TritonAway, match="can't be reached"):
                backend.infer({"images": picture(1)})
        finally:
            own.start(unix=True)


OTHERS = [
    # what the file here is or asks for, and what is said of what the server has
    ({"text": TRIPLING}, "output 'doubled' is off by"),
    ({"text": DOUBLING.replace("images", "pictures")}, "its tensors are images, the file's are pictures"),
    (
        {"text": DOUBLING.replace("8,8]", "8,6]")},
        r"tensor 'images' is FP32 \[-1, 3, 8, 8\] there and FP32 \[1, 3, 8, 6\]",
    ),
    ({"model": "tripling"}, "is not there: load it"),
    ({"version": "7"}, "is not there: load it"),
]


@pytest.mark.parametrize(("how", "said"), OTHERS)
def test_a_server_with_another_model_is_refused_at_entry_in_one_line(tmp_path, triton, how, said):
    backend = make(tmp_path, triton.url, **how)
    with pytest.raises(ModelError, match=said) as caught:
        backend.__enter__()
    assert "\n" not in str(caught.value)
    assert "export" in str(caught.value)
    assert not [thread for thread in threading.enumerate() if thread.name == "triton"]


def test_one_thread_may_enter_and_another_go_on(tmp_path, triton):
    backend = make(tmp_path, triton.url)

    def enter():
        backend.__enter__()
        hand_over(backend)

    with ThreadPoolExecutor(1) as pool:
        pool.submit(enter).result()
    take_over(backend)
    with backend:
        assert (backend.infer({"images": picture(4)})["doubled"] == 8).all()
        assert not backend.is_away


@pytest.mark.parametrize("unix", [False, True])
def test_all_calls_go_by_one_connection_that_stays_open(tmp_path, triton, own, monkeypatch, unix):
    made, client = [], triton_link.triton.InferenceServerClient
    monkeypatch.setattr(
        triton_link.triton, "InferenceServerClient", lambda *of, **how: made.append(of) or client(*of, **how)
    )
    with make(tmp_path, own.url if unix else triton.url) as backend:
        for value in range(20):
            assert (backend.infer({"images": picture(value)})["doubled"] == 2 * value).all()
    assert made == [(own.url if unix else triton.url,)]


def test_the_deadline_and_the_priority_reach_the_server(tmp_path, triton):
    """A call that has waited longer in the queue than its frame has is thrown out there."""
    with make(tmp_path, triton.url, priority=1, fail_over=False, shared_memory="off") as backend:
        sent = {}
        client = backend._link._client
        call = client.infer
        client.infer = lambda *args, **how: sent.update(how) or call(*args, **how)
        backend.due(within(15))
        backend.infer({"images": picture(1)})
        assert sent["priority"] == 1
        assert 0 < sent["timeout"] <= 15_000_000
        assert sent["timeout"] < SOON["timeout_ms"] * 1000, "the frame's deadline, not the usual bound"
        assert sent["client_timeout"] == pytest.approx(sent["timeout"] / 1e6, abs=1e-3)
        with pytest.raises(TritonLate, match="did not answer in time"):
            backend._link.infer({"images": picture(1)}, 1e-6)


def test_memory_that_a_late_call_may_still_write_to_is_not_used_again():
    shared = Shared({"a": TensorSpec("a", (4,), "float32")}, slots=3)
    try:
        first = shared.arrays["a"]
        first[:] = 1
        offsets = [shared.offsets["a"]]
        assert shared.next_slot()
        assert not np.shares_memory(first, shared.arrays["a"])
        offsets.append(shared.offsets["a"])
        assert shared.next_slot()
        assert not shared.next_slot()
        assert len({*offsets, shared.offsets["a"]}) == 3
        assert Path(f"/dev/shm/{shared.key}").stat().st_mode & 0o777 == 0o600
    finally:
        shared.close()
    shared.close()
    assert (first == 1).all()  # what was lent stays readable
    assert not Path(f"/dev/shm/{shared.key}").exists()


NUMBERS = [
    # what the server gives in place of 1, 2, 4, and what is said of it
    ([1.0, 2.0, 4.003], None),
    ([1.0, 2.0, 4.1], "off by 0.025"),
    ([1.0, 2.0, float("nan")], "off by nan"),
    ([1.0, 2.0], "shape"),
]


@pytest.mark.parametrize(("got", "said"), NUMBERS)
def test_numbers_are_compared_in_shares_of_the_largest(got, said):
    expected = {"a": np.array([1, 2, 4], np.float32)}
    fault = result_fault(expected, {"a": np.array(got, np.float32)}, 0.001)
    assert fault is None if said is None else said in fault


def test_whoever_lacks_the_client_is_told_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "app.inference.triton_backend", None)
    section = Model(path="engines/covers_640.onnx", triton=Triton())
    with pytest.raises(ModelError, match=r"pip install 'taktsight\[triton\]'"):
        build_model("covers", section)


ADDRESSES = [
    # an address, and whether it is one
    ("127.0.0.1:8001", True),
    ("triton.plant:8001", True),
    ("[::1]:8001", True),
    ("unix:/run/triton/socket:8001", True),
    ("http://127.0.0.1:8000", False),
    ("127.0.0.1", False),
]


@pytest.mark.parametrize(("url", "is_one"), ADDRESSES)
def test_an_address_is_host_and_port_or_a_socket(url, is_one):
    if is_one:
        assert Triton(url=url).url == url
        return
    with pytest.raises(ValueError, match="without http://"):
        Triton(url=url)
