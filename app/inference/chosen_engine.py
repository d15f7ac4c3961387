"""Whether a model runs as a built engine, and where that lies; tells without opening anything."""

from __future__ import annotations

from pathlib import Path

from app.config import sections


def engine_path(section: sections.Model) -> Path:
    """Return where a model's engine lies: as its section says, else beside the model."""
    named = section.engine.path
    return Path(section.path).with_suffix(".engine") if named is None else Path(named)


def runs_engine(section: sections.Model) -> bool:
    """Say whether a model runs as its built engine: one is named, or lies beside the model."""
    return section.device == "tensorrt" and (section.engine.path is not None or engine_path(section).exists())
