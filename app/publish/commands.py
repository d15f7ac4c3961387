"""Takes commands from the broker, on a connection of its own: each is checked, bounded, answered and written down."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import TypeAlias

import msgspec
from typing_extensions import Self

from app.config.sections import Mqtt
from app.errors import SinkLost
from app.publish import command
from app.publish.backoff import Backoff
from app.publish.clock import UtcClock, iso_utc
from app.publish.command import Answer, id_of, parse
from app.publish.identity import client_id
from app.publish.link import Limits, Link
from app.publish.message import MalformedMessage
from app.publish.topics import Topics
from app.publish.visible import visible

logger = logging.getLogger(__name__)

MINUTE_S = 60.0
REMEMBERED = 256
"""Ids of commands that were done; a broker may deliver one twice."""
REFUSALS_PER_S = 1.0
"""Refusals for there being too many are answered so often at most."""

Done: TypeAlias = Callable[[bool, str], None]
"""Takes whether a command was done, and one line about it; on any thread, once."""


class Commands:
    """Subscribed to the line's commands while it is entered.

    A retained command is ignored: it would be done again at every start. So is one whose id was done already.

    Args:
        section: the broker; `section.commands` is there.
        line: its name as configured.
        execute: does a command, or has it done, and calls back; called on the link's thread, must not wait.
        audit: takes the command's name, who asked, whether it was done, and one line; for whoever keeps account.
        clock: labels the answers.
    """

    def __init__(
        self,
        section: Mqtt,
        line: str,
        execute: Callable[[command.Any, Done], None],
        *,
        audit: Callable[[str, str, bool, str], None] = lambda *_: None,
        clock: UtcClock | None = None,
        backoff: Backoff | None = None,
    ) -> None:
        assert section.commands is not None, "without the section none are taken"
        self._allowed = frozenset(section.commands.allow)
        self._per_minute = section.commands.per_minute
        self._execute = execute
        self._audit = audit
        self._clock = clock or UtcClock()
        self._topics = Topics(section.root, line)
        self._taken_s: deque[float] = deque()
        self._refused_s = float("-inf")
        self._done: OrderedDict[str, None] = OrderedDict()
        own_id = f"{section.client_id}-commands" if section.client_id else client_id(line, "commands")
        # Not called "mqtt …": those threads are put before all others.
        self._link = Link(section, own_id, self, backoff=backoff, thread_name="commands")

    def __enter__(self) -> Self:
        """Start to connect; a broker that is away is no error.

        Raises:
            ConfigError: a password or certificate file can't be read.
        """
        self._link.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Disconnect."""
        self._link.__exit__(kind, error, traceback)

    # ── the link's side (its thread) ─────────────────────────────────────────────────────────────────────────────────

    def up(self, limits: Limits) -> None:
        """Subscribe: a new connection knows no subscription."""
        self._link.subscribe([self._topics.all_commands])

    def subscribed(self) -> None:
        """Nothing waits for it."""

    def down(self, why: str) -> None:
        """Nothing is owed to anybody."""

    def acked(self, mid: int, refusal: str | None) -> None:
        """Nothing waits for it."""

    def received(self, topic: str, payload: bytes, retained: bool) -> None:
        """Check a command and have it done."""
        name = topic.rpartition("/")[2]
        if retained:
            logger.warning("command %s: retained, so it is ignored; publish commands without the retain flag", name)
            return
        if not self._has_room():
            self._refuse_too_many(name, payload)
            return
        try:
            wanted = parse(name, payload)
        except MalformedMessage as error:
            self._answer(id_of(payload), name, "", done=False, text=str(error))
            return
        if name not in self._allowed:
            self._answer(wanted.id, name, wanted.by, done=False, text=f"{name} is not in mqtt.commands.allow")
        elif wanted.id in self._done:
            logger.info("command %s %s came again; it was done before", name, wanted.id)
        else:
            self._remember(wanted.id)
            self._execute(wanted, lambda done, text: self._answer(wanted.id, name, wanted.by, done=done, text=text))

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _has_room(self) -> bool:
        now_s = time.monotonic()
        while self._taken_s and now_s - self._taken_s[0] >= MINUTE_S:
            self._taken_s.popleft()
        if len(self._taken_s) >= self._per_minute:
            return False
        self._taken_s.append(now_s)
        return True

    def _refuse_too_many(self, name: str, payload: bytes) -> None:
        now_s = time.monotonic()
        if now_s - self._refused_s >= 1 / REFUSALS_PER_S:
            self._refused_s = now_s
            text = f"more than {self._per_minute} commands a minute; see mqtt.commands.per_minute"
            self._answer(id_of(payload), name, "", done=False, text=text)

    def _remember(self, wanted_id: str) -> None:
        self._done[wanted_id] = None
        if len(self._done) > REMEMBERED:
            self._done.popitem(last=False)

    def _answer(self, wanted_id: str, name: str, by: str, *, done: bool, text: str) -> None:
        text = visible(" ".join(text.split()))[:500]
        logger.info("command %s %s by %r: %s: %s", name[:32], wanted_id, by, "done" if done else "refused", text)
        self._audit(name[:32], by, done, text)
        utc = iso_utc(self._clock.now().utc_ns)
        answer = Answer(id=wanted_id, command=name[:32], ok=done, text=text, utc=utc)
        with suppress(SinkLost):  # whoever asked asks again; what was done is done, and in the log
            self._link.publish(self._topics.answer, msgspec.json.encode(answer))
