"""Compute sets with their vertices.

The vertices of a compute set run in parallel, in no order. A vertex is an instance of a vertex
class on one tile, with a tensor connected to every edge and a value in every state field::

    ComputeSet 'add' --- VertexInstance 0  tile 0   x: a[0:4]   y: b[0:4]   scale: 2.0
                     --- VertexInstance 1  tile 1   x: a[4:8]   y: b[4:8]   scale: 2.0

The graph creates both (`add_compute_set`, `add_vertex`), and the compiler reads them. Vertices that
were added together (`add_vertices`) form a block of arrays, which creates each `VertexInstance` on
access.

Field sizes are set explicitly or follow from connections, within the limits of the layouts::

    graph.set_field_size(vertex["rows"], 3)      rows 0, 1 and 2 are then connected one by one
    graph.set_field_size(vertex["table"], 8)     a state vector: zeros until values are set

A list of edges whose size was not set has as many rows as are connected to it.

The graph records the compute sets and variables that each operation of `poplite.ops` created::

    loss = ops.map(ops.sum((x - y) ** 2), name="loss")

    operation 'loss'    compute sets    loss/tiles, loss/workers, loss/final
                        results         loss
                        temporaries     loss/tiles/partials, loss/workers/partials

Reports add up the costs of an operation, and pictures of a graph draw it as one box.

Source: Poplar API reference, "Graph::setFieldSize", "Graph::getMaxFieldDim".
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sized
from dataclasses import dataclass
from itertools import chain
from operator import index as whole_number
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from poplite.arrays.series import LikeList, Series
from poplite.display import Displayed
from poplite.errors import (
    ElementTypeError,
    GraphConnectionError,
    NoSizeSpecified,
    TensorIndexError,
    made_by,
    not_called,
    refuse_copies,
)
from poplite.expr.operand import Operand, is_value, not_compared
from poplite.frozen import frozen
from poplite.graph.space import Variable
from poplite.graph.tensor.tensor import Tensor
from poplite.poplar.callable_values import CalledText
from poplite.poplar.spelling import cpp_spelling
from poplite.source import SourceLocation
from poplite.text import amount, clipped, fitted, integer_or_none, number_text
from poplite.vertex.fields import LARGEST_COUNT, PLAIN
from poplite.vertex.vertex import Field, MultiVertex, Vertex, field_of, vertex_label

if TYPE_CHECKING:
    from poplite.graph.compute_sets.perf_estimates import FieldData, VertexPerfEstimate
    from poplite.graph.compute_sets.vertex_block import VertexBlock
    from poplite.graph.graph import Graph


@made_by("graph.add_compute_set(name)")
@refuse_copies("call graph.add_compute_set, and add the vertices once more")
class ComputeSet(Displayed):
    """Vertices that run in parallel.

    Attributes:
        graph: the graph it belongs to.
        name: name with its scopes, unique among the graph's compute sets.
        location: the user's line that created it.
        vertices: its vertices, in the order in which they were added; equal to a list of them.

    >>> from poplite.graph import Graph
    >>> Graph().add_compute_set("add")
    <ComputeSet 'add' 0 vertices on 0 tiles>
    """

    __slots__ = ("graph", "location", "name", "vertices")
    graph: Graph
    location: SourceLocation

    def __init__(self, graph: Graph, name: str, location: SourceLocation) -> None:
        self.graph, self.location = graph, location
        self.name: str = CalledText(name)
        self.vertices: VertexList = VertexList()

    def getId(self) -> int:
        """Return its position among the compute sets of the graph."""
        return self.graph.space.names.number("compute set", self.name)

    def __repr__(self) -> str:
        tiles = self.vertices.tiles()
        vertices = amount(len(self.vertices), "vertex", "vertices")
        return fitted(f"<ComputeSet '{{}}' {vertices} on {amount(len(tiles), 'tile')}>", self.name)


class VertexList(LikeList["VertexInstance"]):
    """The vertices of a compute set, single ones and blocks, as one list.

        parts        [v0, v1]   <VertexBlock of 1,000,000>   [v1000002]
        vertices[1]  v1         vertices[5]  created by the block on access

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
        """Yield single vertices and blocks: few items, even for millions of vertices."""
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
@refuse_copies("call graph.add_vertex with the same class and tensors")
@dataclass(init=False, eq=False, repr=False, slots=True)
class VertexInstance:
    """One vertex of a compute set.

    `vertex["x"]` is a reference to a field, for `graph.connect` and `graph.set_initial_value`.

    Attributes:
        graph: the graph it belongs to.
        vertex_class: its class; a template until the connected tensors determine its types.
        template: the template from which it was added, or None.
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
        sizes: sizes of lists of edges and state vectors, by field name, if set.
        estimate: the cost of running it, if set.
        block: the block of vertices that it belongs to, or None.

    >>> import poplite as pl
    >>> class Double(pl.Vertex):
    ...     x: pl.InOut[pl.Vector[pl.FLOAT]]
    ...     def compute(self) -> None:
    ...         for i in range(len(self.x)):
    ...             self.x[i] *= 2.0
    >>> graph = pl.Graph(pl.Target(tiles=4))
    >>> x = graph.add_variable(pl.FLOAT, (8,), "x", mapping=3)
    >>> vertex = graph.add_vertex(graph.add_compute_set("double"), Double, tile=3, x=x)
    >>> vertex.tile, vertex.vertex_class.__name__, vertex.connections["x"].shape
    (3, 'Double', (8,))
    """

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
        """Return a field's sizes, element type, layout and values, as far as they are known.

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
        from poplite.graph.compute_sets.perf_estimates import field_data  # it imports this module

        return field_data(self[field])

    @property
    def constants(self) -> tuple[Tensor, ...]:
        """Scalar constants created for plain numbers, on the vertex's tile."""
        return tuple(cast("Tensor", self.connections[name]) for name in self.numbers)

    @property
    def label(self) -> str:
        """Its number and class, as used in messages."""
        return vertex_label(self.vertex_class, self.index)

    def __str__(self) -> str:
        on = "no tile" if self.tile is None else f"tile {self.tile}"
        return f"{self.label} on {on}"

    def __repr__(self) -> str:
        shown = str(self).removeprefix("vertex ")
        return fitted(f"<VertexInstance {shown} of '{{}}'>", self.compute_set.name)

    getFieldInfo = field_info  # C++ spelling


