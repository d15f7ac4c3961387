"""The GPUs of a PC, by NVIDIA's management library (the package nvidia-ml-py and the driver's libnvidia-ml)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from types import TracebackType
from typing import Any

from typing_extensions import Self

from app.latency.gpu import GpuState

logger = logging.getLogger(__name__)

REASONS = (
    (0x004, "power_cap"),
    (0x008, "hardware"),
    (0x020, "thermal"),
    (0x040, "thermal"),
    (0x080, "power_brake"),
    (0x200, "board_limit"),
    (0x400, "reliability"),
)
"""Bits of NVML's clock event reasons that mean held back. The others are an idle GPU, clocks that somebody has set, and
boards in step."""

_CORE_CLOCK = 1  # the streaming multiprocessors'
_SENSOR = 0  # the GPU's die


class NvmlProbe:
    """Implements `GpuProbe`.

    Args:
        nvml: the module `pynvml`.

    Attributes:
        driver: its version, once entered; empty without one.
        names: of the GPUs, in the order of their numbers.
        fault: why there is no GPU to be asked, once entered; empty where there is.
    """

    def __init__(self, nvml: Any) -> None:  # noqa: ANN401 - a module without types
        self._nvml = nvml
        self._is_open = False
        self._handles: list[Any] = []
        self.driver = ""
        self.names: list[str] = []
        self.fault = ""

    def __enter__(self) -> Self:
        """Find the GPUs; without a driver there are none."""
        try:
            self._nvml.nvmlInit()
            self._is_open = True
            count = self._nvml.nvmlDeviceGetCount()
            self._handles = [self._nvml.nvmlDeviceGetHandleByIndex(number) for number in range(count)]
            self.driver = _text(self._nvml.nvmlSystemGetDriverVersion())
            self.names = [_text(self._nvml.nvmlDeviceGetName(handle)) for handle in self._handles]
        except self._nvml.NVMLError as error:
            self.fault = str(error)
            logger.info("the GPUs can't be asked: %s", error)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Let go of the driver; safe to call twice."""
        self._handles = []
        if self._is_open:
            self._is_open = False
            self._nvml.nvmlShutdown()

    def read(self) -> dict[str, GpuState]:
        """Return the state of each GPU; what one of them does not tell is None."""
        return {f"{number}": self._state(handle) for number, handle in enumerate(self._handles)}

    def _state(self, handle: Any) -> GpuState:  # noqa: ANN401 - a pointer of the library
        nvml = self._nvml
        load = self._ask(nvml.nvmlDeviceGetUtilizationRates, handle)
        memory = self._ask(nvml.nvmlDeviceGetMemoryInfo, handle)
        mhz = self._ask(nvml.nvmlDeviceGetClockInfo, handle, _CORE_CLOCK)
        max_mhz = self._ask(nvml.nvmlDeviceGetMaxClockInfo, handle, _CORE_CLOCK)
        celsius = self._newest(("nvmlDeviceGetTemperatureV", "nvmlDeviceGetTemperature"), handle, _SENSOR)
        bits = self._newest(
            ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"), handle
        )
        return GpuState(
            percent=None if load is None else float(load.gpu),
            used_mb=None if memory is None else memory.used / 1e6,
            total_mb=None if memory is None else memory.total / 1e6,
            mhz=mhz,
            max_mhz=max_mhz,
            celsius=celsius,
            throttle=reasons(bits or 0),
        )

    def _newest(self, names: tuple[str, ...], *arguments: Any) -> Any:  # noqa: ANN401 - numbers of the library
        """Ask by the newest name that both the package and the driver know."""
        for name in names:
            call = getattr(self._nvml, name, None)
            answer = None if call is None else self._ask(call, *arguments)
            if answer is not None:
                return answer
        return None

    def _ask(self, call: Callable[..., Any], *arguments: Any) -> Any:  # noqa: ANN401 - numbers of the library
        try:
            return call(*arguments)
        except self._nvml.NVMLError as error:  # e.g. a GPU cut into instances has no load of its own
            logger.debug("%s: %s", call.__name__, error)
            return None


def reasons(bits: int) -> tuple[str, ...]:
    """Return the words for NVML's clock event reasons that mean held back, each once."""
    return tuple(dict.fromkeys(word for bit, word in REASONS if bits & bit))


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("utf-8", "replace")
