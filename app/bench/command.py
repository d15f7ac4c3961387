"""What `taktsight bench` is asked to measure, from its options."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from app.bench import against, load, machine, run, steadiness, subtract
from app.config import LoadedConfig
from app.config import load as load_config
from app.errors import ConfigError

DEMO = Path(__file__).resolve().parent.parent.parent / "configs" / "demo.yaml"


@dataclass(frozen=True, slots=True)
class Wanted:
    """The options of the command, as they were given.

    Attributes:
        config: a line; the demo's where one is needed and none is named.
        without: stages to be taken out.
        save, against: a file of a baseline.
        cameras: of the synthetic load; 0 for none.
        steady: measure how steady the line is.
        frames, rounds: 0 for what each measurement takes by itself.
        plant: a stage and a factor, to see whether that is noticed.
    """

    config: Path | None = None
    quick: bool = False
    json_file: Path | None = None
    without: str = ""
    save: Path | None = None
    against: Path | None = None
    cameras: int = 0
    fps: float = 15.0
    size: str = "1920x1080"
    seconds: float = 10.0
    steady: bool = False
    frames: int = 0
    rounds: int = 0
    plant: str = ""


def bench(wanted: Wanted, console: Console) -> int:
    """Measure one thing.

    Returns:
        The exit code: 1 where a target is missed or a stage has become slower.

    Raises:
        ConfigError: options that don't go together, or a line that can't run.
    """
    modes = {
        "--without": bool(wanted.without),
        "--save": wanted.save is not None,
        "--against": wanted.against is not None,
        "--cameras": wanted.cameras > 0,
        "--steady": wanted.steady,
    }
    chosen = [name for name, is_on in modes.items() if is_on]
    if wanted.plant and wanted.against is None:
        raise ConfigError("--plant belongs to --against, which is to notice it")
    if len(chosen) > 1:
        raise ConfigError(f"{' and '.join(chosen)} measure different things; give one of them")
    if not chosen:
        return _ratios(wanted, console)
    return _line(chosen[0], wanted, load_config(wanted.config or _demo()), console)


def _ratios(wanted: Wanted, console: Console) -> int:
    if wanted.config is not None:
        raise ConfigError(
            f"{wanted.config}: what of this line? Add --without STAGES, --save FILE, --against FILE, --cameras N or "
            "--steady"
        )
    return run.main(console, quick=wanted.quick, json_file=wanted.json_file)


def _line(mode: str, wanted: Wanted, loaded: LoadedConfig, console: Console) -> int:
    if wanted.quick or wanted.json_file:
        raise ConfigError("--quick and --json belong to the table of ratios, which needs no other option")
    console.print(", ".join(f"{key} {value}" for key, value in machine.describe().items()), highlight=False)
    code = 0
    if mode == "--without":
        frames, rounds = wanted.frames or subtract.FRAMES, wanted.rounds or subtract.ROUNDS
        subtract.subtract(console, loaded, subtract.wanted(wanted.without), frames=frames, rounds=rounds)
    elif mode == "--save":
        assert wanted.save is not None
        against.save_baseline(console, loaded.path, wanted.save, wanted.rounds or against.PASSES)
    elif mode == "--against":
        assert wanted.against is not None
        code = against.compare_with_baseline(console, loaded.path, wanted.against, planted(wanted.plant))
    elif mode == "--cameras":
        asked = load.Load(wanted.cameras, wanted.fps, load.size_of(wanted.size), wanted.seconds)
        load.run_load(console, loaded, asked)
    else:
        found = steadiness.measure_steadiness(console, loaded, wanted.frames or steadiness.FRAMES)
        code = 0 if all(row.met for row in found.rows()) else 1
    return code


def planted(text: str) -> dict[str, float]:
    """Read `decode=1.3`; nothing where there is no text.

    Raises:
        ConfigError: it is no stage and factor.
    """
    if not text:
        return {}
    match = re.fullmatch(r"(.+)=(\d+(?:\.\d+)?)", text)
    if match is None:
        raise ConfigError(f"--plant {text}: not a stage and a factor; write e.g. decode=1.3")
    return {match[1]: float(match[2])}


def _demo() -> Path:
    if not DEMO.exists():
        raise ConfigError(f"{DEMO}: not there; name a CONFIG, or run from a checkout of the repository")
    return DEMO