def new_vertex(
    compute_set: ComputeSet,
    vertex_class: type[Vertex],
    location: SourceLocation,
    index: int | None = None,
) -> VertexInstance:
    """Return a vertex without a tile or connections, not yet in the compute set's list."""
    vertex: VertexInstance = object.__new__(VertexInstance)
    vertex.graph, vertex.compute_set = compute_set.graph, compute_set
    vertex.vertex_class, vertex.location = vertex_class, location
    vertex.template = vertex_class if vertex_class.type_variables else None
    vertex.index = len(compute_set.vertices) if index is None else index
    vertex.block = vertex.tile = vertex.estimate = None
    vertex.connections, vertex.state = {}, {}
    if issubclass(vertex_class, MultiVertex):
        vertex.state["num_workers"] = vertex.graph.target.workers
    # Empty for most vertices, so all share one empty mapping, which is replaced, never changed.
    vertex.rows = vertex.waiting = vertex.sizes = _NOTHING
    vertex.numbers = ()
    return vertex


@made_by("vertex['x']")
@frozen
class FieldRef:
    """A field of one vertex, or one row of a list of edges: `vertex["x"]`, `vertex["x"][2]`.

    Attributes:
        vertex: the vertex.
        field: the declared field.
        index: the row, or None for the entire field.

    >>> import poplite as pl
    >>> class Longest(pl.Vertex):
    ...     rows: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    ...     length: pl.Output[pl.INT]
    ...     def compute(self) -> None:
    ...         longest = 0
    ...         for r in range(len(self.rows)):
    ...             longest = max(longest, len(self.rows[r]))
    ...         self.length = longest
    >>> graph = pl.Graph(pl.Target(tiles=1))
    >>> x = graph.add_variable(pl.FLOAT, (8,), "x", mapping=0)
    >>> longest = graph.add_variable(pl.INT, (), "longest", mapping=0)
    >>> vertex = graph.add_vertex(graph.add_compute_set("all"), Longest, tile=0, length=longest)
    >>> graph.set_field_size(vertex["rows"], 2)
    >>> graph.connect(vertex["rows"][0], x[:3])
    >>> graph.connect(vertex["rows"][1], x[3:])
    >>> engine = pl.Engine(graph, pl.Execute(graph.compute_sets[0]))
    >>> engine.write(x, 0)
    >>> engine.run()
    >>> engine.read(longest)
    array(5, dtype=int32)
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
                found="rows are numbered from 0; the list grows with the rows connected",
                fix=f"vertex['{self.field.name}'][0]",
            )
        size = self.vertex.sizes.get(self.field.name)
        if size is not None and row >= size:
            raise TensorIndexError(
                f"{self.vertex}: field '{self.field.name}' has {amount(size, 'row')}, and no row "
                f"{number_text(row, ',')}",
                found=f"declared {self.field}",
                fix=_rows_below(size),
            )
        return FieldRef(self.vertex, self.field, row)

    def __iter__(self) -> Iterator[FieldRef]:
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
            f"vertex {number:,} does not exist; there are {count:,}",
            fix=f"use a number from {-count} to {count - 1}" if count else "add vertices first",
        )
    return number % count


def set_size(ref: FieldRef, size: object) -> None:
    """Set the number of rows of a list of edges, or of values of a state vector."""
    vertex, field = ref.vertex, ref.field
    if ref.index is not None or field.depth != (2 if field.is_edge else 1):
        which = "" if ref.index is None else f"row {ref.index} of "
        raise GraphConnectionError(
            f"{vertex}: {which}field '{field.name}' has no size to set",
            found=f"declared {field}; lists of edges and vectors of state have one",
            fix=f"graph.connect(vertex['{field.name}'], tensor), which sets its size"
            if field.is_edge
            else f"graph.set_initial_value(vertex['{field.name}'], value)",
        )
    count = _checked_size(vertex, field, size)
    before, current = vertex.sizes.get(field.name), _current_size(vertex, field)
    rows = vertex.rows.get(field.name, {})
    if before is not None and before != count:
        raise _differs(vertex, field, f"is given size {count:,}", f"has size {before:,}")
    if rows and max(rows) >= count:
        has = f"has row {max(rows):,} connected"
        raise _differs(vertex, field, f"is given size {count:,}", has)
    if current is not None and not rows and current != count:
        raise _differs(vertex, field, f"is given size {count:,}", f"contains {current:,}")
    if not field.is_edge:
        check_limit(vertex, field, count, "its size")
    vertex.sizes = {**vertex.sizes, field.name: count}
    if len(rows) < count and rows:
        vertex.connections.pop(field.name, None)
    if current is None and not field.is_edge:
        if field.variable is None:
            zeros = np.zeros(count, field.element.dtype)
            zeros.flags.writeable = False
            vertex.state[field.name] = zeros
        else:
            vertex.waiting = {**vertex.waiting, field.name: [0] * count}


def _checked_size(vertex: VertexInstance, field: Field, size: object) -> int:
    count = integer_or_none(size)
    if count is None or not 0 <= count <= LARGEST_COUNT:
        raise TensorIndexError(
            f"{vertex}: field '{field.name}' is given size {clipped(size)}",
            found=f"declared {field}; sizes are whole numbers from 0 to {LARGEST_COUNT:,}",
            fix=f"graph.set_field_size(vertex['{field.name}'], 4)",
        )
    return count


def _current_size(vertex: VertexInstance, field: Field) -> int | None:
    """Return the number of rows or values that a field has so far; None if it has none."""
    for values in (vertex.connections, vertex.state, vertex.waiting):
        value = values.get(field.name)
        if isinstance(value, Tensor):
            return value.shape[0] if field.depth else 1
        if value is not None:
            return len(value) if isinstance(value, Sized) else 1
    return None


def size_of(ref: FieldRef) -> int:
    """Return the size of a field or row; see `Graph.field_size`."""
    vertex, field = ref.vertex, ref.field
    name = f"vertex['{field.name}']"
    if ref.index is not None:
        return _size_of_row(ref)
    if field.depth == 0:
        return 1
    size = vertex.sizes.get(field.name, _current_size(vertex, field))
    if size is not None:
        return size
    has_none = (
        "neither values nor a size" if not field.is_edge else "nothing connected, and no size"
    )
    can_set = field.depth == 2 or not field.is_edge
    raise NoSizeSpecified(
        f"{vertex}: field '{field.name}' has {has_none}",
        found=f"declared {field}; vertex added at {vertex.location}",
        fix=f"graph.set_field_size({name}, 4)" if can_set else f"graph.connect({name}, tensor)",
    )


def _size_of_row(ref: FieldRef) -> int:
    vertex, field, index = ref.vertex, ref.field, ref.index
    assert index is not None, "a row"
    rows, whole = vertex.rows.get(field.name, {}), vertex.connections.get(field.name)
    if index in rows:
        return rows[index].num_elements
    if isinstance(whole, Tensor) and index < whole.shape[0]:
        return whole.shape[1]
    if isinstance(whole, tuple) and index < len(whole):
        return whole[index].num_elements
    if whole is not None or index >= vertex.sizes.get(field.name, LARGEST_COUNT):
        size = vertex.sizes.get(field.name, _current_size(vertex, field))
        raise TensorIndexError(
            f"{vertex}: field '{field.name}' has {size:,} rows, and no row {index:,}",
            found=f"declared {field}",
            fix=f"pass a row from 0 to {(size or 1) - 1}",
        )
    raise NoSizeSpecified(
        f"{vertex}: row {index:,} of field '{field.name}' has nothing connected",
        found=f"declared {field}; vertex added at {vertex.location}",
        fix=f"graph.connect(vertex['{field.name}'][{index}], tensor)",
    )


def check_sizes(vertex: VertexInstance, field: Field, value: object) -> None:
    """Refuse a value that exceeds the field's layout, or differs from the size that was set."""
    if field.depth == 0:
        return
    size = vertex.sizes.get(field.name)
    count = value.shape[0] if isinstance(value, Tensor) else len(value)  # type: ignore[arg-type]
    if size is not None and size != count:
        what = "row" if field.is_edge else "value"
        raise _differs(vertex, field, f"is given {amount(count, what)}", f"has size {size:,}")
    if field.layout is PLAIN:
        return
    if field.depth == 1:
        what = f"'{value.name}'" if isinstance(value, Tensor) else "the given value"
        check_limit(vertex, field, count, what)
    elif isinstance(value, Tensor):
        check_limit(vertex, field, value.shape[1], f"each row of '{value.name}'")
    else:
        for number, row in enumerate(value):  # type: ignore[arg-type, var-annotated]
            check_limit(vertex, field, row.num_elements, f"row {number} ('{row.name}')")


