"""Memory that pictures share, one after another: nothing is ever written into a picture that somebody holds."""

import gc
import mmap
import platform
import threading
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.frame import Frame, Picture, PixelFormat, Pixels, crop
from app.picture_memory import HUGE, IDLE, Block, PictureMemory, block_of
from app.steady.huge_pages import setting

SHAPE = (24, 32, 3)


def filled(memory: PictureMemory, value: int, shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    picture = memory.take(shape)
    picture.fill(value)
    return picture


def where(picture: np.ndarray) -> Block:
    block = block_of(picture)
    assert block is not None
    return block


@pytest.mark.parametrize("pixels", list(PixelFormat))
def test_a_picture_has_the_shape_and_type_that_were_asked_for_and_begins_a_page(pixels: PixelFormat) -> None:
    picture = PictureMemory().take(pixels.shape((32, 24)), pixels.dtype)
    assert (picture.shape, picture.dtype) == (pixels.shape((32, 24)), pixels.dtype)
    assert picture.flags.c_contiguous
    assert picture.flags.writeable
    assert picture.__array_interface__["data"][0] == where(picture).address
    assert where(picture).address % mmap.PAGESIZE == 0


@pytest.mark.parametrize(
    ("nbytes", "page"), [(1, mmap.PAGESIZE), (HUGE // 2 - 1, mmap.PAGESIZE), (HUGE // 2, HUGE), (3 * HUGE + 1, HUGE)]
)
def test_large_pictures_fill_whole_huge_pages(nbytes: int, page: int) -> None:
    block = where(PictureMemory().take((nbytes,)))
    assert len(block) == -(-nbytes // page) * page
    version = tuple(int(part) for part in platform.release().split(".")[:2])
    if page == HUGE and version >= (6, 7) and setting() not in ("", "never"):
        assert block.address % HUGE == 0


def test_memory_is_used_again_once_the_picture_is_gone() -> None:
    memory = PictureMemory()
    first = where(filled(memory, 1))
    assert all(where(filled(memory, value)) is first for value in range(100))
    assert memory.missed == 0


def test_pictures_that_are_held_at_a_time_lie_in_blocks_of_their_own() -> None:
    memory = PictureMemory(most=4)
    pictures = [filled(memory, value) for value in range(4)]
    assert len({where(picture).address for picture in pictures}) == 4
    assert [int(picture.max()) for picture in pictures] == [0, 1, 2, 3]


def test_where_all_blocks_are_held_it_is_ordinary_memory_and_counted() -> None:
    memory = PictureMemory(most=2)
    held = [filled(memory, 1), filled(memory, 2)]
    assert block_of(filled(memory, 3)) is None
    assert memory.missed == 1
    held.pop()
    assert block_of(filled(memory, 4)) is not None
    assert memory.missed == 1


def test_where_the_machine_has_no_memory_for_a_block_it_is_ordinary_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(owner: PictureMemory, nbytes: int) -> Block:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(Block, "of", refused)
    memory = PictureMemory()
    assert block_of(filled(memory, 1)) is None
    assert memory.missed == 1


def test_no_picture_at_all_needs_no_block() -> None:
    memory = PictureMemory()
    assert memory.take((0, 0, 3)).shape == (0, 0, 3)
    assert memory.missed == 0


def test_a_camera_whose_pictures_grow_gets_larger_blocks_and_no_more_of_them() -> None:
    memory = PictureMemory(most=2)
    held, small = filled(memory, 7), where(filled(memory, 1))
    large = where(filled(memory, 2, (480, 640, 3)))
    assert len(large) >= 480 * 640 * 3
    assert small.is_given_up
    assert not large.is_given_up
    assert not where(held).is_given_up
    assert (held == 7).all()
    del held
    assert where(filled(memory, 3)).is_given_up is False
    assert memory.missed == 0


def test_blocks_of_a_busy_moment_are_given_up_one_by_one_once_nobody_has_needed_them_for_long() -> None:
    memory = PictureMemory()
    first, second, held = (filled(memory, value) for value in range(3))
    spare = where(second)
    kept = where(held)
    del first, second
    for _ in range(IDLE):
        memory.take(SHAPE)
    assert memory.has(spare), "it may be needed again"
    for _ in range(2):
        memory.take(SHAPE)
    assert memory.has(kept), "somebody holds the picture in it"
    assert (held == 2).all()
    del held
    for _ in range(2):
        memory.take(SHAPE)
    assert kept.is_given_up
    assert spare.is_given_up
    assert not where(memory.take(SHAPE)).is_given_up, "one always stays"


def test_the_picture_outlives_the_camera_and_its_memory() -> None:
    memory = PictureMemory()
    picture = filled(memory, 9)
    block = where(picture)
    assert not block.is_given_up
    del memory
    gc.collect()
    assert block.is_given_up
    assert block.is_held
    assert (picture == 9).all()


def test_a_picture_that_a_library_has_made_is_copied_only_where_that_is_worth_it() -> None:
    made = np.full(SHAPE, 8, np.uint8)
    assert PictureMemory().keep(made) is made
    kept = PictureMemory(worth_a_copy=True).keep(made)
    assert block_of(kept) is not None
    assert (kept == 8).all()


def test_rows_with_gaps_are_copied_in_any_case() -> None:
    made = np.full((24, 40, 3), 8, np.uint8)[:, :32]
    kept = PictureMemory().keep(made)
    assert kept.flags.c_contiguous
    assert block_of(kept) is not None
    assert (kept == 8).all()


def holds(line: str, address: int) -> bool:
    """Whether a line of the list of all pages begins the part with this one."""
    begin, found, rest = line.partition(" ")[0].partition("-")
    return bool(found) and int(begin, 16) <= address < int(rest, 16)


def test_a_process_that_is_forked_off_gets_none_of_it() -> None:
    """Else the pages would be exchanged under a GPU that reads them."""
    block = where(filled(PictureMemory(), 1))
    maps = Path("/proc/self/smaps").read_text(encoding="utf-8").split("\n")
    at = next(number for number, line in enumerate(maps) if holds(line, block.address))
    flags = next(line for line in maps[at:] if line.startswith("VmFlags:"))
    assert "dc" in flags.split(), flags


def test_ordinary_arrays_lie_in_no_block() -> None:
    plain = np.zeros(SHAPE, np.uint8)
    assert block_of(plain) is None
    assert block_of(plain[3:]) is None
    assert block_of(filled(PictureMemory(), 1).copy()) is None


# ── whoever holds the picture, however ───────────────────────────────────────────────────────────────────────────────

HOLDERS: dict[str, Callable[[np.ndarray], object]] = {
    "the array": lambda picture: picture,
    "a row": lambda picture: picture[5],
    "a view of a view of a view": lambda picture: picture[2:][:, ::2].view().transpose()[1:],
    "its bytes": lambda picture: picture.reshape(-1).view(np.uint16),
    "a memoryview": memoryview,
    "a memoryview of a view": lambda picture: memoryview(picture[1:3]),
    "an array over a memoryview": lambda picture: np.asarray(memoryview(picture)),
    "an array over a buffer": lambda picture: np.frombuffer(picture, np.uint8),
    "an array over a buffer of a part": lambda picture: np.frombuffer(picture[4:6], np.uint8)[3:],
    "a subclass": lambda picture: picture.view(np.recarray),
    "an iterator": iter,
    "a flat iterator": lambda picture: picture.flat,
    "one by DLPack": lambda picture: np.from_dlpack(picture[:, :16]),
    "ctypes": np.ctypeslib.as_ctypes,
    "a masked array": lambda picture: np.ma.MaskedArray(picture, copy=False),
    "broadcast": lambda picture: np.broadcast_to(picture, (2, *picture.shape)),
    "sliding windows": lambda picture: np.lib.stride_tricks.sliding_window_view(picture, 3, axis=0),
    "a frame": lambda picture: Frame("a", 1, Picture(picture, 0, 0), 0),
    "a part as a crop": lambda picture: crop(picture, (1, 1, 4, 4)),
    "a part in another format": lambda picture: Pixels(picture[..., 0].copy(), PixelFormat.GRAY8) and picture,
    "a cycle": lambda picture: _cycle(picture[1:]),
}


def _cycle(picture: np.ndarray) -> list[object]:
    around: list[object] = [picture]
    around.append(around)
    return around


@pytest.mark.parametrize("how", HOLDERS)
def test_a_block_is_held_as_long_as_anything_of_its_picture_is(how: str) -> None:
    memory = PictureMemory(most=1)
    picture = filled(memory, 5)
    block = where(picture)
    holder = HOLDERS[how](picture)
    del picture
    assert block.is_held, how
    assert block_of(filled(memory, 6)) is None
    del holder
    if how == "a cycle":
        gc.collect()
    assert not block.is_held, how
    assert where(filled(memory, 7)) is block


def test_what_opencv_makes_of_a_part_without_copying_holds_it() -> None:
    memory = PictureMemory(most=1)
    flat = cv2.UMat(filled(memory, 5)[3:9])  # copied or not, its numbers stay
    filled(memory, 6)
    assert (flat.get() == 5).all()


class Late:
    """Something in a cycle, whose finaliser looks at the picture."""

    seen: ClassVar[list[tuple[int, bool]]] = []

    def __init__(self, picture: np.ndarray) -> None:
        self.picture, self.me, self.block = picture, self, where(picture)

    def __del__(self) -> None:
        Late.seen.append((int(self.picture.max()), self.block.is_held))


def test_a_finaliser_that_the_garbage_collector_calls_still_finds_its_picture_and_its_block_held() -> None:
    memory = PictureMemory(most=1)
    late = Late(filled(memory, 5))
    block = late.block
    del late
    assert block.is_held
    gc.collect()
    assert Late.seen.pop() == (5, True)
    assert not block.is_held


def test_a_finaliser_that_brings_its_picture_back_keeps_it() -> None:
    memory, saved = PictureMemory(most=1), []

    def looking() -> Iterator[None]:
        picture = filled(memory, 5)
        try:
            yield
        finally:
            saved.append(picture)

    around: list[object] = [looking()]
    around.append(around)
    next(around[0])  # type: ignore[call-overload]  # it is the generator
    del around
    gc.collect()
    assert block_of(filled(memory, 6)) is None
    assert (saved[0] == 5).all()


# ── any order of taking, holding and letting go ──────────────────────────────────────────────────────────────────────

Step = tuple[str, int]
STEPS = st.lists(
    st.tuples(st.sampled_from(["take", "take", "take larger", "hold a part", "drop", "drop"]), st.integers(0, 9)),
    max_size=40,
)


@settings(max_examples=80, deadline=None)
@given(STEPS, st.integers(1, 5))
def test_whatever_is_held_keeps_its_numbers(steps: list[Step], most: int) -> None:
    memory, held, number, taken = PictureMemory(most), [], 0, 0
    for step, which in steps:
        if step.startswith("take"):
            number = (number + 1) % 251
            shape = (which + 1, 700, 3) if step == "take larger" else SHAPE
            held.append((number, filled(memory, number, shape)))
            taken += 1
        elif held and step == "hold a part":
            value, whole = held[which % len(held)]
            held.append((value, whole[which % 2 :]))
        elif held:
            del held[which % len(held)]
        for value, kept in held:
            assert (kept == value).all()
        pooled = {where(kept).address for _, kept in held if block_of(kept) is not None}
        assert sum(block.is_held for block in memory._blocks) <= most
        assert len(memory._blocks) <= most
        assert len(pooled) <= taken
    assert memory.missed <= taken


def test_threads_that_hold_pictures_for_as_long_as_they_like_never_see_another_one() -> None:
    """One thread fills pictures, four hold them and views of them, each for another time; none ever changes."""
    memory, wrong, looked = PictureMemory(most=4), [], []
    queues: list[deque[tuple[int, np.ndarray] | None]] = [deque() for _ in range(4)]
    bells = [threading.Semaphore(0) for _ in queues]

    def hold(queue: deque, bell: threading.Semaphore, patience: int) -> None:
        kept: deque[tuple[int, np.ndarray]] = deque(maxlen=patience)
        while True:
            bell.acquire()
            item = queue.popleft()
            if item is None:
                break
            value, picture = item
            kept.append((value, picture[patience:]))
            del picture, item
            wrong.extend(value for value, part in kept if not (part == value).all())
            looked.append(value)

    threads = [threading.Thread(target=hold, args=(*pair, n)) for n, pair in enumerate(zip(queues, bells, strict=True))]
    for thread in threads:
        thread.start()
    for number in range(800):
        picture = filled(memory, number % 251)
        queues[number % 4].append((number % 251, picture))
        del picture
        bells[number % 4].release()
    for queue, bell in zip(queues, bells, strict=True):
        queue.append(None)
        bell.release()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert wrong == []
    assert len(looked) == 800
    assert not any(block.is_held for block in memory._blocks)


def test_two_threads_that_take_at_once_never_get_one_block() -> None:
    """A source that was given up may come back from its driver while another one reads already."""
    memory, wrong = PictureMemory(most=3), []
    start = threading.Barrier(3)

    def take(value: int) -> None:
        start.wait(60)
        for _ in range(800):
            picture = filled(memory, value)
            wrong.extend([value] if not (picture == value).all() else [])

    threads = [threading.Thread(target=take, args=(value,)) for value in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert wrong == []
