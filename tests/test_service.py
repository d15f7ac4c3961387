"""The threads of the service: one that dies is noticed, whoever it belongs to."""

import threading
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from app.service import Service, ThreadDied

SOON_S = 0.05


class Idle:
    """An inspector that is ready at once and waits to be stopped; or ends as a test says."""

    def __init__(self, error=None):
        self.ready = threading.Event()
        self.error = error

    def run(self, stop):
        self.ready.set()
        if self.error is not None:
            raise self.error
        stop.wait(20)


@contextmanager
def part(name, ends):
    """A part of the service with a thread that runs until it is told to end."""
    thread = threading.Thread(target=ends.wait, args=(20,), name=name)
    thread.start()
    yield
    ends.set()
    thread.join()


@pytest.fixture
def ends():
    return threading.Event()


def test_ops_07_a_part_s_thread_that_ends_ends_the_service(ends):
    service = Service([part("outbox mqtt", ends)], Idle(), {})
    with pytest.raises(ThreadDied, match="the thread outbox mqtt has ended"):
        service.run(on_ready=ends.set, beat_s=SOON_S)


def test_ops_07_an_inspection_that_raises_ends_the_service_with_its_error():
    with pytest.raises(ZeroDivisionError, match="in the engine"):
        Service([], Idle(ZeroDivisionError("in the engine")), {}).run(beat_s=SOON_S)


def test_ops_07_a_capture_thread_that_raises_ends_the_service_with_its_error():
    def run(stop):
        raise ZeroDivisionError("in the camera")

    feed = SimpleNamespace(run=run, finish=lambda: None)
    with pytest.raises(ZeroDivisionError, match="in the camera"):
        Service([], Idle(), {"front": feed}).run(beat_s=SOON_S)


def test_ops_07_a_library_that_wants_to_exit_does_not_end_the_service_as_if_all_were_well():
    with pytest.raises(ThreadDied, match="the thread inspect has ended by SystemExit"):
        Service([], Idle(SystemExit(0)), {}).run(beat_s=SOON_S)


def test_ops_07_a_thread_that_is_no_part_s_is_looked_after_where_it_is_asked_for(ends):
    thread = threading.Thread(target=ends.wait, args=(20,), name="log")
    thread.start()
    service = Service([], Idle(), {})
    service.look_after(thread)
    with pytest.raises(ThreadDied, match="the thread log has ended"):
        service.run(on_ready=ends.set, beat_s=SOON_S)
    thread.join()


def test_threads_that_were_there_before_may_end(ends):
    with part("somebody else's", ends):
        service = Service([], Idle(), {})
        beats = []

        def beat():
            ends.set()
            beats.append(None)
            if len(beats) == 3:
                service.stop()

        service.run(on_beat=beat, beat_s=SOON_S)
    assert len(beats) == 3
