"""The report: whole, self-contained, and saying what it must."""

import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from app.errors import ConfigError
from app.latency.trace_file import encode_record
from app.latency.trace_reader import read_lines, read_trace
from app.traces.report import report
from app.verdict import Verdict
from tests.traces.conftest import MS, PERIOD_MS, event, jitter, make_frame

SLOW = (50, 120, 333, 400, 600)


@pytest.fixture
def log(write):
    """Six hundred frames, five slow ones because of collections, two passed over, and all kinds of events."""
    frames = [
        make_frame(seq, **{**jitter(seq), **({"inference": 120.0} if seq in SLOW else {})}) for seq in range(1, 601)
    ]
    frames[9] = make_frame(10, verdict=Verdict.NG, part=4, label="<b>&\"'", **jitter(10))
    frames += [make_frame(seq, fate="skipped", verdict=None, publish=None, present=None) for seq in (700, 701)]
    events = [event("gc", (seq * PERIOD_MS + 9) * MS, (seq * PERIOD_MS + 99) * MS) for seq in SLOW]
    events += [event("level", 200 * MS, camera="front"), event("dropped", 300 * MS, data={"count": 3})]
    events += [
        event("clock", s * 1000 * MS, (s + 1) * 1000 * MS, data={"mhz": 900 if s == 9 else 1800}) for s in range(30)
    ]
    path = write(*frames, *events)
    path.write_bytes(path.read_bytes() + b"broken\n")
    return read_trace(path)


@pytest.fixture
def tree(log) -> ElementTree.Element:
    return ElementTree.fromstring(report(log).removeprefix("<!DOCTYPE html>\n"))


def words(element: ElementTree.Element) -> str:
    return " ".join(" ".join(element.itertext()).split())


def section(tree: ElementTree.Element, title: str) -> ElementTree.Element:
    (found,) = (part for part in tree.iter("section") if title in words(part.find("h2")))
    return found


def rows(element: ElementTree.Element) -> dict[str, list[str]]:
    return {words(row[0]): [words(cell) for cell in row[1:]] for row in element.iter("tr")}


def test_it_is_well_formed_and_names_its_language_and_line(tree) -> None:
    assert tree.tag == "html"
    assert tree.get("lang") == "en"
    assert words(tree.find("head/title")) == "Taktsight: covers"


def test_it_fetches_nothing_and_runs_nothing(log) -> None:
    page = report(log)
    assert not re.search(
        r"(https?:)?//|@import|url\(|<script|<link|<img|<iframe|\bsrc=|\bhref=", page.replace("<!DOCTYPE", "")
    )


def test_what_a_trace_says_is_shown_and_never_run(log) -> None:
    assert "<b>&" not in report(log)


def test_the_figures_of_a_glance_stand_at_the_top(tree) -> None:
    tiles = [words(tile) for tile in tree.iter("div") if tile.get("class") == "tile"]
    assert re.match(r"30\.\d ms median", tiles[0])
    assert "99th percentile of 600" in tiles[1]
    assert tiles[3] == "100 ms budget"
    assert tiles[4] == "5 over the budget (0.8%)"
    assert tiles[5] == "600 599 OK, 1 NG"
    assert tiles[6] == "2 frames passed over by the gate"


def test_a_frame_that_said_it_is_late_is_over_the_budget_and_is_told_apart(write: Callable[..., Path]) -> None:
    first = make_frame(5, inference=None, verdict=Verdict.UNKNOWN)
    frames = [make_frame(seq, inference=200.0 if seq in (5, 6) else 20.0) for seq in range(1, 31)]
    frames[4] = make_frame(5, inference=200.0, rev=2, late=True)
    said = words(ElementTree.fromstring(report(read_trace(write(first, *frames))).removeprefix("<!DOCTYPE html>\n")))
    assert "2 over the budget (6.7%); 1 had said UNKNOWN/late before" in said
    assert "30 30 OK" in said, "one frame is counted once"


def test_one_sentence_says_who_takes_the_time_and_who_makes_the_tail(tree) -> None:
    (lead,) = (p for p in tree.iter("p") if p.get("class") == "lead")
    assert re.match(
        r"Of a typical frame, inference takes 6\d% \(\d\d\.\d ms\)\. Inference makes the tail: ", words(lead)
    )


def test_the_budget_table_has_every_stage_with_its_share_and_its_breaches(tree) -> None:
    table = rows(section(tree, "the budget"))
    assert table["inference"][0] == "35.0 ms"
    assert table["inference"][-1] == "5 (0.8%)"
    assert table["capture"][-1] == "0"
    assert table["wait"][0] == ""
    assert table["total, to the broker"][0] == "100.0 ms"
    assert table["total, to the broker"][-1] == "5 (0.8%)"
    assert set(table) >= {"capture", "preprocess", "inference", "postprocess", "network", "presentation"}


def test_the_waterfalls_show_every_step_of_the_typical_and_the_slowest_frame(tree) -> None:
    part = section(tree, "two frames")
    pictures = part.findall("svg")
    titles = [words(title) for title in part.findall("h3")]
    assert [title.split(":")[0] for title in titles] == ["Typical frame", "Slowest frame"]
    for picture in pictures:
        steps = [shape.findtext("title") for shape in picture.iter("rect")]
        assert sum(step is not None and "inspect" in step for step in steps) == 4
        assert "budget" in words(picture)
    assert "gc: gc happened" in [shape.findtext("title") for shape in pictures[1].iter("rect")]


