"""The way of the line's connections to the broker, which can be shut and cut."""

from __future__ import annotations

import selectors
import socket
from threading import Event, Thread
from types import TracebackType

from typing_extensions import Self

from app.broker import HOST

CHUNK = 65536
LOOK_S = 0.05
TAKES_S = 5.0
"""An end that takes nothing for so long is cut off."""


class Gateway:
    """Passes on TCP connections to a port of this machine, while it is open.

    Shut, it refuses: so whoever counts what arrives has subscribed at a broker that came back before the line finds it.

    Args:
        to_port: where connections are passed on to.

    Attributes:
        port: where it listens, once entered.
    """

    def __init__(self, to_port: int) -> None:
        self.port = 0
        self._to_port = to_port
        self._listening: socket.socket | None = None
        self._pairs: dict[socket.socket, socket.socket] = {}
        self._wanted_open = Event()
        self._wanted_cut = Event()
        self._stop = Event()
        self._turned = Event()
        self._thread = Thread(target=self._run, name="gateway")

    def __enter__(self) -> Self:
        """Open it on a free port and start the thread."""
        with socket.create_server((HOST, 0)) as probe:
            self.port = probe.getsockname()[1]
        self._wanted_open.set()
        self._thread.start()
        self._wait_for_a_turn()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Cut everything and stop."""
        self._stop.set()
        self._thread.join()

    def shut(self) -> None:
        """Refuse connections, and cut those that stand."""
        self._wanted_open.clear()
        self.cut()

    def open(self) -> None:
        """Take connections again."""
        self._wanted_open.set()
        self._wait_for_a_turn()

    def cut(self) -> None:
        """Cut the connections that stand."""
        self._wanted_cut.set()
        self._wait_for_a_turn()

    # ── the thread, which owns all sockets ───────────────────────────────────────────────────────────────────────────

    def _wait_for_a_turn(self) -> None:
        for _ in range(2):  # the turn that ends next may have begun before
            self._turned.clear()
            self._turned.wait(20 * LOOK_S)

    def _run(self) -> None:
        with selectors.DefaultSelector() as selector:
            while not self._stop.is_set():
                self._do_what_is_wanted(selector)
                for key, _ in selector.select(LOOK_S):
                    self._serve(selector, key.fileobj)
                self._turned.set()
            self._wanted_open.clear()
            self._wanted_cut.set()
            self._do_what_is_wanted(selector)

    def _do_what_is_wanted(self, selector: selectors.BaseSelector) -> None:
        if self._wanted_cut.is_set():
            self._wanted_cut.clear()
            for one in list(self._pairs):
                self._drop(selector, one)
        if self._wanted_open.is_set() and self._listening is None:
            self._listening = socket.create_server((HOST, self.port))
            selector.register(self._listening, selectors.EVENT_READ)
        elif not self._wanted_open.is_set() and self._listening is not None:
            selector.unregister(self._listening)
            self._listening.close()
            self._listening = None

    def _serve(self, selector: selectors.BaseSelector, ready: object) -> None:
        assert isinstance(ready, socket.socket)
        if ready is self._listening:
            self._take(selector, ready)
            return
        other = self._pairs.get(ready)
        if other is None:  # dropped a moment ago, in this very turn
            return
        try:
            data = ready.recv(CHUNK)
            other.sendall(data)
        except OSError:
            data = b""
        if not data:
            self._drop(selector, ready)

    def _take(self, selector: selectors.BaseSelector, listening: socket.socket) -> None:
        near, _ = listening.accept()
        try:
            far = socket.create_connection((HOST, self._to_port))
        except OSError:
            near.close()
            return
        for one, other in ((near, far), (far, near)):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            one.settimeout(TAKES_S)
            self._pairs[one] = other
            selector.register(one, selectors.EVENT_READ)

    def _drop(self, selector: selectors.BaseSelector, one: socket.socket) -> None:
        other = self._pairs.pop(one, None)
        if other is None:
            return
        self._pairs.pop(other, None)
        for end in (one, other):
            selector.unregister(end)
            end.close()
