"""CUDA graphs: work recorded once, then started with one call.

PyCUDA has none, so they come from cuda-bindings, on the handle of PyCUDA's stream.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import ExitStack

from cuda.bindings import driver

from app.errors import GpuError
from app.gpu.checked import call
from app.gpu.context import Context, Owned
from app.gpu.stream import Stream

log = logging.getLogger(__name__)

capturing = threading.RLock()
"""Held by whoever warms up and captures: two captures at a time in one process have crashed libraries."""

# Not the global mode, in which any thread's ordinary call spoils the capture, and the capture that thread's call.
_MODE = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL


class Graph(Owned):
    """Recorded work, ready to be started.

    What was recorded is kept as long as this is: by its pieces the driver is told what to change.

    Attributes:
        nodes: how many pieces of work were recorded.
    """

    def __init__(self, context: Context, stream: Stream, record: Callable[[], None], least_nodes: int = 1) -> None:
        """Capture what a function puts into a stream.

        Args:
            context: of the stream.
            stream: nothing may be waited for, allocated or freed while it is captured.
            record: puts the work into the stream.
            least_nodes: refuse what recorded less: a call that was refused records nothing, and a graph without it
                would give the last picture's results for ever.

        Raises:
            GpuError: the work can't be captured; the stream can be used on.
        """
        context.check_thread()
        with capturing:
            call("cuStreamBeginCapture", stream.handle, _MODE)
            with ExitStack() as undo:
                undo.callback(_abandon, stream)
                record()
                undo.pop_all()
            graph = call("cuStreamEndCapture", stream.handle)
        with ExitStack() as undo:
            undo.callback(_destroy, graph)
            self.nodes = _count(graph)
            if self.nodes < least_nodes:
                raise GpuError(f"GPU: captured {self.nodes} pieces of work, expected at least {least_nodes}")
            self._exec = call("cuGraphInstantiate", graph, 0)
            self._recorded = undo.pop_all()
        self._graph = graph
        super().__init__(context)

    def launch(self, stream: Stream) -> None:
        """Start the recorded work, in the stream's order."""
        call("cuGraphLaunch", self._exec, stream.handle)

    def upload_to(self, address: int, nbytes: int) -> Upload:
        """Return the copy from the host to an address, so that its source can be changed between launches.

        Raises:
            GpuError: none was recorded, or the driver does not tell.
        """
        memcpy = driver.CUgraphNodeType.CU_GRAPH_NODE_TYPE_MEMCPY
        for node in call("cuGraphGetNodes", self._graph, self.nodes)[0]:
            if call("cuGraphNodeGetType", node) == memcpy:
                target = call("cuGraphMemcpyNodeGetParams", node)
                if int(target.dstDevice) == address:
                    return Upload(self._exec, node, address, nbytes)
        raise GpuError("GPU: the graph that was captured has no such copy to the GPU")

    def _free(self) -> None:
        with self._recorded:
            call("cuGraphExecDestroy", self._exec)


class Upload:
    """A copy of a graph, to the GPU; used on the context's thread."""

    def __init__(self, launched: driver.CUgraphExec, node: driver.CUgraphNode, address: int, nbytes: int) -> None:
        copy = driver.CUDA_MEMCPY3D()
        copy.srcMemoryType = driver.CUmemorytype.CU_MEMORYTYPE_HOST
        copy.dstMemoryType = driver.CUmemorytype.CU_MEMORYTYPE_DEVICE
        copy.dstDevice = address
        copy.WidthInBytes, copy.Height, copy.Depth = nbytes, 1, 1
        self._launched, self._node, self._copy, self._source, self._is_on = launched, node, copy, 0, True

    def read_from(self, source: int) -> None:
        """Let the launches to come read from this address, which is pinned or registered; others go on as they are.

        Raises:
            GpuError: the driver refuses, and the copy is as it was.
        """
        if source == self._source:
            return
        self._copy.srcHost = source
        call("cuGraphExecMemcpyNodeSetParams", self._launched, self._node, self._copy, call("cuCtxGetCurrent"))
        self._source = source

    def turn(self, *, on: bool) -> None:
        """Let the launches to come do it, or leave it out; others go on as they are.

        Raises:
            GpuError: the driver refuses, or is older than CUDA 11.6, and the copy is as it was.
        """
        if on == self._is_on:
            return
        call("cuGraphNodeSetEnabled", self._launched, self._node, int(on))
        self._is_on = on


def _abandon(stream: Stream) -> None:
    """End a capture that failed: without that the stream could never be used again."""
    try:
        graph = call("cuStreamEndCapture", stream.handle)
    except GpuError as error:  # it says that the capture failed, which is known
        log.debug("capture given up: %s", error)
    else:
        _destroy(graph)


def _destroy(graph: driver.CUgraph) -> None:
    """Destroy what a capture recorded; what was made of it does not need it, nor anyone's knowing that this failed."""
    try:
        call("cuGraphDestroy", graph)
    except GpuError as error:
        log.warning("a recorded graph is not given back: %s", error)


def _count(graph: driver.CUgraph) -> int:
    """Return how many nodes a graph has."""
    _, count = call("cuGraphGetNodes", graph, 0)
    return int(count)