def check_row(ref: FieldRef, row: Tensor) -> None:
    """Refuse a row beyond the size that was set, or longer than the layout allows."""
    size = ref.vertex.sizes.get(ref.field.name)
    if size is not None and ref.index is not None and ref.index >= size:
        raise TensorIndexError(
            f"{ref.vertex}: field '{ref.field.name}' is given row {ref.index:,}, but has size "
            f"{size:,}",
            found=f"declared {ref.field}; vertex added at {ref.vertex.location}",
            fix=_rows_below(size),
        )
    check_limit(ref.vertex, ref.field, row.num_elements, f"row {ref.index} ('{row.name}')")


def _rows_below(size: int) -> str:
    """Return advice for a row beyond the size of a list."""
    rows = f"use a row from 0 to {size - 1:,}, or " if size else ""
    return f"{rows}set a larger size with graph.set_field_size"


def check_limit(vertex: VertexInstance, field: Field, count: int, what: str) -> None:
    """Refuse a vector longer than its layout allows; `what` names it in the message."""
    if count > field.layout.limit:
        raise GraphConnectionError(
            f"{vertex}: field '{field.name}' takes {field.layout.limit:,} elements, "
            f"but {what} has {count:,}",
            found=f"declared {field}; {field.layout.vector.name} stores a "
            f"{field.layout.vector.value}",
            fix="split it over several vertices, or declare Layout(VectorLayout.SPAN); "
            f"graph.max_field_dim({vertex.vertex_class.__name__}, '{field.name}', "
            f"{field.depth - 1}) returns the limit",
        )


