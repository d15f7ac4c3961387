"""Which layers suffer from INT8: each half of the network alone, then the halves of the half that suffers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from app.building.int8.trial import Trial

Try: TypeAlias = Callable[[Sequence[str]], Trial]
"""Layers in; what it does when these alone compute in INT8 out."""

INNOCENT = 0.1
"""A group that does less than this share of the whole network's damage is not looked into."""
HARMLESS = 0.002
"""Damage that nobody would notice, whatever the share."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """Layers that were quantised alone, and what that did."""

    nodes: tuple[str, ...]
    trial: Trial


def sweep(nodes: Sequence[str], attempt: Try) -> list[Suspect]:
    """Return the layers that suffer, the worst first, and the groups that were found innocent after them.

    A sensitive layer is found in about two trials for each halving, not one for each layer of the network.

    Args:
        nodes: in the order they run, so that neighbours share a group.
        attempt: makes one trial.
    """
    whole = Suspect(tuple(nodes), attempt(nodes))
    bar = max(INNOCENT * whole.trial.damage, HARMLESS)
    found: list[Suspect] = []
    waiting = [whole]
    while waiting:
        suspect = waiting.pop()
        group = suspect.nodes
        if len(group) == 1 or suspect.trial.damage <= bar:
            found.append(suspect)
        else:
            middle = len(group) // 2
            waiting += [Suspect(half, attempt(half)) for half in (group[:middle], group[middle:])]
    return sorted(found, key=lambda suspect: suspect.trial.damage, reverse=True)


def sensitive(suspects: Sequence[Suspect]) -> tuple[str, ...]:
    """Return the single layers that suffer more than nobody would notice, the worst first."""
    return tuple(
        suspect.nodes[0] for suspect in suspects if len(suspect.nodes) == 1 and suspect.trial.damage > HARMLESS
    )
