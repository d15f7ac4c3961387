"""The demo's line with somebody who watches its previews: the pictures come, and how fast they are shown is said."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from app.broker import LocalBroker
from app.config import sections
from app.publish.message import Latency, Preview, Result
from app.watch import Subscriber
from app.wiring import Watchers, build
from tests.system.lines import demo_line

pytestmark = pytest.mark.broker

WAIT_S = 60


def receive(subscriber: Subscriber, enough: Callable[[list[object]], bool]) -> list[object]:
    """Show all that comes until there is enough."""
    taken: list[object] = []
    until_s = time.monotonic() + WAIT_S
    while not enough(taken):
        assert time.monotonic() < until_s, "it did not come to that"
        arrival = subscriber.get(0.5)
        if arrival is not None:
            subscriber.acknowledge(arrival)
            taken.append(arrival.message)
    return taken


def test_a_watcher_sees_the_line_and_the_line_says_how_fast(free_port: int) -> None:
    with LocalBroker(kind="mosquitto") as broker:
        mqtt = sections.Mqtt(port=broker.port, previews=sections.Previews())
        loaded = demo_line(mqtt=mqtt, fps=15.0, parts=100_000)
        update = {"latency": sections.Latency(period_s=1), "metrics": sections.Metrics(port=free_port)}
        loaded = replace(loaded, config=loaded.config.model_copy(update=update))
        product = build(loaded, Watchers(log_dropped=lambda: 3))
        thread = threading.Thread(target=product.service.run, name="service")
        thread.start()
        try:
            with Subscriber(mqtt, latencies=True, previews=True) as subscriber:
                taken = receive(
                    subscriber,
                    lambda taken: any(isinstance(one, Latency) and one.previews and one.subscribers for one in taken),
                )
                page = page_of(free_port)
        finally:
            product.service.stop()
            thread.join(WAIT_S)
    assert not thread.is_alive()
    previews = [one for one in taken if isinstance(one, Preview)]
    results = {one.trace_id: one for one in taken if isinstance(one, Result)}
    assert any(one.trace_id in results and one.verdict is results[one.trace_id].verdict for one in previews)
    latency = [one for one in taken if isinstance(one, Latency)][-1]
    assert latency.previews[0].client == latency.subscribers[0].client == subscriber.client
    assert latency.previews[0].per_s > 0
    assert 'taktsight_preview_watchers{camera="covers"} 1.0' in page
    assert "taktsight_log_dropped_total 3.0" in page


def page_of(port: int) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", "/metrics")
    page = connection.getresponse().read().decode()
    connection.close()
    return page
