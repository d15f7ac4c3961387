"""The service as a process of its own, and what it judged by its own word."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO

from tests.conftest import ROOT

CONFIG = """
line: faults
cameras:
  {cameras}
models:
  covers: {{path: "{root}/engines/covers_320.onnx", threads: 1}}
mqtt: {{port: {port}, max_waiting: {max_waiting}}}
outbox: {{path: "{folder}/outbox.sqlite", sync: normal, expiry_s: {expiry_s}}}
log: {{frames_per_s: 0}}
"""
CAMERA = """
  {name}:
    source: {source}
    model: covers
    queue: every
    deadline: false
    guard: {{frozen: false}}
    judge: {{rules: [{{count: screw, equals: 4}}]}}
"""
SYNTHETIC = "{{kind: synthetic, width: 320, height: 240, fps: {fps}}}"
CONVEYOR = '{{kind: conveyor, path: "{root}/samples/covers", fps: {fps}}}'


class Service:
    """Started, killed and stopped as often as a test likes; keeps its file between."""

    def __init__(
        self,
        folder: Path,
        port: int,
        *,
        fps: float = 20.0,
        source: str = SYNTHETIC,
        expiry_s: float = 5.0,
        max_waiting: int = 500,
    ):
        self._config = folder / "line.yaml"
        source = source.format(fps=fps, root=ROOT)
        cameras = "".join(CAMERA.format(name=name, source=source) for name in ("left", "right"))
        self._config.write_text(
            CONFIG.format(
                cameras=cameras, root=ROOT, port=port, folder=folder, expiry_s=expiry_s, max_waiting=max_waiting
            ),
            encoding="utf-8",
        )
        self.judged: set[str] = set()
        """Ids whose verdict was known."""
        self.put: dict[str, str] = {}
        """Those of them that had been handed over, and their verdicts."""
        self.said: list[dict[str, object]] = []
        self.runs = 0
        self.process: subprocess.Popen[bytes] | None = None
        self._changed = threading.Condition()
        self._readers: list[threading.Thread] = []

    def start(self) -> None:
        """Start the process."""
        read, write = os.pipe()
        command = [sys.executable, "-m", "tests.system.faults.line", str(self._config), str(write)]
        self.process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, pass_fds=(write,))
        os.close(write)
        self.runs += 1
        self._readers = [
            threading.Thread(target=self._read_notes, args=(read,), name="notes"),
            threading.Thread(target=self._read_log, args=(self.process.stderr,), name="log"),
        ]
        for reader in self._readers:
            reader.start()

    def kill(self) -> None:
        """Kill it, as it stands."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self._wait()

    def stop(self) -> None:
        """Stop it as systemd does."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        self._wait()
        assert self.process.returncode == 0, self.said[-5:]

    def wait_for(self, more: int, timeout_s: float = 120.0) -> None:
        """Wait until so many more results have been handed over."""
        with self._changed:
            enough = len(self.put) + more
            done = self._changed.wait_for(lambda: len(self.put) >= enough or self.process.poll() is not None, timeout_s)
        assert done, f"no {more} results within {timeout_s:g} s: {self.said[-3:]}"
        assert self.process.poll() is None, f"the service has ended: {self.said[-5:]}"

    def rss_mb(self) -> float:
        """Return what it holds of memory."""
        assert self.process is not None
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def ledgers(self) -> list[str]:
        """Return the last word of every camera on its frames, of each run that was stopped and not killed."""
        return [str(line["event"]) for line in self.said if " captured = " in str(line.get("event"))]

    def warnings(self, text: str) -> list[str]:
        """Return what it complained of that holds a text."""
        return [str(line["event"]) for line in self.said if text in str(line.get("event"))]

    def _wait(self) -> None:
        assert self.process is not None
        self.process.wait(30)
        for reader in self._readers:
            reader.join(10)

    def _read_notes(self, fd: int) -> None:
        with os.fdopen(fd, encoding="ascii") as notes:
            for line in notes:
                self._note(line)
        with self._changed:
            self._changed.notify_all()  # whoever waits sees that it has ended

    def _note(self, line: str) -> None:
        if not line.endswith("\n"):  # cut off by a kill
            return
        word, _, message_id, _, verdict = line.split()
        with self._changed:
            if word == "judged":
                self.judged.add(message_id)
            else:
                self.put[message_id] = verdict
                self._changed.notify_all()

    def _read_log(self, log: IO[bytes]) -> None:
        with log:
            self.said += map(_line, log)


def _line(line: bytes) -> dict[str, object]:
    try:
        found: dict[str, object] = json.loads(line)
    except ValueError:
        return {"event": line.decode(errors="replace").strip()}
    return found
