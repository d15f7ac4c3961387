"""The two mosquitto configurations of docs/scale.md on real brokers: cut, restarted, healed, and nothing lost."""

import json
import re
import signal
import socket
import subprocess
import threading
import time

import promql_parser
import pytest
import yaml
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

from app.bench.hang_up import hang_up
from app.broker import find_mosquitto
from tests.conftest import ROOT
from tests.ports import free_port
from tests.publish.cable import Cable

WAIT_S = 60
PAGE = (ROOT / "docs" / "scale.md").read_text("utf-8")
RESULT = "taktsight/linie-1/top/result"


def block(kind):
    """One fenced block of the page."""
    (found,) = re.findall(rf"```{re.escape(kind)}\n(.*?)```", PAGE, re.DOTALL)
    return found


def replaced(text, **changes):
    """The page's lines with the test's own addresses and folders; each must be there once."""
    for old, new in changes.values():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


class Mosquitto:
    """A broker with a whole configuration of its own; stopped and started again it is the same one."""

    def __init__(self, folder, port, text):
        self.port, self._folder, self._process = port, folder, None
        folder.mkdir()
        # Started by root it would become the user mosquitto, who may not write here.
        (folder / "mosquitto.conf").write_text(f"user {subprocess.getoutput('id -un')}\n{text}")

    def start(self):
        with (self._folder / "log").open("ab") as log:
            command = [find_mosquitto(), "-c", str(self._folder / "mosquitto.conf")]
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        end = time.monotonic() + WAIT_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
            except OSError:
                assert time.monotonic() < end, (self._folder / "log").read_text()
                assert self._process.poll() is None, (self._folder / "log").read_text()
                threading.Event().wait(0.05)
            else:
                return

    def stop(self):
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(signal.SIGTERM)
            process.wait(WAIT_S)


@pytest.fixture
def plant(tmp_path):
    """The plant's broker."""
    port = free_port()
    text = replaced(
        block("plant.conf"),
        listener=("listener 1883\n", f"listener {port} 127.0.0.1\n"),
        folder=("persistence_location /var/lib/mosquitto/", f"persistence_location {tmp_path}/plant/"),
    )
    broker = Mosquitto(tmp_path / "plant", port, text)
    broker.start()
    yield broker
    broker.stop()


@pytest.fixture
def cable(plant):
    cable = Cable(plant.port)
    cable.heal()
    yield cable
    cable.cut()


@pytest.fixture
def edge(tmp_path, cable):
    """The broker on the box."""
    port = free_port()
    text = replaced(
        block("edge.conf"),
        listener=("listener 1883 127.0.0.1", f"listener {port} 127.0.0.1"),
        folder=("persistence_location /var/lib/mosquitto/", f"persistence_location {tmp_path}/edge/"),
        plant=("address plant-broker:1883", f"address 127.0.0.1:{cable.port}"),
    )
    broker = Mosquitto(tmp_path / "edge", port, text)
    broker.start()
    yield broker
    broker.stop()


class Durable:
    """A subscriber with a session of its own, as the page says; hears numbers."""

    def __init__(self, port, topic, name):
        self.heard, self.changed, self.ready = [], threading.Condition(), threading.Event()
        self.client = Client(CallbackAPIVersion.VERSION2, client_id=name, clean_session=False)
        self.client.on_connect = lambda client, *_: client.subscribe(topic, 1)
        self.client.on_subscribe = lambda *_: self.ready.set()
        self.client.on_message = self._hear
        self.client.reconnect_delay_set(1, 1)
        self.client.connect("127.0.0.1", port)
        self.client.loop_start()
        assert self.ready.wait(WAIT_S)

    def _hear(self, _client, _userdata, message):
        with self.changed:
            self.heard.append(json.loads(message.payload))
            self.changed.notify_all()

    def wait_for(self, numbers):
        with self.changed:
            came = self.changed.wait_for(lambda: set(numbers) <= set(self.heard), WAIT_S)
        assert came, (
            f"{len(set(numbers) - set(self.heard))} are missing, e.g. {sorted(set(numbers) - set(self.heard))[:5]}"
        )

    def close(self):
        hang_up(self.client)


