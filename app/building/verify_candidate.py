"""What is compared with a model: an engine, or another .onnx file, wired with the model's own settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import TypeAlias

import numpy as np

from app.config import sections
from app.decode.decoder import Decoder
from app.decode.family import detect_family
from app.decode.heads import head_for
from app.engine import Found, Look
from app.errors import BadOutput, ModelError
from app.inference.base import Backend, Tensors
from app.inference.engine_file import EngineFile, check, read_engine
from app.inference.machine import find_gpu, this_machine
from app.inference.model_file import read_model
from app.inference.onnxruntime import OnnxBackend
from app.inference.tensorrt_module import find_tensorrt
from app.letterbox import Letterbox
from app.model import ModelInfo, TensorSpec, check_names
from app.preprocess.cpu import CpuPreprocessor
from app.preprocess.input_spec import InputSpec, input_spec
from app.wiring.models import WiredModel, build_model

Find: TypeAlias = Callable[[str | None], ModuleType]
"""Returns TensorRT by its name."""


def is_engine(path: Path) -> bool:
    """Say whether a file is to be run by TensorRT."""
    return path.suffix != ".onnx"


def onnx_candidate(path: Path, model: sections.Model, names: Sequence[str], device: str, batch: int) -> WiredModel:
    """Wire an .onnx file that is to stand in for a model.

    Args:
        path: of the file.
        model: the model's own section.
        names: the model's classes, for files that a conversion took them from.
        device: where it runs.
        batch: pictures at once; more than one where the file leaves its batch open.

    Raises:
        ModelError: it can't be used.
    """
    update: dict[str, object] = {"path": str(path), "sha256": None, "device": device}
    info = read_model(path, names=model.names)
    if info.names is None:
        update["names"] = list(names)
    section = model.model_copy(update=update)
    if batch == 1:
        return build_model(path.name, section)
    if info.inputs[0].shape[0] not in (None, batch):
        raise ModelError(f"{path}: its batch is fixed to {info.inputs[0].shape[0]}: leave --batch out")
    inputs = tuple(TensorSpec(one.name, (batch, *one.shape[1:]), one.dtype) for one in info.inputs)
    return _together(
        path.name,
        info,
        section,
        batch,
        lambda spec: OnnxBackend(replace(info, inputs=inputs), section, input_wh=spec.network_wh),
    )


def engine_candidate(path: Path, model: sections.Model, batch: int, find: Find = find_tensorrt) -> WiredModel:
    """Wire an engine that was built from a model.

    Args:
        path: of the engine; its manifest lies beside it.
        model: the section of the model that it was built from.
        batch: pictures at once.
        find: returns TensorRT; called only once there is a driver.

    Raises:
        ModelError: it can't be used here, or was built from another file.
    """
    gpu, file, info = find_gpu(), read_engine(path), read_model(Path(model.path), names=model.names)
    if gpu is None:
        raise ModelError(f"{path}: there is no NVIDIA GPU with a driver here, and an engine runs on nothing else")
    trt = find(file.manifest.built_on.runtime)
    faults = check(file.manifest, this_machine(trt, gpu), onnx_sha256=info.sha256, allow_unverified=True)
    if faults:
        raise ModelError(f"{path} can't be used here: {'; '.join(faults)}")
    return _together(path.name, info, model, batch, partial(_engine_backend, file, batch, trt))


def _engine_backend(file: EngineFile, batch: int, trt: ModuleType, spec: InputSpec) -> Backend:
    from app.inference.tensorrt_backend import TensorRtBackend  # noqa: PLC0415 - PyCUDA can't be had without a driver

    inputs = [TensorSpec(spec.name, (batch, *spec.sample_shape), spec.dtype)]
    return TensorRtBackend(file.plan, inputs, file.manifest.outputs, lambda: trt, where=str(file.path))


def _together(
    name: str, info: ModelInfo, section: sections.Model, batch: int, backend_for: Callable[[InputSpec], Backend]
) -> WiredModel:
    """Wire a network that looks at several pictures at once."""
    family, classes = detect_family(info, section.decode)
    names, _ = check_names(info.names or section.names, classes)
    spec = input_spec(info, section.input, family)
    head = head_for(family, info, classes, spec.network_wh, section.decode)
    decoder = Decoder(head, section.nms, names, classes)
    engine = BatchEngine(f"{name}:{info.sha256[:12]}", backend_for(spec), spec, decoder, batch)
    return WiredModel(engine, decoder.names, batch)


class BatchEngine:
    """Looks at as many pictures at once as its network takes; an `Engine`.

    Args:
        name: of the network and its hash, for the label.
        backend: with a batch of `places`.
        spec: of one picture.
        decoder: reads any row of the batch.
        places: of pictures in one batch; rows that are left over in the last one hold what was there before.
    """

    def __init__(self, name: str, backend: Backend, spec: InputSpec, decoder: Decoder, places: int) -> None:
        self.backend = backend
        self._name = name
        self._preprocessor = CpuPreprocessor(spec)
        self._batch = np.zeros((places, *spec.sample_shape), spec.dtype)
        self._feeds = {spec.name: self._batch}
        self._decoder = decoder

    def label(self) -> str:
        """See `Engine`."""
        return f"{self._name}:{self.backend.provider}"

    def look(self, looks: Sequence[Look]) -> list[Found]:
        """See `Engine`."""
        found: list[Found] = []
        waiting = iter(looks)
        while group := list(islice(waiting, len(self._batch))):
            places = [self._preprocessor.run(look.image, row) for look, row in zip(group, self._batch, strict=False)]
            outputs = self.backend.infer(self._feeds)
            found += [
                self._decode(outputs, letterbox, look.min_score, row)
                for row, (letterbox, look) in enumerate(zip(places, group, strict=True))
            ]
        return found

    def _decode(self, outputs: Tensors, letterbox: Letterbox, least: float, row: int) -> Found:
        try:
            return self._decoder.run(outputs, letterbox, least, row)
        except BadOutput as error:
            return error
