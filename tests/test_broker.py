"""The demo's own broker, of both kinds."""

import importlib.util
import socket
import threading

import pytest
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion

from app import broker as module
from app.bench.hang_up import hang_up
from app.broker import BrokerFailed, LocalBroker, free_port
from app.errors import ConfigError


def goes_through(broker, version):
    """Whether a message comes back to who subscribed to it."""
    arrived = threading.Event()
    client = Client(CallbackAPIVersion.VERSION2, protocol=version)
    client.on_connect = lambda *_: client.subscribe("a/b", 1)
    client.on_subscribe = lambda *_: client.publish("a/b", b"x", 1)
    client.on_message = lambda *_: arrived.set()
    client.connect(broker.host, broker.port)
    client.loop_start()
    came = arrived.wait(20)
    hang_up(client)
    return came


def is_open(broker):
    with socket.socket() as probe:
        return probe.connect_ex((broker.host, broker.port)) == 0


@pytest.mark.broker
@pytest.mark.parametrize("version", [MQTTProtocolVersion.MQTTv5, MQTTProtocolVersion.MQTTv311])
def test_mosquitto_is_taken_where_it_is_installed(version):
    with LocalBroker() as broker:
        assert broker.kind == "mosquitto"
        assert goes_through(broker, version)
    assert not is_open(broker)


def test_the_embedded_one_runs_in_this_process(monkeypatch):
    monkeypatch.setattr(module, "find_mosquitto", lambda: None)
    with LocalBroker() as broker:
        assert broker.kind == "embedded"
        assert goes_through(broker, MQTTProtocolVersion.MQTTv311)
    assert not is_open(broker)
    assert "broker" not in [thread.name for thread in threading.enumerate()]


@pytest.mark.parametrize("kind", ["mosquitto", "embedded"])
def test_a_port_that_is_taken_is_an_error_that_names_it(kind):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(BrokerFailed, match=str(port)):
            LocalBroker(port, kind).__enter__()


def test_mosquitto_is_tried_again_where_another_program_was_faster(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as other:
        ports = iter([other.getsockname()[1], free_port()])
        monkeypatch.setattr(module, "free_port", lambda: next(ports))
        with LocalBroker(kind="mosquitto") as broker:
            assert goes_through(broker, MQTTProtocolVersion.MQTTv5)


def test_without_any_broker_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(module, "find_mosquitto", lambda: None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ConfigError, match=r"apt install mosquitto.*taktsight\[demo\]"):
        LocalBroker().__enter__()


def test_leaving_twice_is_safe():
    broker = LocalBroker().__enter__()
    broker.__exit__(None, None, None)
    broker.__exit__(None, None, None)
    assert not is_open(broker)
