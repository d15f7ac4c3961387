"""An engine file in the place of its model: everything from the picture to the boxes on the GPU."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, TypeAlias

from typing_extensions import Self

from app.capture.kinds import default_queue
from app.config import sections
from app.config.state import cache_folder
from app.decode.base import Head
from app.decode.decoder import Decoder
from app.engine import Engine, Found, Look
from app.errors import ModelError
from app.frame import PixelFormat
from app.fused.fallback import Fallback
from app.inference.chosen_engine import engine_path
from app.inference.engine_file import read_manifest
from app.inference.machine import find_gpu, require_gpu, this_machine
from app.inference.tensorrt_module import find_tensorrt
from app.model import ModelInfo
from app.preprocess.input_spec import InputSpec
from app.wiring.engine_files import fitting_engine

if TYPE_CHECKING:
    from app.fused.engine import FusedEngine

log = logging.getLogger(__name__)

KERNELS = "kernels"
"""The folder of compiled kernels, in the service's cache or in `.cache` beside the engine."""

FrameFormat: TypeAlias = tuple[PixelFormat, tuple[int, int]]
"""What a camera gives: format, and width and height in pixels."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What is known, before a camera is open, of the frames that one model will see.

    Attributes:
        formats: that cameras are known to give.
        every: some camera's frames must not be skipped, so throughput counts, not only latency.
    """

    formats: tuple[FrameFormat, ...] = field(default=())
    every: bool = False


def expected_of(cameras: Mapping[str, sections.Camera], model: str) -> Expected:
    """Return what is known of the frames of a model, by the cameras that use it."""
    users = [camera for camera in cameras.values() if model in camera.models]
    formats = dict.fromkeys(known for camera in users if (known := _format_of(camera)) is not None)
    queues = {camera.queue or default_queue(camera.source) for camera in users}
    return Expected(tuple(formats), "every" in queues)


def _format_of(camera: sections.Camera) -> FrameFormat | None:
    """Return what a camera will give as far as its section says; None where only its first frame tells."""
    source, guard = camera.source, camera.guard
    width = guard.width or getattr(source, "width", None)
    height = guard.height or getattr(source, "height", None)
    named = getattr(source, "pixel_format", "bgr8")
    formats = [pixels for pixels in PixelFormat if pixels.value == named]  # none for `native`
    return (formats[0], (width, height)) if formats and width and height else None


def formats_of(engine: Engine) -> tuple[FrameFormat, ...]:
    """Return what the frames of a running engine are known to be; nothing where it need not know."""
    running = engine.chosen if isinstance(engine, Fallback) else engine
    return running.formats if isinstance(running, EngineOnGpu) else ()


class EngineOnGpu:
    """The engine of a model, made once there is a GPU: PyCUDA can't even be imported without a driver.

    It is an `Engine` and its own `backend`; what it is made of stands in `app/fused`.

    Args:
        name: of the model, a key of `models`.
        section: of it.
        info: its .onnx file.
        spec: what it is fed.
        head: reads its outputs.
        decoder: suppresses what overlaps.
        expected: of the frames it will see.
        tell: takes a line when it runs otherwise than it was meant to, on the inspect thread.
        find: returns TensorRT, of the name that the engine was built with.
    """

    def __init__(
        self,
        name: str,
        section: sections.Model,
        info: ModelInfo,
        spec: InputSpec,
        head: Head,
        decoder: Decoder,
        expected: Expected,
        tell: Callable[[str], None] = log.warning,
        find: Callable[[str | None], ModuleType] = find_tensorrt,
    ) -> None:
        self._name = f"{name}:{info.sha256[:12]}"
        self._model = name
        self._section = section
        self._sha256 = info.sha256
        self._spec = spec
        self._head = head
        self._decoder = decoder
        self._expected = expected
        self._tell = tell
        self._find = find
        self._engine: FusedEngine | None = None

    @property
    def backend(self) -> Self:
        """This."""
        return self

    def __enter__(self) -> Self:
        """Load the engine and make it ready for the formats that are known.

        Raises:
            ModelError: there is no GPU, or something is missing or doesn't fit; one line with every reason.
        """
        if self._engine is None:
            engine = self._made()
            engine.backend.__enter__()
            self._engine = engine
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Free everything; safe to call twice."""
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.backend.__exit__(kind, error, traceback)

    def hand_over(self) -> None:
        """See `ThreadBound`."""
        self._entered().backend.hand_over()

    def take_over(self) -> None:
        """See `ThreadBound`."""
        self._entered().backend.take_over()

    @property
    def formats(self) -> tuple[FrameFormat, ...]:
        """What its frames are known to be: by the configuration, and by those that came; safe to ask on any thread."""
        engine = self._engine
        return self._expected.formats if engine is None else engine.backend.formats

    @property
    def most(self) -> int:
        """See `Engine`."""
        return 1 if self._engine is None else self._engine.most

    def label(self) -> str:
        """See `Engine`."""
        return f"{self._name}:" if self._engine is None else self._engine.label()

    def look(self, looks: Sequence[Look]) -> list[Found]:
        """See `Engine`."""
        return self._entered().look(looks)

    def _entered(self) -> FusedEngine:
        if self._engine is None:
            raise ModelError(f"{self._name}: not loaded: enter the backend before it is asked to look")
        return self._engine

    def _made(self) -> FusedEngine:
        path = engine_path(self._section)
        require_gpu(str(path))
        try:
            from app.fused.engine import FusedEngine
            from app.fused.lanes import Lanes
            from app.fused.network import Network
            from app.gpu.compiler import nvrtc
        except ImportError as error:
            raise ModelError(
                f"models.{self._model}: {error}: install what an engine needs with `pip install 'taktsight[gpu]'`"
            ) from error
        network = Network(
            name=self._name,
            where=str(path),
            load=self._load,
            spec=self._spec,
            head=self._head,
            decoder=self._decoder,
            find=lambda: self._find(read_manifest(path).built_on.runtime),
            compile=nvrtc,
            cache=(cache_folder() or path.parent / ".cache") / KERNELS,
            batches=tuple(self._section.batches),
        )
        expected = self._expected
        lanes = Lanes(network, formats=expected.formats, paired=expected.every, tell=self._tell)
        return FusedEngine(self._name, lanes)

    def _load(self, trt: ModuleType) -> memoryview:
        """Return the plan, found to fit this machine."""
        return fitting_engine(self._model, self._section, self._sha256, this_machine(trt, find_gpu())).plan
