"""Device files that this user may not use, and the group that gives the right to."""

from __future__ import annotations

import grp
import os
import pwd
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from app.doctor.line import Line, fail, ok, warn

TOPIC = "permissions"


@dataclass(frozen=True, slots=True)
class Kind:
    """Device files of one kind.

    Attributes:
        what: for a person.
        group: that Debian and JetPack give them to.
        patterns: below /.
    """

    what: str
    group: str
    patterns: tuple[str, ...]


CAMERAS = Kind("cameras", "video", ("dev/video*", "dev/media*"))
GPU = Kind(
    "the GPU",
    "video",
    ("dev/nvidia[0-9]*", "dev/nvidiactl", "dev/nvidia-uvm", "dev/nvhost-*", "dev/nvmap", "dev/nvgpu/igpu0/*"),
)
RENDER = Kind("hardware decoding", "render", ("dev/dri/renderD*",))
LINES = Kind("digital inputs and outputs", "gpio", ("dev/gpiochip*",))
KINDS = (CAMERAS, GPU, RENDER, LINES)

Access = Callable[[Path, int], bool]


def check_permissions(
    root: Path = Path("/"), *, needed: Iterable[Kind] = (), access: Access = os.access, user: str | None = None
) -> list[Line]:
    """Say which device files of this machine the user may not use.

    Args:
        root: stands for /.
        needed: kinds without which the configuration can't run; the others are warnings.
        access: `os.access`, for tests that run as root.
        user: who asks.
    """
    name = user or _user()
    lines: list[Line] = []
    there = 0
    for kind in KINDS:
        nodes = [node for pattern in kind.patterns for node in sorted(root.glob(pattern)) if not node.is_dir()]
        there += len(nodes)
        closed = [node for node in nodes if not access(node, os.R_OK | os.W_OK)]
        if closed:
            lines.append(_closed(kind, closed, name, fail if kind in set(needed) else warn))
    if lines:
        return lines
    said = f"{name} may use all {there} device files of cameras, GPU and digital lines" if there else ""
    return [ok(TOPIC, said or "there are no device files of cameras, GPU or digital lines")]


def group_of(node: Path, usual: str) -> str:
    """Return the group that may use a device file: its own, or the usual one where its own is root's."""
    try:
        owner = grp.getgrgid(node.stat().st_gid).gr_name
    except (KeyError, OSError):
        return usual
    return usual if owner == "root" else owner


def _closed(kind: Kind, closed: list[Path], user: str, level: Callable[[str, str, str], Line]) -> Line:
    group = group_of(closed[0], kind.group)
    more = f" and {len(closed) - 1} more" if len(closed) > 1 else ""
    text = f"{user} has no permission to use {closed[0]}{more} ({kind.what})"
    return level(
        TOPIC, text, f"put the user into the group {group}: sudo usermod -aG {group} {user}; then log in again"
    )


def _user() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return f"user {os.geteuid()}"
