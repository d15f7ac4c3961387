"""A lasting connection: finds the broker's version, says why it is not let in, survives faults."""

import socket
import threading
import time

import pytest

from app.broker import LocalBroker
from app.config.sections import Mqtt
from app.errors import ConfigError
from app.publish.backoff import Backoff
from app.publish.link import Link, Will
from app.watch import Subscriber

WAIT_S = 20
pytestmark = pytest.mark.broker


class Nobody:
    """A link's user that only counts."""

    def __init__(self):
        self.ups, self.downs = threading.Semaphore(0), []
        self.refusals = []

    def up(self, limits):
        self.ups.release()

    def down(self, why):
        self.downs.append(why)

    def subscribed(self):
        pass

    def acked(self, mid, refusal):
        self.refusals.append(refusal)

    def received(self, topic, payload, retained):
        pass


def wait_until(is_true, timeout_s=WAIT_S):
    """Poll what has no event to wait for."""
    until_s = time.monotonic() + timeout_s
    while not is_true() and time.monotonic() < until_s:
        threading.Event().wait(0.02)
    return is_true()


@pytest.mark.parametrize(
    "connack",
    [
        bytes([0x20, 2, 0, 1]),  # refused: unacceptable protocol version
        None,  # closed without a word
    ],
)
def test_a_broker_that_knows_only_3_1_1_is_spoken_to_in_it(rude_broker, connack):
    old = rude_broker(connack=lambda version: connack if version == 5 else bytes([0x20, 2, 0, 0]))
    user = Nobody()
    with Link(Mqtt(port=old.port), "x", user, backoff=Backoff(0.05, 0.1)) as link:
        assert user.ups.acquire(timeout=WAIT_S)
        assert link.protocol == "3.1.1"


def test_a_broker_that_never_answers_version_5_is_spoken_to_in_3_1_1(rig, outcome):
    with LocalBroker(kind="embedded") as old, rig(old.port) as mine:
        mine.put(outcome())
        assert mine.done.wait_for(1)
        assert mine.sink.protocol == "3.1.1"


def test_version_5_only_is_not_given_up(rude_broker, caplog):
    old, user = rude_broker(connack=bytes([0x20, 2, 0, 1])), Nobody()
    with Link(Mqtt(port=old.port, version="5"), "x", user, backoff=Backoff(0.05, 0.1)) as link:
        assert wait_until(lambda: old.connections >= 3)
        assert link.protocol == "5"
    assert "set mqtt.version: auto" in caplog.text


def test_a_refused_password_is_logged_once_with_its_remedy(rude_broker, caplog):
    strict, user = rude_broker(connack=bytes([0x20, 2, 0, 5])), Nobody()
    with Link(Mqtt(port=strict.port, version="3.1.1"), "x", user, backoff=Backoff(0.01, 0.02)):
        assert wait_until(lambda: strict.connections >= 5)
    assert caplog.text.count("Not authorized") == 1
    assert "check mqtt.username" in caplog.text


def test_mq_08_two_clients_with_one_id_are_told_so(broker, caplog):
    first, second = Nobody(), Nobody()
    section = Mqtt(port=broker.port)
    with (
        Link(section, "same", first, backoff=Backoff(0.01, 0.05)),
        Link(section, "same", second, backoff=Backoff(0.01, 0.05)),
    ):
        assert wait_until(lambda: "another client may use the id 'same'" in caplog.text)
    assert len(first.downs) + len(second.downs) >= 4


def test_mq_14_a_fault_in_a_callback_does_not_end_the_connection(broker, caplog):
    user = Nobody()
    user.up = lambda limits: 1 / 0
    with Link(Mqtt(port=broker.port), "callback", user, will=Will("t/will", b"")) as link:
        assert wait_until(lambda: "was not handled" in caplog.text)
        assert link.is_up
        link.publish("t/x", b"y")
        assert wait_until(lambda: user.refusals == [None])


