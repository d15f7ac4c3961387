"""The load of the GPUs: from NVIDIA's library, or from the files of a Jetson; absent on all other machines."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from typing_extensions import Self

logger = logging.getLogger(__name__)

JETSON_PATTERNS = (
    "class/devfreq/*.gpu/device/load",
    "class/devfreq/*.g[apv]*b/device/load",
    "devices/platform/gpu.*/load",
    "devices/gpu.*/load",
)
"""Where the kernels of Jetson boards show the load of the GPU, in thousandths; newer ones first."""


class GpuLoad(Protocol):
    """Reads how busy the GPUs of this machine are. Constructing is free; entering opens the driver."""

    def __enter__(self) -> Self:
        """Open it."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close it."""
        ...

    def percent(self) -> dict[str, float]:
        """Return the load of each GPU, 0 … 100, by its number; one that can't be read now is left out."""
        ...


class NvmlLoad:
    """The load by NVML, for GPUs in a PC.

    Args:
        nvml: the module `pynvml`.
    """

    def __init__(self, nvml: Any) -> None:  # noqa: ANN401 - a module without types, or a test's stand-in
        self._nvml = nvml
        self._handles: list[Any] = []

    def __enter__(self) -> Self:
        """Find the GPUs; without a driver there are none."""
        try:
            self._nvml.nvmlInit()
            count = self._nvml.nvmlDeviceGetCount()
            self._handles = [self._nvml.nvmlDeviceGetHandleByIndex(number) for number in range(count)]
        except self._nvml.NVMLError as error:
            logger.info("no GPU load: %s", error)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Let go of the driver."""
        if self._handles:
            self._handles = []
            self._nvml.nvmlShutdown()

    def percent(self) -> dict[str, float]:
        """Return the share of the last moments in which something ran on each GPU."""
        loads: dict[str, float] = {}
        for number, handle in enumerate(self._handles):
            try:
                loads[f"{number}"] = float(self._nvml.nvmlDeviceGetUtilizationRates(handle).gpu)
            except self._nvml.NVMLError as error:  # a GPU cut into instances has no load of its own
                logger.debug("GPU %d: %s", number, error)
        return loads


class JetsonLoad:
    """The load by the kernel's files, for GPUs of Jetson boards.

    Args:
        files: one for each GPU.
    """

    def __init__(self, files: list[Path]) -> None:
        self._files = files

    def __enter__(self) -> Self:
        """Nothing is held."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Nothing is held."""

    def percent(self) -> dict[str, float]:
        """Return the load of each GPU as the kernel has it now."""
        loads: dict[str, float] = {}
        for number, file in enumerate(self._files):
            try:
                loads[f"{number}"] = min(100.0, max(0.0, int(file.read_text(encoding="ascii")) / 10))
            except (OSError, ValueError) as error:  # a GPU that sleeps refuses to be read
                logger.debug("%s: %s", file, error)
        return loads


def find_gpu_load(
    sys: Path = Path("/sys"), load_module: Callable[[str], Any] = importlib.import_module
) -> GpuLoad | None:
    """Return what reads the load on this machine; None where there is no GPU, or nothing to ask it with.

    Args:
        sys: the kernel's folder, for tests.
        load_module: imports `pynvml`, which is the package `nvidia-ml-py`, where that is installed.
    """
    for pattern in JETSON_PATTERNS:
        files = sorted(sys.glob(pattern))
        if files:
            return JetsonLoad(files)
    try:
        return NvmlLoad(load_module("pynvml"))
    except ImportError:
        return None
