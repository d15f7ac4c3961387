"""The cameras: each opened as the service opens it, and one picture taken; all at the same time, and bounded."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from app.capture.devices import list_cameras
from app.config import LoadedConfig, sections
from app.doctor.child import Answer, Child
from app.doctor.line import Line, fail, ok, warn

SECONDS = 10.0
START_S = 10.0
"""For a child to load what it needs; on a small board that takes a while."""

BUSY = "another program or camera entry uses"
BY_ID = Path("/dev/v4l/by-id")


def check_cameras(loaded: LoadedConfig | None, seconds: float = SECONDS, by_id: Path = BY_ID) -> list[Line]:
    """Take a picture of every camera: those of the configuration, or every V4L2 camera of this machine.

    Args:
        loaded: None: of the machine.
        seconds: how long each may take to give a picture.
        by_id: where the lasting names of cameras are.
    """
    if loaded is None:
        found = list_cameras()
        names = {f"{path}": ("--device", f"{path}") for path in found}
        if not names:
            return [ok("cameras", "there is no V4L2 camera on this machine")]
        answers = ask_all(names, seconds)
        return [line_of(name, answer, None, by_id) for name, answer in answers.items()]
    cameras = loaded.config.cameras
    answers = ask_all({name: (str(loaded.path), name) for name in cameras}, seconds)
    return [line_of(name, answer, cameras[name].source, by_id) for name, answer in answers.items()]


def ask_all(cameras: Mapping[str, tuple[str, str]], seconds: float) -> dict[str, Answer]:
    """Ask for one picture of each at the same time, and return the answers by name."""
    until_s = time.monotonic() + seconds + START_S
    with ExitStack() as stack:
        asked = {
            name: stack.enter_context(Child("one_picture", *arguments, f"{seconds}"))
            for name, arguments in cameras.items()
        }
        return {name: child.answer(until_s - time.monotonic()) for name, child in asked.items()}


def line_of(name: str, found: Answer, source: sections.Source | None, by_id: Path = BY_ID) -> Line:
    """Say how a camera is.

    Args:
        name: its key, or its device.
        found: by the child `one_picture`.
        source: its section, where it has one.
        by_id: where the lasting names of cameras are.
    """
    topic = f"camera {name}"
    if isinstance(found, str):
        return fail(topic, f"{found}: the driver or the network holds it", "unplug and plug it in, or start it anew")
    if "fault" in found:
        return _refused(topic, found["fault"])
    width, height = found["size_wh"]
    text = f"a picture of {width} × {height} after {found['first_s']:.1f} s"
    if found["damage"]:
        return warn(topic, f"{text}, but damaged: {found['damage']}", "check cable, power and format; docs/sources.md")
    if found["is_black"]:
        return warn(topic, f"{text}, but it is black", "take the cap off, switch the light on, or set the exposure")
    fleeting = _fleeting(source, by_id)
    return warn(topic, f"{text}; {fleeting[0]}", fleeting[1]) if fleeting else ok(topic, text)


def _refused(topic: str, fault: str) -> Line:
    text, _, remedy = fault.partition("; ")
    if BUSY in fault:
        return warn(topic, text, "it is the service's while that runs: see `taktsight status`, or stop it first")
    if "there is no" in fault:
        # The service starts without it and opens it as soon as it comes.
        return warn(topic, text, f"{remedy or 'plug it in'}; the service starts without it and waits for it")
    return fail(topic, text, remedy or "see docs/sources.md")


def device_of(source: sections.Source) -> str | None:
    """Return the V4L2 device that a source opens, as configured; None where it opens none."""
    if isinstance(source, sections.V4l2Source):
        return f"{source.device}"
    if isinstance(source, sections.GstreamerSource) and source.preset == "v4l2-hw":
        return source.device
    return None


def _fleeting(source: sections.Source | None, by_id: Path) -> tuple[str, str] | None:
    """Return what is to be said of a camera that is named by a number though it has a lasting name."""
    device = None if source is None else device_of(source)
    if device is None or device.startswith(str(by_id)):
        return None
    node = Path(f"/dev/video{device}" if device.isdecimal() else device)
    lasting = [link for link in sorted(by_id.glob("*")) if link.resolve() == node.resolve()]
    if not lasting:
        return None
    return f"{device} may be another camera after a restart", f"write device: {lasting[0]}"
