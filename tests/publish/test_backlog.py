"""What waits for a sink: in order, bounded, the least needed dropped first."""

import pytest

from app.publish.backlog import Backlog
from app.publish.parcels import Parcel
from app.verdict import Verdict

LATER_NS = 10_000_000_000


@pytest.fixture
def parcel(outcome):
    def make(seq, verdict=Verdict.OK, put_ns=0, boxes=1):
        return Parcel(str(seq), put_ns, outcome(seq, verdict, boxes=boxes))

    return make


def ids(parcels):
    return [parcel.message_id for parcel in parcels]


def emptied(backlog):
    return ids([backlog.next(0).parcel for _ in range(backlog.waiting)])


@pytest.mark.parametrize(
    ("verdicts", "dropped", "kept"),
    [
        ("OK OK OK OK OK", ["0", "1"], ["2", "3", "4"]),  # the oldest OK first
        ("NG OK UNKNOWN OK NG", ["1", "3"], ["0", "2", "4"]),  # NG and UNKNOWN stay while an OK is there
        ("NG NG UNKNOWN OK NG", ["3", "0"], ["1", "2", "4"]),  # no OK left: the oldest of all
    ],
)
def test_too_many_drops_ok_first_and_the_rest_last(parcel, verdicts, dropped, kept):
    backlog = Backlog(3, 1 << 30, 3600)
    for seq, verdict in enumerate(verdicts.split()):
        backlog.append(parcel(seq, Verdict(verdict)))
    assert ids(backlog.shed(LATER_NS)) == dropped
    assert emptied(backlog) == kept
    assert backlog.bytes == 0


def test_too_many_bytes_drops_as_too_many_parcels_does(parcel):
    one = parcel(0, boxes=100).bytes
    backlog = Backlog(1000, 3 * one, 3600)
    for seq in range(5):
        backlog.append(parcel(seq, boxes=100))
    assert ids(backlog.shed(LATER_NS)) == ["0", "1"]
    assert backlog.bytes == 3 * one


def test_what_is_too_old_goes_whatever_its_verdict(parcel):
    backlog = Backlog(10, 1 << 30, 10.0)
    backlog.append(parcel(0, Verdict.NG, put_ns=0))
    backlog.append(parcel(1, Verdict.OK, put_ns=1))
    assert ids(backlog.shed(LATER_NS + 1)) == ["0"]
    assert emptied(backlog) == ["1"]


def test_given_back_parcels_come_first_and_in_their_order(parcel):
    backlog = Backlog(10, 1 << 30, 3600)
    for seq in range(4):
        backlog.append(parcel(seq))
    backlog.give_back(ids([backlog.next(0).parcel, backlog.next(0).parcel]), 0)
    assert emptied(backlog) == ["0", "1", "2", "3"]


def test_a_given_back_ok_is_still_the_first_to_be_dropped(parcel):
    backlog = Backlog(2, 1 << 30, 3600)
    for seq in range(3):
        backlog.append(parcel(seq))
    backlog.give_back(ids([backlog.next(0).parcel]), 0)
    assert ids(backlog.shed(LATER_NS)) == ["0"]
