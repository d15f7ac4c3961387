"""One fault of a configuration file and the words for the place where it is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

KeyPath: TypeAlias = "tuple[str | int, ...]"

_SIMPLE = re.compile(r"[\w-]+")


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong where.

    Attributes:
        line: counts from 1 in the file.
        path: keys and list indexes from the top of the file; empty for a fault of the file itself.
        text: the rule that is broken and the remedy.
    """

    line: int
    path: KeyPath
    text: str

    def sentence(self, file: str) -> str:
        """Return the one line that is shown."""
        place = f"{file}:{self.line}: "
        return f"{place}{dotted(self.path)}: {self.text}" if self.path else f"{place}{self.text}"


def is_word(name: str) -> bool:
    """Return whether a name is one word, which needs no quotes in a path."""
    return bool(_SIMPLE.fullmatch(name))


def dotted(path: KeyPath) -> str:
    """Return a path as people write it: `cameras.front.judge.rules[0].count`; odd names in quotes."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += ("." if text else "") + (step if is_word(step) else f'"{step}"')
    return text
