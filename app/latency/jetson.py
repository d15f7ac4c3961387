"""The GPU of a Jetson board, by the kernel's files; NVML does not know its load."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

from typing_extensions import Self

from app.latency.gpu import GpuState

logger = logging.getLogger(__name__)

LOAD_PATTERNS = (
    "sys/class/devfreq/*.gpu/device/load",
    "sys/class/devfreq/*.g[apv]*b/device/load",
    "sys/devices/platform/gpu.*/load",
    "sys/devices/gpu.*/load",
)
"""Where the kernels of Jetson boards show the load of the GPU, in thousandths; newer ones first."""

_GPU = re.compile(r"gpu|g[apv]\d+b", re.IGNORECASE)
_ALERT = re.compile(r"throttle-alert|oc-event", re.IGNORECASE)


def load_files(root: Path = Path("/")) -> list[Path]:
    """Return the load files of a Jetson's GPUs; none on any other machine.

    Args:
        root: stands for /.
    """
    return next((files for pattern in LOAD_PATTERNS if (files := sorted(root.glob(pattern)))), [])


class JetsonProbe:
    """Implements `GpuProbe`. Which files there are is looked up once; reading opens each of them anew.

    Args:
        root: stands for /.
    """

    def __init__(self, root: Path = Path("/")) -> None:
        self._loads = load_files(root)
        self._clocks = [_clock_folder(file) for file in self._loads]
        self._memory = root / "proc" / "meminfo"
        thermal = root / "sys" / "class" / "thermal"
        self._zones = _of_type(thermal.glob("thermal_zone*/type"), _GPU, "temp")
        self._coolers = _of_type(thermal.glob("cooling_device*/type"), _GPU, "cur_state")
        self._currents = sorted((root / "sys" / "class" / "hwmon").glob("hwmon*/oc*_event_cnt"))
        self._events = self._over_currents()

    def __enter__(self) -> Self:
        """Nothing is held."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Nothing is held."""

    def read(self) -> dict[str, GpuState]:
        """Return the state of each GPU as the kernel has it now."""
        used_mb, total_mb = self._memory_mb()
        celsius = max((milli / 1e3 for zone in self._zones if (milli := _number(zone)) is not None), default=None)
        throttle = self._throttle()
        states = {}
        for number, (load, clock) in enumerate(zip(self._loads, self._clocks, strict=True)):
            thousandths = _number(load)
            states[f"{number}"] = GpuState(
                percent=None if thousandths is None else min(100.0, max(0.0, thousandths / 10)),
                used_mb=used_mb,
                total_mb=total_mb,
                mhz=_mhz(clock, "cur_freq"),
                max_mhz=_mhz(clock, "max_freq"),
                celsius=celsius,
                throttle=throttle,
            )
        return states

    def _throttle(self) -> tuple[str, ...]:
        """Return what holds the GPU back: heat now, or a current that was too high since the last look."""
        hot = any((_number(cooler) or 0) > 0 for cooler in self._coolers)
        before, self._events = self._events, self._over_currents()
        return tuple(word for word, is_so in (("thermal", hot), ("over_current", self._events > before)) if is_so)

    def _over_currents(self) -> int:
        return sum(_number(file) or 0 for file in self._currents)

    def _memory_mb(self) -> tuple[float | None, float | None]:
        """Return what is used and what there is of the memory that processor and GPU share."""
        try:
            text = self._memory.read_text(encoding="ascii")
        except OSError:
            return None, None
        kib = {name: int(value) for name, value in re.findall(r"^(MemTotal|MemAvailable):\s+(\d+) kB", text, re.M)}
        if len(kib) < 2:  # noqa: PLR2004 - both of the names above
            return None, None
        return (kib["MemTotal"] - kib["MemAvailable"]) * 1024 / 1e6, kib["MemTotal"] * 1024 / 1e6


def _clock_folder(load: Path) -> Path | None:
    """Return the folder that has a GPU's clock: above `device`, or below the GPU itself."""
    candidates = (load.parents[1], *sorted(load.parent.glob("devfreq/*")))
    return next((folder for folder in candidates if (folder / "cur_freq").exists()), None)


def _of_type(types: Iterable[Path], wanted: re.Pattern[str], name: str) -> list[Path]:
    """Return the file `name` beside each file `type` that says the wanted, but for mere alerts."""
    found = []
    for file in sorted(types):
        kind = _text(file)
        if wanted.search(kind) and not _ALERT.search(kind):
            found.append(file.with_name(name))
    return found


def _mhz(folder: Path | None, name: str) -> float | None:
    hertz = None if folder is None else _number(folder / name)
    return None if hertz is None else hertz / 1e6


def _number(file: Path) -> int | None:
    text = _text(file)
    return int(text) if re.fullmatch(r"-?\d+", text) else None


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii", errors="replace").strip()
    except OSError as error:  # a GPU that sleeps refuses to be read
        logger.debug("%s: %s", file, error)
        return ""
