"""One network: its file, its engine, its input, its head."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from app.config import sections
from app.decode.decoder import Decoder
from app.decode.family import detect_family
from app.decode.heads import head_for
from app.engine import Batch, Engine, HostEngine
from app.errors import ModelError
from app.fused.fallback import Fallback
from app.inference.chosen_engine import runs_engine
from app.model import check_names
from app.preprocess.helpers import Helpers
from app.preprocess.input_spec import input_spec
from app.preprocess.side_by_side import SideBySide
from app.wiring.fused import EngineOnGpu, Expected

if TYPE_CHECKING:
    from app.inference.onnxruntime import OnnxBackend
    from app.inference.triton_backend import TritonBackend

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WiredModel:
    """A model's engine with the class names that rules may use.

    Attributes:
        places: of pictures in one batch.
        sha256: of the model's file, 64 hex digits.
    """

    engine: Engine
    names: tuple[str, ...]
    places: int
    sha256: str = ""


def build_model(
    name: str,
    section: sections.Model,
    expected: Expected | None = None,
    tell: Callable[[str], None] = logger.warning,
    helpers: Helpers | None = None,
) -> WiredModel:
    """Wire one network: reads the file, loads nothing.

    Args:
        name: a key of `models`.
        section: of the model.
        expected: of the frames that it will see, where that is known.
        tell: takes a line when it runs otherwise than it was meant to.
        helpers: of the thread that will look with it; None: it has none.
    """
    from app.inference.model_file import read_model
    from app.inference.onnxruntime import OnnxBackend
    from app.preprocess.cpu import CpuPreprocessor

    info = read_model(Path(section.path), sha256=section.sha256, names=section.names)
    family, classes = detect_family(info, section.decode)
    names, warnings = check_names(info.names, classes)
    for warning in warnings:
        logger.warning("models.%s: %s", name, warning)
    spec = input_spec(info, section.input, family)
    local = OnnxBackend(info, section, input_wh=spec.network_wh)
    remote = _on_triton(name, section, local, tell)
    head = head_for(family, info, classes, spec.network_wh, section.decode)
    decoder = Decoder(head, section.nms, names, classes)
    arrays = [np.zeros((batch, *spec.sample_shape), spec.dtype) for batch in local.batches]
    engine: Engine = HostEngine(
        name=f"{name}:{info.sha256[:12]}",
        backend=remote or local,
        preprocessor=SideBySide(partial(CpuPreprocessor, spec), local.batches[-1], helpers or Helpers(0)),
        feeds={spec.name: arrays[0]},
        sample=arrays[0][0],
        decode=decoder.run,
        batches=tuple(Batch({spec.name: array}, tuple(array)) for array in arrays if len(array) > 1),
        due=(lambda _: None) if remote is None else remote.due,
        pads=remote is not None,
        stands_in=lambda: remote is not None and remote.is_away,
    )
    if runs_engine(section):
        fused = EngineOnGpu(name, section, info, spec, head, decoder, expected or Expected(), tell)
        engine = Fallback(fused, engine) if section.allow_cpu_fallback else fused
    return WiredModel(engine, decoder.names, local.batches[-1], info.sha256)


def _on_triton(
    name: str, section: sections.Model, local: OnnxBackend, tell: Callable[[str], None]
) -> TritonBackend | None:
    """Return the backend that asks a Triton server, where the model has one."""
    if section.triton is None:
        return None
    if runs_engine(section):
        raise ModelError(
            f"models.{name}: triton and a built engine exclude one another: remove triton, or set device to cpu or cuda"
        )
    try:
        from app.inference.triton_backend import TritonBackend
    except ImportError as error:
        raise ModelError(
            f"models.{name}: {error}: install `pip install 'taktsight[triton]'`, or remove triton"
        ) from error
    return TritonBackend(Path(section.path), section.triton, local, lambda text: tell(f"models.{name}: {text}"))
