"""Has what an engine reads for every picture lie in huge pages, of which the processor knows the addresses by heart."""

from __future__ import annotations

import ctypes
import errno
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from mmap import PAGESIZE
from pathlib import Path
from typing import TypeAlias

import numpy as np

from app.picture_memory import HUGE

MADV_HUGEPAGE, MADV_COLLAPSE = 14, 25
"""Of Linux's mman-common.h; the second since 6.1."""
HALF_FULL, FULL = 0.5, 1.0
"""How much of a huge page is in memory already. A thread's stack or a reserve is nearly empty, and would only become
large; where pages are full, moving them takes no memory at all."""

MAPS, PAGEMAP = Path("/proc/self/maps"), Path("/proc/self/pagemap")
SETTING = Path("sys/kernel/mm/transparent_hugepage/enabled")
"""Below /: `always`, `madvise` or `never`, the one that is chosen in brackets."""
_HEAD = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ (\d+) *(.*)")
_WORD = 8
_PRESENT = 63  # the bit of a page's word in `pagemap` that says it is in memory; Linux's admin-guide/mm/pagemap

Advise: TypeAlias = Callable[[int, int, int], int]
"""`madvise`: address, bytes, advice; 0, or the number of an error."""


@dataclass(frozen=True, slots=True)
class Area:
    """Memory of this process that one mapping covers: the addresses where it begins and ends."""

    begin: int
    end: int

    @property
    def whole(self) -> range:
        """The addresses of the whole huge pages in it."""
        return range(-(-self.begin // HUGE) * HUGE, self.end // HUGE * HUGE, HUGE)


def use_huge_pages(advise: Advise | None = None, *, least_full: float) -> int:
    """Have all memory that this process has filled moved into huge pages; return how many bytes were asked for.

    Called when models are loaded and warm. Moved is memory that is nobody's but this process's, and of no file. Linux
    does it at once; before 6.1 it only takes note, and does it by and by. What it can't move stays as it is, and so
    does all where the system has no huge pages, or whoever owns it has switched them off.

    Each huge page is asked for by itself: asked for a whole area, Linux leaves off at the first stretch in it that is
    empty, and all behind that stays in small pages. Which engine's memory that is, is luck.

    Args:
        advise: in the place of the C library's `madvise`, for tests.
        least_full: what of a huge page must be in memory already. Half, once, before the first frame; later `FULL`,
            since what the C library has given back in the meantime would be full again each time, and add up.
    """
    if setting() in ("", "never"):
        return 0
    advise = advise or _madvise
    # Where moving at once is known, it is all that is asked: memory that is taken later is no concern of this, and to
    # find a huge page for it could take long in the midst of a frame.
    at_once = advise(0, 0, MADV_COLLAPSE) == 0
    advice = MADV_COLLAPSE if at_once else MADV_HUGEPAGE
    try:
        lines = MAPS.read_text(encoding="ascii", errors="replace").splitlines()
        wholes = [area.whole for area in areas_of(lines, heap=at_once) if area.whole]
        filled = [page for whole in wholes for page in filled_of(whole, least_full)]
    except OSError:  # no Linux, or no /proc
        return 0
    for page in filled:
        advise(page, HUGE, advice)
    return len(filled) * HUGE


def filled_of(pages: range, least: float) -> list[int]:
    """Return the addresses, of huge pages' worth of memory, where such a share is in memory already.

    Raises:
        OSError: the system does not say.
    """
    small = HUGE // PAGESIZE
    with PAGEMAP.open("rb", buffering=0) as file:
        file.seek(pages.start // PAGESIZE * _WORD)
        words = np.frombuffer(file.read(len(pages) * small * _WORD), np.uint64)
    # What ends in the meantime is read short.
    whole = words[: len(words) // small * small].reshape(-1, small)
    full = (whole >> np.uint64(_PRESENT)).sum(axis=1) >= least * small
    return [page for page, enough in zip(pages, full.tolist(), strict=False) if enough]


def setting(root: Path = Path("/")) -> str:
    """Return what the system lets programs have: "always", "madvise", "never"; empty where it knows no huge pages.

    Args:
        root: stands for /.
    """
    try:
        text = (root / SETTING).read_text(encoding="ascii")
    except OSError:
        return ""
    chosen = re.search(r"\[(\w+)\]", text)
    return chosen[1] if chosen else ""


def areas_of(maps: Iterable[str], *, heap: bool) -> Iterator[Area]:
    """Yield the areas of anonymous, private, writable memory that the lines of a `maps` file tell of.

    Args:
        maps: its lines.
        heap: the heap of small objects is one of them: not where Linux only takes note, and would fill it for ever.
    """
    names = ("", "[heap]") if heap else ("",)
    for line in maps:
        head = _HEAD.fullmatch(line)
        if head and head[3] == "rw-p" and head[4] == "0" and head[5] in names:
            yield Area(int(head[1], 16), int(head[2], 16))


def _madvise(address: int, size: int, advice: int) -> int:
    call = getattr(ctypes.CDLL(None, use_errno=True), "madvise", None)
    if call is None:
        return errno.ENOSYS
    call.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    return ctypes.get_errno() if call(address, size, advice) else 0
