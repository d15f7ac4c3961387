"""The threads of the service: one that dies is noticed, whoever it belongs to."""

import threading
from concurrent.futures import Future
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from app.errors import ConfigError, TaktsightError
from app.service import ASIDE, Service, ThreadDied

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


# ── what takes long ──────────────────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def running(service, on_beat=lambda: None):
    """Run a service in a thread; what ended it is yielded."""
    ended = []

    def run():
        try:
            service.run(on_beat=on_beat, beat_s=0.01)
        except Exception as error:
            ended.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    yield ended
    service.stop()
    thread.join(20)


def asked(service, do):
    """Have something done on the service's thread; return what it returned or raised."""
    done = Future()

    def settle():
        try:
            done.set_result(do())
        except Exception as error:
            done.set_exception(error)

    service.ask(settle)
    return done


def test_the_sign_of_life_goes_on_while_something_takes_long_beside():
    beats, enough, service = [], threading.Event(), Service([], Idle(), {})

    def beat():
        beats.append(threading.current_thread())
        if len(beats) > 20:
            enough.set()

    def long():
        beats.clear()
        assert enough.wait(20)
        return threading.current_thread().name

    with running(service, beat) as ended:
        assert asked(service, lambda: service.aside(long)).result(20) == ASIDE
    assert ended == []
    assert len(set(beats)) == 1


@pytest.mark.parametrize("error", [ConfigError("refused"), TimeoutError("its own")])
def test_what_goes_wrong_beside_comes_back_to_who_asked(error):
    def fails():
        raise error

    service = Service([], Idle(), {})
    with running(service):
        assert asked(service, lambda: service.aside(fails)).exception(20) is error


def test_a_service_that_is_asked_to_stop_does_not_wait_for_what_takes_long(ends):
    service, begun = Service([], Idle(), {}), threading.Event()

    def long():
        begun.set()
        ends.wait(20)

    with running(service):
        answer = asked(service, lambda: service.aside(long))
        assert begun.wait(20)
        service.stop()
        with pytest.raises(TaktsightError, match="the service stops"):
            answer.result(20)
    assert service.stuck == [ASIDE]
    ends.set()


def test_a_thread_that_dies_meanwhile_is_noticed(ends):
    thread = threading.Thread(target=ends.wait, args=(20,), name="log")
    thread.start()
    service, over = Service([], Idle(), {}), threading.Event()
    service.look_after(thread)

    def long():
        ends.set()
        over.wait(20)

    with running(service):
        assert "the thread log has ended" in str(asked(service, lambda: service.aside(long)).exception(20))
        over.set()
    thread.join()
