"""Who may use the GPU, and how everything is given back."""

import threading
from collections.abc import Callable

import numpy as np
import pytest

from app.errors import GpuError
from app.gpu.context import Context, primary
from app.gpu.memory import DeviceMemory, PinnedMemory
from app.gpu.module import pack
from tests.gpu.fake_driver import FakeDriver
from tests.gpu.tiny_work import Work, graph_of, whole_life


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
    with primary() as first:
        with primary() as second:
            assert second is first
            DeviceMemory(second, 64)
        assert driver.live() == {"contexts": 1, "memory": 1}
    assert driver.live() == {}
    assert driver.counted()["cuDevicePrimaryCtxRetain"] == 1


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
