"""The configuration's models: each really loaded and run where it asks to."""

from __future__ import annotations

from app.config import LoadedConfig
from app.doctor.child import Answer, ask
from app.doctor.line import Line, fail, ok, warn

RUN_S = 600.0
"""TensorRT may build an engine first, which takes minutes."""


def check_model(name: str, loaded: LoadedConfig) -> Line:
    """Load one model in a process of its own, and say where it runs."""
    found = ask("one_run", str(loaded.path), name, timeout_s=RUN_S)
    return line_of(name, loaded.config.models[name].device, found)


def line_of(name: str, device: str, found: Answer) -> Line:
    """Say how a model is.

    Args:
        name: its key.
        device: as configured.
        found: by the child `one_run`.
    """
    topic = f"model {name}"
    if isinstance(found, str):
        return fail(topic, f"device {device}: {found}", "see docs/models.md and docs/gpu.md, or write device: cpu")
    if "fault" in found:
        return fail(topic, found["fault"], "see docs/models.md and docs/gpu.md")
    provider = found["provider"].removesuffix("ExecutionProvider")
    text = f"runs on {provider}, {found['look_ms']:.1f} ms a look at 1280 × 720, loaded in {found['load_s']:.1f} s"
    if device != "cpu" and provider == "CPU":
        return warn(topic, f"{text}, and device {device} was asked for", "see the line of that device above")
    if found["warnings"]:
        return warn(topic, f"{text}; {'; '.join(found['warnings'])}", "see docs/models.md and docs/gpu.md")
    return ok(topic, text)
