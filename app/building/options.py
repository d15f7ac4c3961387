"""What one engine is to be, as the command's options say."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from app.errors import ConfigError
from app.inference.engine_file import Precision

MAX_LEVEL = 5
"""Of the builder's optimisation; TensorRT's own default is 3."""


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """One engine to be built.

    Attributes:
        onnx: the model.
        out: the engine's file; its manifest stands beside it.
        precision: "fp32" is what the ONNX says itself.
        batches: sizes that must run fast, smallest first; the engine takes all between the smallest and the largest.
        input_wh: pixels, for models that leave their size open.
        level: how long the builder looks for faster kernels, 0…5; None: its own default.
        workspace_mb: of device memory that one layer may take; None: half of what is free.
        timing_cache: what earlier builds measured; None: `.cache` beside the engine.
    """

    onnx: Path
    out: Path
    precision: Precision = "fp32"
    batches: tuple[int, ...] = (1,)
    input_wh: tuple[int, int] | None = None
    level: int | None = None
    workspace_mb: int | None = None
    timing_cache: Path | None = None

    def __post_init__(self) -> None:
        """Check what no later step would explain.

        Raises:
            ConfigError: an option breaks its rule.
        """
        if not self.batches or min(self.batches) < 1 or list(self.batches) != sorted(set(self.batches)):
            raise ConfigError(
                f"--batch {','.join(map(str, self.batches))}: sizes from 1 up, smallest first, e.g. 1,2,4,8"
            )
        if self.level is not None and not 0 <= self.level <= MAX_LEVEL:
            raise ConfigError(f"--level {self.level}: 0 (quick build) to {MAX_LEVEL} (fast engine)")
        if self.input_wh is not None and min(self.input_wh) < 1:
            raise ConfigError("--input: pixels, e.g. 640 or 640x480")
        if self.workspace_mb is not None and self.workspace_mb < 1:
            raise ConfigError(f"--workspace {self.workspace_mb}: megabytes, 1 at least")
