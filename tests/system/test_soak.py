"""A soak of twenty seconds: the long one is scripts/soak, and the figures of one are in docs/reliability.md."""

import pytest

from app.bench.soak.checks import checks
from app.bench.soak.faults import KINDS, plan_of
from app.bench.soak.run import Soak

pytestmark = pytest.mark.broker

SECONDS = 20
WHICH = ("broker", "frozen", "disk", "hang", "clock", "reload", "commands")


def test_a_line_that_everything_happens_to_loses_nothing_and_accounts_for_every_frame() -> None:
    kinds = [kind for kind in KINDS if kind.name in WHICH]
    found = Soak(plan_of(SECONDS, kinds, least_slot_s=SECONDS / len(kinds)), 10.0).run()
    wrong = [f"{check.name}: {check.text}" for check in checks(found) if not check.met]
    assert wrong == []
    names = {fault.kind.name for fault, _ in found.done}
    assert names == set(WHICH) - (set() if found.has_disk else {"disk"})
    assert found.arrived.notes.get("step"), "the clock was set, and the results say so"
    assert len(found.judged) > SECONDS * 10, "three cameras gave ten pictures a second"
