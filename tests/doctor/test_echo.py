"""The broker, a real mosquitto: connected to, published to, heard from; and each way in which that fails."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time

import pytest

from app.broker import LocalBroker
from app.config.sections import Mqtt
from app.doctor.echo import ECHOES, check_broker
from app.doctor.line import Level
from app.publish.link import Link
from tests.capture.servers import silent_listener

pytestmark = pytest.mark.broker


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """A busy machine may take its time over a real broker."""
    monkeypatch.setattr("app.doctor.echo.CONNECT_S", 60.0)
    monkeypatch.setattr("app.doctor.echo.ECHO_S", 60.0)


@pytest.fixture
def guarded(tmp_path):
    """A broker that knows two users: `line` may do all, `guest` nothing."""
    passwords, rights = tmp_path / "passwords", tmp_path / "rights"
    program = shutil.which("mosquitto_passwd") or "/usr/bin/mosquitto_passwd"
    for user, options in (("line", ["-c"]), ("guest", [])):
        subprocess.run([program, "-b", *options, passwords, user, "secret"], check=True, capture_output=True)
    rights.write_text("user line\ntopic readwrite #\nuser guest\ntopic read nothing\n")
    for file in (passwords, rights):
        file.chmod(0o600 if os.getuid() else 0o644)
    access = f"allow_anonymous false\npassword_file {passwords}\nacl_file {rights}"
    with LocalBroker(kind="mosquitto", access=access) as broker:
        yield broker


def section(broker, **more):
    return Mqtt(host=broker.host, port=broker.port, **more)


def test_a_broker_that_is_well_is_told_with_its_times():
    with LocalBroker(kind="mosquitto") as broker:
        line = check_broker(section(broker), "Linie 1", 5000.0)
    assert line.level is Level.OK, line
    assert "MQTT 5, acknowledged after" in line.text
    assert f"medians of {ECHOES}" in line.text


def test_one_that_is_slower_than_the_budget_leaves_is_to_be_looked_at():
    with LocalBroker(kind="mosquitto") as broker:
        line = check_broker(section(broker), "l", 0.000_001)
    assert line.level is Level.WARN
    assert "shares.network" in line.remedy


def test_a_connection_that_is_up_at_once_is_subscribed_as_well(monkeypatch):
    monkeypatch.setattr("app.doctor.echo.ECHO_S", 5.0)
    enter = Link.__enter__

    def slow(link):
        entered = enter(link)
        until_s = time.monotonic() + 20
        while not link.is_up and time.monotonic() < until_s:  # before whoever enters it gets to do anything
            threading.Event().wait(0.01)
        return entered

    with LocalBroker(kind="mosquitto") as broker:
        monkeypatch.setattr(Link, "__enter__", slow)
        line = check_broker(section(broker), "l", 5000.0)
    assert line.level is Level.OK, line


def test_an_older_broker_answers_too():
    with LocalBroker(kind="mosquitto") as broker:
        assert "MQTT 3.1.1" in check_broker(section(broker, version="3.1.1"), "l", 5000.0).text


def test_the_right_user_is_let_in(guarded):
    line = check_broker(section(guarded, username="line", password="secret"), "l", 5000.0)
    assert line.level is Level.OK, line


REFUSED = [
    ({}, "Not authorized"),  # nobody
    ({"username": "line", "password": "wrong"}, "Not authorized"),
    ({"username": "guest", "password": "secret"}, "refuses"),  # may neither write nor read
]


@pytest.mark.parametrize(("login", "text"), REFUSED)
def test_a_broker_that_refuses_says_why_at_once_and_no_secret_is_in_it(guarded, login, text):
    began_s = time.monotonic()
    line = check_broker(section(guarded, **login), "l", 5000.0)
    assert time.monotonic() - began_s < 30, "nobody waits for what will not come"
    assert line.level is Level.FAIL
    assert text.lower() in line.text.lower(), line.text
    assert "mqtt.username" in line.remedy
    assert "secret" not in f"{line}"
    assert "wrong" not in f"{line}"


def test_a_broker_that_is_off_and_a_name_that_is_none_are_told_apart(free_port):
    off = check_broker(Mqtt(port=free_port), "l", 5.0)
    assert (off.level, "refused" in off.text) == (Level.FAIL, True)
    nobody = check_broker(Mqtt(host="no-such-host.invalid"), "l", 5.0)
    assert (nobody.level, "name" in nobody.text) == (Level.FAIL, True)


def test_something_that_is_no_broker_is_given_up(monkeypatch):
    monkeypatch.setattr("app.doctor.echo.CONNECT_S", 2.0)
    with silent_listener() as port:
        line = check_broker(Mqtt(port=port), "l", 5.0)
    assert line.level is Level.FAIL
    assert "no answer" in line.text


def test_a_secret_that_can_not_be_read_is_a_line():
    with LocalBroker(kind="mosquitto") as broker:
        line = check_broker(section(broker, username="a", password_file="/not/there"), "l", 5.0)
    assert line.level is Level.FAIL
    assert "password_file" in line.text
