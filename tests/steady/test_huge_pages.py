"""What the models fill lies in huge pages; what is empty, or a file's, or not ours stays as it is."""

from __future__ import annotations

import errno
import mmap
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from app.config.sections import Process
from app.picture_memory import HUGE
from app.steady import huge_pages, steady
from app.steady.huge_pages import (
    FULL,
    HALF_FULL,
    MADV_COLLAPSE,
    MADV_HUGEPAGE,
    SETTING,
    Area,
    areas_of,
    setting,
    use_huge_pages,
)
from app.steady.steady import Steady

MB = 1 << 20
SMALL = HUGE // mmap.PAGESIZE


def area(begin: int, end: int, rights: str = "rw-p", inode: int = 0, name: str = "") -> str:
    return f"{begin:08x}-{end:08x} {rights} 00000000 00:00 {inode} {name}".rstrip() + "\n"


@pytest.mark.parametrize("heap", [True, False])
@pytest.mark.parametrize(
    ("text", "areas"),
    [
        (area(0x400000, 0x800000), [Area(0x400000, 0x800000)]),
        (area(0x400000, 0x800000, name="[stack]"), []),
        (area(0x400000, 0x800000, inode=7, name="/models/a b.onnx"), []),
        (area(0x400000, 0x800000, "r--p"), []),  # code and constants
        (area(0x400000, 0x800000, "rw-s"), []),  # shared with another process
        (area(0x400000, 0x800000, "---p"), []),  # nobody's
    ],
)
def test_memory_is_ours_where_it_is_private_writable_and_of_no_file(text: str, areas: list[Area], heap: bool) -> None:
    assert list(areas_of(text.splitlines(), heap=heap)) == areas


def test_the_heap_of_small_objects_is_moved_only_where_that_is_asked_for() -> None:
    lines = area(0x400000, 0x800000, name="[heap]").splitlines()
    assert list(areas_of(lines, heap=True)) == [Area(0x400000, 0x800000)]
    assert list(areas_of(lines, heap=False)) == []


@pytest.mark.parametrize(
    ("begin", "end", "whole"),
    [
        (2 * HUGE, 4 * HUGE, [2 * HUGE, 3 * HUGE]),
        (2 * HUGE + 4096, 5 * HUGE - 4096, [3 * HUGE]),  # what does not fill one at either end stays
        (HUGE + 4096, 2 * HUGE + 4096, []),
        (HUGE + 4096, HUGE + 8192, []),
    ],
)
def test_whole_huge_pages_are_asked_for(begin: int, end: int, whole: list[int]) -> None:
    assert list(Area(begin, end).whole) == whole


