"""How long each stage of a line takes beside its reference, and how sure that is; kept in a file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import msgspec

from app.bench import machine
from app.bench.meter import Pass
from app.bench.spread import error_of_median
from app.errors import ConfigError

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Measured:
    """One stage, over all passes.

    Attributes:
        reference: the piece of work that it is compared with.
        ratio: the stage's time over the reference's, the median of the better half of the passes.
        error: how far that median is likely to be off, as a share of it (one standard deviation).
        ms: what one call takes on this machine; shown, and not compared.
        passes: how many.
    """

    reference: str
    ratio: float
    error: float
    ms: float
    passes: int

    @classmethod
    def of(cls, passes: Sequence[Pass]) -> Measured:
        """Sum passes up by their better half: a neighbour that empties the caches only ever makes them worse.

        With one at work, every third pass was seen to take twice as long in the stages that are mostly Python.
        """
        better = sorted(passes, key=lambda one: one.ratio)[: (len(passes) + 1) // 2]
        ratios = [one.ratio for one in better]
        middle = median(ratios)
        ms = median(one.ms for one in better)
        return cls(passes[0].reference, middle, error_of_median(ratios) / middle, ms, len(passes))


@dataclass(frozen=True, slots=True)
class Baseline:
    """A line's stages as they were at one time.

    Attributes:
        line: the file of the configuration.
        machine: what it was measured on.
        stages: in the order of a frame's path.
    """

    line: str
    machine: dict[str, str]
    stages: dict[str, Measured]
    schema: int = SCHEMA

    @property
    def bottleneck(self) -> tuple[str, float]:
        """The stage that takes longest, and its share of all of them."""
        name = max(self.stages, key=lambda stage: self.stages[stage].ms)
        return name, self.stages[name].ms / sum(stage.ms for stage in self.stages.values())

    @classmethod
    def of(cls, line: Path, passes: Sequence[dict[str, Pass]]) -> Baseline:
        """Sum passes up, with this machine beside them."""
        stages = {name: Measured.of([one[name] for one in passes]) for name in passes[0]}
        return cls(line.as_posix(), machine.describe(), stages)


def save(baseline: Baseline, path: Path) -> None:
    """Write the file."""
    path.write_text(json.dumps(asdict(baseline), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read(path: Path) -> Baseline:
    """Read a file that `save` wrote.

    Raises:
        ConfigError: it is not there, or no such file.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=Baseline)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; make one with taktsight bench --save {path}") from error
    except msgspec.MsgspecError as error:
        raise ConfigError(f"{path}: no baseline of taktsight bench ({error}); make one with --save") from error
