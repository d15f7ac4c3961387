"""What is seen of a running line: latencies over MQTT, the page for Prometheus, the files that are made for it."""

from __future__ import annotations

import http.client
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import promql_parser
import pytest
import yaml
from paho.mqtt.client import Client, MQTTMessage
from paho.mqtt.enums import CallbackAPIVersion
from prometheus_client.parser import text_string_to_metric_families

from app.bench.hang_up import hang_up
from app.broker import LocalBroker
from app.config import sections
from app.publish.message import Ack, Event, Latency, Result, decode, encode
from app.wiring import Product, build
from tests.conftest import ROOT
from tests.ports import free_port
from tests.system.lines import demo_line

pytestmark = pytest.mark.broker

WAIT_S = 60


def wait_until(is_so: Callable[[], bool]) -> None:
    until_s = time.monotonic() + WAIT_S
    while not is_so():
        assert time.monotonic() < until_s, "it did not come to that"
        time.sleep(0.05)


@dataclass
class Panel:
    """A customer's client that shows results, each after some milliseconds by its own word."""

    name: str
    hold_ms: float
    latencies: list[Latency] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    def connect(self, port: int) -> Client:
        client = Client(CallbackAPIVersion.VERSION2)
        subscribed = threading.Event()
        client.on_connect = lambda client, *_: client.subscribe("taktsight/#", 1)
        client.on_subscribe = lambda *_: subscribed.set()
        client.on_message = self._take
        client.connect("127.0.0.1", port)
        client.loop_start()
        assert subscribed.wait(WAIT_S)
        return client

    def _take(self, client: Client, _: object, message: MQTTMessage) -> None:
        content = decode(message.payload)
        if isinstance(content, Latency):
            self.latencies.append(content)
        if isinstance(content, Event):
            self.events.append(content)
        if isinstance(content, Result):
            ack = Ack(id=content.id, trace_id=content.trace_id, hold_ms=self.hold_ms, client=self.name)
            client.publish(message.topic.replace("/result", "/ack"), encode(ack))


@dataclass(frozen=True)
class Running:
    """A line that runs, what a customer of it received, and where its page is."""

    product: Product
    panel: Panel
    port: int

    def page(self) -> str:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request("GET", "/metrics")
            return connection.getresponse().read().decode()
        finally:
            connection.close()


@pytest.fixture(scope="module")
def line() -> Iterator[Running]:
    """The demo's line, over and over, with two subscribers, one of which is slow."""
    with LocalBroker(kind="mosquitto") as broker, pytest.MonkeyPatch.context() as monkeypatch:
        panel, tablet = Panel("panel", 0.1), Panel("old tablet", 200.0)
        clients = [panel.connect(broker.port), tablet.connect(broker.port)]
        port = free_port()
        loaded = demo_line(mqtt=sections.Mqtt(port=broker.port), fps=15.0, parts=100_000)
        alerts = sections.Alerts(p99_ms=0.1)
        update = {"latency": sections.Latency(period_s=1, alerts=alerts), "metrics": sections.Metrics(port=port)}
        monkeypatch.setattr("app.wiring.telemetry.ALERTS_S", 0.5)
        monkeypatch.setattr("app.latency.alarms.LEAST_RESULTS", 3)
        product = build(replace(loaded, config=loaded.config.model_copy(update=update)))
        thread = threading.Thread(target=product.service.run, name="service")
        thread.start()
        try:
            wait_until(lambda: product.recorder.tallies() != {} and len(panel.latencies) >= 3)
            yield Running(product, panel, port)
        finally:
            product.service.stop()
            thread.join(WAIT_S)
            for client in clients:
                hang_up(client)
    assert not thread.is_alive()
    assert {"latency", "metrics"}.isdisjoint(thread.name for thread in threading.enumerate())


def test_latencies_come_over_mqtt_with_the_times_of_all_stages(line: Running) -> None:
    wait_until(lambda: len(line.panel.latencies[-1].windows[0].stages) >= 8)
    message = line.panel.latencies[-1]
    assert (message.line, message.camera, message.budget_ms) == ("demo", "covers", 100.0)
    assert [window.seconds for window in message.windows] == [10, 60, None]
    ten, _, start = (window.stages for window in message.windows)
    assert list(ten) == [
        "capture",
        "wait",
        "preprocess",
        "inference",
        "postprocess",
        "network",
        "presentation",
        "total",
    ]
    total = start["total"]
    assert 0 < total.p50 <= total.p90 <= total.p99 <= total.p999 <= total.max
    assert ten["total"].count <= total.count <= message.frames
    assert len({message.id for message in line.panel.latencies}) == len(line.panel.latencies)


def test_a_slow_subscriber_is_named_and_told_from_the_network(line: Running) -> None:
    def slowest() -> dict[str, str]:
        return {subscriber.client: subscriber.mostly for subscriber in line.panel.latencies[-1].subscribers}

    # A tablet that says it held a result for longer than its whole round trip took is not believed beyond some slack;
    # what is left of the round trip is nothing, so its own time is what makes it slow.
    wait_until(lambda: {"panel", "old tablet"} <= set(slowest()))
    assert slowest()["old tablet"] == "client"


