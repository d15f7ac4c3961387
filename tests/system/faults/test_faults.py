"""Every fault between the judge and a subscriber, short: nothing that was judged is missing, nothing is invented.

`scripts/faults` runs each as long as it takes, and prints the table of docs/reliability.md.
"""

import pytest

from tests.system.faults.rig import Rig, check
from tests.system.faults.scenarios import (
    FAULTS,
    SHORT,
    broker_away,
    broker_restarts,
    cut_in_packets,
    disk_full,
    killed,
    refused_login,
    refused_topics,
    run,
    slow_broker,
    two_of_one_id,
)

pytestmark = [pytest.mark.broker, pytest.mark.timeout(400)]  # 41 s where nothing else runs


def test_mq_17_nothing_that_was_judged_is_missing_after_one_fault_after_the_other() -> None:
    with Rig(fps=SHORT.rate, expiry_s=2.0) as rig:
        rig.service.start()
        rig.service.wait_for(10)
        for happen in (cut_in_packets, broker_away, slow_broker, refused_login, refused_topics, two_of_one_id):
            happen(rig, SHORT)
        broker_restarts(rig, SHORT)
        row = rig.end("one after the other")
    check(row)
    assert row.history > 0, "what was judged while the broker was away is no longer live"
    assert rig.service.warnings("refuses the connection"), "the broker never refused a log-in"


def test_mq_09_nothing_is_missing_where_results_are_larger_than_the_broker_takes() -> None:
    row = run(FAULTS["too_large"], SHORT)
    check(row)
    assert not row.note.startswith("0 "), "the broker's limit was never met"


def test_nothing_is_missing_after_kills_and_a_full_disk() -> None:
    with Rig(fps=SHORT.rate, expiry_s=60.0) as rig:
        rig.service.start()
        rig.service.wait_for(10)
        killed(rig, SHORT)
        disk_full(rig, SHORT)
        row = rig.end("kills and a full disk")
    check(row)
    assert rig.count.outbox == ["failed", "resumed"], "one alarm, and one all-clear"
