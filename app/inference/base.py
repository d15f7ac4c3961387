"""The seam where a network runs: named tensors in, named tensors out."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Protocol, TypeAlias

from numpy.typing import NDArray
from typing_extensions import Self

from app.model import TensorSpec

Tensors: TypeAlias = Mapping[str, NDArray[Any]]


class Backend(Protocol):
    """An engine for one network; knows nothing of boxes or classes.

    Constructing is free. Entering loads the network, checks that it runs where it was asked to run, and warms it up
    with the real input shape; what can't run is refused there (`ModelError`), never at frame 1.

    Attributes:
        inputs, outputs: the tensors with every open axis resolved (outputs may keep None where the network decides).
        provider: where it really runs, e.g. "CPUExecutionProvider"; known once entered.
    """

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    provider: str

    def __enter__(self) -> Self:
        """Load, verify, warm up."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Free everything; safe to call twice."""
        ...

    def infer(self, feeds: Tensors) -> Tensors:
        """Run the network once.

        Args:
            feeds: C-contiguous arrays by input name, in the dtype and shape of `inputs`; not kept.

        Returns:
            Arrays by output name, borrowed: the next `infer` overwrites them, so copy what must live longer.
        """
        ...
