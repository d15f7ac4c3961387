"""A broker of our own on this machine, for the demo: a real mosquitto, or one inside this process."""

from __future__ import annotations

import asyncio
import getpass
import importlib
import importlib.util
import logging
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from typing_extensions import Self

from app.errors import ConfigError, TaktsightError

HOST = "127.0.0.1"
START_S = 10.0
STOP_S = 5.0
TRIES = 3
SBIN = ("/usr/sbin/mosquitto", "/usr/local/sbin/mosquitto")
# `user`: started by root, it would otherwise become the user mosquitto, who may not read a folder of root's.
MOSQUITTO_CONF = """\
user {user}
listener {port} {host}
persistence false
set_tcp_nodelay true
log_dest stderr
"""
ANYBODY = "allow_anonymous true"


class BrokerFailed(TaktsightError):  # noqa: N818 - named after the event
    """The broker that was started has ended, or does not answer."""


class LocalBroker:
    """A broker on a loopback port; entering starts it, leaving stops it and forgets all that was retained.

    Args:
        port: 0 for a free one.
        kind: which one; auto takes mosquitto where it is installed and else the embedded one, which speaks MQTT 3.1.1
            only.
        access: who may connect, as lines of mosquitto's configuration; the embedded one lets anybody in.

    Attributes:
        host, port: where it listens, once entered.
        kind: "mosquitto" or "embedded", once entered.
        mqtt_version: for `mqtt.version`, once entered: the embedded one leaves a client of MQTT 5 that has a last will
            without any answer, so that asking it for 3.1.1 at once saves the time to find that out.
    """

    def __init__(
        self, port: int = 0, kind: Literal["auto", "mosquitto", "embedded"] = "auto", *, access: str = ANYBODY
    ) -> None:
        self.host = HOST
        self.port = port
        self.kind: str = kind
        self._access = access
        self.mqtt_version: Literal["auto", "3.1.1"] = "auto"
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Start it and wait until it listens.

        Raises:
            ConfigError: neither kind is installed.
            BrokerFailed: it ended at once, or does not listen in time.
        """
        program = find_mosquitto() if self.kind in ("auto", "mosquitto") else None
        if program is not None:
            self.kind = "mosquitto"
            self.port = self._stack.enter_context(_Mosquitto(program, self.port, self._access)).port
        elif self.kind in ("auto", "embedded") and importlib.util.find_spec("amqtt") is not None:
            self.kind = "embedded"
            self.mqtt_version = "3.1.1"
            self.port = self._stack.enter_context(_Embedded(self.port)).port
        else:
            raise ConfigError("no broker: install mosquitto (apt install mosquitto) or pip install taktsight[demo]")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop it; safe to call twice."""
        self._stack.close()


def find_mosquitto() -> str | None:
    """Return the path of mosquitto; Debian puts it where a user's PATH does not look."""
    return shutil.which("mosquitto") or next((path for path in SBIN if Path(path).is_file()), None)


class _Mosquitto:
    """A mosquitto process with a configuration of its own; tried again where another program took the free port."""

    def __init__(self, program: str, port: int, access: str) -> None:
        self._program = program
        self._wanted = port
        self._access = access
        self.port = port
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="taktsight-broker-")))
            for attempt in range(1, TRIES + 1):
                self.port = self._wanted or free_port()
                process = self._start(folder)
                stack.callback(_end, process)
                if _runs(process, folder / "log"):
                    break
                if attempt == TRIES or self._wanted:
                    log = (folder / "log").read_text(errors="replace").strip().splitlines()
                    why = log[-1] if log else "no word in its log"
                    raise BrokerFailed(f"mosquitto on port {self.port}: does not listen ({why})")
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()

    def _start(self, folder: Path) -> subprocess.Popen[bytes]:
        config = folder / "mosquitto.conf"
        settings = MOSQUITTO_CONF.format(user=getpass.getuser(), port=self.port, host=HOST)
        config.write_text(settings + self._access + "\n")
        with (folder / "log").open("wb") as log:
            return subprocess.Popen([self._program, "-c", str(config)], stdin=subprocess.DEVNULL, stderr=log)  # noqa: S603 - the program was looked up above


class _Embedded:
    """The amqtt broker in a thread of this process."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ended: asyncio.Event | None = None
        self._started = threading.Event()
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="broker", daemon=False)

    def __enter__(self) -> Self:
        self.port = self.port or free_port()
        self._thread.start()
        if not self._started.wait(START_S) or self._error is not None:
            self.__exit__(None, None, None)
            raise BrokerFailed(f"embedded broker on port {self.port}: does not start ({self._error or 'no answer'})")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._loop is not None and self._ended is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join(STOP_S)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except Exception as error:  # the thread's root: `__enter__` tells it, or the log where it comes later
            self._error = error
            logging.getLogger(__name__).debug("the embedded broker has ended", exc_info=error)
        finally:
            self._started.set()

    async def _serve(self) -> None:
        amqtt: Any = importlib.import_module("amqtt.broker")
        for name in ("amqtt", "transitions"):
            logging.getLogger(name).setLevel(logging.ERROR)
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        broker = amqtt.Broker(
            {
                "listeners": {"default": {"type": "tcp", "bind": f"{HOST}:{self.port}"}},
                "plugins": {"amqtt.plugins.authentication.AnonymousAuthPlugin": {"allow_anonymous": True}},
            }
        )
        await broker.start()
        self._started.set()
        await self._ended.wait()
        await broker.shutdown()


def free_port() -> int:
    """Return a loopback port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _runs(process: subprocess.Popen[bytes], log: Path) -> bool:
    """Wait until mosquitto says that it is running; False where it ends or never says so.

    Its port proves nothing: another program may be the one that listens there.
    """
    until_s = time.monotonic() + START_S
    while process.poll() is None and time.monotonic() < until_s:
        if b" running" in log.read_bytes():
            return True
        time.sleep(0.01)
    return False


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
