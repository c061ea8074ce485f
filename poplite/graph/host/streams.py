"""Streams: blocks of elements that are transferred between host and device, one by each Copy.

    images = graph.add_host_to_device_fifo("images", FLOAT, 784)
    program = Repeat(100, Sequence(Copy(images, x), Execute(train)))
    engine.connect_stream("images", array)                 an array, or
    engine.connect_stream_to_callback("images", fill)      a function that fills one

Source: Poplar API reference, "DataStream" and "StreamCallback"; user guide, "Data streams".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from poplite.errors import Enumeration, checked_member, made_by
from poplite.graph.host.transfer_checks import TypeLike, check_size, positive
from poplite.poplar.callable_values import CalledInt, called
from poplite.poplar.spelling import cpp_spelling
from poplite.text import clipped, fitted
from poplite.types import ElementType, element_type

if TYPE_CHECKING:
    import numpy.typing as npt

    from poplite.graph.graph import Graph
    from poplite.poplar.spellings import DataStreamSpelling
    from poplite.source import SourceLocation
else:
    DataStreamSpelling = object


class DataStreamType(Enumeration):
    """Direction of a stream."""

    HOST_TO_DEVICE_FIFO = "host to device"
    DEVICE_TO_HOST_FIFO = "device to host"
    HOST_TO_DEVICE_BUFFER = "remote buffer to device"
    DEVICE_TO_HOST_BUFFER = "device to remote buffer"

    # C++ spelling

    HostToDeviceFIFO = HOST_TO_DEVICE_FIFO
    DeviceToHostFIFO = DEVICE_TO_HOST_FIFO
    HostToDeviceBuffer = HOST_TO_DEVICE_BUFFER
    DeviceToHostBuffer = DEVICE_TO_HOST_BUFFER

    def __call__(self) -> Self:
        """Return the direction: `stream.type()` of Poplar's programs is `stream.type`."""
        return self


class ReplicatedStreamMode(Enumeration):
    """What replicas get from a stream: each a block of its own, or all the same one."""

    REPLICATE = "replicate"
    BROADCAST = "broadcast"


@made_by("graph.add_host_to_device_fifo('in', FLOAT, 4)")
@cpp_spelling()
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DataStream(DataStreamSpelling):
    """A stream; made by `graph.add_host_to_device_fifo` or `graph.add_device_to_host_fifo`.

    Attributes:
        graph: the graph.
        handle: its name in `engine.connect_stream`; unique among the graph's streams.
        element_type: type of the elements.
        num_elements: number of elements in a block.
        type: direction of the stream.
        replicated_mode: what replicas get.
        buffering_depth: number of blocks that may be fetched in advance.
        location: the user's line that made it.

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
        """Replicas of its graph."""
        return self.graph.replication_factor

    def __repr__(self) -> str:
        block = f"{self.element_type.dtype}[{self.num_elements}], {self.size_bytes:,} B"
        return fitted(f"<DataStream '{{}}' {self.type.value}, {block}>", self.handle)


class StreamCallback:
    """Base class of callbacks that fill or take the blocks of a stream, perhaps in advance.

    For a stream to the device, `prefetch` is called after each block until it has no more or as
    many blocks are ready as the buffering depth allows; the next Copy uses those first. For a
    stream to the host, `fetch` gets each block, and nothing is done in advance.

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
        """Fill the next block now; for a stream to the host, take it.

        Args:
            array: the block, 1-D. It is valid only during the call: keep a copy.
        """
        raise NotImplementedError(f"{type(self).__name__} has no fetch(self, array)")

    def prefetch(self, array: npt.NDArray[Any]) -> bool | StreamCallback.Result:
        """Fill a block in advance, if possible now.

        Args:
            array: the block, 1-D.

        Returns:
            Whether it was filled; the base class never fills a block.
        """
        return StreamCallback.Result.NOT_AVAILABLE

    def complete(self) -> None:
        """React to the completed transfer of the oldest filled block, or of the block taken."""

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
    """Return a stream of checked arguments; its handle is not registered yet."""
    what = f"stream {clipped(handle)}"
    mode = checked_member(mode, ReplicatedStreamMode, what)
    element = element_type(like)
    count = positive(num_elements, what, "elements in a block")
    ahead = positive(depth, what, "blocks of buffering")
    check_size(what, count, element)
    return DataStream(graph, handle, element, count, kind, mode, ahead, at)
