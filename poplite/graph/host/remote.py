"""What lies beside the device on the host: rows of data, and the code of functions.

    table = graph.add_remote_buffer("table", FLOAT, 64, repeats=100_000)
    Copy(table, x, row)          the row whose number the scalar `row` holds
    Copy(x, table, row)          and back

Source: Poplar API reference, "RemoteBuffer", "FunctionBuffer" and "HostFunction".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from poplite.text import counted, fitted
from poplite.types import ElementType

if TYPE_CHECKING:
    from poplite.graph.graph import Graph
    from poplite.program import Function
    from poplite.source import SourceLocation


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RemoteBuffer:
    """Rows of elements on the host; made by `graph.add_remote_buffer`.

    They keep their contents between runs. Each replica has its own.

    Attributes:
        graph: the graph.
        handle: what the engine calls it; unique among the graph's remote buffers.
        element_type: of its elements.
        num_elements: of one row.
        repeats: how many rows.
        rearrange_on_host: a wish of the program's, which changes no value.
        optimise_memory: another.
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

    @property
    def name(self) -> str:
        """Its handle."""
        return self.handle

    @property
    def size_bytes(self) -> int:
        """Bytes of all rows."""
        return self.repeats * self.num_elements * self.element_type.size_bytes

    def __repr__(self) -> str:
        rows = f"{counted(self.repeats, 'row')} of {self.element_type.dtype}[{self.num_elements}]"
        return fitted(f"<RemoteBuffer '{{}}' {rows}, {self.size_bytes:,} B>", self.handle)

    # C++ spelling

    def elementType(self) -> Any:
        """C++ spelling of `element_type`."""
        return self.element_type

    def numElements(self) -> int:
        """C++ spelling of `num_elements`."""
        return self.num_elements

    def getRepeats(self) -> int:
        """C++ spelling of `repeats`."""
        return self.repeats

    def isRearrangeOnHost(self) -> bool:
        """C++ spelling of `rearrange_on_host`."""
        return self.rearrange_on_host

    def isOptimisedForMemory(self) -> bool:
        """C++ spelling of `optimise_memory`."""
        return self.optimise_memory


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class HostFunction:
    """A function of the host that a program calls; made by `graph.add_host_function`.

    Attributes:
        graph: the graph.
        handle: what `engine.connect_host_function` calls it.
        inputs: element type and number of elements of each array it reads.
        outputs: the same of each array it fills.
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

    @property
    def name(self) -> str:
        """Its handle."""
        return self.handle

    def __repr__(self) -> str:
        sides = [
            ", ".join(f"{element.dtype}[{count}]" for element, count in side) or "nothing"
            for side in (self.inputs, self.outputs)
        ]
        return fitted("<HostFunction '{}' {}>", self.handle, " -> ".join(sides))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FunctionBuffer:
    """The code of a function, kept on the host until a Copy loads it.

    Made by `graph.add_function_buffer`. A Call of the function before that is refused.

    Attributes:
        function: whose code it is.
        location: the user's line that made it.

    >>> from poplite.graph import Graph
    >>> from poplite.program import Program
    >>> graph = Graph()
    >>> graph.add_function_buffer(graph.add_function(Program(), "blur"))
    <FunctionBuffer of 'blur'>
    """

    function: Function
    location: SourceLocation

    @property
    def name(self) -> str:
        """That of the function."""
        return f"code of {self.function.name}"

    def __repr__(self) -> str:
        return fitted("<FunctionBuffer of '{}'>", self.function.name)
