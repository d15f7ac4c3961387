"""Garbage is collected between frames, while none waits; never by Python itself, and never not at all."""

import gc
from collections.abc import Iterator

import pytest

from app.steady import garbage
from app.steady.garbage import YOUNG, Garbage

SECOND = 1_000_000_000


class Clock:
    now_ns = 0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(garbage, "monotonic_ns", lambda: clock.now_ns)
    return clock


@pytest.fixture
def collected() -> Iterator[list[int]]:
    """The generations that were collected."""
    found: list[int] = []

    def hear(phase: str, info: dict[str, int]) -> None:
        if phase == "stop":
            found.append(info["generation"])

    gc.callbacks.append(hear)
    yield found
    gc.callbacks.remove(hear)


@pytest.fixture
def begun(clock: Clock, collected: list[int]) -> Iterator[Garbage]:
    taken = Garbage(every_s=5.0)
    taken.begin()
    collected.clear()
    yield taken
    taken.end()


def test_python_itself_collects_no_more_until_the_end(begun: Garbage, collected: list[int]) -> None:
    kept = [[] for _ in range(5000)]
    assert not gc.isenabled()
    assert collected == []
    assert gc.get_freeze_count() > 1000, "what was there at the beginning is not looked at again"
    begun.end()
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0
    del kept


@pytest.mark.parametrize(
    ("after_s", "idle", "generation"),
    [
        (4.9, True, None),
        (5.0, True, 2),  # a whole collection while nothing waits
        (5.0, False, None),  # frames wait: it waits as well
        (9.9, False, None),
        (10.0, False, 2),  # no idle moment for twice the span: memory must not grow for ever
    ],
)
def test_a_whole_collection_comes_in_the_first_idle_moment_once_it_is_due(
    begun: Garbage, clock: Clock, collected: list[int], after_s: float, idle: bool, generation: int | None
) -> None:
    gc.collect(0)
    collected.clear()
    clock.now_ns += round(after_s * SECOND)
    begun.between(idle=idle)
    assert collected == ([] if generation is None else [generation])
    begun.between(idle=idle)
    assert len(collected) <= 1, "and then not again at once"


def test_young_objects_are_looked_at_in_idle_moments_only(begun: Garbage, collected: list[int]) -> None:
    kept = [[] for _ in range(2 * YOUNG)]
    begun.between(idle=False)
    assert collected == []
    begun.between(idle=True)
    assert collected == [0]
    begun.between(idle=True)
    assert collected == [0], "there are no new ones"
    del kept


def test_cycles_are_freed(begun: Garbage, clock: Clock) -> None:
    class Node:
        freed = 0

        def __init__(self) -> None:
            self.me = self

        def __del__(self) -> None:
            Node.freed += 1

    for _ in range(100):
        Node()
    clock.now_ns += 5 * SECOND
    begun.between(idle=True)
    assert Node.freed == 100
