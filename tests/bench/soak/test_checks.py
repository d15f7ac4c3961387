"""What a soak is held to: each thing that goes wrong is seen, and is told."""

import json
from dataclasses import replace

import pytest
from rich.console import Console

from app.bench.soak.checks import MB, checks
from app.bench.soak.command import keep_log
from app.bench.soak.faults import KINDS, plan_of
from app.bench.soak.page import page
from app.bench.soak.receiver import Arrived
from app.bench.soak.rounds import table_of_rounds
from app.bench.soak.run import Found
from app.bench.soak.samples import Sample, growth

PLAN = plan_of(120)
COUNTS = {"captured": 9, "judged": 4, "overwritten": 1, "skipped": 1, "late": 1, "failed": 1, "waiting": 1}
LAST_LINE = {"level": "info", "event": "front: 9 captured = …", "camera": "front", "counts": {**COUNTS, "settled_twice": 0}}  # fmt: skip


def samples(rss_mb=lambda at_s: 180.0, files=lambda at_s: 19, threads=lambda at_s: 17):
    """A look twice a second."""
    times = [number / 2 for number in range(240)]
    return [Sample(at_s, int(rss_mb(at_s) * MB), files(at_s), threads(at_s), 0, 60.0) for at_s in times]


def found(**changes):
    """A soak in which all is well, but for the changes."""
    good = {
        "done": [(fault, fault.begins_s + fault.lasts_s) for fault in PLAN.faults],
        "samples": samples(),
        "looked": 60,
        "judged": {"run-front-1.1", "run-front-2.1"},
        "arrived": Arrived(ids={"run-front-1.1", "run-front-2.1"}, notes={"ok": 2}),
        "asked": 6,
        "log": [LAST_LINE],
        "exit_code": 0,
        "stop_s": 0.4,
    }
    return Found(PLAN, 20.0, **(good | changes))


def unmet(one):
    return [check.name for check in checks(one) if not check.met]


def test_all_is_well_where_nothing_is_wrong():
    assert unmet(found()) == []
    assert len(checks(found())) == 9


