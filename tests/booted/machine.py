"""A whole machine for the tests: a Debian of its own under its own systemd, in a container without a network."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.conftest import ROOT

PACKAGES = "systemd,systemd-sysv,dbus,python3,python3-venv,mosquitto,mosquitto-clients,udev,procps"
PATH = "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "taktsight"


def debian_root() -> Path:
    """Make the bare system, or take the one that was made before; nobody changes it."""
    root = CACHE / "booted" / "root"
    if not (root / "etc/debian_version").exists():
        unfinished = root.with_name("unfinished")
        subprocess.run(["rm", "-rf", str(unfinished), str(root)], check=True)
        unfinished.parent.mkdir(parents=True, exist_ok=True)
        command = ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", "bookworm", str(unfinished)]
        made = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1200)
        assert made.returncode == 0, made.stdout[-2000:] + made.stderr[-2000:]
        unfinished.rename(root)
    return root


def wheelhouse() -> Path:
    """Gather what an installation without a network needs, for that system's Python."""
    folder = CACHE / "booted" / "wheels"
    platforms = ("manylinux_2_28_x86_64", "manylinux2014_x86_64")
    options = [option for platform in platforms for option in ("--platform", platform)]
    command = ["scripts/make-wheelhouse", str(folder), "--python", "3.11", *options]
    made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=900)
    assert made.returncode == 0, made.stdout[-2000:] + made.stderr[-2000:]
    return folder


class Machine:
    """A booted system.

    Attributes:
        root: its file system, seen from outside.
    """

    def __init__(self, root: Path, leader: int) -> None:
        self.root = root
        self._leader = leader

    def run(self, command: str, *, check: bool = True, timeout_s: float = 120) -> str:
        """Run a command in it as root, and return what it printed."""
        inside = ["nsenter", "-t", str(self._leader), "-a", "--", "env", "-i", f"PATH={PATH}", "HOME=/root"]
        done = subprocess.run(
            [*inside, *shlex.split(command)], capture_output=True, text=True, check=False, timeout=timeout_s
        )
        assert not check or done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr

    def show(self, name: str, unit: str = "taktsight") -> str:
        """Return one property of a unit."""
        return self.run(f"systemctl show -p {name} --value {unit}").strip()

    def pid(self) -> int:
        """Return the service's process, as it is called from outside."""
        inside = int(self.show("MainPID"))
        assert inside, "the service does not run"
        for status in Path("/proc").glob("[0-9]*/status"):
            try:
                ids = next(line for line in status.read_text().splitlines() if line.startswith("NSpid:")).split()[1:]
                same = (status.parent / "ns/pid").readlink() == Path(f"/proc/{self._leader}/ns/pid").readlink()
            except (OSError, StopIteration):
                continue
            if same and int(ids[-1]) == inside:
                return int(status.parent.name)
        raise AssertionError(f"process {inside} of the machine is not seen from outside")

    def results(self, count: int, timeout_s: float = 30) -> list[dict]:
        """Return so many results that a subscriber inside receives."""
        topic = "taktsight/+/+/result"
        command = f"mosquitto_sub -h 127.0.0.1 -q 1 -t {topic} -C {count} -W {timeout_s:.0f}"
        return [json.loads(line) for line in self.run(command, timeout_s=timeout_s + 10).splitlines()]

    def journal(self) -> str:
        """Return all that was logged in it, in full."""
        return self.run("journalctl --no-pager --output short-full --all")

    def write(self, path: str, text: str) -> None:
        """Write a file that the service may read, keeping its name's owner."""
        file = self.root / path.lstrip("/")
        file.write_text(text)
        file.chmod(0o644)


def wait_for(what: str, is_so: Callable[[], object], timeout_s: float) -> float:
    """Wait until something is so; return the seconds that took."""
    began_s = time.monotonic()
    while not is_so():
        waited_s = time.monotonic() - began_s
        assert waited_s < timeout_s, f"{what}: not within {timeout_s:g} s"
        time.sleep(0.1)
    return time.monotonic() - began_s


@contextmanager
def booted(root: Path, mounts: dict[Path, str], log: Path) -> Iterator[Machine]:
    """Boot a system, give it when it is up, and turn it off."""
    command = ["systemd-nspawn", "--quiet", f"--directory={root}", "--boot", "--register=no", "--keep-unit"]
    command += ["--private-network", *(f"--bind-ro={outside}:{inside}" for outside, inside in mounts.items())]
    with log.open("wb") as console:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=console, stderr=subprocess.STDOUT)
        try:
            machine = Machine(root, _leader(process))
            wait_for("the machine's start", lambda: _is_up(machine), 90)
            yield machine
        finally:
            process.send_signal(signal.SIGTERM)  # which systemd-nspawn takes for the power button
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _is_up(machine: Machine) -> bool:
    return machine.run("systemctl is-system-running", check=False).strip() in ("running", "degraded")


def _leader(process: subprocess.Popen[bytes]) -> int:
    """Return the container's first process."""
    found: list[int] = []

    def look() -> bool:
        assert process.poll() is None, "systemd-nspawn has ended; see its console"
        found[:] = [pid for pid in _below(process.pid) if _ids(pid)[-1:] == ["1"]]
        return bool(found)

    wait_for("the container's first process", look, 30)
    return found[0]


def _below(pid: int) -> Iterator[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return
    for child in map(int, children):
        yield child
        yield from _below(child)


def _ids(pid: int) -> list[str]:
    """Return a process's number in its own namespace and those around it, outermost first."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return []
    ids = next((line.split()[1:] for line in lines if line.startswith("NSpid:")), [])
    return ids if len(ids) > 1 else []
