"""One H.264 camera through PyAV and through GStreamer: how old a picture is when it is handed on, and what that costs.

Each way runs in a process of its own, because both bring an FFmpeg; they watch one RTSP camera at the same time, which
paints the time into its pictures. The age includes the camera's encoder, so the same picture is compared by both ways.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from time import monotonic_ns
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from app.bench import machine, painted
from app.bench.timecode import read
from app.capture.base import Source
from app.config import sections
from app.errors import TaktsightError
from app.frame import Picture, PixelFormat
from app.latency.percentiles import percentiles

MODULE = "app.bench.capture_paths"
SIZE_WH = (1920, 1080)
FPS = 30.0
WARM_UP = 15
THRESHOLD = 126
DECODED = "rtspsrc location={} latency=0 protocols=tcp ! rtph264depay ! h264parse ! avdec_h264 {} ! videoconvert"
THREADS = "thread-type=slice max-threads=2"
"""As many threads as our own decoder has, sharing one picture: others would each hold one back."""
WAYS = ("PyAV, BGR", "GStreamer, BGR", "GStreamer, NV12")


def source_of(way: str, url: str) -> Source:
    """Return the source of one way."""
    if way == WAYS[0]:
        from app.capture.stream import Stream  # noqa: PLC0415 - with an FFmpeg that the other ways should not share

        return Stream(sections.StreamSource(kind="stream", url=url, read_timeout_s=10.0))
    from app.capture.gstreamer import Gstreamer  # noqa: PLC0415 - as above

    pixels = way.rpartition(" ")[2]
    pipeline = f"{DECODED.format(url, THREADS)} ! video/x-raw,format={pixels}"
    return Gstreamer(
        sections.GstreamerSource(
            kind="gstreamer", preset="own", pipeline=pipeline, open_timeout_s=20.0, read_timeout_s=10.0
        )
    )


def painted_ns(picture: Picture) -> int | None:
    """Return the time that is painted into a picture; None where it can't be read."""
    plane = picture.data if picture.format is PixelFormat.NV12 else picture.data[..., 1]
    return read(plane, 1.0, THRESHOLD)


def watch(way: str, url: str, frames: int) -> dict[str, Any]:
    """Read a camera in this process.

    Returns:
        `ages`: pairs of the time painted in a picture and how many milliseconds later it was handed on; `unread`: how
        many could not be told; `cores`: the share of a core that it took.
    """
    ages: list[tuple[int, float]] = []
    began_ns, used_s = monotonic_ns(), _cpu_s()
    with source_of(way, url) as source:
        for number in range(WARM_UP + frames):
            picture = None
            while picture is None:
                picture = source.read(1.0)
            if number == WARM_UP - 1:
                began_ns, used_s = monotonic_ns(), _cpu_s()
            shown_ns = painted_ns(picture) if number >= WARM_UP else None
            if shown_ns is not None:
                ages.append((shown_ns, (picture.arrived_ns - shown_ns) / 1e6))
        cores = (_cpu_s() - used_s) / ((monotonic_ns() - began_ns) / 1e9)
    return {"ages": ages, "unread": frames - len(ages), "cores": cores}


def _cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def measure(frames: int) -> dict[str, dict[str, Any]]:
    """Let all ways watch one camera at the same time.

    Raises:
        TaktsightError: one of them gave no result; the text is its own.
    """
    with ExitStack() as stack:
        camera = stack.enter_context(painted.rtsp(FPS, "/h264", SIZE_WH))
        running = {way: stack.enter_context(_watching(way, camera.url, frames)) for way in WAYS}
        said = {way: process.communicate() for way, process in running.items()}
    for way, process in running.items():
        if process.returncode:
            raise TaktsightError(f"{way}: {(said[way][1].strip() or 'no reason given').splitlines()[-1]}")
    return {way: json.loads(text) for way, (text, _) in said.items()}


def _watching(way: str, url: str, frames: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", MODULE, "--watch", way, url, "--frames", str(frames)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # noqa: S603 - ourselves


def table(found: dict[str, dict[str, Any]]) -> Table:
    """Return the ways side by side; later or earlier is told of the pictures that the first way has too."""
    made = Table("way", "age p50 ms", "p99", "later p50 ms", "p10", "p90", "cores", "pictures")
    first = dict(found[WAYS[0]]["ages"])
    for column in made.columns[1:7]:
        column.justify = "right"
    for way, one in found.items():
        ages = percentiles([age for _, age in one["ages"]])
        later = [age - first[shown_ns] for shown_ns, age in one["ages"] if shown_ns in first]
        cells = (f"{value:+.2f}" for value in (np.percentile(later, [50, 10, 90]) if later else ()))
        made.add_row(
            way,
            f"{ages.p50:.1f}",
            f"{ages.p99:.1f}",
            *cells,
            f"{one['cores']:.2f}",
            f"{len(one['ages'])}, {len(later)}",
        )
    made.caption = "pictures: read, and seen by the first way too"
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure all ways, or watch by one of them and print what was seen."""
    parser = argparse.ArgumentParser(prog="scripts/capture_paths", description=__doc__)
    parser.add_argument("--frames", type=int, default=600, help="pictures for each way (%(default)s)")
    parser.add_argument("--watch", nargs=2, metavar=("WAY", "URL"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    console = Console()
    try:
        if options.watch:
            way, url = options.watch
            sys.stdout.write(json.dumps(watch(way, url, options.frames)))
            return 0
        console.print(", ".join(f"{key} {value}" for key, value in machine.describe().items()), highlight=False)
        with console.status("measuring"):
            found = measure(options.frames)
    except TaktsightError as error:
        sys.stderr.write(f"capture_paths: {error}\n")
        return error.exit_code
    console.print(table(found))
    console.print(f"load afterwards {machine.describe()['load']}", highlight=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
