"""Results that the broker has, and what subscribers say of them."""

import pytest

from app.publish import answers as module
from app.publish.answers import Answers
from app.publish.message import Ack

MS = 1_000_000


def ack(message_id, client="panel"):
    return Ack(id=message_id, trace_id="t", hold_ms=1.0, client=client)


def test_every_subscriber_answers_once_and_the_first_is_known(outcome):
    answers = Answers()
    assert answers.delivered("a", outcome(), 10 * MS) == []
    first, again, other = (answers.shown(ack("a", client), 15 * MS) for client in ("panel", "panel", "tablet"))
    assert (first.is_first, first.shown_ns - first.delivered_ns) == (True, 5 * MS)
    assert again is None
    assert (other.is_first, other.ack.client) == (False, "tablet")


def test_an_answer_faster_than_the_brokers_own_is_kept_for_its_result(outcome):
    answers = Answers()
    assert answers.shown(ack("a"), 9 * MS) is None
    assert answers.shown(ack("a", "tablet"), 12 * MS) is None
    early = answers.delivered("a", outcome(), 10 * MS)
    assert [(answer.ack.client, answer.shown_ns, answer.is_first) for answer in early] == [
        ("panel", 10 * MS, True),
        ("tablet", 12 * MS, False),
    ]


def test_results_nobody_answers_are_forgotten_after_half_a_minute(outcome):
    answers = Answers()
    answers.delivered("a", outcome(), 0)
    answers.delivered("b", outcome(), module.AWAIT_NS)
    assert answers.shown(ack("a"), module.AWAIT_NS) is not None
    answers.delivered("c", outcome(), module.AWAIT_NS + 1)
    assert answers.shown(ack("a", "tablet"), module.AWAIT_NS + 2) is None
    assert answers.shown(ack("b"), module.AWAIT_NS + 2) is not None


@pytest.mark.parametrize("known", [True, False])
def test_neither_results_nor_clients_nor_rubbish_pile_up(outcome, known):
    answers = Answers()
    for n in range(1000):
        if known:
            answers.delivered(f"{n}", outcome(), n)
        answers.shown(ack(f"{n}"), n)
    for n in range(1000):
        answers.shown(ack("999", f"client {n}"), n)
    assert len(answers._awaited) == (module.MAX_AWAITED if known else 0)
    assert len(answers._early) <= module.MAX_AWAITED
    kept = answers._awaited["999"].clients if known else answers._early["999"]
    assert len(kept) == module.MAX_ANSWERS
