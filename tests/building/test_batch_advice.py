"""Which batch: the seed of memory, what was measured, and what cameras and budget leave of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.building.batch_advice import (
    BUSY,
    Load,
    Measured,
    Room,
    advice,
    choose,
    fit,
    largest_worthwhile,
    most_cameras,
    room_of,
    seed_advice,
)

MB = 1_000_000

SEEDS = [
    # (1000 - 100) / 100 = 9 samples, two held back
    (Room(1000 * MB, 100 * MB, 100 * MB), 7),
    # a part of a sample is none
    (Room(1000 * MB, 150 * MB, 100 * MB), 6),
    # one picture must always be tried
    (Room(250 * MB, 100 * MB, 100 * MB), 1),
    (Room(50 * MB, 100 * MB, 100 * MB), 1),
]


@pytest.mark.parametrize(("room", "seed"), SEEDS)
def test_memory_allows_what_fits_less_two_samples(room, seed):
    assert room.seed == seed


def test_memory_for_a_sample_is_what_larger_batches_were_seen_to_take():
    room = room_of(1000 * MB, {1: 130 * MB, 2: 160 * MB, 8: 340 * MB})
    assert (room.fixed_bytes, room.sample_bytes) == (100 * MB, 30 * MB)
    assert room_of(1000 * MB, {4: 200 * MB}).sample_bytes == 50 * MB
    assert room_of(1000 * MB, {}) is None


def gpu(batch):
    """An engine with 2 ms for a start and 3 ms for each picture; its tail is a tenth longer."""
    return Measured(batch, 2 + 3 * batch, (2 + 3 * batch) * 1.1)


ROWS = [gpu(batch) for batch in (1, 2, 4, 8)]


def test_the_worst_case_is_filling_the_batch_before_and_its_own_run():
    found = fit(gpu(4), Load(10, 20, 100))
    assert found.fill_ms == pytest.approx(3 / 200 * 1000)
    assert found.worst_ms == pytest.approx(15 + 2 * 15.4)
    assert found.busy == pytest.approx(200 * 14 / 4 / 1000)


CHOICES = [
    # one camera: nothing to gather
    (Load(1, 30, 35), 1),
    # 210 pictures a second keep batch 1 busy beyond its limit (5 ms each), batch 2 takes 4 ms each and batch 4 3.5 ms
    (Load(7, 30, 100), 4),
    # 180 a second: batch 2 is enough
    (Load(6, 30, 100), 2),
    # enough engine, too little time to gather
    (Load(6, 30, 20), None),
    # more than it gives at all
    (Load(20, 30, 500), None),
]


@pytest.mark.parametrize(("load", "batch"), CHOICES)
def test_the_smallest_batch_that_keeps_up_in_time_is_chosen(load, batch):
    found = choose(ROWS, load)
    assert (None if found is None else found.measured.batch) == batch


def test_a_batch_that_memory_does_not_allow_is_not_chosen():
    assert choose(ROWS, Load(7, 30, 100), Room(500 * MB, 0, 100 * MB)) is None


def test_the_sentence_names_batch_cameras_and_times():
    assert advice(ROWS, Load(6, 30, 100)) == (
        "6 cameras at 30 fps within 100 ms: batch 2; a picture waits 5.6 ms for it to fill, it takes 8.8 ms (p99), the "
        "worst case is 23.2 ms, and the engine is busy 72% of the time"
    )


SHORT = [
    # too many pictures
    (Load(20, 30, 500), "600 pictures a second come and the engine gives 308 at most. It would do for 8 of these"),
    # too little time
    (Load(6, 30, 20), "the nearest is batch 2 with 23.2 ms in the worst case. It would do for 5 of these cameras"),
    # too slow even for one
    (Load(1, 30, 5), "the nearest is batch 1 with 11.0 ms in the worst case. Not one such camera would do"),
]


@pytest.mark.parametrize(("load", "said"), SHORT)
def test_what_can_not_be_met_is_said_with_what_could(load, said):
    text = advice(ROWS, load)
    assert text.startswith(f"{load}: no batch does it. ")
    assert said in text


def test_the_seed_is_said_beside_what_was_measured():
    flat = [Measured(1, 5, 6), Measured(2, 6, 7), Measured(4, 11.9, 13), Measured(8, 24, 26)]
    assert largest_worthwhile(flat).batch == 2
    assert seed_advice(flat, Room(1000 * MB, 100 * MB, 9 * MB)) == (
        "memory allows batches up to 98: 1,000 MB free, 100 MB weights, 9.0 MB a picture, 2 held back; measured, batch "
        "2 is the largest of use: 333 pictures a second, 333 with batch 8"
    )
    assert seed_advice([Measured(1, 5, 6)], None) == ""


@given(
    st.integers(1, 40),
    st.floats(1, 120),
    st.floats(1, 500),
    st.lists(st.floats(0.5, 200), min_size=1, max_size=6),
)
def test_what_is_chosen_meets_the_load_and_nothing_smaller_does(cameras, fps, budget, times):
    rows = [Measured(2**number, ms, ms * 1.2) for number, ms in enumerate(times)]
    load = Load(cameras, fps, budget)
    found = choose(rows, load)
    smaller = [fit(row, load) for row in rows if found is None or row.batch < found.measured.batch]
    assert not any(one.meets(load) for one in smaller)
    if found is not None:
        assert found.busy <= BUSY
        assert found.worst_ms <= budget
    assert advice(rows, load)
    assert 0 <= most_cameras(rows, load) <= cameras
