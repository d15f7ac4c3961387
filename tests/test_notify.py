"""What systemd is told, over a real datagram socket."""

import os
import socket

import pytest

from app.notify import Notifier


@pytest.fixture
def systemd(tmp_path):
    """A socket that hears what a service says."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
        heard.bind(str(tmp_path / "notify"))
        heard.settimeout(10)
        yield heard


def environ(heard, **more):
    return {"NOTIFY_SOCKET": heard.getsockname(), **more}


def test_ready_comes_with_the_first_status(systemd):
    Notifier(environ(systemd)).ready("2 cameras")
    assert systemd.recv(4096) == b"READY=1\nSTATUS=2 cameras"


def test_a_status_of_two_lines_is_one_assignment(systemd):
    Notifier(environ(systemd)).status("all well\nREADY=1")
    assert systemd.recv(4096) == b"STATUS=all well READY=1"


def test_a_reload_carries_the_time_that_systemd_asks_for(systemd):
    Notifier(environ(systemd)).reloading()
    lines = systemd.recv(4096).decode().splitlines()
    assert lines[0] == "RELOADING=1"
    assert lines[1].startswith("MONOTONIC_USEC=")
    assert lines[1].partition("=")[2].isdecimal()


def test_stopping_says_why(systemd):
    Notifier(environ(systemd)).stopping("on SIGTERM")
    assert systemd.recv(4096) == b"STOPPING=1\nSTATUS=on SIGTERM"


def test_an_abstract_socket_is_reached():
    name = f"taktsight-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
        heard.bind("\0" + name)
        heard.settimeout(10)
        Notifier({"NOTIFY_SOCKET": "@" + name}).status("here")
        assert heard.recv(4096) == b"STATUS=here"


@pytest.mark.parametrize(
    ("more", "limit_s"),
    [
        ({}, None),  # no watchdog
        ({"WATCHDOG_USEC": "500000"}, 0.5),
        ({"WATCHDOG_USEC": "10000000", "WATCHDOG_PID": str(os.getpid())}, 10.0),
        ({"WATCHDOG_USEC": "500000", "WATCHDOG_PID": "1"}, None),  # meant for another process
        ({"WATCHDOG_USEC": "0"}, None),  # switched off
        ({"WATCHDOG_USEC": "soon"}, None),  # nonsense
    ],
)
def test_the_watchdog_s_limit_is_read(systemd, more, limit_s):
    notifier = Notifier(environ(systemd, **more))
    assert notifier.watchdog_s == limit_s
    notifier.alive()
    notifier.status("after")
    said = systemd.recv(4096)
    assert said == (b"STATUS=after" if limit_s is None else b"WATCHDOG=1")


def test_ops_04_without_systemd_nothing_is_said_and_nothing_fails():
    notifier = Notifier({"WATCHDOG_USEC": "500000"})
    assert not notifier.is_heard
    for say in (notifier.alive, notifier.reloading, lambda: notifier.ready("x"), lambda: notifier.stopping("x")):
        say()


def test_a_socket_that_is_gone_is_complained_of_once(tmp_path, caplog):
    notifier = Notifier({"NOTIFY_SOCKET": str(tmp_path / "nobody")})
    notifier.status("one")
    notifier.status("two")
    assert [record.levelname for record in caplog.records] == ["WARNING"]
