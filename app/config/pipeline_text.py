"""A GStreamer pipeline as text: its elements, what must not be in it, and what makes its pictures old."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

FILE_ELEMENTS = frozenset({"filesrc", "multifilesrc", "splitfilesrc", "splitmuxsrc", "giosrc"})
YES = frozenset({"true", "yes", "1", "t"})


@dataclass(frozen=True, slots=True)
class Element:
    """One element of a pipeline: its factory's name and the properties that are set."""

    name: str
    properties: dict[str, str]

    def is_on(self, name: str) -> bool:
        """Whether a switch is set to true; what is not set is taken as false."""
        return self.properties.get(name, "").lower() in YES


def elements(text: str) -> list[Element]:
    """Return the elements of a pipeline in their order; caps, pads and brackets are left out.

    Raises:
        ValueError: a quote is not closed.
    """
    try:
        tokens = shlex.split(text)
    except ValueError as error:
        raise ValueError(f"can't be read: {error}".lower()) from None
    found: list[Element] = []
    for token in tokens:
        name, is_property, value = token.partition("=")
        if is_property and found and "/" not in name:
            found[-1].properties[name] = value
        elif not is_property and token.replace("_", "").replace("-", "").isalnum():
            found.append(Element(token, {}))
    return found


def reads_file(text: str) -> bool:
    """Whether pictures come as they are wanted and not at their own time."""
    return any(
        element.name in FILE_ELEMENTS or any(value.startswith("file:") for value in element.properties.values())
        for element in elements(text)
    )


def check_pipeline(text: str) -> str:
    """Return the pipeline.

    Raises:
        ValueError: it has no element, two ends for pictures, or leaves out pictures of a file.
    """
    found = elements(text)
    sinks = [element for element in found if element.name == "appsink"]
    if not found:
        raise ValueError("there is no element in it; write e.g. v4l2src device=/dev/video0 ! videoconvert")
    if len(sinks) > 1:
        raise ValueError(f"{len(sinks)} appsinks; one camera has one, a second camera its own pipeline")
    if sinks and reads_file(text) and sinks[0].is_on("drop"):
        raise ValueError("drop=true on a file leaves out pictures without a word; remove drop=true")
    return text


def warnings(text: str) -> list[str]:
    """Return what makes the pictures of a live pipeline older than they need be, one line each, with what to write."""
    if reads_file(text):
        return []
    found = elements(text)
    told = []
    for sink in (element for element in found if element.name == "appsink"):
        wanted = {"drop=true": sink.is_on("drop"), "max-buffers=1": sink.properties.get("max-buffers") == "1"}
        wanted["sync=false"] = sink.properties.get("sync", "true").lower() not in YES
        missing = " ".join(name for name, is_there in wanted.items() if not is_there)
        if missing:
            told.append(f"pictures may queue up in the appsink and grow old; write appsink {missing}")
    if any(element.name == "rtspsrc" and "latency" not in element.properties for element in found):
        told.append("rtspsrc holds every picture back for 2000 ms unless told otherwise; write latency=0")
    return told
