"""A ring in memory that outlives its process: what was put and not released is there for the next one."""

import struct

import pytest

from app.publish.store import Row
from app.publish.store_ring import HEAD_AT, HEAD_BYTES, Ring, ring_path

SIZE = 4096


def row(number, size=100):
    return Row(number, "NG", number * 10, number * 20, bytes([number % 256]) * size)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "one.ring"


def reopened(path):
    ring = Ring(path, SIZE)
    left = ring.open()
    return ring, left


def test_what_was_not_released_is_there_for_the_next_process(path):
    ring, left = reopened(path)
    assert left == []
    places = [ring.put(row(number)) for number in range(1, 6)]
    ring.release(places[2])
    ring.close()
    ring, left = reopened(path)
    assert left == [row(3), row(4), row(5)]
    ring.release(ring.end)
    ring.close()
    assert reopened(path)[1] == []


def test_it_goes_round_for_ever_and_loses_nothing_on_the_way(path):
    ring, _ = reopened(path)
    waiting = []
    for number in range(1, 1000):
        place = ring.put(row(number, size=37 + number % 300))
        assert place is not None
        waiting.append((place, number))
        if len(waiting) > 5:
            waiting.pop(0)
            ring.release(waiting[0][0])
        if number % 97 == 0:
            ring.close()
            ring, left = reopened(path)
            assert [one.number for one in left] == [one for _, one in waiting]
    ring.close()


def test_without_room_it_says_so_and_keeps_what_it_has(path):
    ring, _ = reopened(path)
    count = 0
    while ring.put(row(count + 1)) is not None:
        count += 1
    assert count > 20
    ring.close()
    assert [one.number for one in reopened(path)[1]] == list(range(1, count + 1))


def test_a_record_larger_than_the_ring_is_not_taken(path):
    ring, _ = reopened(path)
    assert ring.put(row(1, size=SIZE)) is None
    assert ring.put(row(2)) is not None


def test_a_record_that_is_half_written_does_not_count(path):
    ring, _ = reopened(path)
    ring.put(row(1))
    second = ring.put(row(2))
    ring.close()
    with path.open("r+b") as file:
        file.seek(HEAD_BYTES + second + 20)
        file.write(b"\xff\xff\xff")
    assert reopened(path)[1] == [row(1)]


@pytest.mark.parametrize("head", [1 << 40, 3, 2**64 - 8], ids=["far away", "no multiple", "beyond all"])
def test_positions_that_can_not_be_are_begun_anew(path, head):
    ring, _ = reopened(path)
    ring.put(row(1))
    ring.close()
    with path.open("r+b") as file:
        file.seek(HEAD_AT)
        file.write(struct.pack("<Q", head))
    ring, left = reopened(path)
    assert left == []
    assert ring.put(row(7)) is not None
    ring.close()
    assert reopened(path)[1] == [row(7)]


def test_another_process_of_the_same_line_does_not_get_it(path):
    first, _ = reopened(path)
    with pytest.raises(OSError, match="temporarily unavailable"):
        Ring(path, SIZE).open()
    first.close()


def test_a_link_in_its_place_is_not_followed(path, tmp_path):
    (tmp_path / "victim").write_bytes(b"mine")
    path.symlink_to(tmp_path / "victim")
    with pytest.raises(OSError, match="symbolic"):
        Ring(path, SIZE).open()
    assert (tmp_path / "victim").read_bytes() == b"mine"


def test_nothing_is_left_in_memory_once_all_is_delivered(path):
    ring, _ = reopened(path)
    ring.release(ring.put(row(1)))
    ring.close()
    assert path.exists()
    ring, _ = reopened(path)
    ring.release(ring.end)
    ring.close()
    assert not path.exists()


def test_each_file_has_a_ring_of_its_own_in_the_services_folder(tmp_path):
    one, other = (ring_path(tmp_path / name, tmp_path) for name in ("one.sqlite", "other.sqlite"))
    assert one is not None
    assert one.parent == tmp_path
    assert one != other
    assert ring_path(tmp_path / "one.sqlite", tmp_path / "missing") is None
