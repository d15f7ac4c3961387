"""The page for Prometheus."""

import http.client
import socket
import threading
import time

import pytest
from prometheus_client import CollectorRegistry, Counter
from prometheus_client.registry import Collector

from app.config.sections import Metrics
from app.errors import ConfigError
from app.latency.endpoint import Endpoint


def well():
    """A service that has nothing to complain of."""
    return True, b'{"all":"well"}'


@pytest.fixture
def registry():
    registry = CollectorRegistry()
    Counter("parts", "Parts", registry=registry).inc(3)
    return registry


@pytest.fixture
def endpoint(free_port, registry):
    with Endpoint(Metrics(port=free_port), registry, well) as running:
        running.port = free_port
        yield running


def get(port, host="127.0.0.1", path="/metrics", **headers):
    connection = http.client.HTTPConnection(host, port, timeout=20)
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def test_the_page_shows_the_registry(endpoint):
    status, page = get(endpoint.port)
    assert status == 200
    assert "parts_total 3.0" in page


def test_it_listens_on_loopback_unless_told_otherwise():
    assert Metrics().host == "127.0.0.1"


def test_nobody_answers_after_the_end_and_no_thread_is_left(free_port, registry):
    with Endpoint(Metrics(port=free_port), registry, well):
        threads = [thread for thread in threading.enumerate() if thread.name == "metrics"]
        assert [thread.daemon for thread in threads] == [False]
        assert get(free_port)[0] == 200
    assert not threads[0].is_alive()
    with pytest.raises(ConnectionRefusedError):
        get(free_port)
    with Endpoint(Metrics(port=free_port), registry, well):  # the port is free again
        assert get(free_port)[0] == 200


def test_a_port_in_use_is_an_error_of_the_configuration(endpoint, registry):
    with pytest.raises(
        ConfigError, match=rf"metrics 127\.0\.0\.1:{endpoint.port}: can't be listened on .*metrics\.port"
    ):
        Endpoint(Metrics(port=endpoint.port), registry, well).__enter__()


def test_an_address_of_another_machine_is_an_error_of_the_configuration(free_port, registry, tmp_path):
    (token := tmp_path / "token").write_text("s3cret")
    with pytest.raises(ConfigError, match=r"metrics 203\.0\.113\.7.*metrics\.host"):
        Endpoint(Metrics(host="203.0.113.7", port=free_port, token_file=str(token)), registry, well).__enter__()


def test_a_client_that_says_nothing_holds_up_the_next_one_for_a_moment_only(endpoint):
    with socket.create_connection(("127.0.0.1", endpoint.port)):
        assert get(endpoint.port)[0] == 200


def test_a_client_that_dawdles_does_not_hold_up_the_end(free_port, registry):
    stop = threading.Event()

    def dawdle(slow):
        while not stop.wait(0.05):
            try:
                slow.sendall(b"X")  # a header without an end
            except OSError:
                return

    slow = socket.socket()
    thread = threading.Thread(target=dawdle, args=(slow,))
    try:
        with Endpoint(Metrics(port=free_port), registry, well) as endpoint:
            slow.connect(("127.0.0.1", free_port))
            slow.sendall(b"GET /metrics HTTP/1.1\r\n")
            thread.start()
            until_s = time.monotonic() + 20
            while endpoint._server.connection is None and time.monotonic() < until_s:
                time.sleep(0.01)
        assert not stop.is_set(), "it dawdles still"
        assert "metrics" not in {thread.name for thread in threading.enumerate()}
    finally:
        stop.set()
        thread.join()
        slow.close()


def test_figures_that_fail_are_logged_and_the_next_scrape_is_served(free_port, caplog):
    class Broken(Collector):
        def collect(self):
            raise RuntimeError("out of order")

    registry = CollectorRegistry()
    registry.register(Broken())
    with Endpoint(Metrics(port=free_port), registry, well):
        assert get(free_port)[0] == 500
        assert get(free_port)[0] == 500
    assert "a page could not be made" in caplog.text


def test_the_health_is_a_page_as_well_and_its_status_says_how_it_is(free_port, registry):
    healthy = [True]
    with Endpoint(Metrics(port=free_port), registry, lambda: (healthy[0], b"{}")):
        assert get(free_port, path="/healthz") == (200, "{}")
        healthy[0] = False
        assert get(free_port, path="/healthz") == (503, "{}")


def test_an_address_that_is_no_page_names_those_that_are(endpoint):
    assert get(endpoint.port, path="/") == (404, "there are /metrics and /healthz\n")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer s3cret"}, 200),
        ({"Authorization": "Bearer s3cre"}, 401),  # not all of it
        ({"Authorization": "Basic s3cret"}, 401),  # another scheme
        ({"Authorization": "Bearer s3cr\xe9t"}, 401),  # not even ASCII
    ],
)
@pytest.mark.parametrize("path", ["/metrics", "/healthz"])
def test_where_there_is_a_token_who_asks_must_bring_it(free_port, registry, tmp_path, path, headers, status):
    (tmp_path / "token").write_text("s3cret\n")
    with Endpoint(Metrics(port=free_port, token_file=str(tmp_path / "token")), registry, well):
        assert get(free_port, path=path, **headers)[0] == status


def test_a_token_that_can_not_be_read_keeps_the_service_from_starting(free_port, registry, tmp_path):
    section = Metrics(port=free_port, token_file=str(tmp_path / "none"))
    with pytest.raises(ConfigError, match="token_file: there is no such file"):
        Endpoint(section, registry, well).__enter__()


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "::", "plant-pc-7"])
def test_what_the_network_can_reach_needs_a_token(host):
    with pytest.raises(ValueError, match="add token_file, or set host"):
        Metrics(host=host)
    assert Metrics(host=host, token_file="token").host == host


@pytest.mark.parametrize("host", ["127.0.0.1", "127.3.2.1", "::1", "localhost"])
def test_what_only_this_machine_can_reach_needs_none(host):
    assert Metrics(host=host).token_file is None
