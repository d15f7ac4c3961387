"""A camera's memory, registered: the GPU reads it where it is, for as long as it is registered and no longer."""

import gc
import threading

import numpy as np
import pytest

from app.errors import GpuError
from app.gpu.checked import call
from app.gpu.context import Context
from app.gpu.memory import DeviceMemory, RegisteredMemory, to_device, to_host
from app.picture_memory import Block, PictureMemory, block_of
from tests.gpu.fake_driver import FakeDriver
from tests.gpu.tiny_work import Work, graph_of

Picture = np.ndarray


def taken(memory: PictureMemory, value: float) -> tuple[Picture, Block]:
    picture = memory.take((8,), np.float32)
    picture[:] = value
    block = block_of(picture)
    assert block is not None
    return picture, block


def test_a_registered_block_is_copied_from_when_the_stream_gets_there(context) -> None:
    picture, block = taken(PictureMemory(), 1)
    registered = RegisteredMemory(context, block)
    work = Work(context)
    there = DeviceMemory(context, 32)
    to_device(picture.view(np.uint8), there.address, work.stream)
    to_host(work.result.bytes, there.address, work.stream)
    work.stream.synchronize()
    assert (work.result.bytes.view(np.float32) == 1).all()
    assert registered.mapped_address is None


def test_a_mapped_block_has_an_address_of_the_gpu_s(context) -> None:
    _, block = taken(PictureMemory(), 1)
    assert RegisteredMemory(context, block, mapped=True).mapped_address


def test_a_graph_reads_from_whichever_block_it_is_told_to_and_replays_as_the_calls(context) -> None:
    memory, work = PictureMemory(), Work(context)
    work.eager()
    graph = graph_of(context, work)
    upload = graph.upload_to(work.on_device.address, 32)
    pictures = [taken(memory, value) for value in (1, 2, 3)]
    for _, block in pictures:
        RegisteredMemory(context, block)
    for value in (1, 2, 3, 1, 3, 3, 2):
        upload.read_from(pictures[value - 1][1].address)
        assert (work.replayed(graph) == 2 * value).all()
    pictures[1][0][:] = 50  # the same block with new pixels
    assert (work.replayed(graph) == 100).all()
    work.source.bytes.view(np.float32)[:] = 9
    upload.read_from(work.source.bytes.__array_interface__["data"][0])
    assert (work.replayed(graph) == 18).all(), "pinned memory as before"


def test_telling_a_graph_what_it_knows_already_is_no_call(context, driver: FakeDriver) -> None:
    work = Work(context)
    work.eager()
    graph = graph_of(context, work)
    upload = graph.upload_to(work.on_device.address, 32)
    upload.read_from(work.source.bytes.__array_interface__["data"][0])
    driver.forget()
    upload.read_from(work.source.bytes.__array_interface__["data"][0])
    assert driver.names() == []


def test_a_graph_leaves_its_copy_out_as_long_as_it_is_told_to(context) -> None:
    work = Work(context)
    expected = work.eager()
    graph = graph_of(context, work)
    upload = graph.upload_to(work.on_device.address, 32)
    source = work.source.bytes.view(np.float32)
    for round_ in range(1, 4):
        upload.turn(on=False)
        source[:] = 100 * round_
        for _ in range(2):
            assert (work.replayed(graph) == expected).all(), "what went up before"
        upload.turn(on=True)
        expected = work.replayed(graph)
        assert (expected == 200 * round_).all()


def test_leaving_out_what_is_left_out_is_no_call(context, driver: FakeDriver) -> None:
    work = Work(context)
    work.eager()
    upload = graph_of(context, work).upload_to(work.on_device.address, 32)
    driver.forget()
    for on in (True, False, False, True, True):
        upload.turn(on=on)
    assert driver.names() == ["cuGraphNodeSetEnabled"] * 2


def test_a_driver_that_does_not_leave_out_a_copy_makes_it_and_that_is_known(context, driver: FakeDriver) -> None:
    work = Work(context)
    work.eager()
    graph = graph_of(context, work)
    upload = graph.upload_to(work.on_device.address, 32)
    for on in (False, True):  # to leave it out, and to make it again
        driver.fail("cuGraphNodeSetEnabled", code=801)
        with pytest.raises(GpuError, match="cuGraphNodeSetEnabled: 801"):
            upload.turn(on=on)
        upload.turn(on=on)  # so it did not take it for done
    work.source.bytes.view(np.float32)[:] = 9
    assert (work.replayed(graph) == 18).all()


