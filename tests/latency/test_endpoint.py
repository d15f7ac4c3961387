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


@pytest.fixture
def registry():
    registry = CollectorRegistry()
    Counter("parts", "Parts", registry=registry).inc(3)
    return registry


@pytest.fixture
def endpoint(free_port, registry):
    with Endpoint(Metrics(port=free_port), registry) as running:
        running.port = free_port
        yield running


def get(port, host="127.0.0.1"):
    connection = http.client.HTTPConnection(host, port, timeout=20)
    try:
        connection.request("GET", "/metrics")
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
    with Endpoint(Metrics(port=free_port), registry):
        threads = [thread for thread in threading.enumerate() if thread.name == "metrics"]
        assert [thread.daemon for thread in threads] == [False]
        assert get(free_port)[0] == 200
    assert not threads[0].is_alive()
    with pytest.raises(ConnectionRefusedError):
        get(free_port)
    with Endpoint(Metrics(port=free_port), registry):  # the port is free again
        assert get(free_port)[0] == 200


def test_a_port_in_use_is_an_error_of_the_configuration(endpoint, registry):
    with pytest.raises(
        ConfigError, match=rf"metrics 127\.0\.0\.1:{endpoint.port}: can't be listened on .*metrics\.port"
    ):
        Endpoint(Metrics(port=endpoint.port), registry).__enter__()


def test_an_address_of_another_machine_is_an_error_of_the_configuration(free_port, registry):
    with pytest.raises(ConfigError, match=r"metrics 203\.0\.113\.7.*metrics\.host"):
        Endpoint(Metrics(host="203.0.113.7", port=free_port), registry).__enter__()


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
        with Endpoint(Metrics(port=free_port), registry) as endpoint:
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
    with Endpoint(Metrics(port=free_port), registry):
        assert get(free_port)[0] == 500
        assert get(free_port)[0] == 500
    assert "the metrics could not be read" in caplog.text
