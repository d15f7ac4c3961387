"""How a line is, asked of a real broker."""

import json
import time

import pytest
from rich.console import Console

from app.broker import LocalBroker
from app.config.sections import Mqtt
from app.errors import SinkLost, TaktsightError
from app.publish.health import CameraHealth, Health, ServiceHealth
from app.publish.mqtt import MqttSink
from app.status import ask, show_status

pytestmark = pytest.mark.broker

SERVICE = ServiceHealth(
    healthy=True,
    problems=[],
    uptime_s=7300.0,
    verdicts_per_s=12.5,
    p99_ms=31.4,
    engines=["covers@1a2b3c:CPUExecutionProvider"],
    broker="",
    outbox_waiting=2,
    outbox_oldest_s=0.04,
    outbox_dropped=0,
    rss_bytes=210 << 20,
    files=40,
    threads=14,
    disk_free_bytes=9 << 30,
    hottest_c=61.0,
)
FRONT = CameraHealth(
    state="online",
    reason="pictures arrive",
    since_s=300.0,
    reconnects_per_h=1,
    stalls_per_h=0,
    level="full",
    frames={"captured": 90, "judged": 88, "late": 1, "failed": 0, "waiting": 1},
    balanced=True,
)
ILL = Health(
    service=ServiceHealth(**{**{f: getattr(SERVICE, f) for f in SERVICE.__struct_fields__}, "healthy": False,
                             "problems": ["camera front: lost: no route to host"]}),
    cameras={"front": FRONT},
)  # fmt: skip


class NoReceipts:
    """Takes no interest."""

    def delivered(self, message_id, at_ns):
        pass

    def refused(self, message_id, why):
        pass

    def returned(self, message_ids):
        pass

    def ready(self):
        pass


@pytest.fixture(scope="module")
def broker():
    with LocalBroker(kind="mosquitto") as running:
        yield running


@pytest.fixture
def line(broker):
    """A service that is there, and says how it is; retained from one test to the next."""
    with MqttSink(Mqtt(port=broker.port), "press 4", ("front",), NoReceipts(), models=["covers"]) as sink:
        until_s = time.monotonic() + 20
        while not sink.is_up and time.monotonic() < until_s:
            time.sleep(0.01)
        yield sink


def shown(broker, **wanted):
    console = Console(width=160, record=True, force_terminal=False)
    well = show_status(Mqtt(port=broker.port), console, line=wanted.get("line", ""), as_json=wanted.get("json", False))
    return well, console.export_text()


def test_a_line_that_is_well_is_shown_with_its_cameras(broker, line):
    line.set_health(Health(service=SERVICE, cameras={"front": FRONT}))
    well, text = shown(broker)
    assert well
    for part in ("press 4: well, 12.5 verdicts/s, p99 31.4 ms, up 2 h", "front", "5 min", "outbox: 2 waiting",
                 "memory: 210 MB, 40 files, 14 threads", "disk: 9.0 GB free", "61 °C", "model: covers"):  # fmt: skip
        assert part in text


def test_what_is_wrong_is_told_in_a_line_each(broker, line):
    line.set_health(ILL)
    well, text = shown(broker, line="press 4")
    assert not well
    assert "press 4: not well" in text
    assert "camera front: lost: no route to host" in text


def test_the_statuses_themselves_are_json(broker, line, capsys):
    line.set_health(ILL)
    assert not shown(broker, json=True)[0]
    found = json.loads(capsys.readouterr().out)
    assert found["press 4"]["service"]["health"]["problems"] == ["camera front: lost: no route to host"]
    assert found["press 4"]["cameras"]["front"]["detail"]["frames"]["captured"] == 90


def test_a_service_that_has_stopped_is_not_well_and_its_cameras_are_unknown(broker, line):
    line.set_health(Health(service=SERVICE, cameras={"front": FRONT}))
    line.__exit__(None, None, None)
    well, text = shown(broker)
    assert not well
    assert "press 4: offline (stopped since" in text
    assert "unknown" in text


def test_a_line_that_the_broker_does_not_know_is_an_error(broker):
    with pytest.raises(TaktsightError, match="the broker knows nothing of line press 5 under 'taktsight'"):
        shown(broker, line="press 5")


def test_a_broker_that_is_not_there_is_an_error(free_port):
    with pytest.raises(SinkLost, match="no broker takes us within"):
        ask(Mqtt(port=free_port), connect_s=0.3)
