"""A real Triton server on the CPU, started from the environment that scripts/test makes for it."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import onnx.parser
import tritonclient.grpc as triton

from app.building.export_triton import Wanted, export_triton
from tests.ports import free_port

VERSION = "0.7.0"
HOME = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "taktsight" / f"triton-{VERSION}"
START_S = 90.0

DOUBLING = """
    <ir_version: 8, opset_import: ["" : 17]>
    agraph (float[B,3,8,8] images) => (float[B,3,8,8] doubled, float[B,3,1,1] most)
    { doubled = Add(images, images) most = ReduceMax<axes = [2, 3], keepdims = 1>(images) }
"""


def write_model(path, text=DOUBLING):
    """Write a model that doubles a picture and tells its brightest values; its batch is open."""
    path.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    return path


class Server:
    """A tritonserver process over one model repository; it can be killed, frozen and started again, at the same address.

    Args:
        folder: for the repository, the backend and the log.
    """

    def __init__(self, folder):
        self.repository = folder / "repository"
        self.repository.mkdir()
        self.port = free_port()
        self.url = f"127.0.0.1:{self.port}"
        self._folder = folder
        self._shared = f"tests-triton-{self.port}-"
        self._process = None
        self.metrics_port = free_port()

    def put(self, model, **wanted):
        """Export a model into the repository; seen by a server that starts afterwards."""
        wanted = {"backend": "python", "device": "cpu", "budget_ms": 10_000.0} | wanted
        return export_triton(Wanted(model, self.repository, **wanted))

    def start(self, *, unix=False):
        """Start it and wait until it says that it is ready; with `unix` it listens on a socket in its folder."""
        began = time.monotonic()
        address = self._unix_address() if unix else "127.0.0.1"
        log = (self._folder / "log").open("ab")
        with log:
            self._process = subprocess.Popen(
                [*self._command(), f"--grpc-address={address}", f"--grpc-port={self.port}"],
                stdout=log,
                stderr=log,
                env=self._environment(),
                start_new_session=True,
            )
        self._wait(began)
        return self

    def _unix_address(self):
        # The server adds a colon and the port to whatever address it gets.
        self.url = f"unix:{self._folder}/socket:{self.port}"
        return f"unix:{self._folder}/socket"

    def kill(self):
        """End it as a power cut would."""
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            for left in Path("/dev/shm").glob(f"{self._shared}*"):  # killed, it can't tidy up itself
                left.unlink(missing_ok=True)

    def freeze(self):
        """Have it hang: the connection stays, nothing answers."""
        os.killpg(self._process.pid, signal.SIGSTOP)

    def thaw(self):
        os.killpg(self._process.pid, signal.SIGCONT)

    def log(self):
        return (self._folder / "log").read_text(errors="replace")

    def _wait(self, began):
        while time.monotonic() - began < START_S:
            assert self._process.poll() is None, f"tritonserver ended:\n{self.log()[-3000:]}"
            client = triton.InferenceServerClient(self.url)
            try:
                if client.is_server_ready(client_timeout=1.0):
                    return
            except triton.InferenceServerException:
                time.sleep(0.1)
            finally:
                client.close()
        raise AssertionError(f"tritonserver is not ready:\n{self.log()[-3000:]}")

    def _command(self):
        backends = self._folder / "backends"
        if not backends.exists():
            shutil.copytree(_packages() / "pytriton/tritonserver/backends", backends)
            stub = _packages() / f"pytriton/tritonserver/python_backend_stubs/{_python()}/triton_python_backend_stub"
            shutil.copy(stub, backends / "python")
        return [
            str(_packages() / "pytriton/tritonserver/bin/tritonserver"),
            f"--model-repository={self.repository}",
            f"--backend-directory={backends}",
            "--http-address=127.0.0.1",
            f"--http-port={free_port()}",
            "--metrics-address=127.0.0.1",
            f"--metrics-port={self.metrics_port}",
            "--exit-timeout-secs=2",
            f"--backend-config=python,shm-region-prefix-name={self._shared}",
        ]

    def _environment(self):
        libraries = subprocess.run(
            [HOME / "bin/python", "-c", "import sysconfig; print(sysconfig.get_config_var('LIBDIR'))"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        return os.environ | {
            # The interpreter in the stub takes the packages of the first Python here: NumPy must be older than 2.
            "PATH": f"{HOME / 'bin'}:{os.environ['PATH']}",
            "LD_LIBRARY_PATH": f"{_packages() / 'nvidia_pytriton.libs'}:{libraries}",
        }


def _packages():
    assert (HOME / ".complete").exists(), f"there is no Triton server in {HOME}: scripts/test installs it"
    (found,) = HOME.glob("lib/python3.*/site-packages")
    return found


def _python():
    return _packages().parent.name.removeprefix("python")


if __name__ == "__main__":  # for whoever wants a server to try things on: python -m tests.triton_rig FOLDER MODEL…
    server = Server(Path(sys.argv[1]))
    for one in sys.argv[2:]:
        server.put(Path(one))
    server.start()
    print(server.url)
    signal.pause()
