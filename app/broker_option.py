"""Which broker and which line the options of a command mean."""

from __future__ import annotations

from pathlib import Path

from app.config import load, sections
from app.errors import ConfigError


def broker_of(config: Path | None, host: str, port: int, line: str) -> tuple[sections.Mqtt, str]:
    """Return the broker and the line that a command's options name."""
    if config is None:
        return sections.Mqtt(host=host, port=port), line
    loaded = load(config).config
    if loaded.mqtt is None:
        raise ConfigError(f"{config}: mqtt: null, so there is no broker to listen to; add the section mqtt")
    return loaded.mqtt, line or loaded.line
