"""The configuration: everything that `taktsight check` finds, as lines of the doctor."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from app.check import check
from app.config import LoadedConfig, load
from app.doctor.line import Line, fail, ok, warn
from app.errors import ConfigError

TOPIC = "configuration"


def read_configuration(path: Path) -> tuple[LoadedConfig | None, list[Line]]:
    """Return a configuration, or None with its faults as lines."""
    try:
        return load(path), []
    except ConfigError as error:
        return None, [fail(TOPIC, *_parts(fault)) for fault in error.faults]


def check_configuration(loaded: LoadedConfig) -> Sequence[Line]:
    """Say what is wrong with a configuration that could be read."""
    findings = check(loaded)
    lines = []
    for finding in findings:
        make = fail if finding.level == "error" else warn
        lines.append(make(TOPIC, *_parts(f"{finding.where}: {finding.text}")))
    return lines or [ok(TOPIC, f"{loaded.path}: nothing wrong")]


def folders_of(loaded: LoadedConfig) -> list[Path]:
    """Return the folders that a configuration has the service write to."""
    config = loaded.config
    folders = [Path(part.path) for part in (config.evidence, config.collect) if part is not None]
    files = [part.path for part in (config.jsonl, config.trace) if part is not None]
    return [*folders, *(Path(path).parent for path in files)]


def _parts(text: str) -> tuple[str, str]:
    """Cut a finding into what is wrong and what to do, which comes after the last semicolon."""
    said, _, remedy = text.rpartition("; ")
    return (said, remedy) if said else (text, "see docs/configuration.md")
