"""The way to the broker: passed on, refused, cut."""

import socket
import threading

import pytest

from app.bench.soak.gateway import Gateway

WAIT_S = 20


@pytest.fixture
def echo():
    """A server that gives back what it gets; its port."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                while data := connection.recv(1000):
                    connection.sendall(data)

    thread = threading.Thread(target=serve)
    thread.start()
    yield server.getsockname()[1]
    server.shutdown(socket.SHUT_RDWR)
    server.close()
    thread.join()


@pytest.fixture
def gateway(echo):
    with Gateway(echo) as gateway:
        yield gateway


def connect(gateway):
    return socket.create_connection(("127.0.0.1", gateway.port), WAIT_S)


def test_what_is_sent_is_passed_on_and_so_is_the_answer(gateway):
    with connect(gateway) as one:
        one.sendall(b"there")
        assert one.recv(100) == b"there"


def test_a_cut_ends_what_stands_and_takes_what_comes(gateway):
    with connect(gateway) as one:
        one.sendall(b"there")
        assert one.recv(100) == b"there"
        gateway.cut()
        assert one.recv(100) == b""
    with connect(gateway) as other:
        other.sendall(b"again")
        assert other.recv(100) == b"again"


def test_it_refuses_while_it_is_shut(gateway):
    gateway.shut()
    with pytest.raises(ConnectionRefusedError):
        connect(gateway)
    gateway.open()
    with connect(gateway) as one:
        one.sendall(b"back")
        assert one.recv(100) == b"back"


def test_without_a_server_behind_it_a_connection_ends_at_once(free_port):
    with Gateway(free_port) as gateway, connect(gateway) as one:
        assert one.recv(100) == b""
