"""What each of several outputs holds, by its name and shape."""

from __future__ import annotations

from collections.abc import Sequence

from app.decode.tensors import fits
from app.model import TensorSpec

_WORDS = (("num", "count"), ("box", "boxes"), ("score", "scores"), ("conf", "scores"), ("prob", "scores"))
_MORE_WORDS = (("class", "classes"), ("label", "classes"), ("cls", "classes"))


def role_by_name(name: str) -> str | None:
    """Return "count", "boxes", "scores" or "classes" as the name says; None where it says nothing.

    The order counts: `num_boxes` is a count, `class_scores` are scores.
    """
    lowered = name.lower()
    return next((role for word, role in (*_WORDS, *_MORE_WORDS) if word in lowered), None)


def finished_roles(outputs: Sequence[TensorSpec]) -> dict[str, TensorSpec] | None:
    """Tell count, boxes, scores and classes of a network with suppression in its graph apart.

    Returns:
        The outputs by role ("count" may be missing), or None where they are something else or can't be told apart.
    """
    if len(outputs) not in (3, 4):
        return None
    by_name = {role_by_name(output.name): output for output in outputs}
    if None not in by_name and len(by_name) == len(outputs):
        roles = {role: output for role, output in by_name.items() if role is not None}
    else:
        roles = _by_shape(outputs)
    return roles if _plausible(roles) else None


def _by_shape(outputs: Sequence[TensorSpec]) -> dict[str, TensorSpec]:
    """Tell by shapes [B, 1], [B, N, 4], and two [B, N] of which the whole numbers are the classes."""
    roles: dict[str, TensorSpec] = {}
    for output in outputs:
        whole = "int" in output.dtype
        if fits(output.shape, (None, None, 4)):
            roles["boxes"] = output
        elif fits(output.shape, (None, 1)) or len(output.shape) == 1:
            roles["count"] = output
        else:
            roles["classes" if whole else "scores"] = output
    return roles if len(roles) == len(outputs) else {}


def _plausible(roles: dict[str, TensorSpec]) -> bool:
    if not {"boxes", "scores", "classes"} <= set(roles):
        return False
    flat = all(fits(roles[role].shape, (None, None)) for role in ("scores", "classes"))
    return flat and fits(roles["boxes"].shape, (None, None, 4))


def box_and_score_outputs(outputs: Sequence[TensorSpec]) -> tuple[TensorSpec, TensorSpec] | None:
    """Tell boxes [B, N, 4] and class scores [B, N, C] apart, by names or, where those say nothing, by shapes.

    Returns:
        Both, or None where the outputs are something else or can't be told apart (four classes, silent names).
    """
    if len(outputs) != 2 or any(len(output.shape) != 3 for output in outputs):  # noqa: PLR2004 - a pair, [B, N, …]
        return None
    pairs = [(outputs[0], outputs[1]), (outputs[1], outputs[0])]
    possible = [pair for pair in pairs if _are_pair(*pair)]
    named = [pair for pair in possible if role_by_name(pair[0].name) == "boxes"]
    chosen = named or possible
    return chosen[0] if len(chosen) == 1 else None


def _are_pair(boxes: TensorSpec, scores: TensorSpec) -> bool:
    if role_by_name(boxes.name) == "scores" or role_by_name(scores.name) == "boxes":
        return False
    return fits(boxes.shape, (scores.shape[0], scores.shape[1], 4))