def test_mq_12_the_last_will_is_retained_for_who_subscribes_later(broker, listen):
    user = Nobody()
    with Link(Mqtt(port=broker.port), "dies", user, will=Will("will/dies", b"gone"), backoff=Backoff(60, 60)) as link:
        assert user.ups.acquire(timeout=WAIT_S)
        first = listen(broker.port, "will/#")
        link._client.socket().close()  # as a power cut does: no goodbye
        assert first.wait_for("/dies", 1)
    late = listen(broker.port, "will/#")
    assert late.wait_for("/dies", 1)
    assert late.messages.items[0] == ("will/dies", b"gone", True)


def test_small_packets_are_not_held_back(broker):
    user = Nobody()
    with Link(Mqtt(port=broker.port), "quick", user) as link:
        assert user.ups.acquire(timeout=WAIT_S)
        assert link._client.socket().getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_threads_that_publish_at_once_do_not_mix_their_packets(broker):
    user = Nobody()
    with Link(Mqtt(port=broker.port), "many", user) as link:
        assert user.ups.acquire(timeout=WAIT_S)
        threads = [
            threading.Thread(target=lambda: [link.publish("many/x", bytes(300_000)) for _ in range(30)])
            for _ in range(3)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wait_until(lambda: len(user.refusals) == 90)
    assert user.refusals == [None] * 90
    assert user.downs == ["MQTT_ERR_SUCCESS"]


def test_passwords_and_certificates_that_cannot_be_read_are_found_at_once(tmp_path):
    missing = str(tmp_path / "missing")
    for section in (Mqtt(username="u", password_file=missing), Mqtt(tls={"ca_file": missing})):
        with pytest.raises(ConfigError, match=r"password_file|mqtt\.tls"):
            Link(section, "x", Nobody()).__enter__()


def test_encryption_client_certificate_and_password_file_let_in(secured_broker, rig, outcome, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text(secured_broker.password + "\n")
    section = {"tls": secured_broker.tls, "username": secured_broker.username, "password_file": str(secret)}
    with rig(secured_broker.port, **section) as mine:
        mine.put(outcome())
        assert mine.done.wait_for(1)
        assert mine.sink.protocol == "5"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # paho leaves a refused socket to the GC
@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"password": "wrong"}, "Not authorized"),
        ({"tls": {}}, "CERTIFICATE_VERIFY_FAILED"),  # the system does not know the test's authority
        ({"tls": None}, "connection"),  # without encryption
    ],
)
def test_who_is_not_let_in_is_told_why(secured_broker, caplog, changes, word):
    broker = secured_broker
    right = {"tls": broker.tls, "username": broker.username, "password": broker.password}
    with Link(Mqtt(port=broker.port, **(right | changes)), "x", Nobody(), backoff=Backoff(0.05, 0.1)) as link:
        assert wait_until(lambda: word in caplog.text)
        assert not link.is_up
    assert broker.password not in caplog.text


def test_leaving_does_not_wait_for_a_broker_that_is_away():
    began_s = time.monotonic()
    with Link(Mqtt(port=1), "x", Nobody()):
        pass
    with Subscriber(Mqtt(port=1)):
        pass
    assert time.monotonic() - began_s < 10


def test_a_broker_that_spoke_version_5_is_not_spoken_to_in_3_1_1_after_an_outage(restartable):
    restartable()
    user = Nobody()
    with Link(Mqtt(port=restartable.port), "survivor", user, backoff=Backoff(0.02, 0.05)) as link:
        assert user.ups.acquire(timeout=WAIT_S)
        restartable.stop()
        with socket.create_server(("127.0.0.1", restartable.port)) as deaf:  # a proxy whose broker is away
            for _ in range(4):
                deaf.accept()[0].close()
        restartable()
        assert user.ups.acquire(timeout=WAIT_S)
        assert link.protocol == "5"
