"""Remote buffers (rows of data on the host), and host functions that a program calls.

    table = graph.add_remote_buffer("table", FLOAT, 64, repeats=100_000)
    Copy(table, x, row)          reads the row whose number is in the scalar `row`
    Copy(x, table, row)          writes it

Source: Poplar API reference, "RemoteBuffer" and "HostFunction".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from poplite.errors import checked_truth, made_by
from poplite.graph.host.streams import DataStream, DataStreamType, ReplicatedStreamMode
from poplite.graph.host.transfer_checks import (
    TypeLike,
    check_size,
    positive,
    signature,
    transferable_type,
)
from poplite.poplar.callable_values import CalledInt, called
from poplite.poplar.spelling import cpp_spelling
from poplite.text import amount, clipped, fitted
from poplite.types import ElementType

if TYPE_CHECKING:
    from poplite.graph.graph import Graph
    from poplite.poplar.spellings import RemoteBufferSpelling
    from poplite.source import SourceLocation
else:
    RemoteBufferSpelling = object


@made_by("graph.add_remote_buffer('rows', FLOAT, 4, repeats=8)")
@cpp_spelling()
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RemoteBuffer(RemoteBufferSpelling):
    """Rows of elements on the host; made by `graph.add_remote_buffer`.

    They keep their contents between runs. Each replica has its own.

    Attributes:
        graph: the graph.
        handle: its name in the engine; unique among the graph's remote buffers.
        element_type: type of the elements.
        num_elements: number of elements in a row.
        repeats: number of rows.
        rearrange_on_host: a hint, which has no effect on values.
        optimise_memory: a hint, which has no effect on values.
        location: the user's line that made it.

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
        """Return the stream by which rows would go to the host; no program can copy to it."""
        return self._stream(DataStreamType.DEVICE_TO_HOST_BUFFER)

    def getHostToIpuStream(self) -> DataStream:
        """Return the stream by which rows would come from the host; no program can copy from it."""
        return self._stream(DataStreamType.HOST_TO_DEVICE_BUFFER)

    def _stream(self, kind: DataStreamType) -> DataStream:
        shape = self.handle, self.element_type, self.num_elements, kind
        return DataStream(self.graph, *shape, ReplicatedStreamMode.REPLICATE, 1, self.location)


@made_by("graph.add_host_function('sort', inputs, outputs)")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class HostFunction:
    """A function of the host that a program calls; made by `graph.add_host_function`.

    Attributes:
        graph: the graph.
        handle: its name in `engine.connect_host_function`.
        inputs: element type and number of elements of each array that it reads.
        outputs: element type and number of elements of each array that it fills.
        location: the user's line that made it.

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
    """Return a remote buffer of checked arguments; its handle is not registered yet."""
    what = f"remote buffer {clipped(handle)}"
    element = transferable_type(like, what)
    count = positive(num_elements, what, "elements in a row")
    rows = positive(repeats, what, "rows")
    check_size(what, count, element)
    wishes = (
        checked_truth(rearrange_on_host, f"{what}: rearrange_on_host"),
        checked_truth(optimise_memory, f"{what}: optimise_memory"),
    )
    return RemoteBuffer(graph, handle, element, count, rows, *wishes, at)


def host_function_of(
    graph: Graph, handle: str, inputs: object, outputs: object, at: SourceLocation
) -> HostFunction:
    """Return a host function of checked arguments; its handle is not registered yet."""
    what = f"host function {clipped(handle)}"
    sides = [signature(side, what) for side in (inputs, outputs)]
    return HostFunction(graph, handle, sides[0], sides[1], at)
