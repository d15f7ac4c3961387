"""A small configuration that loads, and a way to load changed ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from app.config import LoadedConfig, load
from app.errors import ConfigError

SMALL = """\
line: {line}
cameras:
  front:
    source: {source}
    model: {model}
    {camera}
models:
  parts: {{path: parts.onnx{part}}}
mqtt: {mqtt}
"""


@pytest.fixture
def small() -> Callable[..., str]:
    """Return a function that writes a whole configuration with some pieces replaced."""

    def write(
        *,
        line: str = "one",
        source: str = "{kind: synthetic}",
        model: str = "parts",
        camera: str = "",
        part: str = "",
        mqtt: str = "{}",
    ) -> str:
        return SMALL.format(line=line, source=source, model=model, camera=camera, part=part, mqtt=mqtt)

    return write


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., LoadedConfig]:
    """Return a function that loads a text as a file named line.yaml."""

    def read_text(text: str | bytes, environment: Mapping[str, str] | None = None) -> LoadedConfig:
        path = tmp_path / "line.yaml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return load(path, environment or {})

    return read_text


@pytest.fixture
def faults(read: Callable[..., LoadedConfig]) -> Callable[..., list[str]]:
    """Return a function that loads a text and gives its faults, from the line number on (`:12: …`)."""

    def faults_of(text: str | bytes, environment: Mapping[str, str] | None = None) -> list[str]:
        with pytest.raises(ConfigError) as caught:
            read(text, environment)
        assert caught.value.exit_code == 2
        assert all("\n" not in fault for fault in caught.value.faults)
        return [fault.partition("line.yaml")[2] for fault in caught.value.faults]

    return faults_of
