"""A TCP server of a test's own: a function serves each connection in a thread, and all of them end with it."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress


class TcpServer:
    """Listens on a loopback port until it is closed.

    Args:
        serve: gets each connection, which is closed once it returns; an error of the socket ends it quietly.
        name: of the threads.

    Attributes:
        port: where it listens.
        connections: how many came.
    """

    def __init__(self, serve: Callable[[socket.socket], None], name: str) -> None:
        self._serve = serve
        self._name = name
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        self.connections = 0
        self._sockets: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept, name=name)]
        self._threads[0].start()

    def close(self) -> None:
        """Hang up on everybody, and wait until nothing of it runs."""
        self._server.shutdown(socket.SHUT_RDWR)
        self._threads[0].join()
        self._server.close()
        for connection in self._sockets:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            self.connections += 1
            self._sockets.append(connection)
            self._threads.append(threading.Thread(target=self._run, args=(connection,), name=f"{self._name}'s client"))
            self._threads[-1].start()

    def _run(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            self._serve(connection)
