"""The signs of life, with a systemd that writes down what it is told."""

from types import SimpleNamespace

import pytest

from app.heartbeat import STATUS_S, Heartbeat
from app.service import BEAT_S


class Systemd:
    """Hears what is said."""

    is_heard = True

    def __init__(self, watchdog_s=10.0):
        self.watchdog_s = watchdog_s
        self.said = []

    def ready(self, status):
        self.said.append("ready: " + status)

    def status(self, status):
        self.said.append("status: " + status)

    def alive(self):
        self.said.append("alive")

    def heard(self):
        said, self.said = self.said, []
        return said


@pytest.fixture
def rig(monkeypatch):
    monkeypatch.setattr("app.heartbeat.status_line", lambda health: health)
    rig = SimpleNamespace(systemd=Systemd(), turns=0, now_s=0.0, waits_for=[])
    board = SimpleNamespace(unsettled=lambda: rig.waits_for, health=lambda: "all well")
    rig.heart = Heartbeat(rig.systemd, board, lambda: rig.turns, lambda: rig.now_s)
    return rig


def beat(rig, *, work=1):
    rig.turns += work
    rig.heart.beat()
    return rig.systemd.heard()


def test_ops_04_ready_comes_once_after_the_first_good_pictures(rig):
    rig.waits_for = ["front", "side"]
    assert beat(rig) == ["alive", "status: waiting for the first picture of front, side"]
    assert beat(rig) == ["alive"]
    rig.waits_for = []
    assert beat(rig) == ["alive", "ready: all well"]
    assert beat(rig) == ["alive"]


def test_ops_04_a_hang_ends_the_signs_of_life_though_the_status_goes_on(rig):
    beat(rig)
    rig.now_s += STATUS_S
    assert beat(rig, work=0) == ["status: all well"]
    assert beat(rig, work=0) == []
    assert beat(rig) == ["alive"]


@pytest.mark.parametrize(
    ("limit_s", "every_s"),
    [
        (None, BEAT_S),  # nobody waits
        (30.0, BEAT_S),
        (0.5, pytest.approx(0.5 / 3)),  # three beats within the limit
    ],
)
def test_ops_04_it_beats_well_within_the_limit(rig, limit_s, every_s):
    rig.systemd.watchdog_s = limit_s
    assert rig.heart.every_s == every_s
