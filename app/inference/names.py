"""Class names as model files carry them: a Python or JSON literal in a text that nobody can trust."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence

MAX_CHARACTERS = 262_144
MAX_NAMES = 20_000

# A literal without its quoted texts may hold only this; so there is nothing in it to call, nest or compute.
_QUOTED = re.compile(r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*\"""")
_SKELETON = re.compile(r"[\[({][\d\s,:]*[\])}]\Z")


def parse_names(text: str) -> tuple[str, ...] | None:
    """Return the class names by index, or None where the text isn't a flat list or a dict with number keys.

    Nothing is ever evaluated: `ast.literal_eval` sees only short texts of one bracket, quoted texts, digits, commas and
    colons. Indices that a dict leaves out are called `class_17`.

    Args:
        text: e.g. "{0: 'ok', 1: 'dent'}", '["ok", "dent"]' or '{"0": "ok"}'.
    """
    if len(text) > MAX_CHARACTERS or not _SKELETON.match(_QUOTED.sub("", text.strip())):
        return None
    try:
        value = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    if isinstance(value, dict):
        return _from_dict(value)
    return _clean(value) if isinstance(value, (list, tuple)) else None


def _from_dict(value: Mapping[object, object]) -> tuple[str, ...] | None:
    """Order the names of a dict by its keys, 0 … n."""
    try:
        by_index = {int(str(key)): name for key, name in value.items()}
    except ValueError:
        return None
    if not by_index or not 0 <= max(by_index) < MAX_NAMES:
        return None
    return _clean([by_index.get(index, f"class_{index}") for index in range(max(by_index) + 1)])


def _clean(values: Sequence[object]) -> tuple[str, ...] | None:
    """Make texts of the values; what a terminal or a log would obey is shown as an escape instead."""
    if not 0 < len(values) <= MAX_NAMES:
        return None
    texts = (str(value).strip() for value in values)
    return tuple(_printable(text) or f"class_{index}" for index, text in enumerate(texts))


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def choose_names(text: str | None, configured: Sequence[str] | None) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """Return the names to use, and the warnings that a person should read.

    Args:
        text: the file's own names, unread; None where it has none.
        configured: the names of the configuration, which win.
    """
    own = None if text is None else parse_names(text)
    if configured is not None:
        return tuple(configured), _overridden(own, tuple(configured))
    if own is not None:
        return own, _repeated(own)
    said = "has no class names" if text is None else f"has class names that can't be read: {_printable(text[:40])!r}"
    return None, (f"the file {said}; classes are called class_0, class_1, …: set `names` of this model",)


def _overridden(own: tuple[str, ...] | None, configured: tuple[str, ...]) -> tuple[str, ...]:
    if own is None or own == configured:
        return ()
    if len(own) != len(configured):
        return (
            f"names: the configuration has {len(configured)} and the file {len(own)}; the configuration's are used",
        )
    pairs = zip(own, configured, strict=True)
    changes = [f"{index} {a!r} → {b!r}" for index, (a, b) in enumerate(pairs) if a != b]
    shown = ", ".join(changes[:5]) + (f" and {len(changes) - 5} more" if len(changes) > 5 else "")  # noqa: PLR2004 - enough for one line
    return (f"names: the configuration's are used instead of the file's: {shown}",)


def _repeated(names: tuple[str, ...]) -> tuple[str, ...]:
    twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    return (
        (f"names: {', '.join(map(repr, twice[:5]))} stand more than once: rules can't tell them apart",)
        if twice
        else ()
    )
