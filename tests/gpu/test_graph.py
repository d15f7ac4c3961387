"""Graphs by the real PyCUDA and cuda-bindings, on a driver on host memory."""

import threading
from collections.abc import Callable

import numpy as np
import pycuda.driver as cuda
import pytest

from app.errors import GpuError
from app.gpu.graph import Graph
from app.gpu.memory import DeviceMemory, PinnedMemory
from app.gpu.module import Module
from tests.gpu.fake_driver import FakeDriver
from tests.gpu.tiny_work import TINY, Work, graph_of


def test_the_fake_runs_nothing_until_it_is_waited_for(context, driver: FakeDriver) -> None:
    work = Work(context)
    work.stream.synchronize()
    work.result.bytes[:] = 0
    work.record()
    assert (work.result.bytes == 0).all()
    work.stream.synchronize()
    assert work.result.bytes.view(np.float32).tolist() == [0, 2, 4, 6, 8, 10, 12, 14]


def test_a_replayed_graph_gives_what_the_same_calls_give_one_by_one(context) -> None:
    work = Work(context)
    eager = work.eager()
    graph = graph_of(context, work)
    assert (work.replayed(graph) == eager).all()
    work.source.bytes.view(np.float32)[:] = 100  # another picture in the same memory
    assert (work.replayed(graph) == 200).all()


def test_a_launch_is_one_call(context, driver: FakeDriver) -> None:
    work = Work(context)
    work.eager()
    graph = graph_of(context, work)
    driver.forget()
    graph.launch(work.stream)
    work.stream.synchronize()
    assert driver.names() == ["cuGraphLaunch", "cuStreamSynchronize"]


def test_each_launch_notes_its_times_anew(context) -> None:
    work = Work(context)
    work.eager()
    graph = graph_of(context, work)
    work.replayed(graph)
    assert 0 <= work.ended.ms_since(work.began) < 1000


def test_times_that_have_not_come_are_refused(context) -> None:
    work = Work(context)
    with pytest.raises(GpuError, match="cuEventElapsedTime: 400"):
        work.ended.ms_since(work.began)


# ── capture ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_capture_is_ended_when_the_recording_fails_and_the_stream_works_on(context, driver: FakeDriver) -> None:
    work = Work(context)
    eager = work.eager()

    def broken() -> None:
        work.record()
        raise RuntimeError("no more")

    driver.forget()
    with pytest.raises(RuntimeError, match="no more"):
        Graph(context, work.stream, broken)
    assert driver.names()[-2:] == ["cuStreamEndCapture", "cuGraphDestroy"]
    assert (work.eager() == eager).all()


FORBIDDEN = [
    ("waiting for the stream", lambda context, work: work.stream.synchronize()),
    ("waiting for everything", lambda context, work: context.synchronize()),
    ("taking memory", lambda context, work: DeviceMemory(context, 64)),
    ("taking pinned memory", lambda context, work: PinnedMemory(context, 64)),
    ("loading kernels", lambda context, work: Module(context, TINY, "tiny")),
]


@pytest.mark.parametrize(("what", "do"), FORBIDDEN, ids=[what for what, _ in FORBIDDEN])
def test_what_may_not_be_captured_is_an_error_and_the_stream_works_on(
    context, what: str, do: Callable[..., None]
) -> None:
    work = Work(context)
    eager = work.eager()

    def spoilt() -> None:
        work.record()
        do(context, work)

    with pytest.raises(GpuError, match="not permitted when stream is capturing"):
        Graph(context, work.stream, spoilt)
    assert (work.eager() == eager).all()
    assert (work.replayed(graph_of(context, work)) == eager).all()


def test_a_fault_that_the_recording_swallows_still_spoils_the_capture(context) -> None:
    work = Work(context)
    work.eager()

    def swallowing() -> None:
        work.record()
        with pytest.raises(GpuError):
            context.synchronize()

    with pytest.raises(GpuError, match="cuStreamEndCapture: 901"):
        Graph(context, work.stream, swallowing)


def test_a_graph_that_recorded_too_little_is_refused(context) -> None:
    work = Work(context)
    with pytest.raises(GpuError, match="captured 0 pieces of work, expected at least 1"):
        Graph(context, work.stream, lambda: None)
    with pytest.raises(GpuError, match="captured 5 pieces of work, expected at least 6"):
        graph_of(context, work, least_nodes=6)


def test_other_threads_work_does_not_spoil_a_capture(context) -> None:
    """Thread-local mode: the ordinary work of another thread, here an allocation, goes on beside it."""
    work = Work(context)
    work.eager()
    failed: list[BaseException] = []

    def elsewhere() -> None:
        try:
            own = cuda.Device(0).retain_primary_context()
            own.push()
            cuda.mem_alloc(64).free()
            cuda.Context.pop()
            own.detach()
        except cuda.Error as error:
            failed.append(error)

    def record() -> None:
        work.record()
        other = threading.Thread(target=elsewhere)
        other.start()
        other.join()

    Graph(context, work.stream, record)
    assert failed == []


def test_nothing_is_taken_or_waited_for_while_a_stream_is_captured(context, driver: FakeDriver) -> None:
    work = Work(context)
    work.eager()
    driver.forget()
    graph_of(context, work)
    while_capturing = {name for name, capturing in driver.calls() if capturing}
    assert while_capturing == {
        "cuStreamIsCapturing",
        "cuEventRecordWithFlags",
        "cuMemcpyHtoDAsync_v2",
        "cuLaunchKernel",
        "cuMemcpyDtoHAsync_v2",
        "cuStreamEndCapture",
    }
