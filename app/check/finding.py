"""What a check found, and the list that the checks write to."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from app.config import LoadedConfig
from app.config.fault import dotted
from app.config.secrets import mask, secrets_in
from app.errors import ConfigError, TaktsightError

_KEY = re.compile(r"[a-z_]+([.\[][\w\]-]+)*")

Level: TypeAlias = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to know before the service starts.

    Attributes:
        level: an error keeps it from starting or from judging; a warning does not.
        where: `file:line: dotted.key`.
        text: the rule and the remedy, without secrets.
    """

    level: Level
    where: str
    text: str


class Report:
    """Gathers findings about one configuration."""

    def __init__(self, loaded: LoadedConfig) -> None:
        self._loaded = loaded
        self._secrets = secrets_in(loaded.config)
        self.findings: list[Finding] = []

    def error(self, text: str, *path: str | int) -> None:
        """Note what will not work."""
        self._note("error", dotted(path), text)

    def warning(self, text: str, *path: str | int) -> None:
        """Note what will work but may not be meant."""
        self._note("warning", dotted(path), text)

    def refuse(self, error: TaktsightError, *path: str | int) -> None:
        """Note what a part of the product says against its section.

        A fault that begins with the dotted key it is about (`judge.rules[0]: …`) is put there, seen from `path`.
        """
        for fault in error.faults if isinstance(error, ConfigError) else (str(error),):
            key, _, text = fault.partition(": ")
            if _KEY.fullmatch(key) and text:
                self._note("error", ".".join(filter(None, (dotted(path), key))), text)
            else:
                self._note("error", dotted(path), fault)

    def _note(self, level: Level, key: str, text: str) -> None:
        line = " ".join(mask(text, self._secrets).split())
        self.findings.append(Finding(level, self._loaded.place(key), line))
