"""A network between the service and its broker that can be cut, closed and slowed down."""

import random
import socket
import threading
import time
from contextlib import suppress

CHUNK = 4096


class Proxy:
    """Listens on a port of its own and passes bytes on to another, as long as it is open."""

    def __init__(self, target_port: int) -> None:
        self.target_port = target_port
        self.is_open = True
        self.bytes_per_s = 0.0
        self.answer_s = 0.0
        self._cut_after: int | None = None
        self._cut_there = True
        self._pairs: set[tuple[socket.socket, socket.socket]] = set()
        self._lock = threading.Lock()
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept, name="proxy")]
        self._threads[0].start()

    def close(self) -> None:
        """Cut everything and stop listening."""
        self.shut()
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        for thread in self._threads:
            thread.join(5)

    def shut(self) -> None:
        """Cut all connections and refuse new ones."""
        self.is_open = False
        self.cut()

    def open(self) -> None:
        """Let connections through again."""
        self.is_open = True

    def cut(self) -> None:
        """Cut all connections, now."""
        with self._lock:
            pairs, self._pairs = self._pairs, set()
        for pair in pairs:
            _end(*pair)

    def cut_in_a_packet(self, chance: random.Random) -> None:
        """Cut the connection in the midst of the next bytes: the service's, or the broker's acknowledgement."""
        self._cut_there = not self._cut_there
        self._cut_after = chance.randrange(200 if self._cut_there else 4)

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._server.accept()
            except OSError:
                return
            if not self.is_open:
                near.close()
                continue
            try:
                far = socket.create_connection(("127.0.0.1", self.target_port), timeout=5)
            except OSError:
                near.close()
                continue
            self._join(near, far)

    def _join(self, near: socket.socket, far: socket.socket) -> None:
        for one in (near, far):
            one.settimeout(None)
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._lock:
            self._pairs.add((near, far))
        for thread in (
            threading.Thread(target=self._pass_on, args=(near, far, True), name="proxy there"),
            threading.Thread(target=self._pass_on, args=(far, near, False), name="proxy back"),
        ):
            self._threads.append(thread)
            thread.start()

    def _pass_on(self, source: socket.socket, sink: socket.socket, is_there: bool) -> None:
        with suppress(OSError):
            while data := source.recv(CHUNK):
                time.sleep(0.0 if is_there else self.answer_s)
                if self._cut_after is not None and is_there == self._cut_there:
                    part, self._cut_after = data[: self._cut_after], None
                    sink.sendall(part)
                    break
                sink.sendall(data)
                if is_there and self.bytes_per_s:
                    time.sleep(len(data) / self.bytes_per_s)
        _end(source, sink)


def _end(*sockets: socket.socket) -> None:
    for one in sockets:
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()
