"""Encryption to a real mosquitto: versions, certificates, and what is said of those that don't fit."""

import subprocess
import threading
from pathlib import Path

import pytest

from app.broker import LocalBroker
from app.config.sections import Mqtt, Tls
from app.errors import ConfigError
from app.publish.backoff import Backoff
from app.publish.link import Link
from app.publish.tls import tls_context

pytestmark = pytest.mark.broker

TLS = Path(__file__).parent / "tls"
WAIT_S = 20
SERVER = f"certfile {TLS / 'server.pem'}\nkeyfile {TLS / 'server.key'}\nallow_anonymous true\n"
OLD_OPENSSL = """
openssl_conf = all
[all]
ssl_conf = ssl
[ssl]
system_default = default
[default]
MaxProtocol = TLSv1.2
"""


class Told:
    """A link's user that waits for one thing: the connection."""

    def __init__(self):
        self.is_up = threading.Event()

    def up(self, limits):
        self.is_up.set()

    def down(self, why):
        pass

    def subscribed(self):
        pass

    def acked(self, mid, refusal):
        pass

    def received(self, topic, payload, retained):
        pass


def outcome_of(port, tls, host="127.0.0.1"):
    """Return the version of TLS that a link speaks with a broker, or the link's one line on why it has no connection."""
    told = Told()
    with Link(Mqtt(host=host, port=port, tls=tls), "x", told, backoff=Backoff(0.05, 0.1)) as link:
        for _ in range(WAIT_S * 50):
            if told.is_up.wait(0.02):
                return link._client.socket().version()
            if link.trouble:
                return link.trouble
    raise AssertionError("neither connected nor told why")


@pytest.fixture(scope="module")
def only_1_2(tmp_path_factory):
    """A mosquitto whose OpenSSL ends at TLS 1.2, as on an old plant server."""
    settings = tmp_path_factory.mktemp("openssl") / "openssl.cnf"
    settings.write_text(OLD_OPENSSL)
    broker = LocalBroker(kind="mosquitto", access=SERVER)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENSSL_CONF", str(settings))
        broker.__enter__()
    yield broker
    broker.__exit__(None, None, None)


@pytest.fixture(scope="module")
def only_1_3():
    """A mosquitto that refuses everything below TLS 1.3."""
    with LocalBroker(kind="mosquitto", access=SERVER + "tls_version tlsv1.3\n") as broker:
        yield broker


VERSIONS = [
    # the broker, the least that is configured, what comes of it
    ("only_1_2", "1.2", "TLSv1.2"),
    ("only_1_3", "1.2", "TLSv1.3"),
    ("only_1_3", "1.3", "TLSv1.3"),
    ("only_1_2", "1.3", "min_version"),
]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # paho leaves a refused socket to the GC
@pytest.mark.parametrize(("name", "least", "expected"), VERSIONS)
def test_a_broker_with_less_than_the_least_version_is_not_spoken_to(request, name, least, expected):
    broker = request.getfixturevalue(name)
    found = outcome_of(broker.port, {"ca_file": f"{TLS}/ca.pem", "min_version": least})
    assert expected in found
    assert "\n" not in found


FAULTS = [
    # mosquitto's settings, ours, what is said of it
    (SERVER, {}, "mqtt.tls.ca_file"),  # the system doesn't know the authority
    ("allow_anonymous true", {"ca_file": f"{TLS}/ca.pem"}, "does it speak TLS on mqtt.port"),  # not encrypted at all
]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # as above
@pytest.mark.parametrize(("settings", "tls", "said"), FAULTS)
def test_what_does_not_fit_is_told_in_one_line_with_its_remedy(settings, tls, said):
    with LocalBroker(kind="mosquitto", access=settings) as broker:
        assert said in outcome_of(broker.port, tls)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # as above
def test_a_certificate_for_another_name_is_not_believed(only_1_3):
    assert "its certificate is for another name" in outcome_of(only_1_3.port, {"ca_file": f"{TLS}/ca.pem"}, "localhost")


def test_a_key_with_a_passphrase_is_refused_and_nobody_is_asked_on_the_terminal(tmp_path):
    key = tmp_path / "locked.key"
    lock = ["openssl", "ec", "-aes256", "-passout", "pass:x", "-in", TLS / "client.key", "-out", key]
    subprocess.run(lock, check=True, capture_output=True)
    with pytest.raises(ConfigError, match="no passphrase"):
        tls_context(Tls(cert_file=f"{TLS}/client.pem", key_file=str(key)))


def test_files_that_are_no_certificates_are_refused(tmp_path):
    page = tmp_path / "page.pem"
    page.write_text("<html>")
    for files in ({"ca_file": str(page)}, {"cert_file": str(page), "key_file": str(page)}):
        with pytest.raises(ConfigError, match=r"mqtt\.tls: .*page\.pem"):
            tls_context(Tls(**files))


@pytest.fixture
def with_passwords(tmp_path):
    """A mosquitto with a password file, not encrypted."""
    passwords = tmp_path / "passwords"
    subprocess.run(["mosquitto_passwd", "-c", "-b", passwords, "line1", "right"], check=True)
    with LocalBroker(kind="mosquitto", access=f"allow_anonymous false\npassword_file {passwords}") as broker:
        broker.passwords = passwords
        yield broker


@pytest.mark.parametrize("version", ["5", "3.1.1", "auto"])
def test_a_refused_password_is_said_in_one_line_and_not_tried_again_soon(with_passwords, caplog, version):
    told = Told()
    section = Mqtt(port=with_passwords.port, version=version, username="line1", password="wrong-secret")
    backoff = Backoff(0.01, 30.0, jitter=0.0)
    with Link(section, "x", told, backoff=backoff) as link:
        for _ in range(WAIT_S * 50):
            if link.trouble:
                break
            assert not told.is_up.wait(0.02)
        assert "Not authorized" in link.trouble
        assert "check mqtt.username" in link.trouble
        assert not told.is_up.wait(0.5)  # time for fifty more tries, were they made at the first pause
    assert backoff.pause_s(0.0) == 0.64, "the longest of these pauses from the first refusal on"
    refused = [record for record in caplog.records if "refuses the connection" in record.message]
    assert len(refused) == 1
    assert "wrong-secret" not in caplog.text


def test_the_right_password_is_let_in(with_passwords, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("right\n")
    told = Told()
    with Link(Mqtt(port=with_passwords.port, username="line1", password_file=str(secret)), "x", told) as link:
        assert told.is_up.wait(WAIT_S)
        assert link.trouble == ""
