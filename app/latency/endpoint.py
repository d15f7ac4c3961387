"""The pages that Prometheus and a supervisor read: HTTP on one thread that ends when it is told to."""

from __future__ import annotations

import io
import logging
import socket
import socketserver
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from hmac import compare_digest
from threading import Thread
from types import TracebackType
from typing import TYPE_CHECKING, Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from prometheus_client import CollectorRegistry, make_wsgi_app
from typing_extensions import Self

from app.config.secrets import read_secret
from app.config.sections import Metrics
from app.errors import ConfigError

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

logger = logging.getLogger(__name__)

SILENT_S = 1.0
"""How long a client may be silent; the next one waits for it."""
POLL_S = 0.1
STOP_S = 0.3


class _Handler(WSGIRequestHandler):
    timeout = SILENT_S

    def log_message(self, *_: object) -> None:
        """Say nothing: a scrape is no news."""

    def get_stderr(self) -> Any:  # noqa: ANN401 - typed as a text file that is opened, which this one never was
        """Return where a client that goes away in the middle is complained of."""
        return io.StringIO()


class _Server(WSGIServer):
    """Knows the connection that it serves, so that a client that dawdles can't hold up the end."""

    connection: socket.socket | None = None

    def server_bind(self) -> None:
        """Bind without asking a name server for this machine's name, which may take seconds."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])
        self.setup_environ()

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - as the base class has it
        """Serve one connection."""
        self.connection = request
        super().process_request(request, client_address)
        self.connection = None

    def handle_error(self, *_: object) -> None:
        """Say nothing: a client that goes away is no fault of ours."""

    def cut_off(self) -> None:
        """End the connection that is being served."""
        connection = self.connection
        try:
            if connection is not None:
                connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            return  # it has ended by itself


class _Server6(_Server):
    address_family = socket.AF_INET6


class Endpoint:
    """Serves `/metrics` and `/healthz` while it is entered.

    Args:
        section: where to listen, and the token that who asks must bring, where there is one.
        registry: what to show.
        healthz: whether all is well, and how, as JSON.
    """

    def __init__(
        self, section: Metrics, registry: CollectorRegistry, healthz: Callable[[], tuple[bool, bytes]]
    ) -> None:
        self._section = section
        self._registry = registry
        self._healthz = healthz
        self._server: _Server | None = None
        self._thread: Thread | None = None

    def __enter__(self) -> Self:
        """Listen and start the thread.

        Raises:
            ConfigError: the address can't be listened on, or the token can't be read.
        """
        file = self._section.token_file
        token = None if file is None else read_secret(file, "metrics.token_file")
        pages: dict[str, WSGIApplication] = {
            "/metrics": make_wsgi_app(self._registry),
            "/healthz": partial(_show_health, self._healthz),
        }
        self._server = _listen(self._section)
        self._server.set_app(_logged(_guarded(_routed(pages), token)))
        self._thread = Thread(target=self._server.serve_forever, args=(POLL_S,), name="metrics", daemon=False)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop listening, cut off a client that dawdles, and wait for the thread."""
        if self._server is None or self._thread is None:
            return
        stopping = Thread(target=self._server.shutdown, name="metrics stop", daemon=False)
        stopping.start()
        stopping.join(STOP_S)
        if stopping.is_alive():
            self._server.cut_off()
        stopping.join()
        self._thread.join()
        self._server.server_close()
        self._server = self._thread = None


def _listen(section: Metrics) -> _Server:
    host, port = section.host, section.port
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
        return (_Server6 if family == socket.AF_INET6 else _Server)((host, port), _Handler)
    except OSError as error:
        raise ConfigError(f"metrics {host}:{port}: can't be listened on ({error.strerror}); set metrics.port to a free "
                          "port, and metrics.host to an address of this machine") from error  # fmt: skip


def _show_health(
    healthz: Callable[[], tuple[bool, bytes]], environ: WSGIEnvironment, start_response: StartResponse
) -> Iterable[bytes]:
    healthy, body = healthz()
    start_response("200 OK" if healthy else "503 Service Unavailable", [("Content-Type", "application/json")])
    return [body]


def _routed(pages: Mapping[str, WSGIApplication]) -> WSGIApplication:
    def serve(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        page = pages.get(environ.get("PATH_INFO", ""))
        if page is not None:
            return page(environ, start_response)
        start_response("404 Not Found", [("Content-Type", "text/plain; charset=utf-8")])
        return [f"there are {' and '.join(pages)}\n".encode()]

    return serve


def _guarded(app: WSGIApplication, token: str | None) -> WSGIApplication:
    """Ask for the token, where there is one, as RFC 6750 has it."""
    if token is None:
        return app
    wanted = f"Bearer {token}".encode()

    def serve(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        # WSGI hands headers over as Latin-1; compared in a time that does not tell how much of it was right.
        if compare_digest(environ.get("HTTP_AUTHORIZATION", "").encode("latin-1"), wanted):
            return app(environ, start_response)
        start_response("401 Unauthorized", [("WWW-Authenticate", "Bearer"), ("Content-Type", "text/plain")])
        return [b"send the header: Authorization: Bearer TOKEN\n"]

    return serve


def _logged(app: WSGIApplication) -> WSGIApplication:
    def serve(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        try:
            page: Iterable[bytes] = app(environ, start_response)
        except Exception:  # the thread's root, as far as ours goes: what called us would write it to nowhere
            logger.exception("a page could not be made")
            raise
        return page

    return serve
