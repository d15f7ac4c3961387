"""What a soak runs on: the line's files, its process, a broker of its own, and a small disk."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import IO
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import msgspec
from typing_extensions import Self

from app.broker import HOST, LocalBroker, free_port
from app.publish.health import Health

ROOT = Path(__file__).resolve().parents[3]
ACCESS = "allow_anonymous true\nmax_queued_messages 0"
"""A broker that drops nothing for a subscriber that is slow: what does not arrive was lost by the line."""
DISK_MB = 64
JSONL_BYTES = 8 << 20
STOP_S = 15.0

CONFIG = """\
line: soak
cameras:
  front:
    source: {{kind: conveyor, path: {root}/samples/covers, belt_px_s: 1440, fps: {fps:g}}}
    model: covers
    judge: {{score: {score:g}, rules: [{{require: cover, otherwise: UNKNOWN}}]}}
  side:
    source: {{kind: synthetic, width: 640, height: 480, fps: {fps:g}}}
    model: covers
    judge: {{score: {score:g}, rules: [{{require: cover}}]}}
  top:
    source: {{kind: synthetic, width: 320, height: 240, fps: {fps:g}}}
    queue: every
    model: covers
    judge: {{rules: [{{require: cover}}]}}
{more}models: {{covers: {{path: {root}/engines/covers_320.onnx, threads: 1}}}}
mqtt:
  port: {port}
  previews: {{}}
  commands: {{allow: [pause, resume, snapshot, set_threshold], per_minute: 600}}
outbox: {{path: {disk}/outbox.sqlite}}
jsonl: {{path: {disk}/results.jsonl}}
trace: {{path: {disk}/trace.jsonl, max_bytes: 4000000}}
evidence: {{path: {disk}/evidence, max_per_s: 1, max_bytes: 16000000, max_files: 60, min_free_bytes: 4000000,
  max_waiting_bytes: 8000000}}
metrics: {{port: {metrics}}}
log: {{format: json}}
"""
MORE = """\
  more:
    source: {{kind: synthetic, width: 320, height: 240, fps: {fps:g}}}
    model: covers
    judge: {{rules: [{{require: cover}}]}}
"""


class Files:
    """The line's configuration, and what it leaves behind.

    Args:
        folder: for the configuration, the log and the record.
        disk: for what the line writes.
        fps: pictures a second of each camera.
        port: where the line finds the broker.
    """

    def __init__(self, folder: Path, disk: Path, fps: float, port: int) -> None:
        self.config, self.record, self.log = folder / "soak.yaml", folder / "judged.txt", folder / "log.jsonl"
        self.jsonl = disk / "results.jsonl"
        self.metrics = free_port()
        self._disk, self._fps, self._port = disk, fps, port
        self.write(changed=False)

    def write(self, *, changed: bool) -> None:
        """Write the configuration, the one or the other."""
        more = MORE.format(fps=self._fps) if changed else ""
        score = 0.35 if changed else 0.3
        settings = {"port": self._port, "metrics": self.metrics, "score": score, "more": more}
        self.config.write_text(CONFIG.format(root=ROOT, fps=self._fps, disk=self._disk, **settings), encoding="utf-8")

    def rotate(self) -> None:
        """Shorten the file of results once it is long, as logrotate does with `copytruncate`."""
        with suppress(OSError):
            if self.jsonl.stat().st_size > JSONL_BYTES:
                os.truncate(self.jsonl, 0)

    def judged(self) -> set[str]:
        """Return the id of every result that was judged."""
        return set(self.record.read_text(encoding="ascii").split())

    def lines(self) -> list[dict[str, object]]:
        """Return the log; a line that is not JSON stands as an error of its own."""
        return [_line(text) for text in self.log.read_text(encoding="utf-8").splitlines()]


def _line(text: str) -> dict[str, object]:
    try:
        found: dict[str, object] = json.loads(text)
    except ValueError:
        return {"level": "error", "event": text, "exception": "not a line of the log"}
    return found


class Line:
    """The service in a process of its own.

    Attributes:
        pid: of the process, once entered.
    """

    def __init__(self, files: Files) -> None:
        self._files = files
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None
        self.pid = 0

    def __enter__(self) -> Self:
        """Start it."""
        self._log = self._files.log.open("wb")
        command = [sys.executable, "-m", "app.bench.soak.line", str(self._files.config), str(self._files.record)]
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stderr=self._log)  # noqa: S603 - our own words
        self.pid = self._process.pid
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End it, by force where it does not stop."""
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._log is not None
        self._process.kill()
        self._process.wait()
        self._process.stdin.close()
        self._log.close()

    @property
    def is_running(self) -> bool:
        """Whether the process is there."""
        return self._process is not None and self._process.poll() is None

    def order(self, name: str, camera: str, seconds: float) -> None:
        """Have something go wrong inside."""
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(f"{name} {camera or '-'} {seconds:g}\n".encode())
        self._process.stdin.flush()

    def reload(self) -> None:
        """Have the configuration read again."""
        os.kill(self.pid, signal.SIGHUP)

    def stop(self) -> int | None:
        """Stop it as systemd does; return its exit code, None where it does not end."""
        assert self._process is not None
        self._process.terminate()
        try:
            return self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            return None

    def health(self) -> Health | None:
        """Ask how it is; None where it does not say."""
        try:
            with urlopen(f"http://{HOST}:{self._files.metrics}/healthz", timeout=3) as page:
                body = page.read()
        except HTTPError as unwell:  # 503: it says why
            with unwell:
                body = unwell.read()
        except (URLError, OSError):
            return None
        return msgspec.json.decode(body, type=Health)


class Broker:
    """A mosquitto that comes back on the port it had."""

    def __init__(self) -> None:
        self.port = free_port()
        self._running: LocalBroker | None = None

    def __enter__(self) -> Self:
        """Start it."""
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop it."""
        self.stop()

    def start(self) -> None:
        """Start it anew: it knows nothing of before."""
        self._running = LocalBroker(self.port, "mosquitto", access=ACCESS).__enter__()

    def stop(self) -> None:
        """Stop it."""
        if self._running is not None:
            self._running.__exit__(None, None, None)
            self._running = None


@contextmanager
def small_disk(folder: Path) -> Iterator[Path | None]:
    """Mount a small disk in memory where this user may; None where not: then no disk gets full."""
    disk = folder / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m", "taktsight-soak", str(disk)]
    if subprocess.run(command, capture_output=True, check=False).returncode:  # noqa: S603 - our own words
        yield None
        return
    try:
        yield disk
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], capture_output=True, check=False)  # noqa: S603, S607 - our own


def fill(disk: Path) -> Path:
    """Take all that is left of a disk; return the file that holds it."""
    ballast = disk / "ballast"
    with suppress(OSError), ballast.open("wb") as file:  # it may be full already
        while True:
            file.write(bytes(1 << 16))
            file.flush()
    return ballast
