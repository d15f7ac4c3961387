"""A network on a Triton server, and the same network here for as long as the server is away."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic_ns
from types import TracebackType

from typing_extensions import Self

from app.config.triton import Triton
from app.errors import ModelError
from app.inference.base import Tensors
from app.inference.feeds import check_feeds
from app.inference.onnxruntime import OnnxBackend
from app.inference.triton_check import Reference, noise
from app.inference.triton_comeback import Comeback
from app.inference.triton_fault import TritonFault, TritonLate, TritonRefused
from app.inference.triton_link import Link
from app.model import TensorSpec

log = logging.getLogger(__name__)

LEAST_WAIT_S = 0.001
_SLOWER = 0.1  # share of a new time in the running one: the local engine's pace, without its outliers


class TritonBackend:
    """Asks the server; where it is away, late or wrong, the local engine answers the same call.

    One thread at a time may call `infer`. Only what the server has for another model is refused at entry: a server
    that is away then is waited for, on the local engine.

    Attributes:
        inputs, outputs: see `Backend`; the file's, of the smallest batch.
        provider: see `Backend`; changes when the server goes and comes back.
        batches: how many pictures `infer` takes, smallest first.
    """

    def __init__(
        self,
        path: Path,
        section: Triton,
        local: OnnxBackend,
        tell: Callable[[str], None] = log.warning,
        connect: Callable[[Triton, str, Sequence[Reference]], Link] = Link,
    ) -> None:
        """Connect to nothing yet.

        Args:
            path: of the model's file.
            section: of the server.
            local: the same model here.
            tell: takes a line when the server goes or comes back, on the caller's thread; must not wait.
            connect: makes a connection.
        """
        self.inputs: tuple[TensorSpec, ...] = local.inputs
        self.outputs: tuple[TensorSpec, ...] = local.outputs
        self.provider = ""
        self.batches = local.batches
        self._path = path
        self._section = section
        self._local = local
        self._tell = tell
        self._connect = connect
        self._model = section.model or path.stem
        self._specs: dict[int, tuple[TensorSpec, ...]] = {}
        self._link: Link | None = None
        self._comeback: Comeback[Link] | None = None
        self._local_s = 0.0
        self._late = 0
        self._deadline_ns: int | None = None

    def __enter__(self) -> Self:
        """Load the local engine, find out what it gives, and compare the server's model with that.

        Raises:
            ModelError: the file can't be used here, the server has another model, or it is away and nothing may take
                its place.
        """
        if self._specs:
            return self
        self._local.__enter__()
        try:
            references = [self._reference(batch) for batch in self.batches]
            self.outputs = self._local.outputs
            self._open(references)
        except ModelError:
            self.close()
            raise
        self._specs = {known.inputs[0].shape[0] or 1: known.inputs for known in references}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Leave server and local engine; safe to call twice."""
        self.close()

    def close(self) -> None:
        """Leave server and local engine; safe to call twice."""
        comeback, self._comeback = self._comeback, None
        if comeback is not None:
            comeback.__exit__(None, None, None)
        link, self._link = self._link, None
        if link is not None:
            link.close()
        self._local.close()
        self._specs = {}

    def hand_over(self) -> None:
        """Let another thread go on with it; see `ThreadBound`."""
        self._local.hand_over()

    def take_over(self) -> None:
        """Go on with it on this thread; see `ThreadBound`."""
        self._local.take_over()

    @property
    def is_away(self) -> bool:
        """Whether the local engine runs the model, because the server is away."""
        return bool(self._specs) and self._link is None

    def due(self, deadline_ns: int | None) -> None:
        """Say until when the next call's result is of use, on `time.monotonic_ns`; None where nobody knows."""
        self._deadline_ns = deadline_ns

    def infer(self, feeds: Tensors) -> Tensors:
        """Run the network once; see `Backend.infer`.

        Raises:
            ModelError: the feeds don't fit `inputs`; or the server is away and nothing may take its place.
        """
        if not self._specs:
            raise ModelError(f"{self._path}: not loaded: enter the backend before it is asked to infer")
        first = feeds.get(self.inputs[0].name)
        rows = 0 if first is None or first.ndim == 0 else first.shape[0]
        check_feeds(self._specs.get(rows, self.inputs), feeds)
        link = self._link or self._back()
        if link is None:
            return self._here(feeds)
        try:
            results = link.infer(feeds, self._wait_s())
        except TritonFault as fault:
            return self._instead(feeds, link, fault)
        self._late = 0
        return results

    # ── going and coming back ────────────────────────────────────────────────────────────────────────────────────────

    def _open(self, references: Sequence[Reference]) -> None:
        """Connect; or begin to look for the server, where it may be away."""
        section = self._section
        self._comeback = Comeback(
            lambda: self._connect(section, self._model, references), section.retry_s, section.well_after
        )
        link = self._connect(section, self._model, references)
        try:
            link.__enter__()
        except TritonRefused:
            raise
        except TritonFault as fault:
            if not section.fail_over:
                raise ModelError(f"{fault}; or set triton.fail_over to run it here meanwhile") from fault
            self._comeback.__enter__()
            self._gone(fault)
            return
        if section.fail_over:
            self._comeback.__enter__()
            self._use(link)
            return
        self._local.close()  # it was here for the comparison alone
        self._use(link)

    def _use(self, link: Link) -> None:
        if link.warning:
            log.warning("%s", link.warning)
        self._link = link
        self._late = 0
        self.provider = f"Triton({self._section.url}, {link.way})"

    def _back(self) -> Link | None:
        """Return the server's connection where it has come back and was well for a while."""
        link = None if self._comeback is None else self._comeback.take()
        if link is None:
            return None
        self._use(link)
        self._tell(f"{link.where} is well again: it runs the model")
        return link

    def _instead(self, feeds: Tensors, link: Link, fault: TritonFault) -> Tensors:
        """Answer a call that the server did not, and give the server up where that was enough."""
        if not self._section.fail_over:
            raise fault
        self._late = self._late + 1 if isinstance(fault, TritonLate) else self._section.late_calls
        if self._late >= self._section.late_calls:
            self._link = None
            link.close()
            self._gone(fault)
        return self._here(feeds)

    def _gone(self, fault: TritonFault) -> None:
        self.provider = f"{self._local.provider}(Triton away)"
        self._tell(f"{fault}; running it here, on {self._local.provider}, until the server has been well for a while")
        if self._comeback is not None:
            self._comeback.look()

    # ── time ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _wait_s(self) -> float:
        """Return how long the server may take: so long that the local engine could still be in time after it.

        Where there is not time for both, the server gets half of what is left; where there is none, the frame is late
        already and the usual bound holds.
        """
        most_s = self._section.timeout_ms / 1e3
        if self._deadline_ns is None:
            return most_s
        left_s = (self._deadline_ns - monotonic_ns()) / 1e9
        if left_s <= 0:
            return most_s
        return max(min(most_s, max(left_s - self._local_s, left_s / 2)), LEAST_WAIT_S)

    def _here(self, feeds: Tensors) -> Tensors:
        began_ns = monotonic_ns()
        results = self._local.infer(feeds)
        took_s = (monotonic_ns() - began_ns) / 1e9
        self._local_s += (took_s - self._local_s) * (_SLOWER if self._local_s else 1.0)
        return results

    def _reference(self, batch: int) -> Reference:
        """Run the local engine on one made-up batch, and keep what it gives."""
        inputs = tuple(TensorSpec(spec.name, (batch, *spec.shape[1:]), spec.dtype) for spec in self.inputs)
        feeds = noise(inputs)
        results = {name: array.copy() for name, array in self._here(feeds).items()}
        open_axes = {spec.name: spec.shape for spec in self._local.outputs}
        outputs = tuple(
            TensorSpec(spec.name, _shape(results[spec.name].shape, open_axes[spec.name]), spec.dtype)
            for spec in self._local.outputs
        )
        return Reference(inputs, outputs, feeds, results)


def _shape(seen: tuple[int, ...], known: tuple[int | None, ...]) -> tuple[int | None, ...]:
    """Return the shape of an output of one batch: as it was seen, but open where the network decides each time."""
    return tuple(None if axis is None else here for here, axis in zip(seen, known, strict=True))
