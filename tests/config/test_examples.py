"""The shipped configurations and the schema: true to the product, by test."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest
import yaml
from pydantic import BaseModel

from app.config import load
from app.config import sections as all_sections
from app.config.schema import schema

CONFIGS = Path(__file__).parents[2] / "configs"
FILES = sorted(CONFIGS.glob("*.yaml"))
ENVIRONMENT = {"CAMERA_HOST": "192.168.1.20", "CAMERA_USER": "viewer"}
EXAMPLE = (CONFIGS / "example.yaml").read_text()


def everything_on() -> str:
    """Return the example with all that is off by default switched on, and the lines that switched it off left out."""
    lines = EXAMPLE.splitlines()
    optional = re.compile(r"^ *#([a-z_]+:)$")
    off = {index for index, line in enumerate(lines[:-1]) if optional.match(lines[index + 1])}
    kept = [line for index, line in enumerate(lines) if index not in off]
    return "\n".join(re.sub(r"^( *)#(?=[a-z]| {2})", r"\1", line) for line in kept)


def sections_in(value: object) -> Iterator[BaseModel]:
    if isinstance(value, BaseModel):
        yield value
        yield from sections_in([child for _, child in value])
    for child in value.values() if isinstance(value, dict) else value if isinstance(value, list) else []:
        yield from sections_in(child)


def keys_of(text: str) -> set[str]:
    found: set[str] = set()

    def walk(value: object) -> None:
        found.update(value if isinstance(value, dict) else ())
        for child in value.values() if isinstance(value, dict) else value if isinstance(value, list) else []:
            walk(child)

    walk(yaml.safe_load(text))
    return found


def differing(value: object, ignore_empty: bool) -> list[str]:
    """Return the keys whose value is not the default, of all sections inside."""
    return [
        f"{type(section).__name__}.{name}"
        for section in sections_in(value)
        for name, field in type(section).model_fields.items()
        if not field.is_required()
        and getattr(section, name) != field.default
        and not (ignore_empty and field.default in (None, [], {}))
        and not isinstance(field.default, BaseModel)
    ]


def test_the_example_loads_and_equals_the_defaults():
    assert differing(load(CONFIGS / "example.yaml").config, ignore_empty=False) == []


def test_what_the_example_has_switched_off_loads_too_and_equals_its_defaults(tmp_path):
    path = tmp_path / "example.yaml"
    path.write_text(everything_on())
    config = load(path).config
    assert config.evidence.path == "evidence"
    assert len(config.cameras["usb"].judge.rules) == 4
    assert differing(config, ignore_empty=True) == []


def test_the_example_mentions_every_key_that_exists():
    sections = [
        value for value in vars(all_sections).values() if isinstance(value, type) and issubclass(value, BaseModel)
    ]
    keys = {field.alias or name for section in sections for name, field in section.model_fields.items()}
    assert keys - keys_of(everything_on()) == set()


def test_every_section_of_the_product_is_reached_by_the_example(tmp_path):
    path = tmp_path / "example.yaml"
    path.write_text(everything_on())
    reached = {type(section) for section in sections_in(load(path).config)}
    sections = {
        value for value in vars(all_sections).values() if isinstance(value, type) and issubclass(value, BaseModel)
    }
    assert sections - reached == {all_sections.Section, BaseModel} & sections


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_shipped_configuration_loads(path):
    loaded = load(path, ENVIRONMENT)
    assert loaded.config.cameras


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_shipped_configuration_names_the_schema_and_fits_it(path):
    assert path.read_text().startswith("# yaml-language-server: $schema=taktsight.schema.json\n")
    jsonschema.validate(yaml.safe_load(path.read_text()), schema())


def test_the_schema_is_a_schema_and_the_shipped_file_is_the_one_of_this_version():
    jsonschema.Draft202012Validator.check_schema(schema())
    shipped = (CONFIGS / "taktsight.schema.json").read_text()
    assert json.loads(shipped) == schema(), "write it anew: taktsight schema > configs/taktsight.schema.json"


def test_the_schema_lets_an_environment_variable_stand_for_a_number_and_refuses_other_text():
    tree = yaml.safe_load((CONFIGS / "usb.yaml").read_text())
    tree["mqtt"]["port"] = "${PORT}"
    jsonschema.validate(tree, schema())
    tree["mqtt"]["port"] = "1883"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(tree, schema())


def test_the_demo_shows_its_parts_for_twelve_seconds():
    source = load(CONFIGS / "demo.yaml").config.cameras["covers"].source
    assert source.kind == "conveyor"
    tile_width_px = 960
    assert source.parts * tile_width_px / source.belt_px_s == 12
    assert Path(source.path).is_dir()
