"""A line that everything can happen to, in this process; and one in a process of its own whose camera is blocked."""

import json
import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

from app.bench.soak.unruly import QuickEngine, Troubles, UnrulySource
from app.config import load
from app.wiring import Watchers, build
from app.wiring.swap import Swap
from tests.capture.servers import fault_server
from tests.conftest import ROOT
from tests.system.test_service import wait_until_hung

WAIT_S = 60
LONG_S = 1000.0
NAMES = ("cover", "screw", "hole", "brass", "scratch")
LINE = """
line: resilient
cameras:
  front: {{source: {{kind: synthetic, width: 160, height: 120, fps: 25}}, model: covers, reopen: {{first_s: 0.05, max_s: 0.1}},
    judge: {{rules: [{{require: cover}}]}}}}
  side: {{source: {{kind: synthetic, width: 160, height: 120, fps: 25}}, model: covers, reopen: {{first_s: 0.05, max_s: 0.1}},
    judge: {{rules: [{{require: cover}}]}}}}
models: {{covers: {{path: {root}/engines/covers_320.onnx}}}}
mqtt: {{port: {port}, previews: {{}}, commands: {{allow: [pause]}}}}
outbox: {{path: {folder}/outbox.sqlite}}
jsonl: {{path: {folder}/results.jsonl}}
trace: {{path: {folder}/trace.jsonl}}
evidence: {{path: {folder}/evidence, verdicts: [OK, NG, UNKNOWN]}}
metrics: {{port: {metrics}}}
latency: {{alerts: {{p99_ms: 30000}}}}  # what a busy machine takes is no alarm; a clock that is set must raise none
"""


class Rig:
    """A line of two cameras with everything switched on, whose cameras do what a test says."""

    def __init__(self, folder, port, metrics):
        path = folder / "line.yaml"
        path.write_text(LINE.format(root=ROOT, folder=folder, port=port, metrics=metrics))
        self.folder, self.metrics = folder, metrics
        self.troubles, self.outcomes, self.error = Troubles(), [], None
        swap = Swap(
            source=lambda camera, inner: UnrulySource(camera, inner, self.troubles),
            engine=lambda camera, inner: QuickEngine(NAMES),
        )
        self.product = build(load(path), Watchers(on_judged=self.outcomes.append), swap)
        self.thread = threading.Thread(target=self._run, name="main of the service")

    def _run(self):
        try:
            self.product.service.run()
        except Exception as error:  # the thread's root: the test looks at it
            self.error = error

    def wait(self, is_so, what):
        until_s = time.monotonic() + WAIT_S
        while not is_so():
            assert time.monotonic() < until_s, f"{what}; {self.health() if self.thread.is_alive() else self.error!r}"
            time.sleep(0.02)

    def wait_for_more(self, camera, count=3):
        begin = sum(outcome.camera == camera for outcome in tuple(self.outcomes))
        self.wait(
            lambda: sum(outcome.camera == camera for outcome in tuple(self.outcomes)) >= begin + count,
            f"more verdicts of {camera}",
        )

    def health(self):
        """What /healthz says, and whether it says that all is well by its code as well."""
        try:
            with urlopen(f"http://127.0.0.1:{self.metrics}/healthz", timeout=WAIT_S) as page:
                code, body = page.status, json.loads(page.read())
        except HTTPError as error:
            with error:
                code, body = error.code, json.loads(error.read())
        assert (code == 200) == body["service"]["healthy"]
        assert all(camera["balanced"] for camera in body["cameras"].values()), body["cameras"]
        return body

    @property
    def problems(self):
        return self.health()["service"]["problems"]

    def wait_until_well(self):
        self.wait(lambda: not self.problems, "a line that is well")

    def wait_for_problem(self, begins_with):
        """Wait until that is the one problem, and nothing else is one; return it."""
        self.wait(lambda: [one.startswith(begins_with) for one in self.problems] == [True], begins_with)
        return self.problems[0]

    def balanced(self):
        return all(self.product.ledger.counts(camera).balanced for camera in self.product.ledger.cameras)


@contextmanager
def running(rig):
    rig.thread.start()
    try:
        for camera in rig.product.ledger.cameras:
            rig.wait_for_more(camera)
        yield rig
    finally:
        rig.product.service.stop()
        rig.thread.join(WAIT_S)
    assert not rig.thread.is_alive()
    assert rig.balanced()


STOP = """
line: stop
cameras:
  hung: {{source: {{kind: stream, url: "{url}", open_timeout_s: 30, read_timeout_s: 30}}, model: covers, deadline: false,
    judge: {{rules: [{{count: screw, equals: 4}}]}}}}
  folder: {{source: {{kind: images, path: "{root}/samples/covers", on_end: loop}}, model: covers,
    judge: {{rules: [{{count: screw, equals: 4}}]}}}}
models: {{covers: {{path: "{root}/engines/covers_320.onnx"}}}}
mqtt: {{port: {port}}}
jsonl: {{path: "{folder}/results.jsonl"}}
log: {{format: json, frames_per_s: 0}}
"""


def wait_for_results(results: Path, process: subprocess.Popen) -> None:
    """Wait until the camera that will be blocked has given some pictures."""
    until_s = time.monotonic() + WAIT_S
    while not (results.exists() and results.read_text().count('"hung"') >= 3):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until_s, "no results"
        time.sleep(0.05)


@contextmanager
def blocked(folder: Path, port: int, *before: str, **pipes):
    """A process whose one camera is blocked in a read."""
    with fault_server() as url:
        path = folder / "stop.yaml"
        path.write_text(STOP.format(url=f"{url}/hang", root=ROOT, port=port, folder=folder))
        command = [sys.executable, *(before or ("-m", "app")), "run", str(path), *pipes.pop("more", ())]
        environ = {**os.environ, "PYTHONPATH": str(ROOT)}
        with subprocess.Popen(command, cwd=ROOT, env=environ, text=True, stderr=subprocess.PIPE, **pipes) as process:
            try:
                wait_for_results(folder / "results.jsonl", process)
                wait_until_hung(folder / "results.jsonl")
                yield process
            finally:
                process.kill()
