"""What differs between two configurations of one line, and what of it can be changed while the line runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from app.config.section import Section
from app.config.sections import Camera, Config

JUDGED_BY = frozenset(
    {
        "judge",
        "gate",
        "refine",
        "budget_ms",
        "deadline",
        "shares",
        "small_model",
        "shadow",
        "reuse_static",
        "reuse_static_s",
        "priority",
        "model",
    }
)
"""Keys of a camera that say how its pictures are judged; any other has its source closed and opened again."""

LIVE = frozenset({"cameras", "models", "log", "latency"})
"""Sections of which something can be changed while the line runs."""
LIVE_KEYS = {"log": frozenset({"level", "frames_per_s"}), "latency": frozenset({"alerts"})}


@dataclass(frozen=True, slots=True)
class Changes:
    """By what has to be done.

    Attributes:
        added, removed: cameras.
        reopened: cameras that are closed and opened again.
        rejudged: cameras whose pictures are judged in another way from the next one on.
        models: those that have to be loaded: cameras use them now, and did not, or not as they are now.
        log, alerts: whether those differ.
        refused: dotted keys that can't be changed while the line runs.
    """

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    reopened: tuple[str, ...] = ()
    rejudged: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    log: bool = False
    alerts: bool = False
    refused: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Say it for a person."""
        told = [f"{word} {', '.join(names)}" for word, names in self._named() if names]
        told += [word for word, is_so in (("log", self.log), ("alerts", self.alerts)) if is_so]
        return "; ".join(told) or "nothing"

    def _named(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        yield "loaded", self.models
        yield "added", self.added
        yield "removed", self.removed
        yield "opened again", self.reopened
        yield "judged anew", self.rejudged


def changes(old: Config, new: Config) -> Changes:
    """Compare two configurations."""
    both = [name for name in new.cameras if name in old.cameras]
    keys = {name: frozenset(_differing(old.cameras[name], new.cameras[name])) for name in both}
    models = tuple(name for name in _used(new) if name not in _used(old) or old.models[name] != new.models[name])
    for name in both:
        if not keys[name] and set(new.cameras[name].models) & set(models):
            keys[name] = frozenset({"model"})  # of the same name, and another one
    return Changes(
        added=tuple(name for name in new.cameras if name not in old.cameras),
        removed=tuple(name for name in old.cameras if name not in new.cameras),
        reopened=tuple(name for name in both if keys[name] - JUDGED_BY),
        rejudged=tuple(name for name in both if keys[name] and not keys[name] - JUDGED_BY),
        models=models,
        log=old.log != new.log,
        alerts=old.latency.alerts != new.latency.alerts,
        refused=tuple(_refused(old, new)),
    )


def _used(config: Config) -> dict[str, None]:
    """Return the models that any camera uses, in the order of the file."""
    used = {name for camera in config.cameras.values() for name in camera.models}
    return dict.fromkeys(name for name in config.models if name in used)


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
    """Whether the parts that the gate holds stay where they are, the model's class names being the same."""
    return old.gate == new.gate


def same_hurry(old: Camera, new: Camera) -> bool:
    """Whether what was learned of the time that steps take still holds."""
    keys = ("budget_ms", "deadline", "shares", "refine", "small_model")
    return all(getattr(old, key) == getattr(new, key) for key in keys)