def test_a_launch_that_is_under_way_is_not_changed(context, driver: FakeDriver) -> None:
    memory, work = PictureMemory(), Work(context)
    work.eager()
    graph = graph_of(context, work)
    upload = graph.upload_to(work.on_device.address, 32)
    first, second = (taken(memory, value) for value in (1, 2))
    for _, block in (first, second):
        RegisteredMemory(context, block)
    upload.read_from(first[1].address)
    graph.launch(work.stream)
    upload.read_from(second[1].address)
    work.stream.synchronize()
    assert (work.result.bytes.view(np.float32) == 2).all()
    assert (work.replayed(graph) == 4).all()


def test_a_copy_that_was_not_captured_is_refused(context) -> None:
    work = Work(context)
    work.eager()
    with pytest.raises(GpuError, match="no such copy to the GPU"):
        graph_of(context, work).upload_to(work.out.address, 32)


def test_memory_that_is_not_pinned_is_refused_by_the_driver_on_host_memory_and_nothing_changes(
    context, driver: FakeDriver
) -> None:
    """What a real driver says of it is not known; nobody may find out by a wrong picture."""
    work = Work(context)
    expected = work.eager()
    graph = graph_of(context, work)
    upload = graph.upload_to(work.on_device.address, 32)
    _, block = taken(PictureMemory(), 77)
    with pytest.raises(GpuError, match="cuGraphExecMemcpyNodeSetParams: 1"):
        upload.read_from(block.address)
    assert (work.replayed(graph) == expected).all()


def test_another_thread_may_neither_register_nor_let_go(context) -> None:
    _, block = taken(PictureMemory(), 1)
    registered, said = RegisteredMemory(context, block), []

    def elsewhere() -> None:
        for do in (lambda: RegisteredMemory(context, block), registered.close):
            try:
                do()
            except GpuError as error:
                said.append(str(error))

    thread = threading.Thread(target=elsewhere, name="elsewhere")
    thread.start()
    thread.join(60)
    assert len(said) == 2
    assert all("used on the thread 'elsewhere'" in text for text in said)


def test_two_engines_share_a_block_and_the_last_one_lets_it_go(driver: FakeDriver) -> None:
    picture, block = taken(PictureMemory(), 1)
    with Context() as first:
        one = RegisteredMemory(first, block)
        with Context() as second:
            RegisteredMemory(second, block)
            assert driver.counted()["cuMemHostRegister_v2"] == 1
            one.close()
            assert driver.live()["registered"] == 1
        assert "registered" not in driver.live()
        RegisteredMemory(first, block)
        assert driver.live()["registered"] == 1
    assert (picture == 1).all()


def test_the_pages_stay_as_long_as_they_are_registered(context) -> None:
    memory = PictureMemory()
    picture, block = taken(memory, 1)
    registered = RegisteredMemory(context, block)
    del memory, picture, block
    gc.collect()
    assert registered.block.is_given_up
    assert not registered.block.is_held
    assert np.frombuffer(registered.block, np.float32, 8).tolist() == [1.0] * 8
    registered.close()


def test_what_the_gpu_still_reads_cannot_be_let_go(context, driver: FakeDriver) -> None:
    """The driver on host memory says so; a real one may not."""
    picture, block = taken(PictureMemory(), 1)
    registered, work = RegisteredMemory(context, block), Work(context)
    to_device(picture.view(np.uint8), work.on_device.address, work.stream)
    with pytest.raises(GpuError, match="cuMemHostUnregister: 401"):
        registered.close()
    work.stream.synchronize()
    call("cuMemHostUnregister", block.address)


def test_a_thousand_times_registered_and_let_go_leave_nothing_behind(driver: FakeDriver) -> None:
    memory = PictureMemory(most=4)
    for number in range(1000):
        pictures = [taken(memory, number) for _ in range(1 + number % 4)]
        with Context() as context:
            for picture in pictures:
                registered = RegisteredMemory(context, picture[1], mapped=number % 2 == 0)
            if number % 3:
                registered.close()
        assert driver.live() == {}
        del pictures, picture, registered
    assert memory.missed == 0
    assert not any(block.is_held for block in memory._blocks)
