"""Threads that can wait learn when nobody is in their way, and go on where that never comes."""

from threading import Thread

from app.steady.lull import Lull


def test_there_is_one_until_the_first_frame_comes():
    assert Lull().wait(0)


def test_whoever_waits_goes_on_when_it_begins_or_when_the_time_is_over():
    lull, found = Lull(), []
    lull.end()
    assert not lull.wait(0.001)
    thread = Thread(target=lambda: found.append(lull.wait(20)))
    thread.start()
    lull.begin()
    thread.join(20)
    assert found == [True]
