"""A line's stages beside a baseline: what counts as slower, what as chance, and where the bottleneck went."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from app.bench import against
from app.bench.against import MORE_PASSES, PASSES, TRIES, compare_with_baseline, save_baseline, settle
from app.bench.baseline import Baseline, Measured, read, save
from app.bench.compare import LEAST_TOLERANCE, OTHER_MACHINE, Change, compare, where_it_went
from app.bench.meter import Pass
from app.bench.spread import error_of_median, spread
from app.errors import ConfigError

LINE = Path("line.yaml")
HERE = {"processor": "this one"}
NOISE = (0.98, 1.0, 1.03, 0.99, 1.01)
"""What the same work takes in different passes, in units of its usual time."""


def baseline(*, machine: dict[str, str] = HERE, error: float = 0.01, **ratios: float) -> Baseline:
    stages = {name: Measured("python", ratio, error, ratio, PASSES) for name, ratio in ratios.items()}
    return Baseline(LINE.as_posix(), machine, stages)


def verdicts(then: Baseline, now: Baseline) -> dict[str, Change]:
    return {row.name: row.verdict for row in compare(then, now)}


@pytest.fixture
def console() -> Console:
    return Console(file=io.StringIO(), width=160)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch):
    """A machine whose passes are made up: the function sets how much each stage takes, and how much that varies."""
    factors: dict[str, float] = {"decode": 1.0, "judge": 1.0}
    taken: list[int] = []

    def one_pass(line, slowed=None):
        noise = NOISE[len(taken) % len(NOISE)]
        taken.append(1)
        slowed = slowed or {}
        return {
            name: Pass("python", 2.0 * noise * factor * slowed.get(name, 1.0), noise)
            for name, factor in factors.items()
        }

    monkeypatch.setattr(against, "one_pass", one_pass)
    return factors, taken


@pytest.mark.parametrize(
    ("now", "error", "verdict"),
    [
        (1.0, 0.01, Change.SAME),  # nothing happened
        (1.14, 0.01, Change.SAME),  # less than one build differs from the next
        (1.3, 0.01, Change.SLOWER),  # the slowdown that must be seen
        (1.3, 0.03, Change.SLOWER),  # … also where the passes differ by 3 %
        (0.7, 0.01, Change.FASTER),
        (1.3, 0.06, Change.UNSURE),  # within four standard deviations, but 30 % can't be told from none here
        (1.5, 0.06, Change.SLOWER),  # noisy, and yet far beyond the noise
    ],
)
def test_slower_is_what_neither_the_spread_nor_the_build_explains(now, error, verdict):
    assert verdicts(baseline(error=error, decode=1.0), baseline(error=error, decode=now)) == {"decode": verdict}


def test_a_stage_that_came_went_or_changed_its_unit_is_not_compared():
    then = baseline(decode=1.0, crop=1.0, judge=1.0)
    now = baseline(decode=9.0, refine=1.0, judge=1.0)
    now.stages["decode"] = Measured("engine", 9.0, 0.01, 9.0, PASSES)
    assert verdicts(then, now) == {
        "decode": Change.NEW,
        "refine": Change.NEW,
        "judge": Change.SAME,
        "crop": Change.GONE,
    }


def test_a_baseline_of_another_processor_is_believed_only_roughly():
    then = baseline(machine={"processor": "another one"}, decode=1.0)
    assert verdicts(then, baseline(decode=1.0 + LEAST_TOLERANCE + OTHER_MACHINE - 0.01)) == {"decode": Change.SAME}
    assert verdicts(then, baseline(decode=1.0 + LEAST_TOLERANCE + OTHER_MACHINE + 0.01)) == {"decode": Change.SLOWER}


@pytest.mark.parametrize(
    ("now", "sentence"),
    [
        ({"inference": 8.0, "decode": 2.0}, "bottleneck: still inference: 80% of the stages' time, 90% before"),
        (
            {"inference": 2.0, "decode": 6.0},
            "bottleneck: moved from inference (90% of the stages' time) to decode (75%)",
        ),
    ],
)
def test_where_the_bottleneck_went_is_said(now, sentence):
    assert where_it_went(baseline(inference=9.0, decode=1.0), baseline(**now)) == sentence


def test_a_saved_baseline_is_read_as_it_was(tmp_path):
    then = baseline(decode=0.25, judge=1.5)
    save(then, tmp_path / "baseline.json")
    assert read(tmp_path / "baseline.json") == then


@pytest.mark.parametrize("text", [None, "", "[]", '{"line": "x"}'])
def test_a_file_that_is_no_baseline_is_refused_with_the_remedy(tmp_path, text):
    path = tmp_path / "baseline.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ConfigError, match="--save"):
        read(path)


def test_a_slowdown_by_30_percent_ends_with_1_and_none_with_0(tmp_path, console, machine):
    path = tmp_path / "baseline.json"
    save_baseline(console, LINE, path)
    assert compare_with_baseline(console, LINE, path) == 0
    assert compare_with_baseline(console, LINE, path, {"decode": 1.3}) == 1
    assert "slower: decode\n" in console.file.getvalue(), "and the other stage is not accused"


def test_nobody_is_accused_before_it_was_measured_again(tmp_path, console, machine):
    _, taken = machine
    path = tmp_path / "baseline.json"
    save_baseline(console, LINE, path)
    taken.clear()
    compare_with_baseline(console, LINE, path)
    assert len(taken) == PASSES
    taken.clear()
    compare_with_baseline(console, LINE, path, {"decode": 1.3})
    assert len(taken) == PASSES + (TRIES - 1) * MORE_PASSES


def test_a_neighbour_that_leaves_is_not_blamed_on_the_product(console):
    passes = iter([1.5] * PASSES + [1.0] * 2 * MORE_PASSES)
    then = baseline(decode=1.0)
    then = Baseline(then.line, Baseline.of(LINE, [{"decode": Pass("python", 1.0, 1.0)}] * 2).machine, then.stages)
    _, rows = settle(then, LINE, lambda: {"decode": Pass("python", next(passes), 1.0)}, console)
    assert rows[0].verdict is not Change.SLOWER


def test_one_outlier_moves_neither_median_nor_spread():
    assert spread([1.0, 1.0, 1.1, 0.9, 50.0]) < 0.2
    assert error_of_median([2.0]) == pytest.approx(0.2), "a single pass is not taken for a sure one"
    assert error_of_median([1.0, 1.0, 1.0, 1.3]) > 0, "values that agree by chance are not taken for no noise"
