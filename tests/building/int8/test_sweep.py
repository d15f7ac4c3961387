"""Layers that suffer are found in few trials."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from app.building.int8.sweep import sensitive, sweep
from app.building.int8.trial import Trial

LAYERS = [f"layer {number}" for number in range(64)]


class Network:
    """A network whose damage is known for each layer."""

    def __init__(self, **damage: float) -> None:
        self.damage = {name.replace("_", " "): value for name, value in damage.items()}
        self.trials = 0

    def attempt(self, nodes: Sequence[str]) -> Trial:
        self.trials += 1
        return Trial("", len(nodes), (), None, (), sum(self.damage.get(name, 0.0) for name in nodes))


@pytest.mark.parametrize(
    ("damage", "found"),
    [
        ({}, ()),
        ({"layer_7": 0.5}, ("layer 7",)),
        ({"layer_0": 0.2, "layer_63": 0.4}, ("layer 63", "layer 0")),  # the worst first
        ({"layer_7": 0.5, "layer_8": 0.001}, ("layer 7",)),  # one that nobody would notice
    ],
)
def test_the_planted_layers_are_found(damage: dict[str, float], found: tuple[str, ...]) -> None:
    assert sensitive(sweep(LAYERS, Network(**damage).attempt)) == found


def test_one_of_64_layers_takes_two_trials_for_each_halving() -> None:
    network = Network(layer_41=0.5)
    sweep(LAYERS, network.attempt)
    assert network.trials == 1 + 2 * 6


def test_every_layer_is_accounted_for_once() -> None:
    suspects = sweep(LAYERS, Network(layer_3=0.5, layer_40=0.1).attempt)
    assert sorted(name for suspect in suspects for name in suspect.nodes) == sorted(LAYERS)


def test_a_network_that_does_not_suffer_takes_one_trial() -> None:
    network = Network()
    assert len(sweep(LAYERS, network.attempt)) == 1
    assert network.trials == 1
