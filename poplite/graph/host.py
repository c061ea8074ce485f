"""The host's access to a graph by handle: streams, remote buffers, host functions, tensors.

    images = graph.add_host_to_device_fifo("images", FLOAT, 784)     one block per Copy
    program = Repeat(100, Sequence(Copy(images, x), Execute(train)))
    engine.connect_stream("images", array)                 an array, or
    engine.connect_stream_to_callback("images", fill)      a function that fills one

    table = graph.add_remote_buffer("table", FLOAT, 64, repeats=100_000)     rows on the host
    Copy(table, x, row)          reads the row whose number is in the scalar `row`
    Copy(x, table, row)          writes it

Each kind has its own handles: a stream and a remote buffer may both be named "x".

Source: Poplar API reference, "DataStream", "StreamCallback", "RemoteBuffer" and "HostFunction";
user guide, "Data streams".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

import numpy.typing as npt

from poplite.errors import (
    ElementTypeError,
    Enumeration,
    GraphConnectionError,
    StreamConnectionError,
    StreamMemoryAllocationError,
    TensorCreationError,
    checked_member,
    checked_truth,
    made_by,
)
from poplite.frozen import frozen
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tensor.tensor_text import why_not_writeable
from poplite.poplar.callable_values import CalledInt, called
from poplite.poplar.spelling import cpp_spelling
from poplite.source import SourceLocation
from poplite.text import amount, clipped, fitted, integer_or_none, items_or_none, of_type
from poplite.types import QUARTER, ElementType, element_type

if TYPE_CHECKING:
    from poplite.graph.graph import Graph
    from poplite.poplar.spellings import DataStreamSpelling, RemoteBufferSpelling
else:
    DataStreamSpelling = object
    RemoteBufferSpelling = object


TypeLike = type[ElementType[Any]] | npt.DTypeLike
"""An element type, or the NumPy dtype of one."""

MAX_TRANSFER_BYTES = 128 << 20
"""Largest block of a stream, or row of a remote buffer; source: Poplar user guide."""


def positive_count(value: object, what: str, of: str) -> int:
    """Return a positive integer, or refuse the value; `of` is the unit in the message."""
    number = integer_or_none(value)
    if number is None or number < 1:
        raise TensorCreationError(
            f"{what}: {clipped(value)} {of}, but at least 1 is needed",
            fix="pass a positive whole number",
        )
    return number


def check_size(what: str, count: int, element: type[ElementType[Any]]) -> None:
    """Refuse more elements than one transfer can move."""
    if count * element.size_bytes > MAX_TRANSFER_BYTES:
        most = MAX_TRANSFER_BYTES // element.size_bytes
        raise StreamMemoryAllocationError(
            f"{what}: {transfer_text(count, element)}, but one transfer moves at most "
            f"{MAX_TRANSFER_BYTES:,} B",
            found=f"the maximum is {most:,} elements of {element!r}",
            fix="transfer one part at a time, in a Repeat",
        )


def transfer_text(count: int, element: type[ElementType[Any]]) -> str:
    """Return the size of a block in words.

    >>> from poplite.types import FLOAT
    >>> transfer_text(2, FLOAT)
    '2 elements of FLOAT, 8 B'
    """
    size = count * element.size_bytes
    return f"{amount(count, 'element')} of {element!r}, {size:,} B"


def transferable_type(like: TypeLike, what: str) -> type[ElementType[Any]]:
    """Return an element type, or refuse one that needs metadata: QUARTER."""
    element = element_type(like)
    if element is QUARTER:
        raise ElementTypeError(
            f"{what}: QUARTER elements need metadata, which it does not store",
            fix="use UNSIGNED_CHAR, and t.reinterpret(pl.UNSIGNED_CHAR) for the codes of a tensor",
        )
    return element


def signature(side: object, what: str) -> tuple[tuple[type[ElementType[Any]], int], ...]:
    """Return the element type and number of elements of each array of a host function."""
    pairs = items_or_none(side)
    checked = []
    for pair in [side] if pairs is None else pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise TensorCreationError(
                f"{what}: {clipped(pair)} is not a valid (element type, number of elements)",
                fix="graph.add_host_function('sort', [(pl.INT, 8)], [(pl.INT, 8)])",
            )
        element = transferable_type(pair[0], what)
        count = positive_count(pair[1], what, "elements in an array")
        check_size(what, count, element)
        checked.append((element, count))
    return tuple(checked)


class DataStreamType(Enumeration):
    """Direction of a stream."""

    HOST_TO_DEVICE_FIFO = "host to device"
    """Read by `Copy(stream, tensor)`; the host connects data or a callback."""
    DEVICE_TO_HOST_FIFO = "device to host"
    """Written by `Copy(tensor, stream)`; the host connects an array or a callback."""
    HOST_TO_DEVICE_BUFFER = "remote buffer to device"
    """Reads rows of a remote buffer."""
    DEVICE_TO_HOST_BUFFER = "device to remote buffer"
    """Writes rows of a remote buffer."""

    # C++ spelling

    HostToDeviceFIFO = HOST_TO_DEVICE_FIFO
    DeviceToHostFIFO = DEVICE_TO_HOST_FIFO
    HostToDeviceBuffer = HOST_TO_DEVICE_BUFFER
    DeviceToHostBuffer = DEVICE_TO_HOST_BUFFER

    def __call__(self) -> Self:
        """Return the direction: `stream.type()` in Poplar's programs is `stream.type`."""
        return self


