"""The pauses between tries to reach the broker."""

import pytest

from app.publish.backoff import Backoff


@pytest.fixture
def backoff():
    return Backoff(first_s=0.5, max_s=15.0, jitter=0.0)


def test_each_failure_doubles_the_pause_up_to_the_largest(backoff):
    pauses = []
    for _ in range(8):
        backoff.failed()
        pauses.append(backoff.pause_s(0.0))
    assert pauses == [0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 15.0, 15.0]


def test_a_connection_that_stood_starts_over(backoff):
    for _ in range(5):
        backoff.failed()
    backoff.lived(3600.0, now_s=4000.0)
    assert backoff.pause_s(4000.0) == 0.5


def test_mq_08_connections_that_are_cut_off_soon_make_it_grow_until_they_are_forgotten(backoff):
    for second in range(4):
        assert not backoff.is_kicked(float(second))
        backoff.lived(0.2, now_s=float(second))
    assert backoff.is_kicked(4.0)
    assert backoff.pause_s(4.0) == 4.0
    assert not backoff.is_kicked(100.0)
    assert backoff.pause_s(100.0) == 0.5


def test_jitter_spreads_the_pauses_below_the_full_one():
    backoff = Backoff(first_s=1.0, jitter=0.2)
    pauses = {backoff.pause_s(0.0) for _ in range(50)}
    assert len(pauses) > 10
    assert all(0.8 <= pause <= 1.0 for pause in pauses)


def test_a_refusal_means_the_longest_pause_at_once(backoff):
    backoff.refused()
    assert backoff.pause_s(0.0) == 15.0
    backoff.lived(3600.0, now_s=4000.0)
    assert backoff.pause_s(4000.0) == 0.5