def publish(port, topic, numbers):
    """Publish at QoS 1 and wait until the broker has everything."""
    client = Client(CallbackAPIVersion.VERSION2)
    client.connect("127.0.0.1", port)
    client.loop_start()
    for sent in [client.publish(topic, json.dumps(number), 1) for number in numbers]:
        sent.wait_for_publish(WAIT_S)
    hang_up(client)


@pytest.mark.broker
def test_a_bridge_that_is_cut_and_healed_loses_nothing_though_the_boxs_broker_restarts_in_between(plant, cable, edge):
    database = Durable(plant.port, "taktsight/+/+/result", "database")
    try:
        publish(edge.port, RESULT, [0])
        database.wait_for([0])  # the bridge is up: what is published while mosquitto connects may overtake what waits
        publish(edge.port, RESULT, range(1, 50))
        database.wait_for(range(50))
        cable.cut()
        publish(edge.port, RESULT, range(50, 1600))  # more than mosquitto would keep by itself
        edge.stop()
        edge.start()
        publish(edge.port, RESULT, range(1600, 1650))
        assert max(database.heard) < 50  # it was really cut
        cable.heal()
        database.wait_for(range(1650))
        publish(edge.port, RESULT, range(1650, 1700))
        database.wait_for(range(1700))
    finally:
        database.close()
    order = list(dict.fromkeys(database.heard))
    assert order == sorted(order)  # twice perhaps, but never out of turn


@pytest.mark.broker
def test_a_subscriber_that_was_away_and_a_plants_broker_that_restarted_lose_nothing(plant, cable, edge):
    database = Durable(plant.port, "taktsight/+/+/result", "database")
    publish(edge.port, RESULT, range(20))
    database.wait_for(range(20))
    database.close()
    publish(edge.port, RESULT, range(20, 60))
    plant.stop()
    publish(edge.port, RESULT, range(60, 100))
    plant.start()
    again = Durable(plant.port, "taktsight/+/+/result", "database")
    try:
        again.wait_for(range(20, 100))
    finally:
        again.close()
    assert sorted(set(again.heard)) == list(range(20, 100))


@pytest.mark.broker
def test_commands_and_acknowledgements_come_down_and_nothing_goes_round_in_circles(plant, cable, edge):
    line = Durable(edge.port, "taktsight/#", "line")
    watcher = Durable(plant.port, "taktsight/#", "watcher")
    try:
        publish(edge.port, RESULT, [1])  # the bridge is up once this is through
        watcher.wait_for([1])
        publish(plant.port, "taktsight/linie-1/cmd/pause", [2])
        publish(plant.port, "taktsight/linie-1/top/ack", [3])
        publish(plant.port, "taktsight/linie-1/top/result", [4])  # not the plant's to say
        publish(plant.port, "taktsight/linie-2/cmd/pause", [5])  # another line's
        publish(plant.port, "taktsight/linie-1/cmd/pause", [6])
        line.wait_for([1, 2, 3, 6])
        watcher.wait_for(range(1, 7))
        publish(edge.port, RESULT, [7])
        watcher.wait_for([7])
    finally:
        line.close()
        watcher.close()
    assert sorted(line.heard) == [1, 2, 3, 6, 7]
    assert sorted(watcher.heard) == [1, 2, 3, 4, 5, 6, 7]


def test_the_expressions_for_prometheus_are_some_and_name_what_the_product_has():
    rules = yaml.safe_load(block("rules.yml"))
    known = set(re.findall(r"`(taktsight_\w+?)(?:_bucket)?[`{]", (ROOT / "docs" / "latency.md").read_text("utf-8")))
    for rule in rules["groups"][0]["rules"]:
        promql_parser.parse(rule["expr"])
        for name in re.findall(r"taktsight_\w+", rule["expr"]):
            assert name.removesuffix("_bucket") in known, name
    (job,) = yaml.safe_load(block("federation.yml"))["scrape_configs"]
    for selector in job["params"]["match[]"]:
        promql_parser.parse(selector)
    asked = re.compile(re.search(r'"(hall:.*)"', job["params"]["match[]"][0]).group(1))
    assert all(asked.fullmatch(rule["record"]) for rule in rules["groups"][0]["rules"])