class ReplicatedStreamMode(Enumeration):
    """Whether each replica gets its own block from a stream, or all get the same."""

    REPLICATE = "replicate"
    """Each replica gets the next block."""
    BROADCAST = "broadcast"
    """All replicas get the same block."""


@made_by("graph.add_host_to_device_fifo('in', FLOAT, 4)")
@cpp_spelling()
@frozen(eq=False, repr=False)
class DataStream(DataStreamSpelling):
    """A stream, created by `graph.add_host_to_device_fifo` or `graph.add_device_to_host_fifo`.

    Attributes:
        graph: the graph.
        handle: its name in `engine.connect_stream`; unique among the graph's streams.
        element_type: type of the elements.
        num_elements: number of elements in a block.
        type: direction of the stream.
        replicated_mode: whether replicas get the same blocks.
        buffering_depth: number of blocks that may be fetched in advance.
        location: the user's line that created it.

    >>> from poplite.graph import Graph
    >>> Graph().add_host_to_device_fifo("images", "float32", 784)
    <DataStream 'images' host to device, float32[784], 3,136 B>
    """

    graph: Graph
    handle: str
    element_type: type[ElementType[Any]]
    num_elements: int
    type: DataStreamType
    replicated_mode: ReplicatedStreamMode
    buffering_depth: int
    location: SourceLocation

    def __post_init__(self) -> None:
        for name in ("handle", "num_elements", "buffering_depth"):
            object.__setattr__(self, name, called(getattr(self, name)))

    @property
    def name(self) -> str:
        """Its handle."""
        return self.handle

    @property
    def size_bytes(self) -> CalledInt:
        """Bytes of one block."""
        return CalledInt(self.num_elements * self.element_type.size_bytes)

    @property
    def replication_factor(self) -> CalledInt:
        """Number of replicas of its graph."""
        return self.graph.replication_factor

    def __repr__(self) -> str:
        block = f"{self.element_type.dtype}[{self.num_elements}], {self.size_bytes:,} B"
        return fitted(f"<DataStream '{{}}' {self.type.value}, {block}>", self.handle)


class StreamCallback:
    """Base class of callbacks that fill or take the blocks of a stream, possibly in advance.

    For a stream to the device, `prefetch` is called after each block until it returns false or as
    many blocks are ready as the buffering depth allows; the next Copy uses those first. For a
    stream to the host, `fetch` gets each block, and `prefetch` is not called.

    >>> class Counter(StreamCallback):
    ...     def __init__(self):
    ...         self.block = 0
    ...     def fetch(self, array):
    ...         array[:] = self.block
    ...     def complete(self):
    ...         self.block += 1
    """

    class Result(Enumeration):
        """Whether `prefetch` filled the array."""

        SUCCESS = True
        NOT_AVAILABLE = False

        # C++ spelling

        Success = SUCCESS
        NotAvailable = NOT_AVAILABLE

    def fetch(self, array: npt.NDArray[Any]) -> None:
        """Fill the next block now; for a stream to the host, consume it.

        Args:
            array: the block, 1-D. It is valid only during the call: copy it to keep it.
        """
        raise NotImplementedError(f"{type(self).__name__} has no fetch(self, array)")

    def prefetch(self, array: npt.NDArray[Any]) -> bool | StreamCallback.Result:
        """Fill a block in advance, if that is possible now.

        Args:
            array: the block, 1-D.

        Returns:
            Whether it was filled; the base class never fills a block.
        """
        return StreamCallback.Result.NOT_AVAILABLE

    def complete(self) -> None:
        """React to the completed transfer of the oldest filled block, or of a consumed one."""

    def invalidate_prefetched(self) -> None:
        """React to the blocks filled in advance being discarded unused."""

    # C++ spelling

    invalidatePrefetched = invalidate_prefetched


