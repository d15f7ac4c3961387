"""What all lanes of one network share on the GPU: the context, the engine, the kernels."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import ExitStack, suppress
from types import TracebackType

from typing_extensions import Self

from app.errors import ModelError
from app.fused.blocks import Blocks
from app.fused.network import Network
from app.fused.skipping import Skipping
from app.gpu.compiler import architecture, cached
from app.gpu.context import Context
from app.gpu.kernels.source import FLAGS, program
from app.gpu.module import Kernel, Module
from app.inference.tensorrt import TensorRtEngine
from app.inference.tensorrt_backend import check_inputs, find_for_gpu
from app.inference.tensorrt_module import runtime_of
from app.model import TensorSpec

log = logging.getLogger(__name__)

BATCHES = (1, 2, 4, 8)
"""Few, because each has memory and a graph of its own; what is between them runs with an empty place or more."""


class Core:
    """Entered and left on the one thread that looks, or handed over to it; left after all lanes are closed.

    Attributes:
        network: as given.
        provider: the library that runs it, e.g. "tensorrt 10.3.0"; known once entered.
        context, engine, blocks, skipping: there while it is entered.
        batches: how many places the engine can be run with, smallest first; known once entered.
    """

    context: Context
    engine: TensorRtEngine
    blocks: Blocks
    skipping: Skipping

    def __init__(self, network: Network, tell: Callable[[str], None] = log.warning) -> None:
        self.network = network
        self._tell = tell
        self.provider = ""
        self.batches: tuple[int, ...] = ()
        self._modules: dict[str, Module] = {}
        self._stack: ExitStack | None = None

    @property
    def is_entered(self) -> bool:
        """Whether it can be used."""
        return self._stack is not None

    def __enter__(self) -> Self:
        """Load the engine and the kernels.

        Raises:
            ModelError: there is no GPU, no TensorRT, or the engine or the kernels can't be used here.
        """
        if self._stack is not None:
            return self
        network = self.network
        trt = find_for_gpu(network.find, network.where)
        with ExitStack() as stack:
            self.context = stack.enter_context(Context())
            self.blocks = Blocks(self.context, network.where, self._tell)
            stack.callback(self.blocks.close)
            self.skipping = Skipping(network.where, self._tell)
            self.engine = TensorRtEngine(trt, self.context, network.load(trt), network.where)
            stack.callback(self.engine.close)
            self.batches = self._batches()
            arch = architecture(self.context.compute_capability)
            for name in ("letterbox", "decode"):
                binary = cached(program(name), arch, FLAGS, network.cache, network.compile)
                self._modules[name] = Module(self.context, binary, name)
                stack.callback(self._modules[name].close)
            self._stack = stack.pop_all()
        self.provider = f"{runtime_of(trt)} {trt.__version__}"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Free everything; safe to call twice."""
        stack, self._stack = self._stack, None
        if stack is not None:
            stack.close()
            self._modules.clear()

    def hand_over(self) -> None:
        """Let another thread go on with it; see `ThreadBound`."""
        self.context.hand_over()

    def take_over(self) -> None:
        """Go on with it on this thread; see `ThreadBound`."""
        self.context.take_over()

    def batch_for(self, looks: int) -> int:
        """Return the smallest batch that has a place for so many looks; the largest where none has."""
        return next((batch for batch in self.batches if batch >= looks), self.batches[-1])

    def _batches(self) -> tuple[int, ...]:
        """Return the batches that are used, of those that the engine takes.

        Raises:
            ModelError: it doesn't take what it has to, or wants another type.
        """
        spec, network = self.network.spec, self.network
        needed = {spec.batch} if spec.batch > 1 else set(network.batches)
        found = set(needed)
        for batch in needed:
            shape = (batch, *spec.sample_shape)
            fitted, _ = self.engine.fit({spec.name: shape})
            check_inputs([TensorSpec(spec.name, shape, spec.dtype)], fitted, network.where)
        for batch in BATCHES:
            with suppress(ModelError):
                self.engine.fit({spec.name: (batch, *spec.sample_shape)})
                found.add(batch)
        return tuple(sorted(found))

    def kernel(self, module: str, name: str) -> Kernel:
        """Return a kernel.

        Raises:
            ModelError: it is not entered.
        """
        if self._stack is None:
            raise ModelError(f"{self.network.where}: not loaded: enter the backend before it is asked to look")
        return self._modules[module].kernel(name)