def test_a_limit_that_is_passed_is_an_event_of_the_camera_and_a_metric(line: Running) -> None:
    wait_until(lambda: any(event.kind == "alert" for event in line.panel.events))
    alerts = [event for event in line.panel.events if event.kind == "alert"]
    assert [(event.camera, event.data["alert"], event.data["state"], event.data["limit"]) for event in alerts] == [
        ("covers", "p99_ms", "raised", 0.1)
    ]
    assert 'taktsight_alerts_total{alert="p99_ms",camera="covers"} 1.0' in line.page()


def test_the_page_adds_up_with_the_ledger(line: Running) -> None:
    found = {
        (sample.name, sample.labels.get("fate", sample.labels.get("camera"))): sample.value
        for family in text_string_to_metric_families(line.page())
        for sample in family.samples
    }
    ended = sum(value for (name, _), value in found.items() if name == "taktsight_frames_total")
    captured = found["taktsight_frames_captured_total", "covers"]
    assert captured == ended + found["taktsight_frames_waiting", "covers"] > 0
    assert found["taktsight_camera_online", "covers"] == 1
    assert found["taktsight_budget_seconds", "covers"] == 0.1
    assert found["taktsight_subscribers", "covers"] == 2


BY_GRAFANA = {"$instance": ".*", "$camera": ".*", "$__rate_interval": "1m"}
BY_PROMETHEUS = {"instance", "job"}


def plain(expression: str) -> str:
    """Return an expression as Prometheus gets it, with the dashboard's variables filled in."""
    for variable, value in BY_GRAFANA.items():
        expression = expression.replace(variable, value)
    return expression


def asked(expressions: list[str]) -> dict[str, set[str]]:
    """Parse each and return the labels that they match, by the name of the metric."""
    found: dict[str, set[str]] = {}

    def visit(node: promql_parser.Expr) -> None:
        if isinstance(node, promql_parser.VectorSelector):
            found.setdefault(node.name, set()).update(matcher.name for matcher in node.matchers.matchers)

    for expression in expressions:
        promql_parser.walk(promql_parser.parse(plain(expression)), visit)
    return found


def labels_of(page: str) -> dict[str, set[str]]:
    """Return the labels of every sample that is there."""
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(page):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


def rules() -> list[dict[str, object]]:
    groups = yaml.safe_load((ROOT / "docs/prometheus/alerts.yml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def dashboard() -> dict[str, list[str]]:
    """Return the dashboard's expressions by the title of their panel, those of its variables under their name."""
    whole = json.loads((ROOT / "docs/prometheus/grafana.json").read_text())
    found = {panel["title"]: [target["expr"] for target in panel["targets"]] for panel in whole["panels"]}
    for variable in whole["templating"]["list"]:
        inside = re.fullmatch(r"label_values\((.*), (\w+)\)", variable.get("definition", ""))
        found |= {variable["name"]: [inside[1]]} if inside else {}
    return found


def names_in(expressions: list[str]) -> set[str]:
    return set(asked(expressions))


def test_every_expression_matches_only_labels_that_its_metric_has(line: Running) -> None:
    have = labels_of(line.page())
    expressions = [str(rule["expr"]) for rule in rules()] + [one for many in dashboard().values() for one in many]
    wrong = {
        name: labels - have[name] - BY_PROMETHEUS
        for name, labels in asked(expressions).items()
        if name in have and labels - have[name] - BY_PROMETHEUS
    }
    assert wrong == {}


@pytest.mark.parametrize(
    "expression",
    [
        "rate(taktsight_results_total[5m]",  # a bracket is missing
        "rate(taktsight_results_total)",  # a rate of no range
        "sum by camera (taktsight_results_total)",  # not how it is written
        'taktsight_results_total{camera=~"$unknown}',  # a quote is missing
    ],
)
def test_an_expression_that_is_none_would_be_found(expression: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        asked([expression])


def exported(page: str) -> set[str]:
    """Return every name that can be asked for: of the samples that are there, and of the families that can be."""
    ends = {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"], "gauge": [""]}
    return {family.name + end for family in text_string_to_metric_families(page) for end in ends[family.type]}


def test_the_alert_rules_ask_for_metrics_that_are_there(line: Running) -> None:
    found = rules()
    assert all({"alert", "expr", "labels", "annotations"} <= set(rule) for rule in found)
    assert len({rule["alert"] for rule in found}) == len(found) >= 10
    used = names_in([str(rule["expr"]) for rule in found])
    assert used - exported(line.page()) == set()


def test_the_dashboard_asks_for_metrics_that_are_there_and_shows_all_of_them(line: Running) -> None:
    panels = json.loads((ROOT / "docs/prometheus/grafana.json").read_text())["panels"]
    assert len({panel["id"] for panel in panels}) == len({panel["title"] for panel in panels}) == len(panels)
    assert {"instance", "camera"} <= set(dashboard())
    used = names_in([expression for expressions in dashboard().values() for expression in expressions])
    names = exported(line.page())
    assert used - names == set()
    families = {re.sub(r"_(bucket|sum|count|total)$", "", name) for name in used}
    assert {re.sub(r"_(bucket|sum|count|total)$", "", name) for name in names} - families == set()


def test_the_page_about_latency_lists_every_metric(line: Running) -> None:
    page = (ROOT / "docs/latency.md").read_text()
    listed = set(re.findall(r"^\| `(taktsight_\w+)` \|", page, re.MULTILINE))
    assert listed == {re.sub(r"_(bucket|sum|count)$", "", name) for name in exported(line.page())}
