"""The export for Perfetto: a structure that its importer takes."""

import json
from collections import defaultdict
from itertools import pairwise

import pytest

from app.latency.trace_reader import read_trace
from app.traces.perfetto import document, trace_events
from tests.traces.conftest import MS, USUAL_MS, event, jitter, make_frame


@pytest.fixture
def rows(write) -> list[dict]:
    """Forty frames that overlap one another on their way, two cameras, and every kind of event."""
    frames = [make_frame(seq, **{**jitter(seq), "publish": 130.0, "slot": 70.0}) for seq in range(1, 21)]
    frames += [make_frame(seq, camera="back", **jitter(seq + 500)) for seq in range(1, 21)]
    frames.append(make_frame(5, rev=2, inference=60.0))
    frames.append(make_frame(30, fate="skipped", verdict=None, publish=None, present=None))
    frames.append(make_frame(31, spans=[]))
    events = [
        event("gc", 55 * MS, 80 * MS),
        event("level", 120 * MS, camera="front", data={"odd": {1}}),
        event("clock", 0, 1000 * MS, data={"mhz": 1800}),
        event("throttle", 100 * MS, 300 * MS),
    ]
    log = read_trace(write(*frames, *events))
    return json.loads(document(log, trace_events(log)))["traceEvents"]


def of(rows: list[dict], phases: str) -> list[dict]:
    return [row for row in rows if row["ph"] in phases]


def test_every_row_has_what_its_phase_asks_for(rows) -> None:
    needs = {
        "M": {"pid", "tid", "name", "args"},
        "X": {"pid", "tid", "name", "cat", "ts", "dur"},
        "s": {"pid", "tid", "name", "cat", "ts", "id"},
        "t": {"pid", "tid", "name", "cat", "ts", "id"},
        "f": {"pid", "tid", "name", "cat", "ts", "id", "bp"},
        "i": {"pid", "tid", "name", "ts", "s"},
        "C": {"pid", "name", "ts", "args"},
    }
    assert {row["ph"] for row in rows} == set(needs)
    for row in rows:
        assert needs[row["ph"]] <= set(row), row
    assert all(row["ts"] >= 0 and row.get("dur", 1) > 0 for row in rows if "ts" in row)
    assert [row["ts"] for row in rows if "ts" in row] == sorted(row["ts"] for row in rows if "ts" in row)


def test_every_track_has_a_name_and_threads_are_tracks(rows) -> None:
    names = {row["tid"]: row["args"]["name"] for row in rows if row["name"] == "thread_name"}
    assert {row["tid"] for row in of(rows, "Xstfi")} <= set(names)
    assert len(set(names.values())) == len(names)
    assert {"capture-front", "capture-back", "waiting", "inspect", "outbox", "subscriber"} <= set(names.values())
    (process,) = (row for row in rows if row["name"] == "process_name")
    assert process["args"]["name"] == "taktsight covers"


def test_slices_of_one_track_never_overlap(rows) -> None:
    tracks = defaultdict(list)
    for row in of(rows, "X"):
        tracks[row["tid"]].append((row["ts"], row["ts"] + row["dur"]))
    assert len(tracks) > 6
    for slices in tracks.values():
        slices.sort()
        assert all(before[1] < after[0] for before, after in pairwise(slices)), "nor touch: some viewers nest them then"


def test_a_flow_runs_through_all_slices_of_its_frame_and_binds_to_each(rows) -> None:
    flows = defaultdict(list)
    for row in of(rows, "stf"):
        flows[row["id"]].append(row)
    assert len(flows) == 41, "every frame with steps, each once"
    slices = {(row["tid"], row["ts"]): row for row in of(rows, "X")}
    for ends in flows.values():
        ends.sort(key=lambda row: row["ts"])
        assert [row["ph"] for row in ends] == ["s", *"t" * (len(ends) - 2), "f"]
        bound = [slices[row["tid"], row["ts"]] for row in ends]
        assert len({row["args"]["trace_id"] for row in bound}) == 1
        assert ends[-1]["bp"] == "e"
    assert max(map(len, flows.values())) == len(USUAL_MS)


def test_slices_say_what_and_whose_they_are(rows) -> None:
    inference = next(row for row in of(rows, "X") if row["name"] == "inference")
    assert inference["cat"] == "inference"
    assert {"trace_id", "camera", "seq", "verdict"} <= set(inference["args"])
    lengths = [
        row["dur"]
        for row in of(rows, "X")
        if row["args"].get("trace_id") == "run-front-000005" and row["name"] == "inference"
    ]
    assert lengths == [59_999.999], "microseconds, of the last revision alone, less 1 ns"


def test_what_happened_beside_the_frames_is_there(rows) -> None:
    (instant,) = of(rows, "i")
    assert (instant["s"], instant["ts"], instant["name"]) == ("p", 120_000.0, "level: level happened")
    (clock,) = of(rows, "C")
    assert clock["args"] == {"MHz": 1800}
    lengths = {row["name"]: row["dur"] for row in of(rows, "X") if row["cat"] == "system"}
    assert lengths == {"gc": 24_999.999, "throttle": 199_999.999}
