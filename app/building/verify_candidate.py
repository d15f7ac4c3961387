"""What is compared with a model: an engine, or another .onnx file, wired with the model's own settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np

from app.config import sections
from app.config.engine import BuiltEngine
from app.decode.decoder import Decoder
from app.decode.family import detect_family
from app.decode.heads import head_for
from app.engine import Found, Look
from app.errors import BadOutput, ConfigError, ModelError
from app.inference.base import Backend, Tensors
from app.inference.model_file import read_model
from app.inference.onnxruntime import OnnxBackend
from app.letterbox import Letterbox
from app.model import ModelInfo, TensorSpec, check_names
from app.preprocess.cpu import CpuPreprocessor
from app.preprocess.input_spec import InputSpec, input_spec
from app.wiring.models import WiredModel, build_model

DEVICES = ("cpu", "cuda", "tensorrt")
"""Where ONNX Runtime can run a model, as the configuration names it."""


def is_engine(path: Path) -> bool:
    """Say whether a file is to be run by TensorRT."""
    return path.suffix != ".onnx"


def checked_device(device: str) -> str:
    """Return the name of a device.

    Raises:
        ConfigError: there is no such one.
    """
    if device not in DEVICES:
        raise ConfigError(f"--device {device}: one of {', '.join(DEVICES)}")
    return device


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
    update: dict[str, object] = {"path": str(path), "sha256": None, "device": checked_device(device)}
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


def engine_candidate(path: Path, model: sections.Model) -> WiredModel:
    """Wire an engine that was built from a model, as a line would run it: everything from picture to boxes on the GPU.

    Args:
        path: of the engine; its manifest lies beside it.
        model: the section of the model that it was built from.

    Raises:
        ModelError: a file can't be used; what does not fit this machine is refused when it is entered.
    """
    built = BuiltEngine(path=str(path), allow_unverified=True)
    update = {"device": "tensorrt", "allow_cpu_fallback": False, "engine": built}
    return build_model(path.name, model.model_copy(update=update))


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
