"""Names in one section that must exist in another: the models of cameras, the regions of rules."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from app.config.fault import KeyPath

PART = "part"
_ALIKE = 0.6


def dangling(tree: object) -> Iterator[tuple[KeyPath, str]]:
    """Yield the path and the fault of every name that leads nowhere.

    Args:
        tree: a configuration as a plain tree; whatever in it has the wrong shape is passed over, so that these faults
            are told together with those of single values.
    """
    models = list(_mapping(tree, "models"))
    for name, camera in _mapping(tree, "cameras").items():
        for path in ("model",), ("small_model",), ("refine", "model"):
            section = _mapping(camera, "refine") if path[0] == "refine" else camera
            model = section.get(path[-1]) if isinstance(section, Mapping) else None
            if isinstance(model, str) and models and model not in models:
                yield ("cameras", name, *path), f"there is no model `{model}`; {nearest(model, models)}"
        yield from ((("cameras", name, *path), text) for path, text in _of_no_effect(camera))
        yield from ((("cameras", name, "refine", *path), text) for path, text in _dangling_looks(camera))
        yield from ((("cameras", name, "judge", *path), text) for path, text in _dangling_regions(camera))


def _of_no_effect(camera: object) -> Iterator[tuple[KeyPath, str]]:
    if not isinstance(camera, Mapping) or camera.get("reuse_static") is not True:
        return
    if camera.get("queue") == "every" or isinstance(camera.get("trigger"), str):
        yield ("reuse_static",), "a part that a trigger stands for is always looked at itself; remove one of the two"


def _dangling_regions(camera: object) -> Iterator[tuple[KeyPath, str]]:
    judge = _mapping(camera, "judge")
    regions = list(_mapping(judge, "regions"))
    gated = bool(_mapping(camera, "gate"))
    if PART in regions:
        yield ("regions", PART), f"`{PART}` is the part that the gate finds; give this region another name"
    rules = judge.get("rules")
    for index, rule in enumerate(rules if isinstance(rules, list) else []):
        region = rule.get("region") if isinstance(rule, Mapping) else None
        if not isinstance(region, str) or region in regions or (region == PART and gated):
            continue
        yield ("rules", index, "region"), _no_region(region, [*regions, PART] if gated else regions)


def _dangling_looks(camera: object) -> Iterator[tuple[KeyPath, str]]:
    regions = list(_mapping(_mapping(camera, "judge"), "regions"))
    refine = _mapping(camera, "refine")
    if refine.get("mode") == "regions" and not regions:
        yield ("mode",), "the camera has no regions; add judge.regions, or use uncertain or grid"
    if refine.get("coarse_first") is True and _mapping(camera, "gate"):
        yield ("coarse_first",), "with a gate the first look has no part to judge yet; remove one of the two"
    if refine.get("coarse_first") is True and refine.get("required") is True:
        yield ("coarse_first",), "the first look would say OK before the required second one; remove one of the two"
    named = refine.get("regions")
    for index, region in enumerate(named if isinstance(named, list) else []):
        if isinstance(region, str) and region not in regions:
            yield ("regions", index), f"there is no region `{region}`; {nearest(region, regions)}"


def _no_region(region: str, regions: list[str]) -> str:
    if region == PART:
        return f"`{PART}` is the part that a gate finds and this camera has none; add gate, or remove region"
    return f"there is no region `{region}`; {nearest(region, regions)}"


def nearest(name: str, names: Iterable[str]) -> str:
    """Return the remedy for a wrong name: the one that was meant, or all that there are."""
    known = list(names)
    best = max(known, key=lambda other: _likeness(name, other), default="")
    if _likeness(name, best) >= _ALIKE:
        return f"did you mean `{best}`?"
    return f"there are: {', '.join(known)}" if known else "there are none"


def _likeness(name: str, other: str) -> float:
    """Return how alike two names are; the first letter is seldom wrong (`prot` is `port`, not `root`)."""
    first = 0.2 if name[:1].lower() == other[:1].lower() else 0.0
    return difflib.SequenceMatcher(None, name.lower(), other.lower()).ratio() + first


def _mapping(tree: object, key: str) -> Mapping[str, Any]:
    value = tree.get(key) if isinstance(tree, Mapping) else None
    return value if isinstance(value, Mapping) else {}
