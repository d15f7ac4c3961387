"""V4L2 devices: which node is meant, what it can do, and why it can't be opened."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

DEV = Path("/dev")

_QUERYCAP = 0x80685600  # VIDIOC_QUERYCAP: _IOR('V', 0, struct v4l2_capability)
_CAPABILITY = struct.Struct("16s32s32sIII12x")  # driver, card, bus_info, version, capabilities, device_caps
_CAPTURE = 0x00000001 | 0x00001000  # VIDEO_CAPTURE, VIDEO_CAPTURE_MPLANE
_DEVICE_CAPS = 0x80000000
_NODE = re.compile(r"video(\d+)")


@dataclass(frozen=True, slots=True)
class Capability:
    """What a node says of itself.

    Attributes:
        card: the camera's name.
        bus: where it is plugged in; the nodes of one camera share it.
        has_pictures: it gives pictures; a camera's second node often gives only metadata.
    """

    card: str
    bus: str
    has_pictures: bool


Query: TypeAlias = Callable[[Path], Capability]


def query(path: Path) -> Capability:
    """Ask a node what it can do.

    Raises:
        OSError: it can't be opened, or is no V4L2 device.
    """
    handle = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    try:
        answer = fcntl.ioctl(handle, _QUERYCAP, bytes(_CAPABILITY.size))
    finally:
        os.close(handle)
    _, card, bus, _, capabilities, device_caps = _CAPABILITY.unpack(answer)
    # `capabilities` is of the whole camera; only `device_caps` is of this node.
    own = device_caps if capabilities & _DEVICE_CAPS else capabilities
    return Capability(_text(card), _text(bus), bool(own & _CAPTURE))


def _text(field: bytes) -> str:
    return field.split(b"\0", 1)[0].decode("utf-8", "replace")


def device_path(device: int | str, dev: Path = DEV) -> Path:
    """Return the real node that `device` means: 0, "0", "/dev/video0" or a link such as "/dev/v4l/by-id/…".

    Args:
        device: as configured.
        dev: stands for /dev.
    """
    text = str(device)
    if text.isdecimal():
        path = dev / f"video{int(text)}"
    else:
        path = dev / Path(text).relative_to(DEV) if Path(text).is_relative_to(DEV) else Path(text)
    return path.resolve()


def same_devices(cameras: Mapping[str, int | str], dev: Path = DEV) -> list[str]:
    """Return one line for each camera whose device is the one of a camera before it, whatever it is called."""
    owner_of: dict[Path, str] = {}
    faults = []
    for camera, device in cameras.items():
        path = device_path(device, dev)
        owner = owner_of.setdefault(path, camera)
        if owner != camera:
            faults.append(f"cameras.{camera}.source.device: {device} is {path}, which camera {owner} has; one each")
    return faults


def list_cameras(dev: Path = DEV, ask: Query = query) -> dict[Path, Capability]:
    """Return the nodes that give pictures, by number; those for metadata and those that can't be asked are left out."""
    nodes = [path for path in dev.glob("video*") if _NODE.fullmatch(path.name)]
    found: dict[Path, Capability] = {}
    for path in sorted(nodes, key=lambda node: int(node.name.removeprefix("video"))):
        try:
            capability = ask(path)
        except OSError:
            continue
        if capability.has_pictures:
            found[path] = capability
    return found


def refusal(path: Path, dev: Path = DEV, ask: Query = query) -> str | None:
    """Return why a node can't be used, with what to do, or None where nothing speaks against it."""
    try:
        capability = ask(path)
    except OSError as error:
        return f"{path}: {explain(error)}{_others(dev, ask) if error.errno == errno.ENOENT else ''}"
    if capability.has_pictures:
        return None
    siblings = [node for node, other in list_cameras(dev, ask).items() if other.bus == capability.bus]
    hint = f"try {' or '.join(map(str, siblings))}" if siblings else "look for the camera's other node"
    return f"{path}: this node carries no video; {hint}"


def _others(dev: Path, ask: Query) -> str:
    cameras = ", ".join(f"{path} ({capability.card})" for path, capability in list_cameras(dev, ask).items())
    return f"; there are: {cameras}" if cameras else ""


def explain(error: OSError) -> str:
    """Return what an error of a camera means here, with what to do."""
    match error.errno:
        case errno.EACCES | errno.EPERM:
            return "no permission; put the user into the group video"
        case errno.ENOSPC:
            return (
                'not enough USB bandwidth for this camera (the driver\'s "No space left on device" is not about a '
                "disk); use MJPG, a smaller size, fewer fps or another USB controller"
            )
        case errno.EBUSY:
            return "another program or camera entry uses this camera"
        case errno.ENOENT | errno.ENODEV | errno.ENXIO:
            return "there is no camera; is it plugged in?"
        case errno.ENOTTY | errno.EINVAL:
            return "this is no V4L2 camera"
        case _:
            return error.strerror or str(error)