class System:
    """A kernel; one that knows how to move memory at once, or not."""

    def __init__(self, *, moves: bool) -> None:
        self.moves = moves
        self.asked: list[tuple[int, int, int]] = []

    def __call__(self, address: int, size: int, advice: int) -> int:
        if advice == MADV_COLLAPSE and not self.moves:
            return errno.EINVAL
        if size:
            self.asked.append((address, size, advice))
        return 0


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Have the process seem to be of said areas, with so many small pages of each huge one in memory."""
    monkeypatch.setattr(huge_pages, "MAPS", tmp_path / "maps")
    monkeypatch.setattr(huge_pages, "PAGEMAP", tmp_path / "pagemap")
    monkeypatch.setattr(huge_pages, "setting", lambda: "madvise")

    def lay(maps: str, *present: int) -> None:
        words = np.zeros((len(present), SMALL), np.uint64)
        for number, count in enumerate(present):
            words[number, :count] = 1 << 63
        (tmp_path / "maps").write_text(maps, encoding="ascii")
        (tmp_path / "pagemap").write_bytes(words.tobytes())

    return lay


@pytest.mark.parametrize(("moves", "advice"), [(True, MADV_COLLAPSE), (False, MADV_HUGEPAGE)])
def test_what_is_full_is_moved_at_once_or_noted_and_each_huge_page_by_itself(
    moves: bool, advice: int, memory: Callable[..., None]
) -> None:
    # In one area: full, half full, empty, nearly empty, full again. Then one that holds no whole huge page.
    memory(area(0, 5 * HUGE) + area(6 * HUGE, 6 * HUGE + 4096), SMALL, SMALL // 2, 0, SMALL // 2 - 1, SMALL)
    system = System(moves=moves)
    assert use_huge_pages(system, least_full=HALF_FULL) == 3 * HUGE
    assert system.asked == [(0, HUGE, advice), (HUGE, HUGE, advice), (4 * HUGE, HUGE, advice)]


def test_once_frames_come_only_what_takes_no_more_memory_is_moved(memory: Callable[..., None]) -> None:
    memory(area(0, 2 * HUGE, name="[heap]") + area(2 * HUGE, 3 * HUGE), SMALL, SMALL - 1, SMALL)
    system = System(moves=True)
    assert use_huge_pages(system, least_full=FULL) == 2 * HUGE
    assert [page for page, *_ in system.asked] == [0, 2 * HUGE]


def test_memory_that_went_away_in_the_meantime_is_not_asked_for(memory: Callable[..., None]) -> None:
    memory(area(0, 3 * HUGE), SMALL)
    system = System(moves=True)
    assert use_huge_pages(system, least_full=HALF_FULL) == HUGE


@pytest.mark.parametrize(("moves", "asked"), [(True, 4 * HUGE), (False, 0)])
def test_the_heap_is_left_alone_where_the_system_would_fill_it_again_and_again(
    moves: bool, asked: int, memory: Callable[..., None]
) -> None:
    memory(area(0, 4 * HUGE, name="[heap]"), SMALL, SMALL, SMALL, SMALL)
    assert use_huge_pages(System(moves=moves), least_full=HALF_FULL) == asked


@pytest.mark.parametrize("said", ["", "never"])
def test_what_the_owner_of_the_machine_has_switched_off_stays_off(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huge_pages, "setting", lambda: said)
    system = System(moves=True)
    assert use_huge_pages(system, least_full=HALF_FULL) == 0
    assert system.asked == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("always [madvise] never\n", "madvise"),
        ("[always] madvise never\n", "always"),
        ("always madvise [never]\n", "never"),
        ("", ""),
        (None, ""),  # a kernel without them
    ],
)
def test_the_system_s_setting_is_what_stands_in_brackets(text: str | None, said: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / SETTING).parent.mkdir(parents=True)
        (tmp_path / SETTING).write_text(text, encoding="ascii")
    assert setting(tmp_path) == said


def test_without_proc_nothing_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huge_pages, "MAPS", tmp_path / "there is none")
    monkeypatch.setattr(huge_pages, "setting", lambda: "always")
    system = System(moves=True)
    assert use_huge_pages(system, least_full=HALF_FULL) == 0
    assert system.asked == []


def test_real_memory_is_the_same_afterwards_and_lies_in_huge_pages_where_the_system_has_them() -> None:
    use_huge_pages(least_full=HALF_FULL)  # all else that there is, so that what is counted below is the block's
    block = mmap.mmap(-1, 32 * MB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    block.madvise(mmap.MADV_NOHUGEPAGE)
    words = bytes(range(256)) * (MB // 256)
    for mb in (*range(12), *range(20, 32)):  # what is empty in the midst must not keep the rest from being moved
        block[mb * MB : (mb + 1) * MB] = words
    block.madvise(mmap.MADV_HUGEPAGE)  # as if it had been allowed only now
    before_kb = huge_kb()
    if setting() in ("", "never"):
        assert use_huge_pages(least_full=HALF_FULL) == 0
        return
    assert use_huge_pages(least_full=HALF_FULL) >= 20 * MB
    assert all(block[mb * MB : (mb + 1) * MB] == words for mb in (*range(12), *range(20, 32)))
    if huge_pages._madvise(0, 0, MADV_COLLAPSE) == 0:
        assert huge_kb() - before_kb >= 20 * 1024


def huge_kb() -> int:
    """Return how much of this process lies in huge pages."""
    lines = Path("/proc/self/smaps_rollup").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith("AnonHugePages:")).split()[1])


@pytest.mark.parametrize("wanted", [True, False])
def test_they_are_used_once_all_is_loaded_where_wanted(wanted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[float] = []
    monkeypatch.setattr(steady, "use_huge_pages", lambda *, least_full: calls.append(least_full))
    with Steady(Process(huge_pages=wanted, gc="python", switch_interval_ms=None)) as surroundings:
        assert calls == []
        surroundings.warm()
    assert calls == [HALF_FULL] * wanted
