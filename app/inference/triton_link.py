"""One connection to a Triton server: one model, its tensors in shared memory where that can be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

import numpy as np
import tritonclient.grpc as triton
from numpy.typing import NDArray
from typing_extensions import Self

from app.config.triton import Triton
from app.inference.base import Tensors
from app.inference.shapes import known_shape
from app.inference.triton_check import Reference, result_fault, tensor_fault
from app.inference.triton_fault import TritonAway, TritonFault, TritonLate, TritonRefused
from app.inference.triton_names import TYPES
from app.inference.triton_shared import Shared

OPEN_S = 5.0
"""How long one of the calls of `open` may take; the first runs of a model are slow."""

SLOTS = 8
"""Calls that may be given up before the memory that they could still be written to is used up."""

# A server that was cut off by a pulled cable is noticed by these, since no packet says so.
_KEEPALIVE = triton.KeepAliveOptions(
    keepalive_time_ms=10_000, keepalive_timeout_ms=2_000, keepalive_permit_without_calls=True
)


class Link:
    """Constructing is free; entering connects, compares the model with the file's, and proves its numbers.

    Args:
        section: of the server.
        model: the model's name there.
        references: what the file's own network gives, for each batch.

    Attributes:
        way: how tensors go, for the label: "grpc" or "grpc+shm".
        warning: why not by shared memory, where that was asked for automatically; else "".
    """

    def __init__(self, section: Triton, model: str, references: Sequence[Reference]) -> None:
        self.way = "grpc"
        self.warning = ""
        self._section = section
        self._model = model
        self._references = references
        self._client: Any = None
        self._shared: tuple[Shared, Shared] | None = None
        self._given_up = False
        self._calls: dict[int, _Call] = {}
        self._results: dict[int, dict[str, NDArray[Any]]] = {}

    def __enter__(self) -> Self:
        """Connect and prove.

        Raises:
            TritonFault: it is away, late, or has another model.
        """
        self._client = triton.InferenceServerClient(self._section.url, keepalive_options=_KEEPALIVE)
        try:
            self._check_model()
            self._share()
            self.prove()
        except TritonFault:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Safe to call twice."""
        self.close()

    def close(self) -> None:
        """Give the memory back and end the connection; safe to call twice."""
        client, self._client = self._client, None
        shared, self._shared = self._shared, None
        for one in shared or ():
            # A call that was given up may still be written: the server keeps that memory until it ends itself.
            if client is not None and not self._given_up:
                _quietly(client.unregister_system_shared_memory, one.key, client_timeout=0.5)
            one.close()
        if client is not None:
            client.close()

    def prove(self) -> None:
        """Run each batch and compare.

        Raises:
            TritonFault: it can't run them in time, or its numbers are others.
        """
        for reference in self._references:
            got = self.infer(reference.feeds, OPEN_S)
            fault = result_fault(reference.results, got, self._section.tolerance)
            if fault is not None:
                raise TritonRefused(
                    f"{self.where}: {fault}: it is not the file's model; export it again "
                    "(`taktsight engine export-triton`), or raise triton.tolerance where it computes in FP16"
                )

    def infer(self, feeds: Tensors, wait_s: float) -> Tensors:
        """Run the network once, and wait so long.

        Args:
            feeds: checked already.
            wait_s: also told to the server, which throws out a call that waited longer in its queue.

        Returns:
            Arrays by output name, borrowed until the next call.

        Raises:
            TritonFault: it did not answer, or refused.
        """
        rows = next(iter(feeds.values())).shape[0]
        call = self._calls.get(rows) or self._calls.setdefault(rows, self._call_for(feeds))
        call.fill(feeds)
        try:
            answer = self._client.infer(
                self._model,
                call.inputs,
                model_version=self._section.version,
                outputs=call.outputs,
                priority=self._section.priority,
                timeout=max(int(wait_s * 1e6), 1),
                client_timeout=wait_s,
            )
        except triton.InferenceServerException as error:
            raise self._said(error) from error
        return self._taken(rows, answer)

    @property
    def where(self) -> str:
        """Model and address, for texts."""
        return f"Triton model {self._model!r} at {self._section.url}"

    # ── one call ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _call_for(self, feeds: Tensors) -> _Call:
        reference = next(one for one in self._references if one.inputs[0].shape == feeds[one.inputs[0].name].shape)
        return _Call(reference, self._shared)

    def _taken(self, rows: int, answer: Any) -> Tensors:  # noqa: ANN401 - the client has no types
        """Return the outputs in arrays that stay the same from call to call."""
        call, results = self._calls[rows], self._results.setdefault(rows, {})
        for spec in call.reference.outputs:
            array = call.shared_output(spec.name)
            if array is None:
                array = answer.as_numpy(spec.name)
                lent = results.get(spec.name)
                if lent is not None and lent.shape == array.shape:
                    np.copyto(lent, array)
                    continue
                array = array.copy()
            results[spec.name] = array
        return results

    def _said(self, error: triton.InferenceServerException) -> TritonFault:
        """Turn the client's error into ours, and leave memory alone that the server may still write to."""
        status, text = str(error.status() or ""), " ".join(str(error.message() or "").split())
        if "DEADLINE_EXCEEDED" in status or "Request timeout expired" in text:
            self._leave_slot()
            return TritonLate(f"{self.where} did not answer in time: {text}")
        if "UNAVAILABLE" in status or "CANCELLED" in status or "INTERNAL" in status:
            self._given_up = True
            return TritonAway(f"{self.where} can't be reached: {text}: start the server, or correct triton.url")
        self._given_up = True
        return TritonRefused(f"{self.where} refuses: {text}")

    def _leave_slot(self) -> None:
        self._given_up = True
        if self._shared is None:
            return
        self._calls.clear()
        self._results.clear()
        if not all([shared.next_slot() for shared in self._shared]):
            self._shared = None  # used up: what is left goes by gRPC
            self.way = "grpc"

    # ── opening ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _check_model(self) -> None:
        try:
            if not self._client.is_server_ready(client_timeout=OPEN_S):
                raise TritonAway(f"{self.where} is not ready: the server is still loading")
            if not self._client.is_model_ready(self._model, self._section.version, client_timeout=OPEN_S):
                raise TritonRefused(
                    f"{self.where} is not there: load it, or correct triton.model; `taktsight engine export-triton` "
                    "writes its folder"
                )
            found = self._client.get_model_metadata(self._model, self._section.version, client_timeout=OPEN_S)
        except triton.InferenceServerException as error:
            raise self._said(error) from error
        reference = self._references[0]
        here = [spec for one in self._references for spec in one.inputs][: len(reference.inputs)]
        fault = tensor_fault(_tensors(found.inputs), _expected(here)) or tensor_fault(
            _tensors(found.outputs), _expected(reference.outputs)
        )
        if fault is not None:
            raise TritonRefused(f"{self.where}: {fault}: export this file again (`taktsight engine export-triton`)")

    def _share(self) -> None:
        """Have the server open memory of ours, where that was asked for."""
        wanted = self._section.shared_memory
        if wanted == "off" or (wanted == "auto" and not is_local(self._section.url)):
            return
        largest = max(self._references, key=lambda one: known_shape(one.inputs[0])[0])
        shared: list[Shared] = []
        try:
            for specs in (largest.inputs, largest.outputs):
                shared.append(Shared({spec.name: spec for spec in specs if None not in spec.shape}, SLOTS))
                one = shared[-1]
                self._client.register_system_shared_memory(one.key, f"/{one.key}", one.size, client_timeout=OPEN_S)
        except (OSError, triton.InferenceServerException) as error:
            for one in shared:
                one.close()
            said = f"{self.where} can't open shared memory ({' '.join(str(error).split())})"
            if wanted == "on":
                raise TritonRefused(
                    f"{said}: run it as the same user, in a container with --ipc=host, or set shared_memory: auto"
                ) from error
            self.warning = f"{said}: tensors go by gRPC"
            return
        self._shared = (shared[0], shared[1])
        self.way = "grpc+shm"


