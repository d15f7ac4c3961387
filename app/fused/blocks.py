"""Which blocks of the cameras' memory the GPU reads where they are, so that nobody has to copy a frame for it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from numpy.typing import NDArray

from app.errors import GpuError
from app.gpu.context import Context
from app.gpu.memory import RegisteredMemory
from app.picture_memory import block_of


class Blocks:
    """A block is registered when the first frame in it comes, and let go when its camera has given it up.

    Args:
        context: entered.
        where: the network's file, for messages.
        tell: takes a line when the driver refuses, once; from then on frames are copied.
    """

    def __init__(self, context: Context, where: str, tell: Callable[[str], None]) -> None:
        self._context = context
        self._where = where
        self._tell = tell
        self._known: dict[int, RegisteredMemory] = {}
        self.are_refused = False

    def find(self, data: NDArray[Any]) -> RegisteredMemory | None:
        """Return the registered memory that a frame lies in; None where it lies elsewhere and has to be copied."""
        block = None if self.are_refused else block_of(data)
        if block is None:
            return None
        known = self._known.get(block.address)
        if known is None:
            try:
                self._let_go()
                known = RegisteredMemory(self._context, block, mapped=self._context.integrated)
            except GpuError as error:
                self.refuse(error)
                return None
            self._known[block.address] = known
        return known

    def refuse(self, error: GpuError) -> None:
        """Have frames copied from now on, and say why."""
        if not self.are_refused:
            self.are_refused = True
            self._tell(f"{self._where}: every frame is copied before it goes to the GPU: {error}")

    def close(self) -> None:
        """Let all of them go; nothing may read them any more; safe to call twice."""
        with ExitStack() as stack:
            for memory in self._known.values():
                stack.callback(memory.close)
            self._known.clear()

    def _let_go(self) -> None:
        """Let those go in which no picture is and none will come; what is looked at is held."""
        for address, memory in list(self._known.items()):
            if memory.block.is_given_up and not memory.block.is_held:
                del self._known[address]
                memory.close()
