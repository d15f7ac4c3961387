"""OpenTelemetry spans, as a collector takes them."""

import base64
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from app.errors import ConfigError, SinkLost
from app.latency.trace_file import encode_record
from app.latency.trace_reader import TraceLog, read_lines, read_trace
from app.traces.otlp import FRAMES_A_REQUEST, json_lines, requests, send
from tests.traces.conftest import MS, USUAL_MS, event, make_frame


@pytest.fixture
def log(write: Callable[..., Path]) -> TraceLog:
    at_ns = make_frame(2).exposed_ns
    events = [event("gc", at_ns + 9 * MS, at_ns + 20 * MS), event("level", at_ns + 3 * MS, camera="back")]
    return read_trace(write(make_frame(1, part=7), make_frame(2, inference=120.0), *events))


def spans(log: TraceLog) -> list[dict]:
    return [span for one in requests(log) for span in one["resourceSpans"][0]["scopeSpans"][0]["spans"]]


def said(node: dict) -> dict[str, object]:
    return {one["key"]: next(iter(one["value"].values())) for one in node["attributes"]}


def test_each_frame_is_a_span_with_a_child_for_each_step(log: TraceLog) -> None:
    first, *steps = spans(log)[: 1 + len(USUAL_MS)]
    assert "parentSpanId" not in first
    assert [step["name"] for step in steps] == list(USUAL_MS)
    assert {step["parentSpanId"] for step in steps} == {first["spanId"]}
    assert {step["traceId"] for step in steps} == {first["traceId"]}
    assert int(first["endTimeUnixNano"]) == int(steps[-1]["endTimeUnixNano"])
    assert said(first)["part"] == "7"
    assert said(first)["taktsight.trace_id"] == "run-front-000001"
    assert said(steps[4]) == {"thread.name": "inspect"}


def test_ids_have_the_length_that_is_asked_for_and_are_the_same_each_time(log: TraceLog) -> None:
    assert {(len(span["traceId"]), len(span["spanId"])) for span in spans(log)} == {(32, 16)}
    assert len({span["spanId"] for span in spans(log)}) == 2 * (1 + len(USUAL_MS))
    assert spans(log) == spans(log)


def with_base64_ids(node: object) -> object:
    """Return it as protobuf's own JSON has it: OTLP's differs from that in its ids, which are hexadecimal there."""
    if isinstance(node, list):
        return [with_base64_ids(one) for one in node]
    if not isinstance(node, dict):
        return node
    ids = ("traceId", "spanId", "parentSpanId")
    return {
        key: base64.b64encode(bytes.fromhex(value)).decode() if key in ids else with_base64_ids(value)
        for key, value in node.items()
    }


def test_the_protocols_own_definitions_take_every_field(log: TraceLog) -> None:
    (line,) = json_lines(log).splitlines()
    parsed = json_format.ParseDict(with_base64_ids(json.loads(line)), ExportTraceServiceRequest())
    (resource,) = parsed.resource_spans
    found = resource.scope_spans[0].spans
    assert len(found) == len(spans(log))
    assert {(len(span.trace_id), len(span.span_id), span.kind) for span in found} == {(16, 8, Span.SPAN_KIND_INTERNAL)}
    assert all(0 < span.start_time_unix_nano <= span.end_time_unix_nano for span in found)
    roots = {span.span_id: span for span in found if not span.parent_span_id}
    assert {span.parent_span_id for span in found if span.parent_span_id} == set(roots)
    assert [span.status.code for span in roots.values()] == [Status.STATUS_CODE_UNSET, Status.STATUS_CODE_ERROR]
    attributes = {one.key: one.value for one in next(iter(roots.values())).attributes}
    assert (attributes["part"].int_value, attributes["late"].bool_value) == (7, False)
    assert attributes["budget_ms"].double_value == 100.0
    back = json_format.MessageToDict(parsed)
    assert json_format.ParseDict(back, ExportTraceServiceRequest()) == parsed


def test_times_are_those_of_the_wall_clock_as_text(log: TraceLog) -> None:
    run, frame = log.runs[0], log.frames[0]
    expected = frame.exposed_ns - run.started_ns + run.started_utc_ns
    assert spans(log)[0]["startTimeUnixNano"] == str(expected)


def test_a_frame_over_its_budget_is_an_error_and_has_what_happened_to_its_camera(log: TraceLog) -> None:
    first, second = (span for span in spans(log) if span["name"] == "frame")
    assert "status" not in first
    assert second["status"] == {"code": 2, "message": "over its budget"}
    assert [one["name"] for one in second["events"]] == ["gc"]


def test_a_file_is_one_request_a_line_of_so_many_frames(write: Callable[..., Path]) -> None:
    frames = [make_frame(seq, spans=[]) for seq in range(FRAMES_A_REQUEST + 1)]
    lines = json_lines(read_trace(write(*frames))).splitlines()
    sizes = [len(json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"]) for line in lines]
    assert sizes == [FRAMES_A_REQUEST, 1]


def test_without_the_run_there_is_no_date_and_so_no_span() -> None:
    log = read_lines(Path("x.jsonl"), [encode_record(make_frame(1))])
    with pytest.raises(ConfigError, match=r"its first line .* is missing"):
        list(requests(log))


class Collector(BaseHTTPRequestHandler):
    """Takes what is posted to /v1/traces and refuses all else."""

    taken: list[dict] = []  # noqa: RUF012 - the handler is made anew for each request

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/v1/traces" and self.headers["Content-Type"] == "application/json":
            self.taken.append(json.loads(body))
        self.send_response(200 if self.path == "/v1/traces" else 404)
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def collector() -> Iterator[str]:
    Collector.taken.clear()
    with HTTPServer(("127.0.0.1", 0), Collector) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_collector_gets_all_of_it(log: TraceLog, collector: str) -> None:
    assert send(log, f"{collector}/v1/traces") == 1
    assert Collector.taken == list(requests(log))


@pytest.mark.parametrize(
    ("path", "error", "words"),
    [
        ("{collector}/elsewhere", SinkLost, "Not Found"),  # not its address
        ("http://127.0.0.1:{free_port}/v1/traces", SinkLost, "refused"),  # nobody there
        ("file:///etc/passwd", ConfigError, "not an address of a collector"),
    ],
)
def test_a_collector_that_does_not_take_it_is_an_error_that_says_why(
    log: TraceLog, collector: str, free_port: int, path: str, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        send(log, path.format(collector=collector, free_port=free_port))
