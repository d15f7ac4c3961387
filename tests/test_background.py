"""A thread that can wait goes after all others, whatever it has inherited."""

import os
from threading import Thread, get_native_id

from app.background import NICENESS, step_back


def test_a_thread_leaves_the_class_it_was_started_in_and_no_other_thread_does():
    before, found = (os.sched_getscheduler(0), os.getpriority(os.PRIO_PROCESS, get_native_id())), []

    def work():
        # BATCH stands for the real-time class, which not everybody may enter.
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
        step_back()
        found.extend((os.sched_getscheduler(0), os.getpriority(os.PRIO_PROCESS, get_native_id())))

    thread = Thread(target=work)
    thread.start()
    thread.join()
    assert found == [os.SCHED_OTHER, NICENESS]
    assert (os.sched_getscheduler(0), os.getpriority(os.PRIO_PROCESS, get_native_id())) == before


def test_a_thread_that_runs_only_when_nobody_else_wants_to_stays_so():
    found = []

    def work():
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        step_back()
        found.append(os.getpriority(os.PRIO_PROCESS, get_native_id()))

    thread = Thread(target=work)
    thread.start()
    thread.join()
    assert found == [NICENESS]
