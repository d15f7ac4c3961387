"""The inspect thread's place, the interpreter's beat; what is not allowed is told with its remedy."""

import gc
import logging
import os
import sys
import threading
from collections.abc import Callable

import cv2
import pytest

from app.config.sections import Process
from app.steady.place import place_this_thread
from app.steady.steady import Steady


def in_a_thread(body: Callable[[], object]) -> object:
    """Run it where it can't change the test's own thread."""
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(body()))
    thread.start()
    thread.join()
    return found[0]


def test_a_thread_gets_its_cpus_and_those_it_starts_inherit_them() -> None:
    cpu = max(os.sched_getaffinity(0))

    def body() -> tuple[set[int], object]:
        place_this_thread(Process(inspect_cpus=[cpu]))
        return os.sched_getaffinity(0), in_a_thread(lambda: os.sched_getaffinity(0))

    before = os.sched_getaffinity(0)
    assert in_a_thread(body) == ({cpu}, {cpu})
    assert os.sched_getaffinity(0) == before, "other threads stay where they are"


def test_a_thread_gets_its_niceness_alone() -> None:
    before = os.getpriority(os.PRIO_PROCESS, 0)  # these tests may be niced themselves

    def body() -> int:
        place_this_thread(Process(inspect_nice=before + 3))
        return os.getpriority(os.PRIO_PROCESS, 0)

    assert in_a_thread(body) == before + 3
    assert os.getpriority(os.PRIO_PROCESS, 0) == before


def test_what_is_left_null_is_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    def body() -> tuple[object, ...]:
        place_this_thread(Process())
        return os.sched_getaffinity(0), os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0)

    assert in_a_thread(body) == (
        os.sched_getaffinity(0),
        os.getpriority(os.PRIO_PROCESS, 0),
        os.sched_getscheduler(0),
    )
    assert caplog.records == []


def test_what_is_not_allowed_is_one_warning_with_the_remedies(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    for name in ("setpriority", "sched_setscheduler"):
        monkeypatch.setattr(os, name, refuse)
    with caplog.at_level(logging.WARNING):
        in_a_thread(lambda: place_this_thread(Process(inspect_cpus=[4095], inspect_nice=-10, inspect_realtime=50)))
    (record,) = caplog.records
    said = record.getMessage()
    for words in ("inspect_cpus [4095]", "may not use [4095]", "inspect_nice -10", "LimitNICE", "LimitRTPRIO"):
        assert words in said


def test_the_interpreter_is_set_while_it_runs_and_put_back() -> None:
    before, threads = sys.getswitchinterval(), cv2.getNumThreads()
    with Steady(Process(switch_interval_ms=0.7, opencv_threads=1)) as steady:
        assert sys.getswitchinterval() == pytest.approx(0.0007)
        assert cv2.getNumThreads() == 1
        steady.warm()
        assert not gc.isenabled()
        steady.between(idle=True)
    assert sys.getswitchinterval() == before
    assert gc.isenabled()
    cv2.setNumThreads(threads)


def test_python_keeps_its_collector_where_asked() -> None:
    with Steady(Process(gc="python", switch_interval_ms=None)) as steady:
        steady.warm()
        steady.between(idle=True)
        assert gc.isenabled()
        assert gc.get_freeze_count() == 0
