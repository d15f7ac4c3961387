"""What a frame may still afford: times of finished frames in, a plan out; knows no clock."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock

from app.latency.base import Level, Plan
from app.latency.running import Running

WINDOW = 40
"""Frames that the running p95 of a step is taken from; three slow ones among them move it."""
MIN_SAMPLES = 20
"""Below that a step's p95 is no more than its slowest frame, and is not believed."""
UP_AFTER = 20
"""Frames in a row that could afford more before a camera goes one level up."""
UP_MARGIN = 0.9
"""They could have afforded it in that share of their time."""
PROBE_LEVEL_AFTER = 50
"""Frames at a lower level after which one is tried a level higher, because only that tells what it would take now."""
PROBE_LATE_AFTER = 10
"""Frames given up in a row after which one is tried all the same, so that one slow spell starves nobody."""

_ALWAYS = ("decode", "judge", "publish")
_BY_INPUT = ("preprocess", "inference")


@dataclass(frozen=True, slots=True)
class Ladder:
    """What a camera can do without.

    Attributes:
        max_regions: regions of its second look; 0: it has none.
        small_input: whether it has a second, smaller network input.
    """

    max_regions: int = 0
    small_input: bool = False

    @property
    def levels(self) -> tuple[Level, ...]:
        """The levels that this camera has, best first; the last one is `LATE`."""
        fewer = (Level.FEWER_REGIONS,) if self.max_regions > 1 else ()
        without = (Level.NO_REFINE,) if self.max_regions else ()
        small = (Level.SMALL_INPUT,) if self.small_input else ()
        return (Level.FULL, *fewer, *without, *small, Level.LATE)


@dataclass(frozen=True, slots=True)
class Breach:
    """A stage that took more than its share, or `total` where all of them took more than the budget."""

    stage: str
    took_ms: float
    share_ms: float

    @property
    def over_ms(self) -> float:
        """By how much."""
        return self.took_ms - self.share_ms


def breaches(columns_ms: Mapping[str, float | None], shares_ms: Mapping[str, float]) -> tuple[Breach, ...]:
    """Return what took more than its share, in the order of the shares.

    Args:
        columns_ms: of a trace; None where a stage has not run.
        shares_ms: by stage.
    """
    spent = {stage: columns_ms.get(stage) or 0.0 for stage in shares_ms}
    return tuple(Breach(stage, spent[stage], share) for stage, share in shares_ms.items() if spent[stage] > share)


