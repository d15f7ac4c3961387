"""Who may use the GPU, and how everything is given back."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import numpy as np
import pytest

from app.errors import GpuError
from app.gpu.context import Context
from app.gpu.graph import Graph
from app.gpu.memory import DeviceMemory, PinnedMemory
from app.gpu.module import pack
from tests.gpu.fake_driver import FakeDriver
from tests.gpu.tiny_work import Work, graph_of, whole_life

T = TypeVar("T")


def on_another_thread(do: Callable[[], object]) -> str:
    said: list[str] = []

    def run() -> None:
        try:
            do()
        except GpuError as error:
            said.append(str(error))

    other = threading.Thread(target=run, name="elsewhere")
    other.start()
    other.join()
    return said[0] if said else ""


def test_another_thread_is_refused_with_both_names(context) -> None:
    work = Work(context)
    work.eager()
    graph = graph_of(context, work)
    refused = "used on the thread 'elsewhere', but 'MainThread' owns the context"
    assert refused in on_another_thread(lambda: DeviceMemory(context, 64))
    assert refused in on_another_thread(work.stream.synchronize)
    assert refused in on_another_thread(context.__enter__)
    assert refused in on_another_thread(graph.close)
    assert refused in on_another_thread(lambda: graph.launch(work.stream))
    assert refused in on_another_thread(work.record)


def test_nothing_can_be_made_in_a_context_that_is_not_entered(driver: FakeDriver) -> None:
    with pytest.raises(GpuError, match="not entered"):
        DeviceMemory(Context(), 64)


def test_the_context_is_the_primary_one_and_no_other_is_made(driver: FakeDriver) -> None:
    whole_life()
    assert "cuDevicePrimaryCtxRetain" in driver.names()
    assert "cuCtxCreate_v4" not in driver.names()


def test_who_enters_again_shares_it_and_the_last_one_out_closes_it(driver: FakeDriver) -> None:
    with Context() as context:
        with context:
            DeviceMemory(context, 64)
        assert driver.live() == {"contexts": 1, "memory": 1}
    assert driver.live() == {}


def test_two_engines_share_the_gpu_s_context_and_each_closes_its_own(driver: FakeDriver) -> None:
    with Context() as first:
        DeviceMemory(first, 64)
        with Context() as second:
            DeviceMemory(second, 64)
        assert driver.live() == {"contexts": 1, "memory": 1}
        DeviceMemory(first, 64)
    assert driver.live() == {}
    assert driver.counted()["cuDevicePrimaryCtxRetain"] == 1


# ── from one thread to another ───────────────────────────────────────────────────────────────────────────────────────


def elsewhere(do: Callable[[], T]) -> T:
    with ThreadPoolExecutor(1, thread_name_prefix="elsewhere") as pool:
        return pool.submit(do).result()


def begun() -> tuple[Context, Work, Graph]:
    """Things of every kind, made on this thread and handed over."""
    context = Context().__enter__()
    work = Work(context)
    work.eager()
    graph = graph_of(context, work)
    context.hand_over()
    return context, work, graph


@contextmanager
def taken(context: Context) -> Iterator[None]:
    """Own it here until the block ends; then it is left."""
    context.take_over()
    try:
        yield
    finally:
        context.__exit__(None, None, None)


def test_what_another_thread_has_made_runs_here_once_it_is_handed_over(driver: FakeDriver) -> None:
    context, work, graph = elsewhere(begun)
    with taken(context):
        work.source.bytes.view(np.float32)[:] = 21
        assert (work.replayed(graph) == 42).all()
        assert "'MainThread' owns the context" in on_another_thread(work.stream.synchronize)
    assert driver.live() == {}
    assert driver.depth() == 0


def test_it_runs_beside_what_this_thread_has_of_its_own(driver: FakeDriver) -> None:
    with Context() as own:
        mine = Work(own)
        before = driver.live()
        context, work, graph = elsewhere(begun)
        with taken(context):
            assert (work.replayed(graph) == mine.eager()).all()
        assert driver.live() == before
        assert (mine.eager() == 2 * np.arange(8)).all()
    assert driver.live() == {}
    assert driver.depth() == 0
    assert driver.counted()["cuDevicePrimaryCtxRetain"] == 1


def test_the_thread_that_goes_last_gives_the_context_back_whoever_retained_it(driver: FakeDriver) -> None:
    context, _, _ = elsewhere(begun)
    with taken(context), Context():
        assert driver.live()["contexts"] == 1
    assert driver.live() == {}
    assert driver.depth() == 0


def test_what_is_handed_over_belongs_to_nobody_until_it_is_taken(driver: FakeDriver) -> None:
    context, work, _ = elsewhere(begun)
    with pytest.raises(GpuError, match="the context is handed over: take it over first"):
        work.stream.synchronize()
    with taken(context):
        with pytest.raises(GpuError, match="has not handed it over"):
            context.take_over()
        assert "has not handed it over" in on_another_thread(context.take_over)
        assert "owns the context" in on_another_thread(context.hand_over)


def test_a_context_that_is_not_entered_can_not_be_taken(driver: FakeDriver) -> None:
    with pytest.raises(GpuError, match="has not handed it over"):
        Context().take_over()


def test_leaving_gives_back_what_was_forgotten_newest_first_and_the_context_last(driver: FakeDriver) -> None:
    with Context() as context:
        work = Work(context)
        work.eager()
        graph_of(context, work)
        driver.forget()
    destroyed = [name for name in driver.names() if "Destroy" in name or "Free" in name or "Unload" in name]
    assert destroyed[0] == "cuGraphExecDestroy"
    assert destroyed[-1] == "cuStreamDestroy_v2"
    assert driver.names().index("cuStreamDestroy_v2") < driver.names().index("cuDevicePrimaryCtxRelease_v2")


def test_closing_twice_is_once(context, driver: FakeDriver) -> None:
    work = Work(context)
    work.out.close()
    driver.forget()
    work.out.close()
    assert driver.names() == []


def test_a_thousand_lives_leak_nothing(driver: FakeDriver) -> None:
    for _ in range(1000):
        whole_life()
        driver.forget()
    assert driver.live() == {}
    assert driver.depth() == 0


def test_mapped_memory_is_seen_by_the_gpu_without_a_copy(context) -> None:
    assert PinnedMemory(context, 64, mapped=True).mapped_address is not None
    assert PinnedMemory(context, 64).mapped_address is None


def test_arguments_lie_where_a_kernel_looks_for_them() -> None:
    record = np.zeros((), np.dtype([("wide", np.int64), ("narrow", np.int32)], align=True))
    packed = pack([np.int32(1), np.uint64(2), np.float32(3), record])
    assert len(packed) == 4 + 4 + 8 + 4 + 4 + 16
    assert np.frombuffer(packed[8:16], np.uint64)[0] == 2
