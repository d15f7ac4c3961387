"""A subscriber that keeps count: which results came, how often, on which topic and in which order."""

import itertools
import json
import threading
from collections import Counter, defaultdict
from typing import Any

from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion

from app.bench.hang_up import hang_up


class Count:
    """A customer's client that owes nothing to the product; comes back a moment after each loss."""

    def __init__(self, port: int) -> None:
        self.times: Counter[str] = Counter()
        self.verdicts: dict[str, str] = {}
        self.first: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        self.topics: Counter[str] = Counter()
        self.drops: Counter[str] = Counter()
        self.unbalanced: list[str] = []
        self.outbox: list[str] = []
        self.truncated = 0
        self._lock = threading.Lock()
        self.subscribed = threading.Event()
        self._answered = threading.Event()
        self.client = Client(CallbackAPIVersion.VERSION2, "counter", protocol=MQTTProtocolVersion.MQTTv5)
        self.client.on_connect = self._connected
        self.client.on_disconnect = lambda *_: self.subscribed.clear()
        self.client.on_subscribe = lambda *_: self.subscribed.set()
        self.client.on_unsubscribe = lambda *_: self._answered.set()
        self.client.on_message = lambda _c, _u, message: self._take(message.topic, message.payload)
        self.client.reconnect_delay_set(1, 1)
        self.client.connect_async("127.0.0.1", port)
        self.client.loop_start()

    def close(self) -> None:
        """Go away."""
        hang_up(self.client)
        self.subscribed.clear()

    def catch_up(self) -> None:
        """Wait until all that the broker has handed over so far is counted: its answers keep the order.

        A broker that is stopped takes with it what lies in the connection, after it has acknowledged it.
        """
        if self.subscribed.is_set():
            self._answered.clear()
            self.client.unsubscribe("nobody/has/subscribed/to/this")
            assert self._answered.wait(30), "the broker did not answer the subscriber"

    def ids(self) -> set[str]:
        """Return the ids that came so far."""
        with self._lock:
            return set(self.times)

    @property
    def duplicates(self) -> int:
        """How many came that had come before."""
        return self.times.total() - len(self.times)

    def inversions(self) -> int:
        """Return how often, on one topic and of one run, a result came for the first time after a newer one."""
        return sum(late < early for seqs in self.first.values() for early, late in itertools.pairwise(seqs))

    def _connected(self, client: Client, userdata: object, flags: object, code: Any, properties: object) -> None:
        if not code.is_failure:
            client.subscribe("#", 1)

    def _take(self, topic: str, payload: bytes) -> None:
        if not payload:
            return
        message = json.loads(payload)
        with self._lock:
            if message["type"] == "result":
                self._count(topic, message)
            elif message["type"] == "event" and message["kind"] == "dropped":
                self.drops.update({key: value for key, value in message["data"].items() if isinstance(value, int)})
            elif message["type"] == "event" and message["kind"] == "outbox":
                self.outbox.append(message["data"]["state"])
            elif message["type"] == "status" and message["detail"] and not message["detail"]["balanced"]:
                self.unbalanced.append(message["camera"])

    def _count(self, topic: str, message: dict[str, Any]) -> None:
        self.times[message["id"]] += 1
        self.verdicts[message["id"]] = message["verdict"]
        self.topics[topic.rpartition("/")[2]] += 1
        self.truncated += message["truncated"]
        if self.times[message["id"]] == 1:
            self.first[topic, message["trace_id"].rpartition("-")[0]].append(message["seq"])
