"""Small pictures with the verdict drawn on: for people who ask for them, each at the rate that it can show."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from types import TracebackType

from typing_extensions import Self

from app.background import step_back
from app.config.sections import Mqtt
from app.config.sections import Previews as PreviewsSection
from app.errors import SinkLost
from app.frame import AnyImage
from app.publish.backoff import Backoff
from app.publish.clock import iso_utc
from app.publish.credits import Credits, Shown
from app.publish.identity import client_id
from app.publish.link import Limits, Link
from app.publish.message import Ack, MalformedMessage, Preview, Want, decode, encode
from app.publish.thumbnail import thumbnail
from app.publish.topics import Topics, slug
from app.verdict import Outcome

logger = logging.getLogger(__name__)

LULL_S = 0.05
"""A preview waits so long for a moment in which no frame is looked at."""
LOOK_S = 0.02
"""Between two looks for a new picture, while somebody watches. Nobody wakes the thread for one: that would cost the
path of a frame a system call."""
REST_S = 1.0
"""The same, while nobody does."""
HEADER_BYTES = 256
"""What a packet has beside its payload, at most."""
COMPLAIN_NS = 60_000_000_000


@dataclass(slots=True, eq=False)
class _Camera:
    """One camera: its watchers, its newest picture, and that picture as it is sent."""

    credits: Credits
    base: str
    newest: tuple[Outcome, AnyImage] | None = None
    taken: tuple[Outcome, AnyImage] | None = None
    number: int = 0
    payload: bytes = b""
    message_id: str = ""


class Previews:
    """Sends them over a connection of its own, so that no verdict waits behind a picture.

    Args:
        section: the broker; `section.previews` is there.
        line, cameras: names as configured.
        on_shown: told of every preview that was shown, from the link's thread; must not wait.
        lull: waits so many seconds at most for a moment in which no frame is looked at.
        backoff: the pauses between tries to connect.
    """

    def __init__(
        self,
        section: Mqtt,
        line: str,
        cameras: Sequence[str],
        *,
        on_shown: Callable[[Shown], None] = lambda _: None,
        lull: Callable[[float], object] = lambda _: None,
        backoff: Backoff | None = None,
    ) -> None:
        assert section.previews is not None, "without the section there are no previews"
        self._section: PreviewsSection = section.previews
        self._mqtt = section
        self._line = line
        self._on_shown = on_shown
        self._lull = lull
        topics = Topics(section.root, line)
        every_ns = round(1e9 / self._section.max_fps)
        self._changed = threading.Condition()
        self._topics, self._every_ns = topics, every_ns
        self._cameras: dict[str, _Camera] = {}
        self._by_ack: dict[str, str] = {}
        self._acks = topics.all_acks
        self._watched: frozenset[str] = frozenset()
        self._ids = (f"{uuid.uuid4().hex[:12]}.{number}" for number in count(1))
        own_id = f"{section.client_id}-previews" if section.client_id else client_id(line, "previews")
        # Not called "mqtt …": those threads are put before all others, and pictures are not that urgent.
        self._link = Link(section, own_id, self, backoff=backoff, thread_name="previews mqtt")
        self._stop = False
        self._complained_ns = -COMPLAIN_NS
        self._thread = threading.Thread(target=self._run, name="previews", daemon=False)
        self.sent: dict[str, int] = {}
        """Previews that were handed to the network, by camera."""
        for camera in cameras:
            self.add_camera(camera)

    def add_camera(self, name: str) -> None:
        """Take one camera's pictures as well; one that is known already goes on."""
        with self._changed:
            if name in self._cameras:
                return
            base = self._topics.result(name).rpartition("/")[0]
            self._cameras[name] = _Camera(Credits(self._every_ns, self._section.max_watchers), base)
            self._by_ack[self._topics.ack(name)] = name
            self.sent[name] = 0

    def __enter__(self) -> Self:
        """Start to connect, and start the thread; a broker that is away is no error.

        Raises:
            ConfigError: a password or certificate file can't be read.
        """
        self._link.__enter__()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop; what was not sent is nobody's loss. Safe to call twice."""
        with self._changed:
            self._stop = True
            self._changed.notify_all()
        if self._thread.ident is not None:
            self._thread.join()
            self._link.__exit__(kind, error, traceback)

    def put(self, outcome: Outcome, image: AnyImage) -> None:
        """Keep a picture as the camera's newest where somebody watches; on the path of a frame: no lock, no wake-up.

        Args:
            outcome: read, until a newer one comes.
            image: in the camera's own format, nobody writes to it again; may be empty.
        """
        if outcome.camera in self._watched:
            self._cameras[outcome.camera].newest = (outcome, image)

    def watchers(self) -> dict[str, int]:
        """Return how many watch each camera."""
        with self._changed:
            return {name: camera.credits.watchers for name, camera in self._cameras.items()}

    # ── the link's side (its thread) ─────────────────────────────────────────────────────────────────────────────────

    def up(self, limits: Limits) -> None:
        """Hear what watchers say."""
        self._link.subscribe([self._acks], qos=0)

    def subscribed(self) -> None:
        """Nothing waits for it."""

    def down(self, why: str) -> None:
        """Nothing is owed to anybody: previews that are lost are taken for unanswered."""

    def acked(self, mid: int, refusal: str | None) -> None:
        """Nothing waits for it."""

    def received(self, topic: str, payload: bytes, retained: bool) -> None:
        """Take a watcher's wish, or its acknowledgement."""
        now_ns = time.monotonic_ns()
        name = self._by_ack.get(topic)
        if name is None or retained:
            return
        with suppress(MalformedMessage):  # acknowledgements of results come here, too, and the sink complains of them
            message = decode(payload)
            if isinstance(message, Want):
                self._wanted(name, message, now_ns)
            elif isinstance(message, Ack) and message.shows == "preview":
                self._answered(name, message, now_ns)

    def _wanted(self, name: str, want: Want, now_ns: int) -> None:
        try:
            client = slug(want.client)
        except ValueError as error:
            self._complain(f"a watcher of {name} can't be answered: {error}")
            return
        with self._changed:
            credits = self._cameras[name].credits
            if not want.previews:
                credits.leave(client)
            elif not credits.ask(client, now_ns):
                self._complain(f"{name} has {credits.watchers} watchers already; raise mqtt.previews.max_watchers")
            self._note_watched()
            self._changed.notify_all()

    def _answered(self, name: str, ack: Ack, now_ns: int) -> None:
        with suppress(ValueError), self._changed:
            sent_ns = self._cameras[name].credits.shown(slug(ack.client), ack.id, now_ns)
            self._changed.notify_all()
            if sent_ns is not None:
                self._on_shown(Shown(name, ack.client, (now_ns - sent_ns) / 1e6, ack.hold_ms))

    def _note_watched(self) -> None:
        watched = frozenset(name for name, camera in self._cameras.items() if camera.credits.watchers)
        for name in self._watched - watched:
            self._cameras[name].newest = None
        self._watched = watched

    # ── the thread ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _run(self) -> None:
        step_back()
        while not self._stop:
            try:
                self._round()
            except Exception:  # the thread's root: a picture that can't be drawn must not stop the others
                logger.exception("a preview could not be sent")
            with self._changed:
                for camera in self._cameras.values():
                    camera.credits.forget(time.monotonic_ns())
                self._note_watched()
                if not self._stop:
                    self._changed.wait(LOOK_S if self._watched else REST_S)

    def _round(self) -> None:
        """Send each camera's newest picture to who is ready for it."""
        for name in self._watched:
            camera = self._cameras[name]
            newest = camera.newest
            if newest is not camera.taken:
                camera.taken, camera.number, camera.payload = newest, camera.number + 1, b""
            if newest is not None:
                self._offer(name, camera, newest)

    def _offer(self, name: str, camera: _Camera, newest: tuple[Outcome, AnyImage]) -> None:
        """Draw a picture if somebody is ready for it, once for all of them, and send it."""
        with self._changed:
            is_wanted = bool(camera.credits.ready(camera.number, time.monotonic_ns()))
        if not is_wanted:
            return
        if not camera.payload:
            self._lull(LULL_S)
            camera.message_id = next(self._ids)
            camera.payload = encode(self._preview(camera.message_id, *newest), self._mqtt.encoding)
        if len(camera.payload) > self._mqtt.max_payload_bytes - HEADER_BYTES:
            self._complain(f"a preview of {name} has {len(camera.payload)} bytes, more than mqtt.max_payload_bytes; "
                           "lower mqtt.previews.max_side_px or quality")  # fmt: skip
            return
        with self._changed:  # the credit is spent before the picture leaves, so that no answer can come too early
            now_ns = time.monotonic_ns()
            clients = camera.credits.ready(camera.number, now_ns)
            for client in clients:
                camera.credits.sent(client, camera.message_id, camera.number, now_ns)
        with suppress(SinkLost):  # what is lost with the connection is taken for unanswered
            for client in clients:
                self._link.publish(f"{camera.base}/preview/{client}", camera.payload, qos=0)
                self.sent[name] += 1

    def _preview(self, message_id: str, outcome: Outcome, image: AnyImage) -> Preview:
        return Preview(
            id=message_id,
            trace_id=outcome.trace_id,
            line=self._line,
            camera=outcome.camera,
            seq=outcome.seq,
            rev=outcome.rev,
            verdict=outcome.judgement.verdict,
            captured_utc=iso_utc(outcome.captured_utc_ns),
            jpeg=thumbnail(outcome, image, self._section.max_side_px, self._section.quality),
        )

    def _complain(self, text: str) -> None:
        """Log at most once a minute: what others send must not fill the log."""
        now_ns = time.monotonic_ns()
        if now_ns - self._complained_ns >= COMPLAIN_NS:
            self._complained_ns = now_ns
            logger.warning("previews: %s", text)