def stream_of(
    graph: Graph,
    handle: str,
    like: TypeLike,
    num_elements: int,
    kind: DataStreamType,
    mode: ReplicatedStreamMode | str,
    depth: int,
    at: SourceLocation,
) -> DataStream:
    """Return a stream, after checking its arguments; its handle is not registered yet."""
    what = f"stream {clipped(handle)}"
    mode = checked_member(mode, ReplicatedStreamMode, what)
    element = element_type(like)
    count = positive_count(num_elements, what, "elements in a block")
    ahead = positive_count(depth, what, "blocks of buffering")
    check_size(what, count, element)
    return DataStream(graph, handle, element, count, kind, mode, ahead, at)


@made_by("graph.add_remote_buffer('rows', FLOAT, 4, repeats=8)")
@cpp_spelling()
@frozen(eq=False, repr=False)
class RemoteBuffer(RemoteBufferSpelling):
    """Rows of elements on the host, created by `graph.add_remote_buffer`.

    They keep their contents between runs. Each replica has its own rows.

    Attributes:
        graph: the graph.
        handle: its name in the engine; unique among the graph's remote buffers.
        element_type: type of the elements.
        num_elements: number of elements in a row.
        repeats: number of rows.
        rearrange_on_host: a hint, which has no effect on values.
        optimise_memory: a hint, which has no effect on values.
        location: the user's line that created it.

    >>> from poplite.graph import Graph
    >>> Graph().add_remote_buffer("table", "float32", 64, repeats=1000)
    <RemoteBuffer 'table' 1,000 rows of float32[64], 256,000 B>
    """

    graph: Graph
    handle: str
    element_type: type[ElementType[Any]]
    num_elements: int
    repeats: int
    rearrange_on_host: bool
    optimise_memory: bool
    location: SourceLocation

    def __post_init__(self) -> None:
        for name in ("handle", "num_elements", "repeats"):
            object.__setattr__(self, name, called(getattr(self, name)))

    @property
    def name(self) -> str:
        """Its handle."""
        return self.handle

    @property
    def size_bytes(self) -> CalledInt:
        """Bytes of all rows."""
        return CalledInt(self.repeats * self.num_elements * self.element_type.size_bytes)

    def __repr__(self) -> str:
        rows = f"{amount(self.repeats, 'row')} of {self.element_type.dtype}[{self.num_elements}]"
        return fitted(f"<RemoteBuffer '{{}}' {rows}, {self.size_bytes:,} B>", self.handle)

    def getIpuToHostStream(self) -> DataStream:
        """Return the stream that represents transfers to the host; no program can copy to it."""
        return self._stream(DataStreamType.DEVICE_TO_HOST_BUFFER)

    def getHostToIpuStream(self) -> DataStream:
        """Return the stream for transfers from the host; no program can copy from it."""
        return self._stream(DataStreamType.HOST_TO_DEVICE_BUFFER)

    def _stream(self, kind: DataStreamType) -> DataStream:
        shape = self.handle, self.element_type, self.num_elements, kind
        return DataStream(self.graph, *shape, ReplicatedStreamMode.REPLICATE, 1, self.location)


