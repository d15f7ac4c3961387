"""Which keys a place in the configuration may have, read from the sections themselves."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from app.config.fault import KeyPath


def keys_at(section: type[BaseModel], path: KeyPath, tree: Any) -> list[str]:  # noqa: ANN401 - a YAML tree is anything
    """Return the keys that are valid inside the value at a path.

    Args:
        section: of the whole tree.
        path: leads to a mapping.
        tree: the values, which decide between the kinds of a source and of a rule.
    """
    places: list[Any] = [section]
    for step in path:
        models = _fitting([arm for place in places for arm in _arms(place)], tree)
        places = [inner for model in models for inner in _inside(model, step)]
        tree = _down(tree, step)
    models = _fitting([arm for place in places for arm in _arms(place)], tree)
    return list(dict.fromkeys(name for model in models if _is_section(model) for name, _ in _fields(model)))


def _arms(annotation: Any) -> list[Any]:  # noqa: ANN401 - an annotation is any object
    """Return what an annotation may be, `Annotated` and unions taken apart."""
    if get_origin(annotation) is Annotated:
        return _arms(get_args(annotation)[0])
    if get_origin(annotation) in {Union, types.UnionType}:
        return [arm for part in get_args(annotation) for arm in _arms(part)]
    return [annotation]


def _fitting(arms: list[Any], tree: Any) -> list[Any]:  # noqa: ANN401 - as above
    """Return the arms that the values choose: each section's first key tells it from its sisters."""
    sections = [arm for arm in arms if _is_section(arm)]
    if len(sections) < 2 or not isinstance(tree, dict):  # noqa: PLR2004 - nothing to choose between
        return arms
    chosen = [arm for arm in sections if _chosen(arm, tree)]
    return chosen or sections


def _chosen(section: type[BaseModel], tree: dict[str, Any]) -> bool:
    name, annotation = next(_fields(section))
    values = get_args(annotation) if get_origin(annotation) is Literal else None
    return name in tree and (values is None or tree[name] in values)


def _inside(annotation: Any, step: str | int) -> list[Any]:  # noqa: ANN401 - as above
    if _is_section(annotation):
        return [inner for name, inner in _fields(annotation) if name == step]
    if get_origin(annotation) in {dict, list}:
        return [get_args(annotation)[-1]]
    return []


def _fields(section: type[BaseModel]) -> Iterator[tuple[str, Any]]:
    for name, field in section.model_fields.items():
        yield field.alias or name, field.annotation


def _is_section(annotation: Any) -> bool:  # noqa: ANN401 - as above
    # Python 3.10 takes list[int] for a type, too.
    return get_origin(annotation) is None and isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _down(tree: Any, step: str | int) -> Any:  # noqa: ANN401 - as above
    if isinstance(tree, dict):
        return tree.get(step)
    return tree[step] if isinstance(tree, list) and isinstance(step, int) and step < len(tree) else None
