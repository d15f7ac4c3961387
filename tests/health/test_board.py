"""The picture of the whole service, made from states, verdicts and counts; with a clock of the test's own."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from app.capture.state import CameraState
from app.health.board import FIRST_PICTURE_S, FIRST_PICTURES, Board, status_line
from app.health.checkup import Checkup
from app.health.vitals import Vitals
from app.latency.recorder import Recorder
from app.ledger import Fate, Ledger
from app.publish.lane import LaneCounts
from app.verdict import Verdict

NO_MESSAGES = LaneCounts(0, 0, 0, 0, 0)
VITALS = Vitals(50 << 20, 12, 8, 9 << 30, 41.5)


class Rig:
    """A board of two cameras, everything around it in the test's hand."""

    def __init__(self):
        self.now_s = 100.0
        self.ledger, self.recorder = Ledger(["front", "side"]), Recorder(lambda: int(self.now_s * 1e9))
        self.outbox, self.vitals, self.broker = (NO_MESSAGES, 0.0), VITALS, ""
        self.board = Board(
            self.ledger,
            self.recorder,
            lambda: self.outbox,
            lambda: self.vitals,
            lambda: self.broker,
            lambda: ["covers@1a2b3c4d:CPUExecutionProvider"],
            clock=lambda: self.now_s,
        )

    def online(self):
        for camera in self.ledger.cameras:
            self.board.set_camera(camera, CameraState.ONLINE, "pictures arrive")

    def verdict(self, camera="front", verdict=Verdict.OK):
        self.board.judged(SimpleNamespace(camera=camera, judgement=SimpleNamespace(verdict=verdict)))

    def verdicts(self, camera="front"):
        for _ in range(FIRST_PICTURES):
            self.verdict(camera, Verdict.NG)

    @property
    def problems(self):
        return self.board.health().service.problems


@pytest.fixture
def rig():
    return Rig()


def test_a_line_whose_cameras_all_give_pictures_is_healthy(rig):
    rig.online()
    health = rig.board.health()
    assert (health.service.healthy, health.service.problems) == (True, [])
    assert (health.service.rss_bytes, health.service.files, health.service.hottest_c) == (50 << 20, 12, 41.5)


def test_cam_24_a_lost_camera_is_named_with_its_reason(rig):
    rig.online()
    rig.board.set_camera("side", CameraState.LOST, "/dev/video2: no such device")
    assert rig.problems == ["camera side: lost: /dev/video2: no such device"]


def test_a_broker_that_is_away_is_named_with_its_reason(rig):
    rig.online()
    rig.broker = "broker 10.0.0.5:1883: not reachable (timed out)"
    assert rig.problems == [rig.broker]
    assert rig.board.health().service.broker == rig.broker


def test_the_engines_that_run_are_named_with_their_place(rig):
    assert rig.board.health().service.engines == ["covers@1a2b3c4d:CPUExecutionProvider"]


def test_a_file_that_has_ended_is_no_problem(rig):
    rig.online()
    rig.board.set_camera("side", CameraState.ENDED, "the last picture")
    assert rig.problems == []


def test_a_camera_counts_what_happened_within_the_hour(rig):
    for _ in range(3):
        rig.board.set_camera("front", CameraState.LOST, "gone")
        rig.board.set_camera("front", CameraState.ONLINE, "back")
        rig.now_s += 1500
    assert rig.board.health().cameras["front"].reconnects_per_h == 2, "the first was more than an hour ago"


def test_a_camera_counts_its_stalls_of_the_hour_and_a_loss_is_none(rig):
    for _ in range(3):
        for state in (CameraState.BLACK, CameraState.LOST, CameraState.FROZEN):
            rig.board.set_camera("front", state, "bad")
            rig.board.set_camera("front", CameraState.ONLINE, "back")
        rig.now_s += 1500
    front = rig.board.health().cameras["front"]
    assert (front.stalls_per_h, front.reconnects_per_h) == (4, 2), "those of the first round were more than an hour ago"


