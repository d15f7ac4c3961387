"""What differs between two configurations of one line, and what of it can be changed while the line runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from app.config.section import Section
from app.config.sections import Camera, Config

JUDGED_BY = frozenset({"judge", "gate", "refine", "budget_ms", "deadline", "shares", "small_model", "priority"})
"""Keys of a camera that say how its pictures are judged; any other has its source closed and opened again."""

LIVE = frozenset({"cameras", "log", "latency"})
"""Sections of which something can be changed while the line runs."""
LIVE_KEYS = {"log": frozenset({"level", "frames_per_s"}), "latency": frozenset({"alerts"})}


@dataclass(frozen=True, slots=True)
class Changes:
    """By what has to be done.

    Attributes:
        added, removed: cameras.
        reopened: cameras that are closed and opened again.
        rejudged: cameras whose pictures are judged in another way from the next one on.
        log, alerts: whether those differ.
        refused: dotted keys that can't be changed while the line runs.
    """

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    reopened: tuple[str, ...] = ()
    rejudged: tuple[str, ...] = ()
    log: bool = False
    alerts: bool = False
    refused: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Say it for a person."""
        told = [f"{word} {', '.join(names)}" for word, names in self._cameras() if names]
        told += [word for word, is_so in (("log", self.log), ("alerts", self.alerts)) if is_so]
        return "; ".join(told) or "nothing"

    def _cameras(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        yield "added", self.added
        yield "removed", self.removed
        yield "opened again", self.reopened
        yield "judged anew", self.rejudged


def changes(old: Config, new: Config) -> Changes:
    """Compare two configurations."""
    both = [name for name in new.cameras if name in old.cameras]
    keys = {name: frozenset(_differing(old.cameras[name], new.cameras[name])) for name in both}
    return Changes(
        added=tuple(name for name in new.cameras if name not in old.cameras),
        removed=tuple(name for name in old.cameras if name not in new.cameras),
        reopened=tuple(name for name in both if keys[name] - JUDGED_BY),
        rejudged=tuple(name for name in both if keys[name] and not keys[name] - JUDGED_BY),
        log=old.log != new.log,
        alerts=old.latency.alerts != new.latency.alerts,
        refused=tuple(_refused(old, new)),
    )


def _differing(old: Section, new: Section) -> Iterator[str]:
    """Yield the keys of one section that have another value."""
    return (name for name in type(new).model_fields if getattr(old, name) != getattr(new, name))


def _refused(old: Config, new: Config) -> Iterator[str]:
    for name in _differing(old, new):
        if name not in LIVE:
            yield name
        elif name in LIVE_KEYS:
            differing = _differing(getattr(old, name), getattr(new, name))
            yield from (f"{name}.{key}" for key in differing if key not in LIVE_KEYS[name])


def same_gate(old: Camera, new: Camera) -> bool:
    """Whether the parts that the gate holds stay where they are."""
    return old.gate == new.gate


def same_hurry(old: Camera, new: Camera) -> bool:
    """Whether what was learned of the time that steps take still holds."""
    keys = ("budget_ms", "deadline", "shares", "refine", "small_model")
    return all(getattr(old, key) == getattr(new, key) for key in keys)
