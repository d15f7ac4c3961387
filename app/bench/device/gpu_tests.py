"""The tests marked `gpu`, run on the real driver."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from app.bench.row import Row

PART = "tests"
ROOT = Path(__file__).resolve().parent.parent.parent.parent
LIMIT_S = 300.0
_NOTHING_RAN = 5


def row(kernels: Path, folder: Path = ROOT / "tests", limit_s: float = LIMIT_S) -> Row:
    """Run them in a process of their own, and return what pytest says of them.

    Other tests are not even read: what they import need not be on a machine that is only there for its GPU.

    Args:
        kernels: folder of compiled kernels, for a machine without a compiler.
        folder: where the tests are.
        limit_s: they are ended after that.
    """
    what, places = "marked gpu", _places(folder)
    if not places:
        return Row(PART, what, got="there is none", target="pass", met=False)
    options = ["-m", "gpu", "-q", "-p", "no:cacheprovider", "--rootdir", str(ROOT), "-c", str(ROOT / "pyproject.toml")]
    command = [sys.executable, "-m", "pytest", *options, *map(str, places)]
    environment = {**os.environ, "TAKTSIGHT_TEST_DRIVER": "real", "TAKTSIGHT_TEST_KERNELS": str(kernels.absolute())}
    try:
        done = subprocess.run(  # noqa: S603 - our own command
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=limit_s, check=False
        )
    except subprocess.TimeoutExpired:
        return Row(PART, what, got=f"not done after {limit_s:g} s", target="pass", met=False)
    lines = done.stdout.strip().splitlines() or done.stderr.strip().splitlines() or ["said nothing"]
    if done.returncode not in (0, _NOTHING_RAN):
        sys.stderr.write(done.stdout[-8000:] + done.stderr[-2000:])
    # Where every one was skipped nothing was tested.
    is_met = done.returncode == 0 and " passed" in lines[-1]
    return Row(PART, what, got=lines[-1].strip("= "), target="pass", met=is_met)


def _places(folder: Path) -> list[Path]:
    """Return the folder of the GPU's own tests, which are marked as they are collected, and every other marked file."""
    own = folder / "gpu"
    files = (path for path in sorted(folder.rglob("test_*.py")) if own not in path.parents)
    marked = [path for path in files if "mark.gpu" in path.read_text(encoding="utf-8")]
    return [own, *marked] if own.exists() else marked
