"""Throws many inputs at one part: nothing but its own errors comes out, no input takes long, and memory stays flat.

`TAKTSIGHT_FUZZ` is how many inputs each part gets (`scripts/fuzz` sets it), `TAKTSIGHT_FUZZ_SEED` where they begin, and
`TAKTSIGHT_FUZZ_FIGURES` a file for one line of figures a part.
"""

import gc
import json
import os
import resource
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

INPUTS = os.environ.get("TAKTSIGHT_FUZZ")
FIRST_SEED = int(os.environ.get("TAKTSIGHT_FUZZ_SEED", "1"))
FIGURES = os.environ.get("TAKTSIGHT_FUZZ_FIGURES")
ROUND = 500
"""Inputs after which Hypothesis begins anew: it remembers each one, which would look like growth of the part."""
CPU_S = 10.0
"""Of this process, for one input; far more than any needs, so that it is a hang."""
GROWTH_MB = 64.0
PAGE_BYTES = resource.getpagesize()


def hunt(name: str, inputs: SearchStrategy[Any], check: Callable[[Any], str], *, usual: int = 80) -> Counter:
    """Give a part its inputs.

    Args:
        name: of the part, for the figures.
        inputs: what they are made of.
        check: gives one to the part, asserts what must hold of the answer, and returns one word for what it was.
        usual: how many inputs where nobody asks for a number; fewer for a part that takes long over each.

    Returns:
        How often each word came.
    """
    wanted = int(INPUTS) if INPUTS else usual
    words: Counter = Counter()
    slowest_s = 0.0
    began_s = time.monotonic()
    warm_mb, done = 0.0, 0
    for number in range(-(-wanted // ROUND)):

        def one(value: Any) -> None:
            nonlocal slowest_s
            began = time.process_time()
            words[check(value)] += 1
            taken_s = time.process_time() - began
            slowest_s = max(slowest_s, taken_s)
            assert taken_s < CPU_S, f"{taken_s:.1f} s for one input"

        _round(inputs, one, min(ROUND, wanted - number * ROUND), FIRST_SEED * 1000 + number)
        done = sum(words.values())
        warm_mb = warm_mb or _rss_mb()  # after the first round: imports, caches and pools are there
    grown_mb = _rss_mb() - warm_mb
    _tell(name, done, words, slowest_s, grown_mb, time.monotonic() - began_s)
    assert grown_mb < GROWTH_MB, f"{name}: {grown_mb:.1f} MB more after {done} inputs"
    return words


def _round(inputs: SearchStrategy[Any], one: Callable[[Any], None], count: int, number: int) -> None:
    checks = list(HealthCheck)
    phases = (Phase.explicit, Phase.generate, Phase.shrink)
    run = given(inputs)(one)
    seed(number)(
        settings(max_examples=count, deadline=None, database=None, suppress_health_check=checks, phases=phases)(run)
    )()


def _rss_mb() -> float:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE_BYTES / 1e6


def _tell(name: str, done: int, words: Counter, slowest_s: float, grown_mb: float, took_s: float) -> None:
    if FIGURES is None:
        return
    line = {"part": name, "inputs": done, "answers": dict(words.most_common()), "slowest_ms": round(slowest_s * 1e3, 1)}
    with Path(FIGURES).open("a") as file:
        file.write(json.dumps(line | {"rss_growth_mb": round(grown_mb, 1), "took_s": round(took_s, 1)}) + "\n")


Draw: TypeAlias = Callable[[SearchStrategy[Any]], Any]


def _flip(data: bytearray, at: int, draw: Draw) -> None:
    data[at] ^= 1 << draw(st.integers(0, 7))


def _write(data: bytearray, at: int, draw: Draw) -> None:
    data[at] = draw(st.sampled_from([0, 1, 0x7F, 0x80, 0xFF]) | st.integers(0, 255))


def _cut(data: bytearray, at: int, draw: Draw) -> None:
    del data[at:]


def _drop(data: bytearray, at: int, draw: Draw) -> None:
    del data[at : at + draw(st.integers(1, 64))]


def _double(data: bytearray, at: int, draw: Draw) -> None:
    data[at:at] = data[at : at + draw(st.integers(1, 256))]


def _insert(data: bytearray, at: int, draw: Draw) -> None:
    data[at:at] = draw(st.binary(min_size=1, max_size=16))


def _number(data: bytearray, at: int, draw: Draw) -> None:
    """Write a size or a count that is far off."""
    wide = draw(st.sampled_from([2, 4, 8]))
    many = draw(st.sampled_from([0, 1, (1 << 8 * wide) - 1, 1 << (8 * wide - 1), 1 << 4 * wide]))
    data[at : at + wide] = many.to_bytes(wide, draw(st.sampled_from(["little", "big"])))


EDITS = [_flip, _write, _cut, _drop, _double, _insert, _number]


@st.composite
def mutated(draw: Draw, seeds: list[bytes]) -> bytes:
    """Bytes that begin as good ones and are cut, flipped, doubled, moved and written over in a few places."""
    data = bytearray(draw(st.sampled_from(seeds)))
    for _ in range(draw(st.integers(0, 6))):
        if data:
            draw(st.sampled_from(EDITS))(data, draw(st.integers(0, len(data) - 1)), draw)
    return bytes(data)


def any_json(leaves: SearchStrategy[Any] | None = None, most: int = 20) -> SearchStrategy[Any]:
    """Any tree that JSON can hold, and numbers that it should not."""
    numbers = st.integers() | st.floats() | st.sampled_from([1e308, -1e308, 10**400, -1, 0])
    plain = st.none() | st.booleans() | numbers | st.text(max_size=20)
    inside = plain if leaves is None else plain | leaves
    return st.recursive(
        inside,
        lambda child: st.lists(child, max_size=5) | st.dictionaries(st.text(max_size=10), child, max_size=5),
        max_leaves=most,
    )


COUNTS, NAMES = st.integers(0, 4), st.text(max_size=8)
WAYS = st.sampled_from(["replace", "remove", "rename", "add"])


def damaged(trees: list[Any], words: list[str]) -> SearchStrategy[Any]:
    """A tree that begins as a good one, with a few of its values and keys replaced by anything."""
    # Made once: making a strategy takes longer than drawing from it.
    return _damaged(trees, any_json(st.sampled_from(words), most=8), st.sampled_from(words))


@st.composite
def _damaged(draw: Draw, trees: list[Any], values: SearchStrategy[Any], words: SearchStrategy[str]) -> Any:
    tree = json.loads(json.dumps(draw(st.sampled_from(trees))))
    for _ in range(draw(COUNTS)):
        holder, key = _somewhere(draw, tree)
        if holder is None:
            return draw(values)
        match draw(WAYS):
            case "replace":
                holder[key] = draw(values)
            case "remove":
                del holder[key]
            case "rename" if isinstance(holder, dict):
                holder[draw(words | NAMES)] = holder.pop(key)
            case "add" if isinstance(holder, dict):
                holder[draw(words)] = draw(values)
    return tree


def _somewhere(draw: Draw, tree: Any) -> tuple[Any, Any]:
    holder, key, here = None, None, tree
    while isinstance(here, dict | list) and here and (holder is None or draw(st.integers(0, 3))):
        key = draw(st.sampled_from(sorted(here))) if isinstance(here, dict) else draw(st.integers(0, len(here) - 1))
        holder, here = here, here[key]
    return holder, key
