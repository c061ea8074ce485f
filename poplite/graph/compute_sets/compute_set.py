"""Compute sets and the vertices in them.

The vertices of a compute set run in parallel, in no order. A vertex is an instance of a vertex
class on one tile, with a tensor connected to every edge and a value in every state field::

    ComputeSet 'add' --- VertexInstance 0  tile 0   x: a[0:4]   y: b[0:4]   scale: 2.0
                     --- VertexInstance 1  tile 1   x: a[4:8]   y: b[4:8]   scale: 2.0

The graph makes both (`add_compute_set`, `add_vertex`), and the compiler reads them. Vertices that
were added together (`add_vertices`) are a block of arrays; it makes a `VertexInstance` on access.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from operator import index as whole_number
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from poplite.arrays.on_access import LikeList
from poplite.display import Displayed
from poplite.errors import TensorIndexError, made_by, not_called, refuse_copies
from poplite.expr.equality import is_value, not_compared
from poplite.expr.operand import Operand
from poplite.poplar.callable_values import CalledText
from poplite.poplar.spelling import cpp_spelling
from poplite.source import SourceLocation
from poplite.text import amount, clipped, fitted, number_text
from poplite.vertex.vertex import Field, MultiVertex, Vertex, field_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from poplite.graph.compute_sets.perf_estimates import FieldData, VertexPerfEstimate
    from poplite.graph.compute_sets.vertex_block import VertexBlock
    from poplite.graph.graph import Graph
    from poplite.graph.tensor.tensor import Tensor


@made_by("graph.add_compute_set(name)")
@refuse_copies("graph.add_compute_set, and its vertices once more")
class ComputeSet(Displayed):
    """Vertices that run in parallel.

    Attributes:
        graph: the graph it belongs to.
        name: name with its scopes, unique among the graph's compute sets.
        location: the user's line that made it.
        vertices: its vertices, in the order in which they were added; equal to a list of them.

    >>> from poplite.graph import Graph
    >>> Graph().add_compute_set("add")
    <ComputeSet 'add' 0 vertices on 0 tiles>
    """

    __slots__ = ("graph", "location", "name", "vertices")

    def __init__(self, graph: Graph, name: str, location: SourceLocation) -> None:
        self.graph, self.location = graph, location
        self.name: str = CalledText(name)
        self.vertices = VertexList()

    def getId(self) -> int:
        """Return its position among the compute sets of the graph."""
        return self.graph.space.names.number("compute set", self.name)

    def __repr__(self) -> str:
        tiles = self.vertices.tiles()
        vertices = amount(len(self.vertices), "vertex", "vertices")
        return fitted(f"<ComputeSet '{{}}' {vertices} on {amount(len(tiles), 'tile')}>", self.name)


class VertexList(LikeList["VertexInstance"]):
    """The vertices of a compute set: single ones, and blocks of many, as one list.

        parts        [v0, v1]   <VertexBlock of 1,000,000>   [v1000002]
        vertices[1]  v1         vertices[5]  made by the block on access

    Attributes:
        parts: lists of single vertices, and blocks, in the order in which they were added.
    """

    __slots__ = ("_ends", "parts")

    def __init__(self) -> None:
        self.parts: list[list[VertexInstance] | VertexBlock] = []
        self._ends: list[int] = []

    def append(self, vertex: VertexInstance) -> None:
        """Add a single vertex."""
        last = self.parts[-1] if self.parts else None
        if type(last) is list:
            last.append(vertex)
            self._ends[-1] += 1
        else:
            self.parts.append([vertex])
            self._ends.append(len(self) + 1)

    def append_block(self, block: VertexBlock) -> None:
        """Add the vertices of a block."""
        self.parts.append(block)
        self._ends.append(len(self) + len(block))

    def singles(self) -> Iterator[VertexInstance]:
        """Yield the vertices that were added one by one."""
        return chain.from_iterable(part for part in self.parts if isinstance(part, list))

    def blocks(self) -> Iterator[VertexBlock]:
        """Yield the blocks."""
        return (part for part in self.parts if not isinstance(part, list))

    def items(self) -> Iterator[VertexInstance | VertexBlock]:
        """Yield single vertices and blocks: few items, however many vertices there are."""
        for part in self.parts:
            if isinstance(part, list):
                yield from part
            else:
                yield part

    def tiles(self) -> set[int]:
        """Return the tiles that vertices run on."""
        found = {vertex.tile for vertex in self.singles() if vertex.tile is not None}
        return found.union(*(block.tiles.used().tolist() for block in self.blocks()))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def _item(self, key: int) -> VertexInstance:
        number = vertex_number(key, len(self))
        part = bisect_right(self._ends, number)
        return self.parts[part][number - (self._ends[part - 1] if part else 0)]

    def __iter__(self) -> Iterator[VertexInstance]:
        return chain.from_iterable(self.parts)

    def __repr__(self) -> str:
        return f"<VertexList {amount(len(self), 'vertex', 'vertices')}>"


_NOTHING: Mapping[str, Any] = MappingProxyType({})


@cpp_spelling(owner="VertexIntrospector")
@refuse_copies("graph.add_vertex, with the same class and tensors")
class VertexInstance:
    """One vertex of a compute set.

    `vertex["x"]` is a reference to a field, for `graph.connect` and `graph.set_initial_value`.

    Attributes:
        graph: the graph it belongs to.
        vertex_class: its class; a template until the connected tensors determine its types.
        template: the template that it was added with, or None.
        compute_set: the compute set it belongs to.
        index: its position in the compute set.
        tile: the tile that runs it; None before one is set.
        connections: the tensor of each connected edge field, or a 1-D tensor for each row of a
            list of edges.
        state: the value of each state field that has one.
        location: the user's line that added it.
        rows: lists of edges that are connected row by row and still have gaps.
        numbers: names of the fields that are connected to plain numbers.
        waiting: numbers for fields whose element type is not known yet.
        sizes: sizes of lists of edges and state vectors, by field name, where they were set.
        estimate: the cost of running it, where that was set.
        block: the block of vertices that it belongs to, or None.
    """

    __slots__ = (
        "block",
        "compute_set",
        "connections",
        "estimate",
        "graph",
        "index",
        "location",
        "numbers",
        "rows",
        "sizes",
        "state",
        "template",
        "tile",
        "vertex_class",
        "waiting",
    )

    graph: Graph
    compute_set: ComputeSet
    vertex_class: type[Vertex]
    location: SourceLocation
    template: type[Vertex] | None
    index: int
    block: VertexBlock | None
    tile: int | None
    connections: dict[str, Tensor | tuple[Tensor, ...]]
    state: dict[str, bool | int | float | npt.NDArray[Any]]
    rows: Mapping[str, Mapping[int, Tensor]]
    numbers: tuple[str, ...]
    waiting: Mapping[str, object]
    sizes: Mapping[str, int]
    estimate: VertexPerfEstimate | None

    def __init__(self, *arguments: object, **named: object) -> None:
        instead = "graph.add_vertex(cs, V, tile=0, ...)"
        raise not_called("VertexInstance", instead, is_empty=not arguments and not named)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, VertexInstance):
            return NotImplemented
        return self.compute_set is other.compute_set and self.index == other.index

    def __hash__(self) -> int:
        return hash((id(self.compute_set), self.index))

    def __getitem__(self, field: str) -> FieldRef:
        return FieldRef(self, field_of(self.vertex_class, field))

    def field_info(self, field: str) -> FieldData:
        """Return what is known about a field: sizes, element type, layout, values.

        Args:
            field: the field's name.

        Raises:
            UnknownField: for a name that the class does not declare.
            NoSizeSpecified: when the size of the field is not known yet.

        >>> import poplite as pl
        >>> class Double(pl.Vertex):
        ...     x: pl.InOut[pl.Vector[pl.FLOAT]]
        ...     def compute(self) -> None:
        ...         self.x[0] = 2.0 * self.x[0]
        >>> graph = pl.Graph()
        >>> x = graph.add_variable(pl.FLOAT, (8,), "x", mapping=0)
        >>> vertex = graph.add_vertex(graph.add_compute_set("double"), Double, tile=0, x=x)
        >>> vertex.field_info("x").size
        8
        """
        from poplite.graph.compute_sets.perf_estimates import (
            field_data,  # it imports this module
        )

        return field_data(self[field])

    @property
    def constants(self) -> tuple[Tensor, ...]:
        """Scalar constants made for plain numbers, on the vertex's tile."""
        return tuple(cast("Tensor", self.connections[name]) for name in self.numbers)

    @property
    def label(self) -> str:
        """Its class and number, as used in messages."""
        return f"{self.vertex_class.__name__} {self.index}"

    def __str__(self) -> str:
        on = "no tile" if self.tile is None else f"tile {self.tile}"
        return f"{self.label} on {on}"

    def __repr__(self) -> str:
        return fitted(f"<VertexInstance {self} of '{{}}'>", self.compute_set.name)

    getFieldInfo = field_info  # C++ spelling


