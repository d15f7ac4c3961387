"""The engine that runs .onnx files: ONNX Runtime on the CPU, CUDA or TensorRT."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import TracebackType

import numpy as np
import onnxruntime as ort
from typing_extensions import Self

from app.config.sections import Model
from app.config.state import cache_folder
from app.errors import ModelError
from app.inference.base import Tensors
from app.inference.feeds import check_feeds
from app.inference.model_file import check_files, read_bytes
from app.inference.optimised import OptimisedModels, machine_key
from app.inference.ort_binding import Binding
from app.inference.ort_device import DeviceBinding
from app.inference.ort_gpu import Opened, Wanted, open_gpu
from app.inference.ort_providers import CPU
from app.inference.ort_session import ORT_ERRORS, explain, open_session
from app.inference.shapes import known_shape, resolve_inputs
from app.inference.threads import allowed_cpus
from app.model import ModelInfo

log = logging.getLogger(__name__)

_WARM_UP_RUNS = 2  # the first allocates, the second runs as all later ones do


class OnnxBackend:
    """Runs one .onnx file; one thread at a time may call `infer`.

    Outputs whose shapes are known are written into arrays made once; the caller's own arrays are read in place.
    A fixed batch above 1 is fed whole: the caller fills as many rows as it has pictures for.

    Attributes:
        inputs, outputs, provider: see `Backend`; of the smallest batch.
        batches: how many pictures `infer` takes, smallest first.
        warnings: what differs from what was asked or expected, one line each; complete once entered, and logged then.
    """

    def __init__(
        self,
        info: ModelInfo,
        section: Model,
        *,
        input_wh: tuple[int, int] | None = None,
        cache: Path | None = None,
    ) -> None:
        """Resolve the shapes; loads nothing.

        Args:
            info: from `read_model`.
            section: the model's section of the configuration.
            input_wh: the network input's width and height in pixels, for files that leave them open.
            cache: folder of optimised models and engines; None for the service's cache folder, and outside a service
                for `.cache` next to the file.

        Raises:
            ModelError: an input's shape can't be resolved, or contradicts `input_wh`.
        """
        nhwc = None if section.input.layout is None else section.input.layout == "nhwc"
        channels = 1 if section.input.colour == "grey" else 3
        self.batches = _batches(info, section)
        self._inputs = {
            batch: resolve_inputs(info.inputs, input_wh, channels=channels, nhwc=nhwc, batch=batch)
            for batch in self.batches
        }
        self.inputs = self._inputs[self.batches[0]]
        self.outputs = info.outputs
        self.provider = ""
        self.warnings = info.warnings
        self._info = info
        self._section = section
        self._cache = cache or _usual_cache(info.path)
        self._cacheable = False
        self._bindings: Mapping[int, Binding | DeviceBinding] = {}
        self._on_gpu: Opened | None = None

    def __enter__(self) -> Self:
        """Load, verify the provider, bind, warm up with the real shape."""
        if self._bindings:
            return self
        try:
            self._bindings = self._load()
            self.outputs = self._bindings[self.batches[0]].outputs
            for inputs in self._inputs.values():
                for _ in range(_WARM_UP_RUNS):
                    self.infer({spec.name: np.zeros(known_shape(spec), spec.dtype) for spec in inputs})
        except ModelError as error:
            self.close()
            raise ModelError(f"{self._info.path}: {error}") from error
        for text in self.warnings:
            log.warning("%s: %s", self._info.path, text)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Free the session; safe to call twice."""
        self.close()

    def close(self) -> None:
        """Free the session and its arrays; safe to call twice."""
        self._bindings = {}
        self._on_gpu = None

    def hand_over(self) -> None:
        """See `ThreadBound`; nothing here belongs to a thread but a CUDA graph, which the other one gets anew."""

    def take_over(self) -> None:
        """Go on with it on this thread; see `ThreadBound`."""
        if self._on_gpu is not None:
            try:
                self._on_gpu.take_over(self.inputs)
            except ModelError as error:
                raise ModelError(f"{self._info.path}: {error}") from error

    def infer(self, feeds: Tensors) -> Tensors:
        """Run the network once; see `Backend.infer`.

        Raises:
            ModelError: the feeds don't fit `inputs`, or the engine failed.
        """
        if not self._bindings:
            raise ModelError(f"{self._info.path}: not loaded: enter the backend before it is asked to infer")
        batch = self._batch_of(feeds)
        check_feeds(self._inputs[batch], feeds)
        try:
            return self._bindings[batch].run(feeds)
        except ORT_ERRORS as error:
            raise ModelError(explain(error)) from error

    def _batch_of(self, feeds: Tensors) -> int:
        """Return how many pictures are fed; the smallest batch for what fits none, which `check_feeds` then refuses."""
        first = feeds.get(self.inputs[0].name)
        rows = 0 if first is None or first.ndim == 0 else first.shape[0]
        return rows if rows in self._inputs else self.batches[0]

    # ── loading ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _load(self) -> Mapping[int, Binding | DeviceBinding]:
        """Open the session where it was asked for, and see that it really runs there."""
        data = read_bytes(self._info.path)
        if hashlib.sha256(data).hexdigest() != self._info.sha256:
            raise ModelError("the file has changed since it was checked: start again")
        graph = check_files(self._info.path, data, self._info.sha256)
        axes = self._open_axes(graph.open_axes)
        self._cacheable = not graph.elsewhere
        self.warnings = self._info.warnings
        if self._section.device == "cpu":
            return self._on_cpu(axes)
        if len(self.batches) > 1:
            raise ModelError(
                "batches: on a GPU they are an engine's; build one (`taktsight engine build --batch 1,2,4,8`)"
            )
        wanted = Wanted(self._info, self._section.device, self.inputs, self._threads, axes, self._cache / "tensorrt")
        try:
            opened = open_gpu(wanted)
        except ModelError as error:
            return self._fall_back(str(error), axes)
        self.provider = opened.provider
        self.warnings = (*self._info.warnings, *opened.warnings)
        self._on_gpu = opened
        return {self.batches[0]: opened.binding}

    def _fall_back(self, refusal: str, axes: Mapping[str, int]) -> Mapping[int, Binding]:
        """Open the session on the CPU where that is allowed."""
        asked = f"device {self._section.device!r} can't be had: {refusal}"
        if not self._section.allow_cpu_fallback:
            remedy = "install what it needs (docs/gpu.md), or set allow_cpu_fallback or device: cpu"
            raise ModelError(f"{asked}: {remedy}; `taktsight doctor` says what there is")
        self.warnings = (*self._info.warnings, f"{asked}: running on the CPU, as allow_cpu_fallback says")
        return self._on_cpu(axes)

    def _on_cpu(self, axes: Mapping[str, int]) -> Mapping[int, Binding]:
        self.provider = CPU
        session = self._open_cpu(axes)
        return {
            batch: Binding(session, inputs, self._info.outputs, batch if len(self.batches) > 1 else None)
            for batch, inputs in self._inputs.items()
        }

    @property
    def _threads(self) -> int:
        return self._section.threads or allowed_cpus()

    def _open_cpu(self, axes: Mapping[str, int]) -> ort.InferenceSession:
        """Open the session, from the folder of optimised models if it is there."""
        open_on_cpu = partial(open_session, threads=self._threads, spin_us=self._section.spin_us, open_axes=axes)
        if not self._cacheable:  # weights elsewhere may change without the key
            return open_on_cpu(self._info.path)
        shapes = hashlib.sha256(repr((self._inputs, machine_key())).encode()).hexdigest()[:12]
        cache = OptimisedModels(self._cache, f"{self._info.sha256[:16]}-{ort.__version__}-cpu-{shapes}")
        if (ready := cache.find()) is not None:
            try:
                return open_on_cpu(ready, optimise=False)
            except ModelError:
                cache.discard(ready)
        if (draft := cache.draft()) is not None:
            try:
                session = open_on_cpu(self._info.path, save_to=draft)
            except ModelError:  # a full disk, or a model too big for one file: without the cache then
                cache.discard(draft)
            else:
                cache.keep(draft)
                return session
        return open_on_cpu(self._info.path)

    def _open_axes(self, names: Mapping[str, tuple[str, ...]]) -> dict[str, int]:
        """Return the sizes of the inputs' named open axes."""
        sizes = {}
        for spec in self.inputs:
            for index, (name, axis) in enumerate(zip(names.get(spec.name, ()), known_shape(spec), strict=False)):
                if name and (index > 0 or len(self.batches) == 1):  # the batch stays open where there are several
                    sizes[name] = axis
        return sizes


def _batches(info: ModelInfo, section: Model) -> tuple[int, ...]:
    """Return how many pictures one call takes.

    Raises:
        ModelError: several are asked for of a file that is fixed to one.
    """
    wanted = tuple(sorted(set(section.batches)))
    fixed = {spec.shape[0] for spec in info.inputs if spec.shape and spec.shape[0] is not None}
    if not fixed or wanted == (1,):
        return (max(fixed),) if fixed else wanted
    raise ModelError(
        f"{info.path}: batches {list(wanted)}: the file is fixed to {max(fixed)} pictures a call; export it with an "
        "open batch axis, or leave batches out"
    )


def _usual_cache(model: Path) -> Path:
    folder = cache_folder()
    return model.parent / ".cache" if folder is None else folder / "models"