class _Call:
    """What is sent for one batch: made once, filled each time.

    Args:
        reference: of the batch.
        shared: memory of inputs and of outputs; None for neither.
    """

    def __init__(self, reference: Reference, shared: tuple[Shared, Shared] | None) -> None:
        self.reference = reference
        self._into: dict[str, NDArray[Any]] = {}
        self._from: dict[str, NDArray[Any]] = {}
        self.inputs = []
        self.outputs = []
        for spec in reference.inputs:
            tensor = triton.InferInput(spec.name, list(known_shape(spec)), TYPES[spec.dtype])
            if shared is not None:
                view = _view(shared[0], spec)
                tensor.set_shared_memory(shared[0].key, view.nbytes, shared[0].offsets[spec.name])
                self._into[spec.name] = view
            self.inputs.append(tensor)
        for spec in reference.outputs:
            asked = triton.InferRequestedOutput(spec.name)
            if shared is not None and spec.name in shared[1].arrays:
                view = _view(shared[1], spec)
                asked.set_shared_memory(shared[1].key, view.nbytes, shared[1].offsets[spec.name])
                self._from[spec.name] = view
            self.outputs.append(asked)

    def fill(self, feeds: Tensors) -> None:
        """Take the tensors of one call."""
        for tensor in self.inputs:
            name = tensor.name()
            if name in self._into:
                np.copyto(self._into[name], feeds[name])
            else:
                tensor.set_data_from_numpy(feeds[name])

    def shared_output(self, name: str) -> NDArray[Any] | None:
        """Return the memory that the server has written an output to; None where it is in the answer."""
        return self._from.get(name)


def _view(shared: Shared, spec: Any) -> NDArray[Any]:  # noqa: ANN401
    """Return the first rows of a tensor's place."""
    return shared.arrays[spec.name][: known_shape(spec)[0]]


def is_local(url: str) -> bool:
    """Tell whether a server is on this machine, by its address."""
    host = url.rpartition(":")[0]
    return url.startswith("unix:") or host in ("localhost", "[::1]") or host.startswith("127.")


def _tensors(found: Any) -> dict[str, tuple[str, tuple[int, ...]]]:  # noqa: ANN401 - the client has no types
    return {tensor.name: (tensor.datatype, tuple(tensor.shape)) for tensor in found}


def _expected(specs: Sequence[Any]) -> Mapping[str, tuple[str, tuple[int | None, ...]]]:
    return {spec.name: (TYPES[spec.dtype], spec.shape) for spec in specs}


def _quietly(call: Any, *args: Any, **how: Any) -> None:  # noqa: ANN401
    """Do a last courtesy to a server that may be gone."""
    try:
        call(*args, **how)
    except triton.InferenceServerException:
        return
