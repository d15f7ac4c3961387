"""The user space of another processor: a Debian for arm64 whose programs qemu runs, one instruction after another."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.booted.machine import CACHE, PATH
from tests.conftest import ROOT

PACKAGES = "python3,python3-venv,ca-certificates"
PLATFORMS = ("manylinux_2_28_aarch64", "manylinux2014_aarch64")
PYTHON = "3.11"
"""The one of Debian 12."""
PROCESSOR = "cortex-a76"
"""The nearest to an Orin's Cortex-A78AE that qemu 7.2 has: ARMv8.2. With its default, which has SVE and SME, ONNX Runtime crashes."""
MOUNTS = """
set -e
mount --bind "$1" "$2/src"
mount --options remount,bind,ro "$2/src"
mount --bind "$3" "$2/wheels"
mount --rbind /dev "$2/dev"
mount --types proc proc "$2/proc"
root="$2"
shift 3
exec chroot "$root" "$@"
"""


def debian_root() -> Path:
    """Make the bare system, or take the one that was made before; nobody changes it. Its packages come from Debian."""
    root = CACHE / "aarch64" / "root"
    if not (root / "etc/debian_version").exists():
        unfinished = root.with_name("unfinished")
        subprocess.run(["rm", "-rf", str(unfinished), str(root)], check=True)
        unfinished.parent.mkdir(parents=True, exist_ok=True)
        command = ["mmdebstrap", "--quiet", "--arch=arm64", "--variant=minbase", f"--include={PACKAGES}"]
        subprocess.run([*command, "bookworm", str(unfinished)], check=True, timeout=1800)
        unfinished.rename(root)
    return root


def wheelhouse() -> Path:
    """Gather what an installation there needs, by the script that a user runs for that."""
    folder = CACHE / "aarch64" / "wheels"
    options = [option for platform in PLATFORMS for option in ("--platform", platform)]
    command = ["scripts/make-wheelhouse", str(folder), "--python", PYTHON, *options]
    subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=True, timeout=900)
    return folder


def wheels_for_tests(names: list[str]) -> Path:
    """Gather what the tests need there beside the product."""
    folder = CACHE / "aarch64" / "test-wheels"
    options = [f"--platform={platform}" for platform in PLATFORMS]
    command = [str(ROOT / ".venv/bin/python"), "-m", "pip", "download", "--quiet", "--dest", str(folder)]
    command += [f"--python-version={PYTHON}", "--only-binary=:all:", *options, *names]
    subprocess.run(command, check=True, timeout=900)
    return folder


class Emulated:
    """A copy of that system, with the checkout at /src and a wheelhouse at /wheels, without a network.

    Attributes:
        root: its file system, seen from outside.
    """

    def __init__(self, folder: Path, wheels: Path) -> None:
        self.root = folder / "root"
        self._wheels = wheels
        subprocess.run(["cp", "--archive", "--reflink=auto", str(debian_root()), str(self.root)], check=True)
        for name in ("src", "wheels"):
            (self.root / name).mkdir()

    def run(self, *command: str, log: Path, timeout_s: float, folder: str = "/root") -> int:
        """Run a command in it as root, all that it prints goes to a file; return its exit code, 124 if it took too long."""
        environment = ["env", "--ignore-environment", f"--chdir={folder}", f"PATH={PATH}", "HOME=/root", "LANG=C.UTF-8"]
        environment += [f"QEMU_CPU={PROCESSOR}", "PYTHONDONTWRITEBYTECODE=1"]
        apart = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--propagation=private"]
        inside = ["sh", "-c", MOUNTS, "sh", str(ROOT), str(self.root), str(self._wheels), *environment, *command]
        # A program that crashed in qemu may leave threads that never end, so that not even its parent would.
        limit = ["timeout", "--kill-after=5", f"{timeout_s:.0f}"]
        with log.open("ab") as printed:
            done = subprocess.run([*limit, *apart, *inside], stdout=printed, stderr=subprocess.STDOUT, check=False)
        return done.returncode


def processor_of_this() -> str:
    """Return the architecture of the machine that this runs on."""
    return os.uname().machine
