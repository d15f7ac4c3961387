"""The faults, each as long as it happens or short as a test of every day."""

import resource
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion

from app.bench.hang_up import hang_up
from app.broker import ANYBODY
from app.publish.identity import client_id
from tests.system.faults.rig import Rig, Row
from tests.system.faults.service import CONVEYOR

NOBODY = "allow_anonymous false"


@dataclass(frozen=True, slots=True)
class Scale:
    """How long and how often."""

    outage_s: float
    restarts: int
    cuts: int
    kills: int
    rate: float


LONG = Scale(outage_s=60.0, restarts=5, cuts=20, kills=100, rate=20.0)
SHORT = Scale(outage_s=4.0, restarts=2, cuts=3, kills=3, rate=15.0)


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault.

    Attributes:
        happen: does it to a service that runs.
        options: what the rig needs for it.
        note: what else there is to tell afterwards.
    """

    title: str
    happen: Callable[[Rig, Scale], None]
    options: Mapping[str, object] = field(default_factory=dict)
    note: Callable[[Rig], str] = field(default=lambda _: "")


def run(fault: Fault, scale: Scale) -> Row:
    """Have a fault happen to a line of two cameras, and say what came of it."""
    with Rig(**{"fps": scale.rate, "expiry_s": scale.outage_s / 4, **fault.options}) as rig:
        rig.service.start()
        rig.service.wait_for(20)
        fault.happen(rig, scale)
        rig.service.wait_for(10)
        return rig.end(fault.title.format(**{name: getattr(scale, name) for name in scale.__slots__}), fault.note)


def broker_away(rig: Rig, scale: Scale) -> None:
    """The broker is stopped for a while, longer than results are live, and comes back without memory."""
    rig.restart_broker(scale.outage_s)


def broker_restarts(rig: Rig, scale: Scale) -> None:
    """The broker is stopped and started again at once, several times, without memory."""
    for _ in range(scale.restarts):
        rig.restart_broker(0.2)
        rig.service.wait_for(20)


def cut_in_packets(rig: Rig, scale: Scale) -> None:
    """The link is cut in the midst of a packet, again and again."""
    for _ in range(scale.cuts):
        rig.wait_for_results(10)
        rig.proxy.cut_in_a_packet(rig.chance)
    rig.wait_for_results(10)


def slow_broker(rig: Rig, scale: Scale) -> None:
    """The broker takes fewer bytes than there are, and answers late."""
    rig.proxy.bytes_per_s, rig.proxy.answer_s = 5000.0, 0.3
    rig.run_for(scale.outage_s)
    rig.proxy.bytes_per_s, rig.proxy.answer_s = 0.0, 0.0


def refused_login(rig: Rig, scale: Scale) -> None:
    """The broker refuses the service's log-in, until somebody mends it."""
    rig.replace_broker(NOBODY)
    rig.run_for(scale.outage_s / 2)
    rig.restart_broker(0.0)


def refused_topics(rig: Rig, scale: Scale) -> None:
    """The broker lets the service in and refuses its results, until somebody mends the list."""
    rules = rig.folder / "acl"
    rules.write_text("topic read #\ntopic write taktsight/faults/status\n", encoding="ascii")
    rig.restart_broker(0.2, f"{ANYBODY}\nacl_file {rules}")
    until_s = time.monotonic() + 60
    while not rig.service.warnings("does not take results now") and time.monotonic() < until_s:
        rig.run_for(0.2)
    rig.run_for(scale.outage_s / 4)
    rig.restart_broker(0.2)


def too_large(rig: Rig, scale: Scale) -> None:
    """Results are larger than the broker takes."""
    rig.service.wait_for(int(scale.outage_s * 3))


def two_of_one_id(rig: Rig, scale: Scale) -> None:
    """Another client has the same id, and both throw one another out."""
    until_s = time.monotonic() + scale.outage_s / 2
    while time.monotonic() < until_s:
        other = Client(CallbackAPIVersion.VERSION2, client_id("faults"), protocol=MQTTProtocolVersion.MQTTv5)
        other.connect("127.0.0.1", rig.port)
        other.loop_start()
        rig.run_for(0.5)
        hang_up(other)
        rig.run_for(rig.chance.uniform(0.2, 1.5))


def disk_full(rig: Rig, scale: Scale) -> None:
    """No file can grow any more while the broker is away; the broker comes back, and at last there is room again."""
    resource.prlimit(rig.service.process.pid, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
    rig.proxy.shut()
    rig.run_for(scale.outage_s / 2)
    rig.proxy.open()
    rig.service.wait_for(20)
    resource.prlimit(rig.service.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    until_s = time.monotonic() + 60
    while "resumed" not in rig.count.outbox and time.monotonic() < until_s:  # it is tried again every five seconds
        rig.run_for(0.2)


def killed(rig: Rig, scale: Scale) -> None:
    """The service is killed at random moments under load; now and then the broker is away as well."""
    for number in range(scale.kills):
        if number % 4 == 2:
            rig.proxy.shut()
        threading.Event().wait(rig.chance.uniform(0.0, 1.5))
        rig.look()
        rig.service.kill()
        rig.proxy.open()
        rig.service.start()
        rig.service.wait_for(1)


def warned(text: str) -> Callable[[Rig], str]:
    """Return what says how often the service warned."""
    return lambda rig: f"{len(rig.service.warnings(text))} warnings"


FAULTS = {
    "broker_away": Fault("broker away for {outage_s:g} s", broker_away),
    "broker_restarts": Fault("broker restarted {restarts} times", broker_restarts),
    "cut_in_packets": Fault("link cut in a packet {cuts} times", cut_in_packets),
    "slow_broker": Fault("broker slow for {outage_s:g} s: 5 kB/s, answers after 0.3 s", slow_broker),
    "refused_login": Fault("log-in refused", refused_login, note=warned("refuses the connection")),
    "refused_topics": Fault("results refused by the ACL", refused_topics, note=warned("does not take results now")),
    "too_large": Fault(
        "packets over the broker's limit",
        too_large,
        {"source": CONVEYOR, "fps": 5.0, "access": f"{ANYBODY}\nmax_packet_size 1100"},
        lambda rig: f"{rig.count.truncated} came without their boxes",
    ),
    "two_of_one_id": Fault("two clients with one id", two_of_one_id, note=warned("another client may use the id")),
    "disk_full": Fault(
        "disk full, broker away",
        disk_full,
        {"expiry_s": 60.0, "max_waiting": 10000},
        lambda rig: ", ".join(rig.count.outbox),
    ),
    "killed": Fault("service killed (kill −9) {kills} times", killed, {"expiry_s": 60.0}),
}
