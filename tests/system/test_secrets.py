"""CFG-09: secrets planted wherever a configuration takes one, and looked for in everything that the product gives out."""

import base64
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path
from urllib.parse import quote

import pytest
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

from app.bench.hang_up import hang_up
from app.broker import LocalBroker
from tests.conftest import ROOT
from tests.ports import free_port
from tests.tcp_server import TcpServer

pytestmark = pytest.mark.broker

WAIT_S = 60
SECRETS = {
    # a place, and what is planted there
    "url": "Url!gh7/x",
    "query": "Query-k2!p",
    "camera_file": "Kamera#f8 ü",
    "mqtt": "Mqtt&e5=z",
    "token": "Token+t4~q",
    "pipeline": "Pipe-r9-w",
}
CONFIG = """
line: secrets
cameras:
  still:
    source: {{kind: synthetic, width: 320, height: 240, fps: 5}}
    model: covers
    judge: {{rules: [{{count: screw, equals: 4}}]}}
  yard:
    source: {{kind: stream, url: "rtsp://viewer:{url}@127.0.0.1:{rtsp}/yard?token={query}&api_key={query}"}}
    model: covers
    judge: {{rules: [{{count: screw, equals: 4}}]}}
  dock:
    source: {{kind: stream, url: "rtsp://127.0.0.1:{rtsp}/dock", username: viewer, password_file: ./camera-secret}}
    model: covers
    judge: {{rules: [{{count: screw, equals: 4}}]}}
  gone:
    source: {{kind: stream, url: "http://viewer:{url}@127.0.0.1:1/gone?token={query}"}}
    model: covers
    judge: {{rules: [{{count: screw, equals: 4}}]}}
  pipe:
    source: {{kind: gstreamer, preset: own, pipeline: "rtspsrc location=rtsp://127.0.0.1:1/x user-id=viewer user-pw={pipeline} ! rtph264depay ! avdec_h264 ! videoconvert ! video/x-raw,format=BGR"}}
    model: covers
    judge: {{rules: [{{count: screw, equals: 4}}]}}
models:
  covers: {{path: "{root}/engines/covers_320.onnx"}}
mqtt: {{port: {port}, username: line, password: "${{TAKTSIGHT_TEST_PASSWORD}}"}}
metrics: {{port: {metrics}, token_file: ./token}}
jsonl: {{path: "{folder}/results.jsonl"}}
evidence: {{path: "{folder}/evidence"}}
trace: {{path: "{folder}/trace.jsonl"}}
log: {{level: debug}}
"""


class Camera:
    """An RTSP camera that lets nobody in, and repeats whatever it was told in what it answers."""

    def __init__(self):
        self.heard = b""
        self._server = TcpServer(self._serve, "camera")
        self.port, self.close = self._server.port, self._server.close

    def _serve(self, connection):
        while request := self._read(connection):
            self.heard += request
            number = re.search(rb"CSeq: (\d+)", request)
            told = request.replace(b"\r\n", b" ")
            answer = b"RTSP/1.0 401 " + told + b'\r\nWWW-Authenticate: Basic realm="' + told.replace(b'"', b"") + b'"'
            answer += b"\r\nCSeq: " + (number[1] if number else b"1") + b"\r\nContent-Length: 0\r\n\r\n"
            connection.sendall(answer)

    @staticmethod
    def _read(connection):
        data = b""
        while b"\r\n\r\n" not in data and (more := connection.recv(4096)):
            data += more
        return data


class Listener:
    """All that a broker carries."""

    def __init__(self, port):
        self.heard = []
        self.client = Client(CallbackAPIVersion.VERSION2)
        self.client.username_pw_set("line", SECRETS["mqtt"])
        self.client.on_connect = lambda client, *_: client.subscribe("#", 1)
        self.client.on_message = lambda _c, _u, message: self.heard.append((message.topic, message.payload))
        self.client.connect("127.0.0.1", port)
        self.client.loop_start()

    def close(self):
        hang_up(self.client)


class Commands:
    """The command lines of every process of this machine, looked at all the time."""

    def __init__(self):
        self.seen = set()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, name="command lines")
        self._thread.start()

    def close(self):
        self._stop.set()
        self._thread.join()

    def _look(self):
        while not self._stop.wait(0.02):
            for path in Path("/proc").glob("[0-9]*/cmdline"):
                try:
                    self.seen.add(path.read_bytes().replace(b"\0", b" "))
                except OSError:
                    continue


def forms(secret):
    """A secret as it might come out: plain, %-encoded, in JSON, in a log-in's Base64."""
    encoded = quote(secret, safe="")
    found = {secret, encoded, encoded.lower(), quote(secret), json.dumps(secret)[1:-1]}
    for user in ("viewer:", "line:", ""):
        found.add(base64.b64encode(f"{user}{secret}".encode()).decode().rstrip("="))
    return found


def leaks(content):
    """The places whose secret is in some bytes."""
    if isinstance(content, str):
        content = content.encode()
    return [place for place, secret in SECRETS.items() if any(form.encode() in content for form in forms(secret))]


@pytest.fixture(scope="module")
def camera():
    running = Camera()
    yield running
    running.close()


@pytest.fixture(scope="module")
def line(tmp_path_factory, camera):
    """A folder with the configuration, its secrets and a broker that knows the password."""
    folder = tmp_path_factory.mktemp("secrets")
    (folder / "camera-secret").write_text(SECRETS["camera_file"] + "\n")
    (folder / "token").write_text(SECRETS["token"] + "\n")
    subprocess.run(["mosquitto_passwd", "-c", "-b", folder / "passwords", "line", SECRETS["mqtt"]], check=True)
    access = f"allow_anonymous false\npassword_file {folder}/passwords"
    with LocalBroker(kind="mosquitto", access=access) as broker:
        (folder / "line.yaml").write_text(
            CONFIG.format(
                url=quote(SECRETS["url"], safe=""),
                query=SECRETS["query"],
                pipeline=SECRETS["pipeline"],
                rtsp=camera.port,
                root=ROOT,
                port=broker.port,
                metrics=free_port(),
                folder=folder,
            )
        )
        yield folder, broker


