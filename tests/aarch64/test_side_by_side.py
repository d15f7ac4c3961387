"""The comparison of two machines' results sees what differs; it runs everywhere, the machines do not."""

import json
from pathlib import Path

import pytest

from tests.aarch64.side_by_side import compare, read_results


def box(name="screw", score=0.9, xyxy=(10.0, 10.0, 50.0, 50.0)):
    return {"class": name, "score": score, "xyxy": list(xyxy)}


def result(*boxes, verdict="OK", reasons=()):
    return {
        "type": "result",
        "label": "a.jpg",
        "verdict": verdict,
        "reasons": [{"code": "rule", "text": text} for text in reasons],
        "detections": list(boxes),
    }


MOVED = (10.0, 10.0, 50.6, 50.0)
AWAY = (200.0, 10.0, 240.0, 50.0)

# What one machine and the other say of a picture, and the words of the fault.
CASES = [
    # the same
    (result(box()), result(box()), None),
    # nothing found by either
    (result(), result(), None),
    # a rounding apart
    (result(box(score=0.9)), result(box(score=0.9004, xyxy=(10.01, 10, 50, 50))), None),
    # the same boxes in another order
    (result(box(), box(xyxy=AWAY)), result(box(xyxy=AWAY), box()), None),
    # another verdict
    (result(box()), result(box(), verdict="NG"), "another verdict"),
    # the same verdict for another reason
    (result(reasons=["forbidden: hole"]), result(reasons=["forbidden: brass"]), "other reasons"),
    # the same reason with numbers that are compared as boxes
    (result(reasons=["scratch 0.69 at 1,2"]), result(reasons=["scratch 0.7 at 1,3"]), None),
    # one object less
    (result(box(), box(xyxy=AWAY)), result(box()), "other objects"),
    # another class at the same place
    (result(box()), result(box("hole")), "other objects"),
    # a score too far away
    (result(box(score=0.9)), result(box(score=0.89)), "boxes differ by 0.0100"),
    # an edge too far away
    (result(box()), result(box(xyxy=MOVED)), "0.60 px"),
    # a picture that one did not judge
    (result(box()), None, "only one of both"),
]


@pytest.mark.parametrize(("one", "other", "fault"), CASES)
def test_what_differs_is_said(one, other, fault) -> None:
    (row,) = compare({"a.jpg": one}, {} if other is None else {"a.jpg": other})
    assert len(row.faults) == (fault is not None), row.faults
    assert fault is None or fault in row.faults[0]


def test_the_last_word_on_a_picture_counts_and_other_messages_do_not(tmp_path: Path) -> None:
    lines = [{"type": "event"}, result(verdict="UNKNOWN"), result(verdict="NG")]
    path = tmp_path / "results.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert {name: found["verdict"] for name, found in read_results(path).items()} == {"a.jpg": "NG"}
