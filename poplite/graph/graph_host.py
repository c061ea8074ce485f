"""The part of a graph that faces the host: streams, remote buffers, host functions, handles.

    images = graph.add_host_to_device_fifo("images", FLOAT, 784)
    table = graph.add_remote_buffer("table", FLOAT, 64, repeats=100_000)
    graph.create_host_read("loss", loss)

Each is named by a handle, by which an engine finds it without the graph.

Source: Poplar API reference, "Graph"; the limit of a transfer, user guide, "Data streams".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from poplite.errors import ControlProgramError, ElementTypeError, GraphConnectionError
from poplite.graph.graph_mapping import GraphMapping
from poplite.graph.host.handles import (
    Handles,
    HostHandle,
    TypeLike,
    check_size,
    named,
    plain_type,
    positive,
    signature,
)
from poplite.graph.host.remote import FunctionBuffer, HostFunction, RemoteBuffer
from poplite.graph.host.streams import DataStream, DataStreamType, ReplicatedStreamMode
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tensor.text import why_not_writeable
from poplite.source import here
from poplite.text import clipped
from poplite.types import element_type

if TYPE_CHECKING:
    from poplite.program import Function


class GraphHost(GraphMapping):
    """A graph as the host sees it; see `poplite.graph`."""

    _handles: Handles

    @property
    def host_reads(self) -> Mapping[str, HostHandle]:
        """Tensors that the host reads by handle."""
        return MappingProxyType(self._handles.reads)

    @property
    def host_writes(self) -> Mapping[str, HostHandle]:
        """Tensors that the host writes by handle."""
        return MappingProxyType(self._handles.writes)

    @property
    def function_buffers(self) -> Mapping[str, FunctionBuffer]:
        """Function buffers by the name of their function."""
        return MappingProxyType(self._handles.function_buffers)

    # Streams

    def add_host_to_device_fifo(
        self,
        handle: str,
        element_type: TypeLike,
        num_elements: int,
        replicated_mode: ReplicatedStreamMode = ReplicatedStreamMode.REPLICATE,
        buffering_depth: int = 1,
    ) -> DataStream:
        """Make a stream of blocks from the host to the device.

        Args:
            handle: its name; unique among the graph's streams.
            element_type: of its elements.
            num_elements: of one block: what one Copy takes.
            replicated_mode: whether each replica gets blocks of its own, or all the same.
            buffering_depth: blocks that a `StreamCallback` may fill ahead.

        Raises:
            StreamConnectionError: when the handle is taken.
            StreamMemoryAllocationError: when a block has more than 128 MiB.
            TensorCreationError: for a number that is none, or a handle that is no text.
            ElementTypeError: when there is no such element type.

        >>> from poplite.graph import Graph
        >>> Graph().add_host_to_device_fifo("images", "float32", 784)
        <DataStream 'images' host to device, float32[784], 3,136 B>
        """
        kind = DataStreamType.HOST_TO_DEVICE_FIFO
        if not isinstance(replicated_mode, ReplicatedStreamMode):
            raise ElementTypeError(
                f"stream {clipped(handle)}: {clipped(replicated_mode)} is no ReplicatedStreamMode",
                at=here(),
                fix="pl.ReplicatedStreamMode.REPLICATE or BROADCAST",
            )
        return self._stream(
            kind, handle, element_type, num_elements, replicated_mode, buffering_depth
        )

    def add_device_to_host_fifo(
        self, handle: str, element_type: TypeLike, num_elements: int
    ) -> DataStream:
        """Make a stream of blocks from the device to the host.

        Args:
            handle: its name; unique among the graph's streams.
            element_type: of its elements.
            num_elements: of one block: what one Copy hands over.

        Raises:
            StreamConnectionError: when the handle is taken.
            StreamMemoryAllocationError: when a block has more than 128 MiB.
            TensorCreationError: for a number that is none, or a handle that is no text.
            ElementTypeError: when there is no such element type.

        >>> from poplite.graph import Graph
        >>> Graph().add_device_to_host_fifo("loss", "float32", 1)
        <DataStream 'loss' device to host, float32[1], 4 B>
        """
        kind, mode = DataStreamType.DEVICE_TO_HOST_FIFO, ReplicatedStreamMode.REPLICATE
        return self._stream(kind, handle, element_type, num_elements, mode, 1)

    def _stream(
        self,
        kind: DataStreamType,
        handle: str,
        like: TypeLike,
        num_elements: int,
        mode: ReplicatedStreamMode,
        depth: int,
    ) -> DataStream:
        at = here()
        what = f"stream {clipped(handle)}"
        element = element_type(like)
        count = positive(num_elements, what, "elements in a block", at)
        ahead = positive(depth, what, "blocks of buffering", at)
        check_size(what, count, element, at)
        stream = DataStream(self.top_level_graph, handle, element, count, kind, mode, ahead, at)
        return named(self._handles.streams, "stream", handle, stream)

    # Remote memory

    def add_remote_buffer(
        self,
        handle: str,
        element_type: TypeLike,
        num_elements: int,
        repeats: int = 1,
        rearrange_on_host: bool = False,
        optimise_memory: bool = False,
    ) -> RemoteBuffer:
        """Make rows of elements that lie on the host and keep their contents between runs.

        Args:
            handle: its name; unique among the graph's remote buffers.
            element_type: of its elements.
            num_elements: of one row.
            repeats: how many rows.
            rearrange_on_host: kept as a wish; it changes no value.
            optimise_memory: kept as a wish; it changes no value.

        Raises:
            StreamConnectionError: when the handle is taken.
            StreamMemoryAllocationError: when a row has more than 128 MiB.
            TensorCreationError: for a number that is none, or a handle that is no text.
            ElementTypeError: when there is no such element type; QUARTER rows are refused.

        >>> from poplite.graph import Graph
        >>> Graph().add_remote_buffer("table", "float32", 64, repeats=1000)
        <RemoteBuffer 'table' 1,000 rows of float32[64], 256,000 B>
        """
        at = here()
        what = f"remote buffer {clipped(handle)}"
        element = plain_type(element_type, what, at)
        count = positive(num_elements, what, "elements in a row", at)
        rows = positive(repeats, what, "rows", at)
        check_size(what, count, element, at)
        wishes = bool(rearrange_on_host), bool(optimise_memory)
        buffer = RemoteBuffer(self.top_level_graph, handle, element, count, rows, *wishes, at)
        return named(self._handles.remote_buffers, "remote buffer", handle, buffer)

    def add_function_buffer(self, function: Function) -> FunctionBuffer:
        """Keep the code of a function on the host until `Copy(buffer, function)` loads it.

        Args:
            function: whose code it is.

        Raises:
            StreamConnectionError: when it has a buffer.
            ControlProgramError: when it is no function of this graph.

        >>> from poplite.graph import Graph
        >>> from poplite.program import Program
        >>> graph = Graph()
        >>> graph.add_function_buffer(graph.add_function(Program(), "blur"))
        <FunctionBuffer of 'blur'>
        """
        from poplite.program import Function  # which imports this module

        at = here()
        if not isinstance(function, Function) or function.graph is not self.top_level_graph:
            raise ControlProgramError(
                f"add_function_buffer: {clipped(function, 80)} is no function of this graph",
                at=at,
                fix="graph.add_function_buffer(graph.add_function(program))",
            )
        buffer = FunctionBuffer(function, at)
        buffers = self._handles.function_buffers
        return named(buffers, "function buffer of", function.name, buffer)

    # Host functions

    def add_host_function(
        self,
        handle: str,
        inputs: Iterable[tuple[TypeLike, int]] = (),
        outputs: Iterable[tuple[TypeLike, int]] = (),
    ) -> HostFunction:
        """Make a function that runs on the host, in the middle of a program.

        Args:
            handle: its name; unique among the graph's host functions.
            inputs: element type and number of elements of each array it reads.
            outputs: the same of each array it fills.

        Raises:
            StreamConnectionError: when the handle is taken.
            StreamMemoryAllocationError: when an array has more than 128 MiB.
            TensorCreationError: for a number that is none, or a handle that is no text.
            ElementTypeError: when there is no such element type; QUARTER is refused.

        >>> from poplite.graph import Graph
        >>> Graph().add_host_function("sort", [("int32", 8)], [("int32", 8)])
        <HostFunction 'sort' int32[8] -> int32[8]>
        """
        at = here()
        what = f"host function {clipped(handle)}"
        sides = [signature(side, what, at) for side in (inputs, outputs)]
        function = HostFunction(self.top_level_graph, handle, sides[0], sides[1], at)
        return named(self._handles.host_functions, "host function", handle, function)

    # Handles of tensors

    def create_host_write(self, handle: str, tensor: Tensor) -> None:
        """Let the host write a tensor by name: `engine.write(handle, array)`.

        Args:
            handle: the name; unique among those that are written.
            tensor: any view without aliases and constants.

        Raises:
            StreamConnectionError: when the handle is taken.
            GraphConnectionError: when the tensor may not be written, or is of another graph.
            TensorCreationError: when the handle is no text.

        >>> from poplite.graph import Graph
        >>> graph = Graph()
        >>> graph.create_host_write("x", graph.add_variable("float32", (4,), "x"))
        """
        at = here()
        self._own(tensor, "create_host_write", at, "graph.create_host_write('x', tensor)")
        if not tensor.is_parallel_writeable():
            reason, fact = why_not_writeable(tensor)
            raise GraphConnectionError(
                f"host write {clipped(handle)}: '{tensor.name}' {reason}",
                at=at,
                found=fact,
                fix="graph.create_host_read for a tensor that is only read",
            )
        named(self._handles.writes, "host write", handle, HostHandle(tensor, at))

    def create_host_read(self, handle: str, tensor: Tensor) -> None:
        """Let the host read a tensor by name: `engine.read(handle)`.

        Args:
            handle: the name; unique among those that are read.
            tensor: any view.

        Raises:
            StreamConnectionError: when the handle is taken.
            GraphConnectionError: when the tensor is of another graph.
            TensorCreationError: when the handle is no text.

        >>> from poplite.graph import Graph
        >>> graph = Graph()
        >>> graph.create_host_read("x", graph.add_variable("float32", (4,), "x"))
        """
        at = here()
        self._own(tensor, "create_host_read", at, "graph.create_host_read('x', tensor)")
        named(self._handles.reads, "host read", handle, HostHandle(tensor, at))

    # C++ spelling

    addHostToDeviceFIFO = add_host_to_device_fifo
    addDeviceToHostFIFO = add_device_to_host_fifo
    addRemoteBuffer = add_remote_buffer
    addFunctionBuffer = add_function_buffer
    addHostFunction = add_host_function
    createHostWrite = create_host_write
    createHostRead = create_host_read