def _differs(vertex: VertexInstance, field: Field, new: str, has: str) -> GraphConnectionError:
    return GraphConnectionError(
        f"{vertex}: field '{field.name}' {new}, but {has}",
        found=f"declared {field}; vertex added at {vertex.location}",
        fix="connect as many rows, or pass as many values, as graph.set_field_size has set",
    )


def max_dim(vertex_class: type[Vertex], name: str, dim: object) -> int:
    """Return the largest size of a dimension of a field; see `Graph.max_field_dim`."""
    field = field_of(vertex_class, name)
    number = integer_or_none(dim)
    if number is None or not 0 <= number < field.depth:
        raise TensorIndexError(
            f"{vertex_class.__name__}: field '{field.name}' has "
            f"{amount(field.depth, 'dimension')}, and no dimension {clipped(dim)}",
            found=f"declared {field}",
            fix=f"pass a dimension from 0 to {field.depth - 1}"
            if field.depth
            else "pass a vector field",
        )
    return field.layout.limit if number == field.depth - 1 else LARGEST_COUNT


def largest_number(vertex_class: type[Vertex], name: str) -> int | float:
    """Return the largest number that an element of a field can store."""
    field = field_of(vertex_class, name)
    element = field.element
    if field.variable is not None or element.requires_metadata:
        raise ElementTypeError(
            f"{vertex_class.__name__}: field '{field.name}' has no largest number",
            found=f"declared {field}",
            fix=f"{vertex_class.__name__}[pl.FLOAT]"
            if field.variable is not None
            else "use QuarterMetadata(...).largest, which depends on format and scale",
        )
    match element.dtype.kind:
        case "f":
            return float(np.finfo(element.dtype.char).max)
        case "b":
            return 1
    return int(np.iinfo(element.dtype.char).max)


@frozen(eq=False)
class Vectors:
    """The values of a State field of vectors, of all vertices in order, with their counts."""

    values: npt.NDArray[Any]
    length: Series


StateValues = bool | int | float | npt.NDArray[Any] | Vectors
"""One number for all vertices, an array with one for each, or vectors."""


@frozen(eq=False)
class RecordedOperation:
    """An operation that was recorded.

    Attributes:
        name: with its scopes; a number is appended if an earlier operation has that name.
        location: the user's line that recorded it.
        compute_sets: the compute sets that it created.
        results: the variables that it created for others to read.
        temporaries: the other variables that it created.
    """

    name: str
    location: SourceLocation
    compute_sets: tuple[ComputeSet, ...]
    results: tuple[Variable, ...]
    temporaries: tuple[Variable, ...]
