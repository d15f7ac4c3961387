"""YAML in, frozen and validated sections out; `load` is the way in."""

from app.config.load import LoadedConfig, load
from app.config.sections import Config

__all__ = ["Config", "LoadedConfig", "load"]
