"""A way to a broker that can be cut and healed."""

import contextlib
import socket
import threading

from tests.ports import free_port

WAIT_S = 20


class Cable:
    """A TCP connection to a broker that can be cut: what is open is closed, what is new is refused."""

    def __init__(self, port):
        self._to = port
        self.port = free_port()
        self._server, self._pairs, self._threads = None, [], []

    def heal(self):
        self._server = socket.create_server(("127.0.0.1", self.port))
        self._start(self._accept, self._server)

    def cut(self):
        server, self._server = self._server, None
        if server is not None:
            server.shutdown(socket.SHUT_RDWR)
            server.close()
        for one in self._pairs:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(WAIT_S)
        for one in self._pairs:
            one.close()
        self._pairs, self._threads = [], []

    def _start(self, run, *arguments):
        self._threads.append(threading.Thread(target=run, args=arguments, name="cable"))
        self._threads[-1].start()

    def _accept(self, server):
        while True:
            try:
                near, _ = server.accept()
                far = socket.create_connection(("127.0.0.1", self._to))
            except OSError:
                return
            self._pairs += [near, far]
            self._start(self._carry, near, far)
            self._start(self._carry, far, near)

    @staticmethod
    def _carry(source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        for one in (source, sink):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