def environment(password=SECRETS["mqtt"]):
    return {**os.environ, "TAKTSIGHT_TEST_PASSWORD": password, "PYTHONPATH": str(ROOT), "COLUMNS": "200"}


def taktsight(folder, *arguments, password=SECRETS["mqtt"]):
    """Run a command; return all that it says."""
    command = [sys.executable, "-m", "app", *map(str, arguments)]
    said = subprocess.run(
        command, capture_output=True, cwd=folder, env=environment(password), timeout=WAIT_S, check=False
    )
    return said.stdout + said.stderr


def wait_until_all_is_told(folder, service, listener):
    """Wait until each camera has been lost, and results have come."""
    until_s = time.monotonic() + WAIT_S
    lost = [name + b": lost" for name in (b"yard", b"dock", b"gone", b"pipe")]
    while time.monotonic() < until_s:
        text = (folder / "log").read_bytes()
        results = sum(topic.endswith("still/result") for topic, _ in listener.heard)
        if results >= 5 and all(words in text for words in lost):
            return
        assert service.poll() is None, text.decode()
        threading.Event().wait(0.05)
    pytest.fail(f"it did not come to that: {(folder / 'log').read_text()}")


def page(folder, name):
    """What a page of the service says to who knows the token."""
    (port,) = re.findall(r"metrics: \{port: (\d+)", (folder / "line.yaml").read_text())
    asked = urllib.request.Request(f"http://127.0.0.1:{port}/{name}")
    asked.add_header("Authorization", f"Bearer {SECRETS['token']}")
    try:
        return urllib.request.urlopen(asked, timeout=10).read()
    except urllib.error.HTTPError as error:  # health is 503 with cameras away
        return error.read()


@pytest.fixture(scope="module")
def ran(line):
    """All that the service gave out while it ran: its log, what it published, its pages, its files, command lines."""
    folder, broker = line
    listener, commands = Listener(broker.port), Commands()
    with (folder / "log").open("wb") as log:
        command = [sys.executable, "-m", "app", "run", "line.yaml"]
        service = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, env=environment())
        try:
            wait_until_all_is_told(folder, service, listener)
            given = {name: page(folder, name) for name in ("metrics", "healthz")}
            for words in ("status", "status --json", "watch --count 2 --json"):
                given[words] = taktsight(folder, *words.split(), "--config", "line.yaml")
        finally:
            service.send_signal(signal.SIGTERM)
            service.wait(WAIT_S)
            listener.close()
            commands.close()
    given["broker"] = b"\n".join(topic.encode() + b" " + payload for topic, payload in listener.heard)
    given["command lines"] = b"\n".join(commands.seen)
    for path in folder.rglob("*"):
        if path.is_file() and path.name not in ("line.yaml", "still.yaml", "camera-secret", "token", "passwords"):
            given[str(path.relative_to(folder))] = path.name.encode() + path.read_bytes()
    return given


def test_cfg_09_the_secrets_were_in_use(ran, camera):
    """Else there would have been nothing to leak."""
    for place in ("url", "camera_file"):
        login = base64.b64encode(f"viewer:{SECRETS[place]}".encode())
        assert login in camera.heard, place
    assert SECRETS["query"].encode() in camera.heard
    assert b'"verdict"' in ran["broker"]
    assert b"taktsight_" in ran["metrics"]
    assert b"yard" in ran["healthz"]
    assert any("evidence" in name for name in ran)
    assert b"still" in ran["trace.jsonl"]
    assert b"app run line.yaml" in ran["command lines"]


def test_cfg_09_nothing_that_the_running_service_gives_out_holds_a_secret(ran):
    assert {name: leaks(content) for name, content in ran.items() if leaks(content)} == {}


COMMANDS = [
    # a command that reads the configuration or what a run has left
    ("check", "line.yaml"),
    ("doctor", "line.yaml", "--seconds", "1"),
    ("latency", "trace.jsonl"),
    ("trace", "show", "slowest", "trace.jsonl"),
    ("trace", "export", "trace.jsonl", "--out", "perfetto.json"),
    ("report", "trace.jsonl", "--out", "page.html"),
    ("schema",),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_cfg_09_no_command_says_a_secret(ran, line, command):
    folder, _ = line
    said = taktsight(folder, *command)
    assert said
    assert leaks(said) == []
    for name in ("perfetto.json", "page.html"):
        if name in command:
            assert leaks((folder / name).read_bytes()) == []


def test_cfg_09_a_broker_that_refuses_is_told_of_without_the_password(line):
    folder, _ = line
    wrong = "Wrong!v6/u"
    before, _, after = (folder / "line.yaml").read_text().partition("  yard:")
    (folder / "still.yaml").write_text(before + "models:" + after.partition("models:")[2])  # the others say no more
    said = taktsight(folder, "status", "--config", "still.yaml", password=wrong)
    said += taktsight(folder, "doctor", "still.yaml", "--seconds", "1", password=wrong)
    assert b"Not authorized" in said
    assert wrong.encode() not in said
    assert quote(wrong, safe="").encode() not in said


def test_cfg_09_each_form_of_a_secret_would_be_seen():
    for place, secret in SECRETS.items():
        for form in forms(secret):
            assert leaks(f"before {form} after") == [place]
