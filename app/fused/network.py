"""What is known of a network before anything of it is on the GPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from app.decode.base import Head
from app.decode.decoder import Decoder
from app.gpu.compiler import Compile
from app.preprocess.input_spec import InputSpec


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """One engine file with its way in and its way out.

    Attributes:
        name: of the model and its hash, for the label.
        where: the file, for messages.
        load: returns what TensorRT deserialises, once TensorRT itself is there; refuses an engine that doesn't fit.
        spec: what the network is fed.
        head: reads its outputs on the host; the kernels stand in for it where they can.
        decoder: suppresses what overlaps.
        batches: frames that may come at a time, which is made ready at the start; the engine must take them.
        find: returns TensorRT; called only once there is a driver.
        compile: makes a binary of a kernel's source.
        cache: the folder of compiled kernels.
    """

    name: str
    where: str
    load: Callable[[ModuleType], bytes | memoryview]
    spec: InputSpec
    head: Head
    decoder: Decoder
    find: Callable[[], ModuleType]
    compile: Compile
    cache: Path
    batches: tuple[int, ...] = (1,)