class Budget:
    """One camera's plans; safe to call from the threads that inspect and that publish.

    The estimate of what is ahead is the sum of each step's running p95, which is a little more than the p95 of the sum.

    Args:
        budget_ms: from the exposure to the broker's acknowledgement.
        reserve_ms: held back for jitter when a level is chosen; a frame is given up only when all of it is gone.
        ladder: what may be left out.
    """

    def __init__(self, budget_ms: float, reserve_ms: float, ladder: Ladder | None = None) -> None:
        self._budget_ms = budget_ms
        self._reserve_ms = reserve_ms
        self._ladder = ladder or Ladder()
        self._levels = self._ladder.levels[:-1]
        self._steps: dict[str, Running] = defaultdict(lambda: Running(WINDOW, "95"))
        self._at = 0
        self._better = self._since_probe = self._given_up = 0
        self._lock = Lock()

    def plan(self, spent_ms: float) -> Plan:
        """Plan for a frame that is picked now; see `Planner`."""
        left_ms = self._budget_ms - spent_ms
        with self._lock:
            if left_ms <= 0:
                return self._late()
            wanted = self._wanted(left_ms - self._reserve_ms)
            if wanted is not None:
                self._given_up = 0
                return self._move(wanted, left_ms)
            if self._need_ms(self._levels[-1], 0) > left_ms:
                return self._give_up(left_ms)
            self._given_up = 0
            return self._move(len(self._levels) - 1, left_ms)

    def regions(self, spent_ms: float, plan: Plan) -> Plan:
        """Cut the second look to what is left after decoding; see `Planner`."""
        if plan.max_regions == 0 or plan.probe:
            return plan
        with self._lock:
            after_ms = sum(self._steps[step].value for step in ("judge", "publish"))
            left_ms = self._budget_ms - spent_ms - self._reserve_ms - after_ms
            most = min(plan.max_regions, self._affordable(left_ms))
        return plan if most == plan.max_regions else self._with_regions(most)

    def learn(self, steps_ms: Mapping[str, float], plan: Plan, regions: int = 0) -> None:
        """Take the times of one frame's steps; see `Planner`."""
        with self._lock:
            for step, took_ms in steps_ms.items():
                if step == "refine" and regions:  # a look that found nothing worth it says nothing of the next one
                    self._take("refine", took_ms / regions, forget=plan.probe)
                elif step in _BY_INPUT:
                    self._take(_by_input(step, plan.level), took_ms, forget=plan.probe)
                elif step in _ALWAYS:
                    self._take(step, took_ms)

    # ── inside, with the lock held ───────────────────────────────────────────────────────────────────────────────────

    def _take(self, step: str, took_ms: float, *, forget: bool = False) -> None:
        """Take a sample; a probe that went better than the estimate ends what the estimate was made of."""
        running = self._steps[step]
        if forget and took_ms < running.value:
            running.clear()
        running.add(took_ms)

    def _value(self, step: str) -> float:
        running = self._steps[step]
        return running.value if len(running) >= MIN_SAMPLES else 0.0

    def _need_ms(self, level: Level, regions: int) -> float:
        """Estimate what is ahead of a frame that is picked now."""
        steps = (*_ALWAYS, *(_by_input(step, level) for step in _BY_INPUT))
        return sum(self._value(step) for step in steps) + regions * self._value("refine")

    def _affordable(self, left_ms: float) -> int:
        """How many regions fit in a time."""
        if left_ms <= 0:
            return 0
        one_ms = self._value("refine")
        most = self._ladder.max_regions
        return most if one_ms == 0 else min(most, int(left_ms / one_ms))

    def _regions_at(self, level: Level, left_ms: float) -> int:
        if level in (Level.NO_REFINE, Level.SMALL_INPUT, Level.LATE):
            return 0
        return self._ladder.max_regions if level is Level.FULL else self._affordable(left_ms - self._need_ms(level, 0))

    def _fits(self, index: int, left_ms: float) -> bool:
        level = self._levels[index]
        regions = self._regions_at(level, left_ms)
        if level is Level.FEWER_REGIONS and regions == 0:
            return False
        return self._need_ms(level, regions) <= left_ms

    def _wanted(self, left_ms: float) -> int | None:
        """Return the best level that fits, None where none does."""
        return next((index for index in range(len(self._levels)) if self._fits(index, left_ms)), None)

    def _move(self, wanted: int, left_ms: float) -> Plan:
        """Go down at once, up one level after enough frames in a row; try a better one now and then."""
        before = self._at
        if wanted >= self._at:
            self._at, self._better = wanted, 0
        else:
            roomy = self._fits(self._at - 1, UP_MARGIN * (left_ms - self._reserve_ms))
            self._better = self._better + 1 if roomy else 0
            if self._better >= UP_AFTER:
                self._at, self._better = self._at - 1, 0
        self._since_probe = self._since_probe + 1 if self._at == before else 0
        if self._at > 0 and self._since_probe >= PROBE_LEVEL_AFTER:
            self._since_probe = 0
            return self._planned(self._at - 1, left_ms, probe=True)
        return self._planned(self._at, left_ms)

    def _planned(self, index: int, left_ms: float, *, probe: bool = False) -> Plan:
        level = self._levels[index]
        regions = self._regions_at(level, left_ms - self._reserve_ms)
        if level is Level.FEWER_REGIONS:
            regions = min(max(regions, 1), self._ladder.max_regions - 1)
        return Plan(level, regions, self._skipped(level), probe)

    def _skipped(self, level: Level) -> tuple[str, ...]:
        """Name what a level leaves out of what this camera has."""
        if level in (Level.NO_REFINE, Level.SMALL_INPUT):
            refine = ("refine",) if self._ladder.max_regions else ()
            return (*refine, "full_input") if level is Level.SMALL_INPUT else refine
        return ("regions",) if level is Level.FEWER_REGIONS else ()

    def _with_regions(self, regions: int) -> Plan:
        level = Level.FEWER_REGIONS if regions else Level.NO_REFINE
        return Plan(level, regions, self._skipped(level))

    def _late(self) -> Plan:
        return Plan(Level.LATE, 0, ("inference",))

    def _give_up(self, left_ms: float) -> Plan:
        """Give the frame up, but not every one: the estimate must have a chance to get better."""
        self._given_up += 1
        if self._given_up < PROBE_LATE_AFTER:
            return self._late()
        self._given_up = 0
        return self._planned(len(self._levels) - 1, left_ms, probe=True)


def _by_input(step: str, level: Level) -> str:
    """Return under which name a step's times are kept: those of the small input are others."""
    return f"{step}, small" if level is Level.SMALL_INPUT else step
