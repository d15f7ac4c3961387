"""The JSON Schema of a configuration file, for editors; the loader is stricter still (names must exist)."""

from __future__ import annotations

from typing import Any

from app.config.sections import Config

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_VARIABLE = {"type": "string", "pattern": r"\$\{[A-Za-z_][A-Za-z0-9_]*\}"}
_NOTES = ("title", "description", "default")


def schema() -> dict[str, Any]:
    """Return the schema as a JSON-ready tree."""
    tree: dict[str, Any] = _with_variables(Config.model_json_schema(by_alias=True))
    return {"$schema": DIALECT, **tree, "title": "Taktsight configuration"}


def _with_variables(node: Any) -> Any:  # noqa: ANN401 - a JSON tree is anything
    """Let `${NAME}` stand for every number, boolean and choice, as it may in a file."""
    if isinstance(node, list):
        return [_with_variables(item) for item in node]
    if not isinstance(node, dict):
        return node
    if node.get("type") in {"integer", "number", "boolean"} or "enum" in node:
        notes = {key: node[key] for key in _NOTES if key in node}
        rule = {key: value for key, value in node.items() if key not in notes}
        return {**notes, "anyOf": [rule, dict(_VARIABLE)]}
    return {key: value if key == "default" else _with_variables(value) for key, value in node.items()}
