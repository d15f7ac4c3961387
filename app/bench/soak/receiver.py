"""Whoever stands at the other end of a soak: counts what arrives, asks for things, reads slowly."""

from __future__ import annotations

import itertools
import json
import threading
from dataclasses import dataclass, field
from time import monotonic
from types import TracebackType
from typing import Any

from paho.mqtt.client import Client, MQTTMessage
from paho.mqtt.enums import CallbackAPIVersion
from typing_extensions import Self

from app.bench.hang_up import hang_up
from app.broker import HOST
from app.config import sections
from app.watch import Subscriber

LINE = "soak"
ANSWER_S = 10.0
SLOW_S = 0.2


@dataclass(slots=True)
class Arrived:
    """What has come; filled by one thread.

    Attributes:
        ids: of results, each once.
        twice: results whose id had come before.
        negative: results with a time below zero, as text.
        events: how many of each kind.
        notes: results by their note about the clock.
    """

    ids: set[str] = field(default_factory=set)
    twice: int = 0
    negative: list[str] = field(default_factory=list)
    events: dict[str, int] = field(default_factory=dict)
    notes: dict[str, int] = field(default_factory=dict)

    def take(self, message: dict[str, Any]) -> None:
        """Take one message."""
        if message.get("type") == "event":
            self.events[message["kind"]] = self.events.get(message["kind"], 0) + 1
        if "verdict" not in message or "id" not in message:
            return
        self.twice += message["id"] in self.ids
        self.ids.add(message["id"])
        self.notes[message["clock"]] = self.notes.get(message["clock"], 0) + 1
        times = {**message["stages_ms"], "total": message["total_ms"]}
        below = {name: spent for name, spent in times.items() if spent is not None and spent < 0}
        if below:
            self.negative.append(f"{message['id']}: {below}")


class Receiver:
    """A customer's client that owes nothing to the product: plain paho, on a connection that no fault touches.

    Args:
        port: the broker's.

    Attributes:
        arrived: what has come.
        answers: to commands, by id.
    """

    def __init__(self, port: int) -> None:
        self._port = port
        self.arrived = Arrived()
        self.answers: dict[str, bool] = {}
        self._changed = threading.Condition()
        self._is_subscribed = False
        self._numbers = itertools.count(1)
        self._client = Client(CallbackAPIVersion.VERSION2)
        self._client.reconnect_delay_set(1, 1)
        self._client.on_connect = lambda client, *_: client.subscribe(f"taktsight/{LINE}/#", 1)
        self._answered = threading.Event()
        self._client.on_subscribe = lambda *_: self._note(True)
        self._client.on_unsubscribe = lambda *_: self._answered.set()
        self._client.on_disconnect = lambda *_: self.forget()
        self._client.on_message = self._take

    def __enter__(self) -> Self:
        """Subscribe."""
        self._client.connect(HOST, self._port)
        self._client.loop_start()
        assert self.wait_until_subscribed(20.0), "the soak's own broker is there"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Disconnect."""
        connection = self._client.socket()
        hang_up(self._client)
        if connection is not None:  # paho leaves it to the collector
            connection.close()

    def wait_until_subscribed(self, timeout_s: float) -> bool:
        """Wait until the broker has the subscription; return whether it has."""
        with self._changed:
            return self._changed.wait_for(lambda: self._is_subscribed, timeout_s)

    def catch_up(self, timeout_s: float) -> bool:
        """Wait until all that the broker has handed over so far has been counted; return whether it has.

        The broker's answers keep the order, and one that stops takes with it what still lies in the connection.
        """
        self._answered.clear()
        self._client.unsubscribe("nobody/has/subscribed/to/this")
        return self._answered.wait(timeout_s)

    def forget(self) -> None:
        """Have no subscription: the broker is gone."""
        self._note(False)

    def ask(self, name: str, **fields: object) -> str:
        """Publish one command; return its id."""
        wanted = f"soak-{next(self._numbers)}"
        body = json.dumps({"id": wanted, "by": "soak", **fields})
        self._client.publish(f"taktsight/{LINE}/cmd/{name}", body, qos=1)
        return wanted

    def answer(self, wanted: str) -> bool | None:
        """Wait for a command's answer; None where none comes."""
        with self._changed:
            self._changed.wait_for(lambda: wanted in self.answers, ANSWER_S)
            return self.answers.get(wanted)

    def _note(self, is_subscribed: bool) -> None:
        with self._changed:
            self._is_subscribed = is_subscribed
            self._changed.notify_all()

    def _take(self, client: Client, user: object, message: MQTTMessage) -> None:
        kind = message.topic.rpartition("/")[2]
        if kind not in ("result", "history", "event", "answer"):
            return
        body = json.loads(message.payload)
        if kind == "answer":
            with self._changed:
                self.answers[body["id"]] = body["ok"]
                self._changed.notify_all()
        else:
            self.arrived.take(body)


class Viewer:
    """Somebody who watches: acknowledges what is shown, wants previews, and may become slow.

    Args:
        port: the broker's.

    Attributes:
        shown: messages.
    """

    def __init__(self, port: int) -> None:
        self.shown = 0
        self._slow_until_s = 0.0
        self._subscriber = Subscriber(sections.Mqtt(port=port), line=LINE, previews=True)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="viewer")

    def __enter__(self) -> Self:
        """Begin to watch."""
        self._subscriber.__enter__()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Watch no longer."""
        self._stop.set()
        self._thread.join()
        self._subscriber.__exit__(kind, error, traceback)

    def be_slow(self, seconds: float) -> None:
        """Take long for each message from now on."""
        self._slow_until_s = monotonic() + seconds

    def _run(self) -> None:
        while not self._stop.is_set():
            arrival = self._subscriber.get(0.2)
            self._subscriber.ask_again()
            if arrival is None:
                continue
            if monotonic() < self._slow_until_s:
                self._stop.wait(SLOW_S)
            self._subscriber.acknowledge(arrival)
            self.shown += 1
