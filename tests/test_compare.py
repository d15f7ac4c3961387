"""What a trial is worth: the table, the test, the sentences."""

import json

import pytest
from rich.console import Console

from app.compare import Comparison, Trial, mcnemar, sentences, show_comparison, trials
from app.errors import ConfigError
from app.publish.message import Event, encode


def event(verdict="OK", other="OK", *, camera="front", candidate="new", kind="shadow", **more):
    data = {"verdict": verdict, "candidate_verdict": other, "model": "old", "candidate": candidate, "ms": 10.0,
            "candidate_ms": 8.0, **more}  # fmt: skip
    return Event(id="e", line="l", camera=camera, kind=kind, text="t", utc="u", data=data)


@pytest.mark.parametrize(
    ("one_way", "other_way", "p"),
    [
        (0, 0, 1.0),  # they never differ
        (1, 1, 1.0),
        (5, 0, 2 / 2**5),  # five heads in a row, either way
        (0, 5, 2 / 2**5),
        (6, 1, 2 * (1 + 7) / 2**7),
        (10, 2, 2 * (1 + 12 + 66) / 2**12),
        (3, 3, 1.0),  # the doubled tail is over 1
    ],
)
def test_mcnemar_s_exact_test_by_hand(one_way, other_way, p):
    assert mcnemar(one_way, other_way) == pytest.approx(p)


def test_events_are_summed_up_by_camera_and_candidate():
    found = list(trials([event(), event("NG", "OK"), event(camera="side"), event(kind="camera")]))
    assert [(trial.camera, trial.pictures, trial.agreed) for trial in found] == [("front", 2, 1), ("side", 1, 1)]


def test_ng_by_one_alone_counts_unknown_on_the_other_side_as_well():
    trial = Trial("c", "new")
    for verdict, other in (("NG", "UNKNOWN"), ("NG", "OK"), ("OK", "NG"), ("NG", "NG"), ("UNKNOWN", "OK")):
        trial.add(
            Comparison(verdict=verdict, candidate_verdict=other, model="m", candidate="new", ms=1, candidate_ms=1)
        )
    assert (trial.only_model_ng, trial.only_candidate_ng, trial.agreed) == (2, 1, 1)


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        ([("OK", "OK")] * 9, "McNemar: nothing to tell them apart by"),
        ([("NG", "OK")] * 9, "McNemar: p = 0.00391: the line's model says NG more often, and not by chance"),
        ([("OK", "NG")] * 9, "the candidate says NG more often, and not by chance"),
        ([("NG", "OK"), ("OK", "NG")], "McNemar: p = 1: that may well be chance"),
    ],
)
def test_the_sentence_says_what_the_numbers_mean(pairs, said):
    (trial,) = trials(event(*pair) for pair in pairs)
    assert any(said in text for text in sentences(trial))


def test_a_file_of_messages_is_read_and_a_line_that_is_cut_off_is_passed_over(tmp_path):
    lines = [encode(event()), encode(event("NG", "OK", lost={"scratch": 2}, evidence="a/b.json")), b'{"type":"eve']
    (tmp_path / "results.jsonl").write_bytes(b"\n".join(lines))
    console = Console(record=True, width=140)
    show_comparison([tmp_path / "results.jsonl"], console, as_json=False)
    text = console.export_text()
    for part in (
        "front: new beside the line's model, 2 pictures",
        "both agree on 1 of 2 (50.0%)",
        "2 scratch",
        "a/b.json",
    ):
        assert part in text


def test_the_figures_are_json_where_they_are_asked_for(tmp_path, capsys):
    (tmp_path / "r.jsonl").write_bytes(encode(event("NG", "OK")))
    show_comparison([tmp_path / "r.jsonl"], Console(), as_json=True)
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["pictures"], found["agreed"], found["verdicts"]) == (1, 0, {"NG/OK": 1})


def test_without_a_comparison_there_is_an_error_that_says_what_to_look_at(tmp_path):
    (tmp_path / "r.jsonl").write_bytes(encode(event(kind="camera")))
    with pytest.raises(ConfigError, match="does a camera have `shadow`"):
        show_comparison([tmp_path / "r.jsonl"], Console(), as_json=False)
    with pytest.raises(ConfigError, match="can't be read"):
        show_comparison([tmp_path / "none.jsonl"], Console(), as_json=False)
