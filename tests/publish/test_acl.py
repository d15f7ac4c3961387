"""The ACL in docs/mqtt.md, on a real mosquitto: who may publish and read what."""

import json
import re
import shutil
import subprocess
import threading
import uuid
from pathlib import Path

import pytest
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion

from app.bench.hang_up import hang_up
from app.broker import LocalBroker
from app.config.sections import Mqtt
from app.doctor.echo import measure
from app.publish.topics import Topics
from tests.conftest import ROOT

pytestmark = pytest.mark.broker

WAIT_S = 20
LINE = "Linie 1"
USERS = ("linie-1", "panel", "operator")
BASE = "taktsight/linie-1"
CAMERA = f"{BASE}/ofen-tuer"
SERVICE = [
    # what the service of the line publishes
    f"{BASE}/status",
    f"{BASE}/event",
    f"{BASE}/answer",
    f"{CAMERA}/result",
    f"{CAMERA}/event",
    f"{CAMERA}/status",
    f"{CAMERA}/latency",
    f"{CAMERA}/preview/panel-1",
]
ACK = f"{CAMERA}/ack"
COMMAND = f"{BASE}/cmd/pause"
OTHER_LINE = "taktsight/linie-2/top/result"
OUTSIDE = "plant/oven/set"
EVERYTHING = [*SERVICE, ACK, COMMAND, OTHER_LINE, OUTSIDE]
MAY_PUBLISH = {
    # a user, and all that it may publish
    "linie-1": set(SERVICE),
    "panel": {ACK},
    "operator": {ACK, COMMAND},
}
MAY_READ = {
    # a user, and all that it may read
    "linie-1": {ACK, COMMAND},
    "panel": set(EVERYTHING) - {OUTSIDE},
    "operator": set(EVERYTHING) - {OUTSIDE},
}


def block(kind):
    """One fenced block of the page."""
    (found,) = re.findall(rf"```{re.escape(kind)}\n(.*?)```", (ROOT / "docs" / "mqtt.md").read_text("utf-8"), re.DOTALL)
    return found


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    """A mosquitto with the page's very lines; only where its files lie is the test's own, and it adds who may see all."""
    folder = tmp_path_factory.mktemp("mosquitto")
    tls = Path(__file__).parent / "tls"
    everybody = "\nuser test\ntopic readwrite #\n"
    (folder / "taktsight.acl").write_text(block("mosquitto.acl") + everybody)
    program = shutil.which("mosquitto_passwd")
    assert program is not None, "mosquitto_passwd comes with mosquitto"
    for number, user in enumerate((*USERS, "test")):
        created = ["-c"] if number == 0 else []
        subprocess.run([program, *created, "-b", folder / "taktsight.passwords", user, f"{user}-secret"], check=True)
    lines = block("mosquitto.conf").replace("/etc/mosquitto/certs", str(tls)).replace("/etc/mosquitto", str(folder))
    with LocalBroker(kind="mosquitto", access=re.sub(r"per_listener_settings.*\n|listener .*\n", "", lines)) as running:
        running.ca_file = str(tls / "ca.pem")
        yield running


