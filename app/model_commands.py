"""Asks a running line to look with another model, and writes down what a model must find."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Sequence
from pathlib import Path

import msgspec
from rich.console import Console
from rich.progress import track

from app.capture.listing import pictures_in
from app.config import LoadedConfig
from app.config.sections import Mqtt
from app.errors import ConfigError, SinkLost, TaktsightError
from app.golden import write_golden
from app.publish.command import Answer
from app.publish.link import Limits, Link
from app.publish.topics import Topics
from app.wiring.models import build_model

CONNECT_S = 5.0
ANSWER_S = 90.0
"""A model may take so long to be loaded and checked."""
SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".bmp"})


class Asker:
    """Sends one command to a line and waits for what became of it."""

    def __init__(self, section: Mqtt, line: str) -> None:
        self._topics = Topics(section.root, line)
        self._where = f"{section.host}:{section.port}"
        self._changed = threading.Condition()
        self._is_subscribed = False
        self._answers: dict[str, Answer] = {}
        self._link = Link(section, f"taktsight-ask-{uuid.uuid4().hex[:8]}", self)

    def ask(self, name: str, **fields: object) -> Answer:
        """Return the answer.

        Raises:
            SinkLost: the broker can't be reached, or no line answers.
        """
        wanted = uuid.uuid4().hex
        with self._link, self._changed:
            if not self._changed.wait_for(lambda: self._is_subscribed, CONNECT_S):
                raise SinkLost(
                    f"{self._where}: no broker takes us within {CONNECT_S:g} s; is it there, and are host, port, user "
                    "and password right?"
                )
            payload = json.dumps({"id": wanted, "by": "taktsight model", **fields}).encode()
            self._link.publish(f"{self._topics.base}/cmd/{name}", payload)
            if not self._changed.wait_for(lambda: wanted in self._answers, ANSWER_S):
                raise SinkLost(
                    f"{self._topics.base}: no answer within {ANSWER_S:g} s; is the line running, and is {name} in its "
                    "mqtt.commands.allow?"
                )
            return self._answers[wanted]

    # ── the link's side (its thread) ─────────────────────────────────────────────────────────────────────────────────

    def up(self, limits: Limits) -> None:
        """Subscribe: a new connection knows no subscription."""
        self._link.subscribe([self._topics.answer])

    def subscribed(self) -> None:
        """The answer will be heard."""
        with self._changed:
            self._is_subscribed = True
            self._changed.notify_all()

    def down(self, why: str) -> None:
        """The link comes back."""

    def acked(self, mid: int, refusal: str | None) -> None:
        """The answer is what counts."""

    def received(self, topic: str, payload: bytes, retained: bool) -> None:
        """Take an answer, whoever it is for."""
        try:
            answer = msgspec.json.decode(payload, type=Answer)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return
        with self._changed:
            self._answers[answer.id] = answer
            self._changed.notify_all()


def set_model(section: Mqtt, line: str, camera: str, file: str, console: Console) -> None:
    """Have a camera of a running line look with another file.

    Raises:
        TaktsightError: the line refuses; the text says why.
    """
    with console.status(f"asking {line} to load {file} …"):
        answer = Asker(section, line).ask("set_model", camera=camera, file=Path(file).name)
    if not answer.ok:
        raise TaktsightError(answer.text)
    console.print(answer.text, markup=False)


def make_golden(loaded: LoadedConfig, name: str, places: Sequence[Path], console: Console) -> None:
    """Write down beside a model what it finds in pictures, as it runs in float32 on this CPU.

    Raises:
        ConfigError: there is no such model, or no picture.
        ModelError: it can't be run, or a picture can't be read.
    """
    section = loaded.config.models.get(name)
    if section is None:
        raise ConfigError(f"models.{name}: there is none; there are {', '.join(loaded.config.models)}")
    pictures = [path for place in places for path in (pictures_in(place, SUFFIXES) if place.is_dir() else [place])]
    if not pictures:
        raise ConfigError(f"{', '.join(map(str, places))}: no pictures there; take some of the line, good and bad ones")
    model = build_model(name, section.model_copy(update={"device": "cpu", "batches": [1], "triton": None}))
    with model.engine.backend:
        steps = iter(track(pictures, "looking", console=console, transient=True))
        next(steps)
        path = Path(section.path)
        folder = write_golden(
            path, model.sha256, model.engine, pictures, section.verify.score, lambda: next(steps, None)
        )
    console.print(
        f"{folder}: {len(pictures)} pictures; whoever loads {path.name} from now on has to find the same", markup=False
    )