@made_by("graph.add_host_function('sort', inputs, outputs)")
@frozen(eq=False, repr=False)
class HostFunction:
    """A function on the host that a program calls, created by `graph.add_host_function`.

    Attributes:
        graph: the graph.
        handle: its name in `engine.connect_host_function`.
        inputs: element type and number of elements of each array that it reads.
        outputs: element type and number of elements of each array that it fills.
        location: the user's line that created it.

    >>> from poplite.graph import Graph
    >>> Graph().add_host_function("sort", [("int32", 8)], [("int32", 8)])
    <HostFunction 'sort' int32[8] -> int32[8]>
    """

    graph: Graph
    handle: str
    inputs: tuple[tuple[type[ElementType[Any]], int], ...]
    outputs: tuple[tuple[type[ElementType[Any]], int], ...]
    location: SourceLocation

    def __post_init__(self) -> None:
        object.__setattr__(self, "handle", called(self.handle))

    @property
    def name(self) -> str:
        """Its handle."""
        return self.handle

    def getId(self) -> int:
        """Return its position among the host functions of the graph."""
        return list(self.graph._parts.handles.host_functions).index(self.handle)

    def __repr__(self) -> str:
        sides = [
            ", ".join(f"{element.dtype}[{count}]" for element, count in side) or "nothing"
            for side in (self.inputs, self.outputs)
        ]
        return fitted("<HostFunction '{}' {}>", self.handle, " -> ".join(sides))


def remote_buffer_of(
    graph: Graph,
    handle: str,
    like: TypeLike,
    num_elements: int,
    repeats: int,
    rearrange_on_host: bool,
    optimise_memory: bool,
    at: SourceLocation,
) -> RemoteBuffer:
    """Return a remote buffer, after checking its arguments; its handle is not registered yet."""
    what = f"remote buffer {clipped(handle)}"
    element = transferable_type(like, what)
    count = positive_count(num_elements, what, "elements in a row")
    rows = positive_count(repeats, what, "rows")
    check_size(what, count, element)
    wishes = (
        checked_truth(rearrange_on_host, f"{what}: rearrange_on_host"),
        checked_truth(optimise_memory, f"{what}: optimise_memory"),
    )
    return RemoteBuffer(graph, handle, element, count, rows, *wishes, at)


def host_function_of(
    graph: Graph, handle: str, inputs: object, outputs: object, at: SourceLocation
) -> HostFunction:
    """Return a host function, after checking its arguments; its handle is not registered yet."""
    what = f"host function {clipped(handle)}"
    sides = [signature(side, what) for side in (inputs, outputs)]
    return HostFunction(graph, handle, sides[0], sides[1], at)


class _Located(Protocol):
    @property
    def location(self) -> SourceLocation: ...


T = TypeVar("T", bound=_Located)


@frozen(eq=False)
class HostHandle:
    """A tensor that the host reads or writes by name, and the user's line that registered it."""

    tensor: Tensor
    location: SourceLocation


@dataclass(slots=True, eq=False)
class Handles:
    """Everything in a graph that the host accesses by handle; each kind has its own handles."""

    streams: dict[str, DataStream] = field(default_factory=dict)
    remote_buffers: dict[str, RemoteBuffer] = field(default_factory=dict)
    host_functions: dict[str, HostFunction] = field(default_factory=dict)
    reads: dict[str, HostHandle] = field(default_factory=dict)
    writes: dict[str, HostHandle] = field(default_factory=dict)


def registered(taken: dict[str, T], kind: str, handle: object, made: T) -> T:
    """Register an object under its handle, and return it."""
    if not isinstance(handle, str) or not handle:
        raise TensorCreationError(
            f"{kind} {clipped(handle)}: a handle must be a string that is not empty",
            found="it is empty" if isinstance(handle, str) else of_type(handle),
            fix="graph.add_remote_buffer('table', pl.FLOAT, 64)"
            if kind == "remote buffer"
            else "pass a name, such as 'images'",
        )
    if handle in taken:
        raise StreamConnectionError(
            f"{kind} {handle!r}: the name is already in use",
            found=f"the existing one was made at {taken[handle].location}",
            fix="use the existing one, or another name",
        )
    taken[handle] = made
    return made


def write_handle(tensor: Tensor, handle: object, at: SourceLocation) -> HostHandle:
    """Return a tensor for the host to write; its handle is not registered yet."""
    if not tensor.is_parallel_writeable():
        reason, fact = why_not_writeable(tensor)
        raise GraphConnectionError(
            f"host write {clipped(handle)}: '{tensor.name}' {reason}",
            found=fact,
            fix="call graph.create_host_read for a tensor that is only read",
        )
    return HostHandle(tensor, at)