def test_frames_that_do_not_add_up_are_a_problem_and_one_error_event(rig):
    rig.online()
    events, statuses = [], []
    checkup = Checkup(
        rig.board, SimpleNamespace(set_health=statuses.append), lambda *news, **data: events.append((*news[:2], data))
    )
    rig.ledger.capture("front", 1)
    rig.ledger.settle("front", 1, Fate.JUDGED)
    checkup.look()
    assert events == []
    rig.ledger.settle("front", 1, Fate.LATE)
    checkup.look()
    checkup.look()
    assert [event[:2] for event in events] == [("front", "error")], "once, not at each look"
    assert events[0][2]["settled_twice"] == 1
    assert [status.service.healthy for status in statuses] == [True, False, False]
    assert "don't add up" in statuses[-1].service.problems[0]


@pytest.mark.parametrize(
    ("outbox", "vitals", "problem"),
    [
        ((replace(NO_MESSAGES, put=5, waiting=5), 31.0), VITALS, "a result has waited for the broker for 31 s"),
        ((NO_MESSAGES, 0.0), replace(VITALS, disk_free_bytes=5 << 20), "only 5 MB are left on the disk"),
        ((NO_MESSAGES, 0.0), replace(VITALS, disk_free_bytes=None), None),  # a machine that does not tell
    ],
)
def test_what_is_wrong_beside_the_cameras_is_told(rig, outbox, vitals, problem):
    rig.online()
    rig.outbox, rig.vitals = outbox, vitals
    assert rig.problems == ([problem] if problem else [])


def test_verdicts_a_second_are_those_of_the_last_ten_seconds(rig):
    rig.online()
    rig.now_s += 100
    for _ in range(30):
        rig.verdict()
        rig.now_s += 0.5
    assert rig.board.health().service.verdicts_per_s == pytest.approx(2.0, abs=0.11)
    rig.now_s += 60
    assert rig.board.health().service.verdicts_per_s == 0


def test_the_line_of_status_says_the_worst(rig):
    rig.online()
    rig.recorder.add("front", {"inference": 20.0}, 31.0, 100.0)
    rig.now_s += 1.0
    assert status_line(rig.board.health()) == "0.0 verdicts/s, p99 31 ms, cameras 2/2 online, outbox 0 waiting"
    rig.board.set_camera("side", CameraState.LOST, "no route to host")
    assert status_line(rig.board.health()).endswith("cameras 1/2 online, outbox 0 waiting; camera side: lost: no route "
                                                    "to host")  # fmt: skip


def test_ops_01_the_service_has_begun_once_each_camera_gave_good_pictures_or_is_absent(rig):
    assert rig.board.unsettled() == ["front", "side"]
    rig.verdict("front", Verdict.UNKNOWN)
    assert rig.board.unsettled() == ["front", "side"], "a black first picture shows nothing"
    rig.verdict("front", Verdict.NG)
    assert rig.board.unsettled() == ["front", "side"], "one is not enough"
    rig.verdict("front", Verdict.OK)
    assert rig.board.unsettled() == ["side"]
    rig.board.set_camera("side", CameraState.LOST, "not plugged in")
    assert rig.board.unsettled() == []


def test_a_camera_that_hangs_while_it_is_opened_does_not_hold_up_the_service_for_ever(rig):
    rig.verdicts()
    rig.now_s += FIRST_PICTURE_S - 0.1
    rig.board.engines_ready()
    assert rig.board.unsettled() == ["side"], "the time counts from when cameras are opened"
    rig.now_s += FIRST_PICTURE_S
    assert rig.board.unsettled() == []


def test_a_gate_that_passes_pictures_over_is_a_camera_that_works(rig):
    rig.verdicts()
    rig.ledger.capture("side", 1)
    rig.ledger.settle("side", 1, Fate.SKIPPED)
    assert rig.board.unsettled() == []