def new_vertex(
    compute_set: ComputeSet,
    vertex_class: type[Vertex],
    location: SourceLocation,
    index: int | None = None,
) -> VertexInstance:
    """Return a vertex that has no tile yet, and nothing connected; it is not in the list yet."""
    vertex: VertexInstance = object.__new__(VertexInstance)
    vertex.graph, vertex.compute_set = compute_set.graph, compute_set
    vertex.vertex_class, vertex.location = vertex_class, location
    vertex.template = vertex_class if vertex_class.type_variables else None
    vertex.index = len(compute_set.vertices) if index is None else index
    vertex.block = vertex.tile = vertex.estimate = None
    vertex.connections, vertex.state = {}, {}
    if issubclass(vertex_class, MultiVertex):
        vertex.state["num_workers"] = vertex.graph.target.workers
    # Empty for most vertices, so all share one empty mapping, which is replaced, not changed.
    vertex.rows = vertex.waiting = vertex.sizes = _NOTHING
    vertex.numbers = ()
    return vertex


@made_by("vertex['x']")
@dataclass(frozen=True, slots=True)
class FieldRef:
    """A field of one vertex, or one row of a list of edges: `vertex["x"]`, `vertex["x"][2]`.

    Attributes:
        vertex: the vertex.
        field: the declared field.
        index: the row, or None for the entire field.
    """

    vertex: VertexInstance
    field: Field
    index: int | None = None

    def __eq__(self, other: object) -> bool:
        if isinstance(other, FieldRef):
            mine, theirs = (self.vertex, self.field), (other.vertex, other.field)
            return mine == theirs and self.index == other.index
        if isinstance(other, Operand) or is_value(other):
            raise not_compared("==", "a field of a vertex", repr(self), other, "ops")
        return NotImplemented

    def __getitem__(self, index: int) -> FieldRef:
        try:
            row = whole_number(index)
        except TypeError:
            raise TensorIndexError(
                f"{self.vertex}: row {clipped(index)} of field '{self.field.name}' is not a "
                "whole number",
                found=f"declared {self.field}",
                fix=f"vertex['{self.field.name}'][0]",
            ) from None
        if self.field.depth != 2 or self.index is not None:
            raise TensorIndexError(
                f"{self.vertex}: field '{self.field.name}' is not a list of edges",
                found=f"declared {self.field}",
                fix=f"connect vertex['{self.field.name}'] as a whole",
            )
        if row < 0:
            raise TensorIndexError(
                f"{self.vertex}: field '{self.field.name}' has no row {number_text(row)}",
                found="rows count from 0; the list grows with the rows connected",
                fix=f"vertex['{self.field.name}'][0]",
            )
        size = self.vertex.sizes.get(self.field.name)
        if size is not None and row >= size:
            raise TensorIndexError(
                f"{self.vertex}: field '{self.field.name}' has {amount(size, 'row')}, and no row "
                f"{number_text(row, ',')}",
                found=f"declared {self.field}",
                fix=f"a row from 0 to {size - 1:,}, or a larger size in graph.set_field_size"
                if size
                else "a larger size in graph.set_field_size",
            )
        return FieldRef(self.vertex, self.field, row)

    def __iter__(self) -> Iterator[FieldRef]:
        from poplite.graph.compute_sets.field_sizes import size_of  # it imports this module

        if self.field.depth != 2 or self.index is not None:
            self[0]  # refuses
        rows = range(size_of(self))
        return iter([FieldRef(self.vertex, self.field, row) for row in rows])

    @property
    def is_indexed(self) -> bool:
        """Whether this is one row of a list of edges."""
        return self.index is not None

    def __repr__(self) -> str:
        row = "" if self.index is None else f"[{self.index}]"
        return f"<FieldRef '{self.field.name}'{row} of {self.vertex}>"

    def isIndexed(self) -> bool:
        """C++ spelling of `is_indexed`."""
        return self.is_indexed

    def getIndex(self) -> int | None:
        """C++ spelling of `index`."""
        return self.index


def vertex_number(key: int, count: int) -> int:
    """Return a checked vertex number; a negative `key` counts from the end."""
    number = whole_number(key)
    if not -count <= number < count:
        raise TensorIndexError(
            f"vertex {number:,} of {count:,}",
            fix=f"use a number from {-count} to {count - 1}" if count else "add vertices first",
        )
    return number % count