def test_percentiles_over_time_are_three_lines_beside_the_budget_and_the_events(tree) -> None:
    picture = section(tree, "over time").find("svg")
    said = words(picture)
    for word in (
        "p50",
        "p90",
        "p99",
        "budget 100.0 ms",
        "garbage collection",
        "change of the budget's level",
        "low clock speed",
    ):
        assert word in said
    strokes = [path.get("stroke") for path in picture.iter("path") if path.get("stroke")]
    assert strokes == ["var(--p50)", "var(--p90)", "var(--p99)"]
    red = [dot for dot in picture.iter("circle") if dot.get("fill") == "var(--alarm)"]
    assert len(red) == 5


def test_one_frame_of_ten_seconds_does_not_press_the_others_to_the_floor(write: Callable[..., Path]) -> None:
    frames = [make_frame(seq, publish=10_000.0 if seq == 50 else 2.0) for seq in range(1, 301)]
    tree = ElementTree.fromstring(report(read_trace(write(*frames))).removeprefix("<!DOCTYPE html>\n"))
    picture = section(tree, "over time").find("svg")
    assert max(float(dot.get("cy")) for dot in picture.iter("circle")) - 12 < 0.95 * 240
    (triangle,) = (path for path in picture.iter("path") if path.get("fill") == "var(--alarm)")
    assert "10,028" in triangle.findtext("title")


def test_every_stage_has_its_histogram_in_which_no_frame_is_lost(tree) -> None:
    picture = section(tree, "how each stage is spread").find("svg")
    said = words(picture)
    assert said.count("n 600") == 7, "capture, wait, preprocess, inference, postprocess, network, presentation"
    counted = [
        int(re.match(r"(\d+) frames from", title.text)[1])
        for title in picture.iter("title")
        if "frames from" in title.text
    ]
    assert sum(counted) == 7 * 600


def test_the_tail_names_its_culprit_and_what_went_with_it(tree) -> None:
    part = section(tree, "The tail")
    table = rows(part)
    assert table["inference"][3:5] == ["100%", "6 frames"]
    assert table["garbage collection"][:2] == ["5", "83%"], "five of the six slowest"
    assert "garbage collection goes with the tail" in words(part)


def test_the_slowest_frames_are_listed_worst_first(tree) -> None:
    listed = [words(code) for code in section(tree, "The slowest frames").iter("code")]
    assert len(listed) == 10
    assert set(listed[:5]) == {f"run-front-{seq:06d}" for seq in SLOW}


def test_what_could_not_be_read_or_written_is_said(tree) -> None:
    said = words(tree.find("body/main/footer"))
    assert "1 broken lines left out (line 641: " in said
    assert "The writer dropped 3 lines." in said


def test_dark_and_light_have_the_same_colours_to_fill_in(log) -> None:
    style = re.search(r"<style>(.*?)</style>", report(log), re.DOTALL)[1]
    light, dark = (
        set(re.findall(r"(--[a-z0-9]+):#", part)) for part in style.split("@media(prefers-color-scheme:dark)")[:2]
    )
    assert dark == light
    used = set(re.findall(r"var\((--[a-z0-9]+)\)", report(log)))
    assert used <= light | {"--font"}


def test_each_camera_has_its_own_pictures(write: Callable[..., Path]) -> None:
    frames = [make_frame(seq, camera=camera, **jitter(seq)) for seq in range(1, 30) for camera in ("a", "b")]
    said = report(read_trace(write(*frames)))
    for camera in ("a", "b"):
        assert f"{camera}: over time" in said


@pytest.mark.parametrize(
    "frames",
    [
        [make_frame(1)],  # one frame
        [make_frame(1), make_frame(2, spans=[])],  # one of which nothing is known
        [make_frame(seq, inference=None) for seq in range(1, 30)],  # none inspected
        [make_frame(seq, publish=5_000_000.0 if seq == 3 else 1.0) for seq in range(1, 30)],  # one of an hour
        [make_frame(1, budget_ms=0.0)] * 2,
    ],
    ids=["one", "no steps", "none inspected", "an hour", "no budget"],
)
def test_odd_files_have_a_report_too(write: Callable[..., Path], frames: list) -> None:
    page = report(read_trace(write(*frames)))
    ElementTree.fromstring(page.removeprefix("<!DOCTYPE html>\n"))
    assert "nan" not in re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL).lower().split()


def test_a_file_without_its_first_line_has_a_report_too() -> None:
    log = read_lines(Path("x.jsonl"), [encode_record(make_frame(seq)) for seq in range(1, 20)])
    assert "the file says nothing of its run" in report(log)


def test_a_file_in_which_no_frame_has_a_verdict_is_refused(write: Callable[..., Path]) -> None:
    log = read_trace(write(make_frame(1, fate="skipped", verdict=None)))
    with pytest.raises(ConfigError, match="no frame in it has a verdict"):
        report(log)
