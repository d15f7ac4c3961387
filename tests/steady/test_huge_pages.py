"""What the models fill lies in huge pages; what is empty, or a file's, or not ours stays as it is."""

from __future__ import annotations

import errno
import mmap
from pathlib import Path

import pytest

from app.config.sections import Process
from app.steady import huge_pages, steady
from app.steady.huge_pages import HUGE, MADV_COLLAPSE, MADV_HUGEPAGE, SETTING, Area, areas_of, setting, use_huge_pages
from app.steady.steady import Steady

MB = 1 << 20


def area(begin: int, end: int, rights: str = "rw-p", inode: int = 0, name: str = "", rss_kb: int = 0) -> str:
    head = f"{begin:08x}-{end:08x} {rights} 00000000 00:00 {inode} {name}".rstrip()
    return f"{head}\nSize: {(end - begin) // 1024} kB\nRss: {rss_kb} kB\nPss: 1 kB\n"


@pytest.mark.parametrize("heap", [True, False])
@pytest.mark.parametrize(
    ("text", "areas"),
    [
        (area(0x400000, 0x800000, rss_kb=4096), [Area(0x400000, 0x800000, 4096 * 1024)]),
        (area(0x400000, 0x800000, name="[stack]", rss_kb=8), []),
        (area(0x400000, 0x800000, inode=7, name="/models/a b.onnx", rss_kb=8), []),
        (area(0x400000, 0x800000, "r--p", rss_kb=8), []),  # code and constants
        (area(0x400000, 0x800000, "rw-s", rss_kb=8), []),  # shared with another process
        (area(0x400000, 0x800000, "---p"), []),  # nobody's
    ],
)
def test_memory_is_ours_where_it_is_private_writable_and_of_no_file(text: str, areas: list[Area], heap: bool) -> None:
    assert list(areas_of(text.splitlines(), heap=heap)) == areas


def test_the_heap_of_small_objects_is_moved_only_where_that_is_asked_for() -> None:
    lines = area(0x400000, 0x800000, name="[heap]", rss_kb=4096).splitlines()
    assert list(areas_of(lines, heap=True)) == [Area(0x400000, 0x800000, 4096 * 1024)]
    assert list(areas_of(lines, heap=False)) == []


@pytest.mark.parametrize(
    ("begin", "end", "whole"),
    [
        (2 * HUGE, 4 * HUGE, (2 * HUGE, 2 * HUGE)),
        (2 * HUGE + 4096, 5 * HUGE - 4096, (3 * HUGE, HUGE)),  # what does not fill one at either end stays
        (HUGE + 4096, 2 * HUGE + 4096, (2 * HUGE, 0)),
    ],
)
def test_whole_huge_pages_are_asked_for(begin: int, end: int, whole: tuple[int, int]) -> None:
    assert Area(begin, end, 0).whole == whole


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


@pytest.mark.parametrize(("moves", "advice"), [(True, MADV_COLLAPSE), (False, MADV_HUGEPAGE)])
def test_what_is_full_is_moved_at_once_or_noted(
    moves: bool, advice: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full, empty = area(0, 4 * HUGE, rss_kb=15 * 512), area(8 * HUGE, 12 * HUGE, rss_kb=100)
    small = area(16 * HUGE, 16 * HUGE + 4096, rss_kb=4)
    (tmp_path / "smaps").write_text(full + empty + small, encoding="ascii")
    monkeypatch.setattr(huge_pages, "SMAPS", tmp_path / "smaps")
    monkeypatch.setattr(huge_pages, "setting", lambda: "madvise")
    system = System(moves=moves)
    assert use_huge_pages(system, heap=True) == 4 * HUGE
    assert system.asked == [(0, 4 * HUGE, advice)]


@pytest.mark.parametrize(("moves", "asked"), [(True, 4 * HUGE), (False, 0)])
def test_the_heap_is_left_alone_where_the_system_would_fill_it_again_and_again(
    moves: bool, asked: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "smaps").write_text(area(0, 4 * HUGE, name="[heap]", rss_kb=4 * 2048), encoding="ascii")
    monkeypatch.setattr(huge_pages, "SMAPS", tmp_path / "smaps")
    monkeypatch.setattr(huge_pages, "setting", lambda: "madvise")
    assert use_huge_pages(System(moves=moves), heap=True) == asked


@pytest.mark.parametrize("said", ["", "never"])
def test_what_the_owner_of_the_machine_has_switched_off_stays_off(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huge_pages, "setting", lambda: said)
    system = System(moves=True)
    assert use_huge_pages(system, heap=True) == 0
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
    monkeypatch.setattr(huge_pages, "SMAPS", tmp_path / "there is none")
    monkeypatch.setattr(huge_pages, "setting", lambda: "always")
    system = System(moves=True)
    assert use_huge_pages(system, heap=True) == 0
    assert system.asked == []


def test_real_memory_is_the_same_afterwards_and_lies_in_huge_pages_where_the_system_has_them() -> None:
    block = mmap.mmap(-1, 32 * MB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    block.madvise(mmap.MADV_NOHUGEPAGE)
    block.write(bytes(range(256)) * (len(block) // 256))
    block.madvise(mmap.MADV_HUGEPAGE)  # as if it had been allowed only now
    before_kb = huge_kb()
    if setting() in ("", "never"):
        assert use_huge_pages(heap=True) == 0
        return
    assert use_huge_pages(heap=True) >= 30 * MB
    assert block[:] == bytes(range(256)) * (len(block) // 256)
    if huge_pages._madvise(0, 0, MADV_COLLAPSE) == 0:
        assert huge_kb() - before_kb >= 28 * 1024


def huge_kb() -> int:
    """Return how much of this process lies in huge pages."""
    lines = Path("/proc/self/smaps_rollup").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith("AnonHugePages:")).split()[1])


@pytest.mark.parametrize("wanted", [True, False])
def test_they_are_used_once_all_is_loaded_where_wanted(wanted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[bool] = []
    monkeypatch.setattr(steady, "use_huge_pages", lambda *, heap: calls.append(heap))
    with Steady(Process(huge_pages=wanted, gc="python", switch_interval_ms=None)) as surroundings:
        assert calls == []
        surroundings.warm()
    assert calls == [True] * wanted
