"""The demo line's configuration, changed for one test."""

from dataclasses import replace
from pathlib import Path

from app.config import LoadedConfig, load, sections
from app.verdict import Outcome
from app.wiring import Product, Watchers, build

CONFIGS = Path(__file__).resolve().parent.parent.parent / "configs"


def demo_line(
    *, mqtt: sections.Mqtt | None = None, jsonl: sections.Jsonl | None = None, **source: object
) -> LoadedConfig:
    """The demo line with another source, and without broker, file and evidence unless given."""
    loaded = load(CONFIGS / "demo.yaml")
    camera = loaded.config.cameras["covers"]
    camera = camera.model_copy(update={"source": camera.source.model_copy(update=source)})
    update = {"cameras": {"covers": camera}, "mqtt": mqtt, "jsonl": jsonl, "evidence": None}
    return replace(loaded, config=loaded.config.model_copy(update=update))


def run(loaded: LoadedConfig) -> tuple[list[Outcome], Product]:
    """Run a line until its sources end; return the outcomes in the order of their verdicts."""
    outcomes: list[Outcome] = []
    product = build(loaded, Watchers(on_judged=outcomes.append))
    product.service.run()
    return outcomes, product