class Someone:
    """A plain client of MQTT 5; for a refused log-in, `refusal` says why."""

    def __init__(self, broker, user, password=None):
        self.refusal, self.codes, self.got = None, {}, set()
        self._changed = threading.Condition()
        self.client = Client(CallbackAPIVersion.VERSION2, protocol=MQTTProtocolVersion.MQTTv5)
        if user is not None:
            self.client.username_pw_set(user, password or f"{user}-secret")
        self.client.tls_set(broker.ca_file)
        self.client.on_connect = self._on_connect
        self.client.on_publish = lambda _c, _u, mid, code, _p: self._note(lambda: self.codes.update({mid: str(code)}))
        self.client.on_subscribe = lambda *_: self._note(lambda: self.codes.update(subscribed="yes"))
        self.client.on_message = lambda _c, _u, message: self._note(
            lambda: self.got.add((message.topic, message.payload))
        )
        self.client.connect("127.0.0.1", broker.port)
        self.client.loop_start()
        self._wait(lambda: self.refusal is not None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        hang_up(self.client)

    def publish(self, topic, payload=b""):
        """Publish, and return what the broker says of it."""
        mid = self.client.publish(topic, payload, qos=1).mid
        self._wait(lambda: mid in self.codes)
        return self.codes[mid]

    def subscribe(self, topic):
        self.client.subscribe(topic, 1)
        self._wait(lambda: "subscribed" in self.codes)

    def wait_for(self, topic):
        self._wait(lambda: any(heard == topic for heard, _ in self.got))

    def _on_connect(self, client, userdata, flags, code, properties):
        self._note(lambda: setattr(self, "refusal", str(code) if code.is_failure else ""))
        if code.is_failure:
            client.disconnect()

    def _note(self, change):
        with self._changed:
            change()
            self._changed.notify_all()

    def _wait(self, until):
        with self._changed:
            assert self._changed.wait_for(until, WAIT_S)


@pytest.mark.parametrize("user", USERS)
def test_each_user_publishes_what_is_its_own_and_nothing_else(broker, user):
    with Someone(broker, "test") as listener, Someone(broker, user) as mine:
        listener.subscribe("#")
        mark = uuid.uuid4().bytes
        refused = {topic for topic in EVERYTHING if mine.publish(topic, mark) == "Not authorized"}
        assert refused == set(EVERYTHING) - MAY_PUBLISH[user]
        assert listener.publish("last", mark) == "Success"
        listener.wait_for("last")
        arrived = {topic for topic, payload in listener.got if payload == mark} - {"last"}
        assert arrived == MAY_PUBLISH[user], "a refusal must be one, whatever the broker answers"


@pytest.mark.parametrize("user", USERS)
def test_each_user_reads_what_is_its_own_and_nothing_else(broker, user):
    with Someone(broker, "test") as speaker, Someone(broker, user) as mine:
        mine.subscribe("#")
        last = sorted(MAY_READ[user])[-1]
        for topic in (*(topic for topic in EVERYTHING if topic != last), last):
            speaker.publish(topic)
        mine.wait_for(last)
        assert {topic for topic, _ in mine.got} == MAY_READ[user]


@pytest.mark.parametrize(
    ("user", "password"),
    [
        (None, None),  # nobody in particular
        ("linie-1", "panel-secret"),  # another one's password
        ("linie-2", "linie-2-secret"),  # a user that there is not
    ],
)
def test_nobody_else_is_let_in(broker, user, password):
    with Someone(broker, user, password) as stranger:
        assert stranger.refusal == "Not authorized"


def login(broker, user):
    return {"username": user, "password": f"{user}-secret", "tls": {"ca_file": broker.ca_file}}


def test_a_line_gets_its_results_through_and_is_acknowledged(broker, rig, outcome):
    own = login(broker, "linie-1")
    with Someone(broker, "panel") as panel, rig(broker.port, root="taktsight", **own) as mine:
        panel.subscribe("taktsight/#")
        mine.put(outcome())
        assert mine.done.wait_for(1)
        panel.wait_for(f"{CAMERA}/result")
        payload = next(body for topic, body in panel.got if topic == f"{CAMERA}/result")
        ids = {key: json.loads(payload)[key] for key in ("id", "trace_id")}
        panel.publish(
            ACK, json.dumps({"type": "ack", "schema": "1", "hold_ms": 1.0, "client": "panel", **ids}).encode()
        )
        assert mine.shown.wait_for(1)


def test_the_doctor_of_the_line_measures_with_the_rights_of_the_line(broker):
    topic = f"{Topics('taktsight', LINE).base}/doctor/1"
    assert measure(Mqtt(port=broker.port, **login(broker, "linie-1")), topic).fault == ""
    assert measure(Mqtt(port=broker.port, **login(broker, "panel")), topic).fault != ""
