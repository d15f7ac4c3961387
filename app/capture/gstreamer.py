"""A camera through GStreamer: the Jetson's own path to its cameras and decoders, and any pipeline of the user's."""

from __future__ import annotations

import logging
import math
from contextlib import ExitStack
from time import monotonic_ns
from types import TracebackType
from typing import Any

from typing_extensions import Self

from app.capture.gst import Libraries, load
from app.capture.gst_packages import missing_element, package_of
from app.capture.gst_sample import Layout, layout_of, pixels_of
from app.capture.gst_text import CAMERA, wanted
from app.config.pipeline_text import reads_file, warnings
from app.config.secrets import mask, read_secret
from app.config.sections import GstreamerSource
from app.errors import EndOfStream, SourceError, SourceLost
from app.frame import NO_IMAGE, Picture
from app.picture_memory import PictureMemory
from app.verdict import Reason

STALE_NS = 5_000_000_000
"""A time stamp older than this is of another clock."""

_LOOK_S = 0.1
"""While it is opened, how often a pipeline is asked whether something went wrong: that wakes nobody who waits."""

log = logging.getLogger(__name__)


class Gstreamer:
    """The pictures of one pipeline, in the pixel format that its end gives, copied out of its buffers once.

    Where a GPU is to read them they are copied once more, to memory that it reads.

    `exposed_ns` is the buffer's time stamp on the monotonic clock where the pipeline is live and the stamp can be true:
    for a V4L2 or CSI camera that is the driver's, for a network camera when the picture's first packet arrived. Of a
    file it is when the frame's reading began.
    """

    def __init__(self, section: GstreamerSource, memory: PictureMemory | None = None) -> None:
        self._section = section
        self._name = f"gstreamer {section.preset}"
        self._is_file = section.pipeline is not None and reads_file(section.pipeline)
        self._memory = memory or PictureMemory()
        self._libraries: Libraries | None = None
        self._pipeline: Any = None
        self._sink: Any = None
        self._first: Picture | None = None
        self._caps: Any = None
        self._layout: Layout | None = None
        self._exposed_ns = self._came_ns = 0

    def __enter__(self) -> Self:
        """Start the pipeline and wait for its first picture.

        Raises:
            SourceError: GStreamer, or an element of it, is not there, or the pipeline can't be read or used.
            SourceLost: no picture came.
            ConfigError: the password can't be read.
        """
        for warning in [] if self._section.pipeline is None else warnings(self._section.pipeline):
            log.warning("%s: %s", self._name, warning)
        self._libraries = load()
        with ExitStack() as opening:
            opening.push(self.__exit__)
            self._start(self._libraries)
            self._first = self._await_first()
            opening.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop the pipeline."""
        if self._pipeline is not None and self._libraries is not None:
            self._pipeline.set_state(self._libraries.gst.State.NULL)
        self._pipeline = self._sink = self._first = self._caps = self._layout = None

    def read(self, timeout_s: float) -> Picture | None:
        """Return the next picture, or None where none came in time; see `Source`."""
        assert self._sink is not None, "read before entering"
        first, self._first = self._first, None
        return first or self._pull(timeout_s, self._section.read_timeout_s)

    def _start(self, libraries: Libraries) -> None:
        """Build the pipeline and set it going."""
        gst, section, plan = libraries.gst, self._section, wanted(self._section)
        try:
            self._pipeline = gst.parse_launch(plan.text)
        except libraries.glib.Error as error:
            raise SourceError(f"{self._name}: {_why_not(error.message)}") from error
        secrets = {"user-id": section.username, "user-pw": section.password_file and read_secret(section.password_file)}
        for key, value in {**plan.properties, **secrets}.items():
            if value:
                self._pipeline.get_by_name(CAMERA).set_property(key, value)
        self._sink = next(one for one in _sinks(self._pipeline) if one.get_factory().get_name() == "appsink")
        self._exposed_ns, self._came_ns = 0, monotonic_ns()
        if self._pipeline.set_state(gst.State.PLAYING) == gst.StateChangeReturn.FAILURE:
            raise SourceLost(f"{self._name}: {self._trouble() or 'it does not start'}")

    def _await_first(self) -> Picture:
        """Wait for the first picture, so that what can't be had is told on entering."""
        limit_s, began_ns = self._section.open_timeout_s, monotonic_ns()
        while monotonic_ns() - began_ns < limit_s * 1e9:
            picture = self._pull(min(limit_s, _LOOK_S), math.inf)
            if picture is not None:
                return picture
        raise SourceLost(f"{self._name}: no picture after {limit_s:g} s; is the camera on and free?")

    def _pull(self, timeout_s: float, quiet_s: float) -> Picture | None:
        """Wait for one picture; a camera that has given none for longer than `quiet_s` is lost."""
        assert self._libraries is not None, "read before entering"
        began_ns = monotonic_ns()
        sample = self._sink.try_pull_sample(int(timeout_s * 1e9))
        if sample is not None:
            self._came_ns = monotonic_ns()
            return self._picture(sample, began_ns)
        trouble = self._trouble()
        if trouble:
            raise SourceLost(f"{self._name}: {trouble}")
        if self._sink.is_eos():
            raise (EndOfStream if self._is_file else SourceLost)(f"{self._name}: the pipeline has ended")
        if not self._is_file and monotonic_ns() - self._came_ns > quiet_s * 1e9:
            raise SourceLost(f"{self._name}: no picture for {quiet_s:g} s")
        return None

    def _picture(self, sample: Any, began_ns: int) -> Picture:  # noqa: ANN401 - gi has no types
        assert self._libraries is not None, "read before entering"
        layout = self._layout_of(sample.get_caps(), self._libraries)
        self._exposed_ns = began_ns if self._is_file else self._stamp_ns(sample, self._libraries.gst)
        pixels = pixels_of(sample, layout, self._libraries, self._memory)
        if isinstance(pixels, Reason):
            return Picture(NO_IMAGE, self._exposed_ns, monotonic_ns(), fault=pixels)
        return Picture(pixels, self._exposed_ns, monotonic_ns(), format=layout.pixels)

    def _layout_of(self, caps: Any, libraries: Libraries) -> Layout:  # noqa: ANN401 - gi has no types
        """Return what the caps say; read anew only where they change, as they may in the middle of a stream."""
        if self._layout is None or not caps.is_equal(self._caps):
            try:
                self._caps, self._layout = caps, layout_of(caps, libraries)
            except SourceError as error:
                raise SourceError(f"{self._name}: {error}") from error
            log.info("%s: %s", self._name, caps.to_string())
            if self._layout.odd_colours:
                text = "%s: colours are %s and are read as bt601, a little off; the pipeline may convert them"
                log.warning(text, self._name, self._layout.odd_colours)
        return self._layout

    def _stamp_ns(self, sample: Any, gst: Any) -> int:  # noqa: ANN401 - as above
        """Return a buffer's time stamp on the monotonic clock, where it can be true; else now."""
        now_ns, stamp_ns = monotonic_ns(), sample.get_buffer().pts
        running_ns = sample.get_segment().to_running_time(gst.Format.TIME, stamp_ns)
        clock = self._pipeline.get_pipeline_clock()
        if gst.CLOCK_TIME_NONE in (stamp_ns, running_ns) or clock is None:
            return now_ns
        # GStreamer's own clock is the monotonic one, but a pipeline may follow another, e.g. a network's.
        since_ns = clock.get_time() - self._pipeline.get_base_time() - running_ns
        exposed_ns = now_ns - since_ns
        return int(exposed_ns) if max(now_ns - STALE_NS, self._exposed_ns) <= exposed_ns <= now_ns else now_ns

    def _trouble(self) -> str:
        """Return what the pipeline has reported, or nothing."""
        assert self._libraries is not None, "asked before entering"
        message = self._pipeline.get_bus().pop_filtered(self._libraries.gst.MessageType.ERROR)
        if message is None:
            return ""
        error, _ = message.parse_error()
        secret = self._section.password_file and read_secret(self._section.password_file)
        return mask(f"{message.src.get_name()}: {error.message}", [secret or ""])


def _sinks(pipeline: Any) -> list[Any]:  # noqa: ANN401 - gi has no types
    """Return the elements that end a pipeline."""
    iterator, found = pipeline.iterate_sinks(), []
    while (step := iterator.next())[0].value_nick == "ok":
        found.append(step[1])
    return found


def _why_not(message: str) -> str:
    element = missing_element(message)
    if element is None:
        return f"the pipeline can't be used: {message}"
    return f"GStreamer has no element {element}; install {package_of(element)}"
