"""What of a configuration can be changed while the line runs, and what has to be done for it."""

import pytest

from app.config.changes import Changes, changes, same_gate, same_hurry

JUDGE = "judge: {score: 0.5}"
SIDE = "  side:\n    source: {kind: synthetic}\n    model: parts\n"


@pytest.fixture
def compare(small, read):
    """Return a function that compares the small configuration with one of which something differs."""

    def compare(camera=JUDGE, also="", more="", **pieces):
        before = read(small(camera=JUDGE)).config
        text = small(camera=camera, **pieces).replace("models:\n", also + "models:\n") + more
        return changes(before, read(text).config)

    return compare


@pytest.mark.parametrize(
    ("pieces", "found"),
    [
        ({}, Changes()),
        ({"camera": "judge: {score: 0.6}"}, Changes(rejudged=("front",))),
        ({"camera": JUDGE + "\n    budget_ms: 50"}, Changes(rejudged=("front",))),
        ({"camera": JUDGE + "\n    gate: {class: part}"}, Changes(rejudged=("front",))),
        ({"camera": JUDGE + "\n    guard: {black: false}"}, Changes(reopened=("front",))),  # the feed owns it
        ({"source": "{kind: synthetic, fps: 7}"}, Changes(reopened=("front",))),
        # both: the camera is made anew, its rules with it
        ({"source": "{kind: synthetic, fps: 7}", "camera": "judge: {score: 0.6}"}, Changes(reopened=("front",))),
        ({"also": SIDE}, Changes(added=("side",))),
        ({"more": "log: {level: debug}\n"}, Changes(log=True)),
        ({"more": "latency: {alerts: {p99_ms: 40}}\n"}, Changes(alerts=True)),
        ({"more": "latency: {period_s: 3}\n"}, Changes(refused=("latency.period_s",))),
        ({"more": "log: {format: json}\n"}, Changes(log=True, refused=("log.format",))),
        ({"line": "two"}, Changes(refused=("line",))),
        ({"mqtt": "{port: 1884}"}, Changes(refused=("mqtt",))),
        ({"part": ", threads: 3"}, Changes(models=("parts",), rejudged=("front",))),  # loaded beside, then exchanged
    ],
)
def test_each_difference_is_sorted_by_what_it_takes(compare, pieces, found):
    assert compare(**pieces) == found


def test_a_camera_that_is_gone_is_removed(small, read):
    both = read(small(camera=JUDGE).replace("models:\n", SIDE + "models:\n")).config
    assert changes(both, read(small(camera=JUDGE)).config) == Changes(removed=("side",))


def test_what_was_found_is_a_sentence():
    assert str(Changes()) == "nothing"
    found = Changes(added=("a", "b"), removed=("c",), reopened=("d",), rejudged=("e",), log=True, alerts=True)
    assert str(found) == "added a, b; removed c; opened again d; judged anew e; log; alerts"


@pytest.mark.parametrize(
    ("camera", "gate_stays", "plan_stays"),
    [
        ("judge: {score: 0.6}", True, True),
        ("budget_ms: 40", True, False),
        ("gate: {class: part}", False, True),
    ],
)
def test_a_gate_and_a_plan_stay_where_they_hold_as_well(small, read, camera, gate_stays, plan_stays):
    old, new = (read(small(camera=text)).config.cameras["front"] for text in (JUDGE, camera))
    assert (same_gate(old, new), same_hurry(old, new)) == (gate_stays, plan_stays)