ARRIVED = Arrived(ids={"run-front-1.1", "run-front-2.1"})


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"judged": {"run-front-1.1", "run-front-2.1", "run-front-3.1"}}, "every result arrives"),  # one is missing
        ({"judged": {"run-front-1.1"}}, "every result arrives"),  # one was made up
        ({"judged": set(), "arrived": Arrived()}, "every result arrives"),  # nothing was judged: that proves nothing
        ({"arrived": replace(ARRIVED, negative=["run-front-1.1: {'wait': -3}"])}, "no time below zero"),
        ({"unbalanced": ["12 s: front: …"]}, "every frame is accounted for"),
        ({"log": []}, "every frame is accounted for"),  # the line said nothing at its end
        (
            {"log": [LAST_LINE | {"counts": {**COUNTS, "judged": 3, "settled_twice": 0}}]},
            "every frame is accounted for",
        ),
        ({"log": [LAST_LINE | {"counts": {**COUNTS, "settled_twice": 1}}]}, "every frame is accounted for"),
        ({"samples": samples(rss_mb=lambda at_s: 180 + at_s / 2)}, "memory does not grow by 10 MB"),
        ({"samples": samples(files=lambda at_s: 19 + at_s // 30)}, "files stay as many"),
        ({"samples": samples(threads=lambda at_s: 17 + (at_s > 100))}, "threads stay as many"),
        ({"log": [LAST_LINE, {"level": "error", "event": "boom", "exception": "…"}]}, "nothing unforeseen in the log"),
        ({"unanswered": ["soak-3: None"]}, "every command is answered"),
        ({"exit_code": None}, "it stops when it is told to"),
        ({"stop_s": 7.0}, "it stops when it is told to"),
    ],
)
def test_each_thing_that_is_wrong_is_told_by_its_name(changes, name):
    assert unmet(found(**changes)) == [name]


def test_half_an_hour_of_rounds_is_held_to_less_than_two_rounds_of_noise():
    plan = plan_of(1800)
    looks = [Sample(at_s, int((180 + at_s / 200) * MB), 19, 17, 0, 60.0) for at_s in range(1800)]
    done = [(fault, fault.begins_s + fault.lasts_s) for fault in plan.faults]
    assert unmet(replace(found(done=done, samples=looks), plan=plan)) == ["memory does not grow by 5 MB"]


def test_what_is_high_only_while_a_fault_lasts_is_no_growth():
    def high(at_s):
        return 180.0 if PLAN.is_settled(at_s) else 400.0

    assert growth(samples(rss_mb=high), PLAN, "rss_bytes").value == 0


def test_what_grows_in_the_first_round_is_the_warm_up():
    first_s = PLAN.slot_s * len(KINDS)
    assert growth(samples(rss_mb=lambda at_s: 100.0 if at_s < first_s else 180.0), PLAN, "rss_bytes").value == 0


def test_growth_is_judged_by_the_line_through_all_rounds_and_the_two_ends_are_told_beside_it():
    """A last round that is high for once is less than it looks; a steady climb is all of it."""
    plan = plan_of(4 * 60)
    round_s = plan.slot_s * len(KINDS)
    times = [number / 2 for number in range(480)]

    def seen(mb_of_round):
        looks = [Sample(at_s, int(mb_of_round(int(at_s / round_s)) * MB), 1, 1) for at_s in times]
        return growth(looks, plan, "rss_bytes", min)

    once = seen(lambda number: 190.0 if number == plan.rounds - 1 else 180.0)
    climb = seen(lambda number: 180.0 + number)
    assert (plan.rounds, once.by_ends / MB) == (6, 10.0)
    assert once.value / MB == pytest.approx(8.0)
    assert climb.value / MB == pytest.approx(climb.by_ends / MB) == pytest.approx(4.0)


def test_each_round_is_a_row_with_all_that_tells_growth_from_noise():
    memory = {"level": "info", "event": "memory", "blocks": 352_493, "in_use": 100 * MB, "kept": 14 * MB}
    (row, *others) = rows_of(found(log=[memory, LAST_LINE], samples=samples(rss_mb=lambda at_s: 180 + at_s / 100)))
    assert len(others) == PLAN.rounds - 1
    assert row == ["1", "2 to 40", "180.0", "180.2", "180.4", "19", "17", "0", "0.0", "352493", "100.0", "14.0"]
    assert others[0][-3:] == ["-", "-", "-"], "the line said nothing of that round"


def rows_of(one):
    columns = [list(column.cells) for column in table_of_rounds(one).columns]
    return [list(row) for row in zip(*columns, strict=True)]


def test_what_a_failure_needs_is_kept_beside_the_page(tmp_path):
    bad = found(judged={"run-front-1.1", "run-front-3.1"}, log=[LAST_LINE, {"event": "boom", "exception": "…"}])
    keep_log(bad, tmp_path / "soak.log.jsonl", Console(quiet=True))
    kept = [json.loads(line) for line in (tmp_path / "soak.log.jsonl").read_text().splitlines()]
    assert kept[0]["camera"] == "front"
    assert kept[1] == {"event": "boom", "exception": "…"}
    assert kept[2:] == [
        {"event": "missing", "ids": ["run-front-3.1"]},
        {"event": "invented", "ids": ["run-front-2.1"]},
    ]


def test_an_error_in_the_log_is_told_with_what_its_traceback_ends_with():
    traceback = "Traceback (most recent call last):\n  …\nZeroDivisionError: bug\n"
    (one,) = [
        check
        for check in checks(found(log=[LAST_LINE, {"level": "error", "event": "boom", "exception": traceback}]))
        if not check.met
    ]
    assert one.text == "boom: ZeroDivisionError: bug"


def test_every_kind_of_fault_comes_once_a_round_and_is_over_before_the_line_is_measured():
    assert [fault.kind for fault in PLAN.faults] == list(KINDS) * 3
    assert all(not PLAN.is_settled(fault.begins_s + fault.lasts_s) for fault in PLAN.faults)
    assert plan_of(30 * 60).rounds == 8
    assert plan_of(5).rounds == 1


def test_the_page_shows_what_went_wrong_and_escapes_it():
    text = page(found(unanswered=["<b>"]), checks(found(unanswered=["<b>"])), {"load": "1.0"})
    assert text.count("<svg") == 6
    assert "&lt;b&gt;" in text
    assert "<b>" not in text
    assert all(kind.name in text for kind in KINDS)
