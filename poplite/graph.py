"""The graph: variables spread over tiles, and compute sets of vertices.

Everything a program works on is made here, and everything is checked here when it can be:
names, types, shapes, tiles and edges at the call, what needs the whole program (holes in a
mapping, races) when an engine is made::

    graph = Graph(Target(tiles=4))
    x = graph.add_variable(FLOAT, (8,), "x", mapping="linear")
    with graph.scope("layer1"):
        cs = graph.add_compute_set("double")              # 'layer1/double'
    for tile in range(4):
        graph.add_vertex(cs, Double, tile=tile, x=x[2 * tile : 2 * tile + 2])

Variables and clones are in `poplite.graph_variables`; here are tiles, the order of memory, and
compute sets with their vertices.

Semantics: Poplar API reference, "Graph".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
import numpy.typing as npt

from poplite.compute_set import ComputeSet, FieldRef, VertexInstance
from poplite.connect import bind, bind_row, check_single, field_ref, vertex_class_of
from poplite.connect_many import block_of
from poplite.errors import (
    ElementTypeError,
    GraphConnectionError,
    TensorCreationError,
)
from poplite.graph_variables import GraphVariables, MappingLike
from poplite.indexing import is_sequence
from poplite.mapping import TileMapping
from poplite.mapping_input import unmapped_error
from poplite.names import checked_name
from poplite.placement import mapping_of, paint_intervals, paint_tensor, tile_number
from poplite.rearrange import TensorRearranger, reordered, unbroadcast
from poplite.sorted_regions import SortedRegions, TileRegions, sorted_regions, tile_regions
from poplite.source import SourceLocation, here
from poplite.target import Target
from poplite.tensor import Tensor
from poplite.vertex import Vertex
from poplite.vertex_block import VertexBlock
from poplite.view import storages
from poplite.words import clipped, counted

if TYPE_CHECKING:
    from poplite.program import Function, Program

__all__ = ["ComputeSet", "FieldRef", "Graph", "MappingLike", "VertexInstance"]


class Graph(GraphVariables):
    """Variables, compute sets and vertices for one target.

    Args:
        target: the machine; by default `Target()`.

    Raises:
        InvalidMachineModel: when the target is no `Target`.

    Attributes:
        target: the machine.
        directory: the tiles of all its elements.

    >>> Graph(Target(tiles=4))
    <Graph 4 tiles, 0 variables, 0 compute sets, 0 vertices>
    """

    def __init__(self, target: Target | None = None) -> None:
        super().__init__(target)
        self._compute_sets: list[ComputeSet] = []

    @property
    def compute_sets(self) -> tuple[ComputeSet, ...]:
        """All compute sets, in the order they were made."""
        return tuple(self._compute_sets)

    @property
    def num_vertices(self) -> int:
        """Vertices of all compute sets together."""
        return sum(len(cs.vertices) for cs in self._compute_sets)

    # Tile mapping

    def set_tile_mapping(self, target: Tensor | VertexInstance, mapping: MappingLike) -> None:
        """Put elements of a tensor, or a vertex, on tiles.

        Later calls override earlier ones, element by element.

        Args:
            target: a tensor, whole or a view; or a vertex.
            mapping: a tile number; for a tensor also, for each tile, a list of intervals
                `(begin, end)` over the flattened view. Elements in no interval stay as they
                were.

        Raises:
            InvalidTileMapping: for a tile the graph does not have, an interval beyond the
                view, or an element given to two tiles.

        >>> graph = Graph(Target(tiles=2))
        >>> x = graph.add_variable("float32", (8,), "x")
        >>> graph.set_tile_mapping(x, 0)
        >>> graph.set_tile_mapping(x[2:4], 1)
        >>> graph.tile_mapping(x)[0]
        [Interval(begin=0, end=2), Interval(begin=4, end=8)]
        """
        if (
            type(mapping) is int
            and 0 <= mapping < self.target.tiles
            and isinstance(target, Tensor)
            and target.graph is self
        ):
            # Nothing can be wrong, so the user's line, slow to find, is not needed.
            paint_tensor(target, mapping)
            return
        at = here()
        if isinstance(target, VertexInstance):
            if target.graph is not self:
                raise GraphConnectionError(
                    f"{target} belongs to another graph",
                    at=at,
                    fix="use the graph that made the vertex: vertex.graph",
                )
            check_single(target, at)
            target.tile = self._tile(mapping, target.label, at)
            for constant in target.constants:
                paint_tensor(constant, target.tile)
            return
        self._own(target, "set_tile_mapping", at, _MAP_FIRST.get(type(target), _MAP_TENSOR))
        if isinstance(mapping, TileMapping) or _is_list(mapping):
            paint_intervals(target, mapping, f"'{target.name}'", at)
        else:
            paint_tensor(target, self._tile(mapping, f"'{target.name}'", at))

    def _tile(self, tile: object, what: str, at: SourceLocation) -> int:
        return tile_number(tile, what, self.target.tiles, at)

    def tile_mapping(self, tensor: Tensor, require_complete: bool = True) -> TileMapping:
        """Return where the elements of a tensor live.

        Args:
            tensor: whole or a view. An element that occurs twice in the view is listed twice.
            require_complete: refuse a tensor that has elements without a tile.

        Returns:
            For each tile of the graph, intervals over the flattened view.

        Raises:
            InvalidTileMapping: when elements have no tile and `require_complete` is set.

        >>> graph = Graph(Target(tiles=4))
        >>> x = graph.add_variable("float32", (8,), "x", mapping="linear")
        >>> graph.tile_mapping(x[1:5])
        <TileMapping 4 elements, 3 tiles, max 2 min 1, 3 intervals>
        """
        at = here()
        self._own(tensor, "tile_mapping", at)
        answer = mapping_of(self, tensor.view)
        if require_complete:
            # Looking at the view costs a pass; a hole in it is one in a variable.
            owners = [self.variable_of(storage) for storage in storages(tensor.view)]
            holes = [variable for variable in owners if not variable.mapping.is_complete]
            if holes and not answer.is_complete:
                line, view = holes[0].location, tensor.shape != owners[0].shape
                raise unmapped_error(tensor.name, answer, self.target.tiles, line, view=view)
        return answer

    def variable_tile_mapping(self, tensor: Tensor) -> TileMapping:
        """Return where all elements of the variable under a view live.

        Args:
            tensor: a view of one variable.

        Returns:
            For each tile of the graph, intervals over the variable's elements; elements
            without a tile are in none.

        Raises:
            TensorCreationError: when the tensor views no variable, or several.

        >>> graph = Graph(Target(tiles=2))
        >>> x = graph.add_variable("float32", (8,), "x", mapping="linear")
        >>> graph.variable_tile_mapping(x[3]) == graph.tile_mapping(x)
        True
        """
        at = here()
        self._own(tensor, "variable_tile_mapping", at)
        owners = storages(tensor.view)
        if len(owners) != 1:
            raise TensorCreationError(
                f"'{tensor.name}' views {counted(len(owners), 'variable')}, "
                "but exactly 1 is needed",
                at=at,
                found=f"shape {tensor.shape}",
                fix="graph.tile_mapping(tensor) answers for any view",
            )
        breaks, tiles = self.variable_of(owners[0]).mapping.pieces()
        return TileMapping(self.target.tiles, tiles, np.diff(breaks))

    # The order of memory

    def sorted_contiguous_regions(
        self,
        tensor: Tensor,
        intervals: Sequence[tuple[int, int]] | npt.NDArray[np.int64] | None = None,
        remove_aliased: bool = False,
        report_aliases: bool = False,
    ) -> SortedRegions:
        """Group elements of a tensor in the order of memory.

        A group is a list of intervals of the flattened tensor that, one after the other, are
        one contiguous range of memory.  Groups are sorted by address; of equal addresses, what
        comes first in the tensor comes first.

        Args:
            tensor: whole or a view.
            intervals: elements of the flattened tensor, in any order: pairs, or int64[N, 2];
                all of it when left out.
            remove_aliased: list an element that occurs several times only once.
            report_aliases: tell which intervals hold the same memory; they are cut so that two
                either do, or have none in common.

        Raises:
            TensorIndexError: for an interval outside the tensor.
            GraphConnectionError: for a tensor of another graph.

        >>> graph = Graph()
        >>> x = graph.add_variable("float32", (2, 3), "x")
        >>> for group in graph.sorted_contiguous_regions(x.T, [(0, 2), (4, 6)]):
        ...     print(group)
        [Interval(begin=0, end=1)]
        [Interval(begin=4, end=5), Interval(begin=1, end=2)]
        [Interval(begin=5, end=6)]
        >>> twice = graph.sorted_contiguous_regions(x[0].broadcast(2, 0), report_aliases=True)
        >>> twice[1], twice.aliases.tolist()
        ([Interval(begin=3, end=6)], [0, 0])
        """
        self._own(tensor, "sorted_contiguous_regions", here())
        return sorted_regions(tensor, intervals, remove_aliased, report_aliases)

    def sorted_contiguous_regions_by_tile(
        self, tensor: Tensor, remove_aliased: bool = False, report_aliases: bool = False
    ) -> TileRegions:
        """Group the elements of a tensor in the order of memory, on every tile.

        Far faster than `sorted_contiguous_regions` of each tile's intervals.

        Args:
            tensor: whole or a view; every element has a tile.
            remove_aliased: as for `sorted_contiguous_regions`.
            report_aliases: as for `sorted_contiguous_regions`.

        Raises:
            InvalidTileMapping: when elements have no tile.
            GraphConnectionError: for a tensor of another graph.

        >>> graph = Graph(Target(tiles=2))
        >>> x = graph.add_variable("float32", (2, 3), "x", mapping="linear")
        >>> graph.sorted_contiguous_regions_by_tile(x.T)[1]
        <SortedRegions 3 elements, 1 group, 3 intervals>
        """
        self._own(tensor, "sorted_contiguous_regions_by_tile", here())
        return tile_regions(tensor, remove_aliased, report_aliases)

    def reorder_to_simplify(
        self, tensor: Tensor, others: Sequence[Tensor] = (), require_simplest_order: bool = True
    ) -> tuple[Tensor, ...]:
        """Rearrange tensors alike, so that the first has few regions.

        Args:
            tensor: the one that becomes simple.
            others: tensors with as many elements.
            require_simplest_order: put the pieces of a concatenation in order too; without it,
                only strides are, which takes microseconds.

        Returns:
            The tensor and the others, each of one dimension.

        Raises:
            TensorCreationError: for a tensor of another size.
            GraphConnectionError: for a tensor of another graph.

        >>> graph = Graph()
        >>> x, y = graph.add_variable("int32", (2, 3), "x"), graph.add_variable("int32", (3, 2))
        >>> out, a = graph.reorder_to_simplify(x.T, [y])
        >>> out.is_contiguous(), out == x.flatten(), a == y.T.flatten()
        (True, True, True)
        """
        at = here()
        call = "graph.reorder_to_simplify(tensor, [other])"
        if not is_sequence(others):
            raise ElementTypeError(
                f"reorder_to_simplify: others is {clipped(others)}, not a list of tensors",
                at=at,
                fix=call,
            )
        for each in (tensor, *others):
            self._own(each, "reorder_to_simplify", at, call)
        return reordered(tensor, others, require_simplest_order)

    def simplifying_rearranger(self, tensor: Tensor) -> TensorRearranger:
        """Return what puts tensors in the order in which this one has the fewest regions.

        Args:
            tensor: whole or a view.

        Raises:
            GraphConnectionError: for a tensor of another graph.

        >>> graph = Graph()
        >>> x = graph.add_variable("int32", (2, 3), "x")
        >>> graph.simplifying_rearranger(x.T).rearrange(x.T) == x.flatten()
        True
        """
        self._own(tensor, "simplifying_rearranger", here())
        return TensorRearranger(tensor.view)

    def find_unbroadcast_tensor(self, tensor: Tensor) -> Tensor:
        """Return the tensor that this one is a broadcast of.

        Args:
            tensor: whole or a view.

        Returns:
            A tensor of the same rank: broadcast along each dimension, it is the tensor given.
            The tensor itself if it is no broadcast.

        Raises:
            GraphConnectionError: for a tensor of another graph.

        >>> graph = Graph()
        >>> x = graph.add_variable("int32", (2, 3), "x")
        >>> graph.find_unbroadcast_tensor(x.broadcast(4, 0)) == x
        True
        """
        self._own(tensor, "find_unbroadcast_tensor", here())
        return unbroadcast(tensor)

    # Vertices

    def add_compute_set(self, name: str = "") -> ComputeSet:
        """Make an empty compute set.

        Args:
            name: name within the current scopes; a name already taken gets a number.

        Raises:
            TensorCreationError: when the name is no text.

        >>> Graph().add_compute_set("step").name
        'step'
        """
        at = here()
        name = checked_name(name, "compute set", at, "graph.add_compute_set('step')")
        full_name = self._names.unique("compute set", name or f"cs{len(self._compute_sets)}")
        compute_set = ComputeSet(self, full_name, at)
        self._compute_sets.append(compute_set)
        return compute_set

    def add_function(self, program: Program, name: str = "") -> Function:
        """Make a function: a program that `Call` runs from many places.

        Args:
            program: what it runs. It has no arguments: data goes through variables.
            name: name within the current scopes; a name already taken gets a number.

        Raises:
            ControlProgramError: when it is no program.
            TensorCreationError: when the name is no text.

        >>> from poplite.program import Call, Program
        >>> Call(Graph().add_function(Program(), "blur"))
        <Call 'blur', 0 steps>
        """
        from poplite.program import Function  # which imports this module
        from poplite.program.base import child

        at = here()
        name = checked_name(name, "function", at, "graph.add_function(program, 'blur')")
        full_name = self._names.unique("function", name or "function")
        return Function(self, full_name, child(program, "add_function"), at)

    def add_vertex(
        self,
        compute_set: ComputeSet,
        vertex_class: type[Vertex],
        /,
        *,
        tile: int | None = None,
        **fields: Any,  # typed by the vertex class, which a signature cannot say
    ) -> VertexInstance:
        """Add a vertex to a compute set, and connect it.

        Args:
            compute_set: where it goes.
            vertex_class: what it is; of a template (`class Add(Vertex, Generic[T])`) either
                `Add[FLOAT]`, or `Add`, whose element types the connected tensors tell.
            tile: the tile it runs on; without it, use `set_tile_mapping(vertex, tile)`.
            **fields: what goes behind each field: a tensor, a list of 1-D tensors for a list
                of edges, a number for a scalar Input (it becomes a constant on the vertex's
                tile) or for State, numbers for State of a Vector. Fields left out can be
                connected later.

        Raises:
            UnknownField: for a name the class does not declare.
            VertexDefinitionError: for a class without `compute`.
            GraphConnectionError: for a tensor of another rank or graph, or one that may not
                be written.
            ElementTypeError: for another element type, or something that is no tensor.
            InvalidTileMapping: for a tile the graph does not have.

        >>> from poplite.types import FLOAT
        >>> from poplite.vertex import InOut, Vertex
        >>> class Double(Vertex):
        ...     x: InOut[FLOAT]
        ...     def compute(self) -> None:
        ...         self.x = 2.0 * self.x
        >>> graph = Graph(Target(tiles=4))
        >>> x = graph.add_variable(FLOAT, (4,), "x", mapping="linear")
        >>> graph.add_vertex(graph.add_compute_set("double"), Double, tile=3, x=x[3])
        <VertexInstance Double 0 on tile 3 of 'double'>
        """
        at = here()
        self._check_compute_set(compute_set, "add_vertex", at)
        vertex = VertexInstance(compute_set, vertex_class_of(vertex_class, at), at)
        if tile is not None:
            vertex.tile = self._tile(tile, vertex.label, at)
        bind(vertex, fields, at)
        compute_set.vertices.append(vertex)
        return vertex

    def add_vertices(
        self,
        compute_set: ComputeSet,
        vertex_class: type[Vertex],
        /,
        *,
        tile: int | Sequence[int] | npt.NDArray[np.integer[Any]] | None = None,
        **fields: Any,  # typed by the vertex class, which a signature cannot say
    ) -> VertexBlock:
        """Add many vertices of one class in one call, with all their fields.

        A million take no longer than a few thousand added one by one, and where tensors are
        regular no more memory than one.

        Args:
            compute_set: where they go.
            vertex_class: what they are; a template gets its element types from the tensors.
            tile: the tile of all, or an array of one for each.
            **fields: what goes behind each field. For n vertices: a tensor of shape (n, ...),
                of which vertex k gets `t[k]`; the slices of a tensor, `t.slices(array)`; or a
                list of n tensors (for a list of edges, of n lists). For a scalar Input also a
                number, or an array of n; for State a number or an array of n, and of a Vector
                an array of shape (n, length) or a list of arrays.

        Returns:
            The vertices. `block[k]` makes the instance of one.

        Raises:
            UnknownField: for a name the class does not declare.
            VertexDefinitionError: for a class without `compute`.
            GraphConnectionError: for a field left out, fields for other numbers of vertices, a
                tensor of another rank or graph, or one that may not be written.
            ElementTypeError: for another element type, or something that is no tensor.
            SizeOverflowError: for a number outside the range of its field.
            InvalidTileMapping: for a tile the graph does not have.

        >>> from poplite.types import FLOAT
        >>> from poplite.vertex import Input, Output, Vector, Vertex
        >>> class Sum(Vertex):
        ...     x: Input[Vector[FLOAT]]
        ...     y: Output[FLOAT]
        ...     def compute(self) -> None:
        ...         total = 0.0
        ...         for value in self.x:
        ...             total += value
        ...         self.y = total
        >>> graph = Graph(Target(tiles=4))
        >>> x = graph.add_variable(FLOAT, (1000, 16), "x", mapping="linear")
        >>> y = graph.add_variable(FLOAT, (1000,), "y", mapping="linear")
        >>> tiles = np.arange(1000) // 250
        >>> graph.add_vertices(graph.add_compute_set("sums"), Sum, tile=tiles, x=x, y=y)
        <VertexBlock 1,000 Sum on 4 tiles of 'sums'>
        """
        at = here()
        self._check_compute_set(compute_set, "add_vertices", at)
        block = block_of(compute_set, vertex_class_of(vertex_class, at), tile, fields, at)
        compute_set.vertices.append_block(block)
        return block

    def _check_compute_set(self, value: object, call: str, at: SourceLocation) -> None:
        if type(value) is not ComputeSet or value.graph is not self:
            raise GraphConnectionError(
                f"{clipped(value, 100)} is no compute set of {self!r}",
                at=at,
                found="it is of another graph"
                if isinstance(value, ComputeSet)
                else f"its type is {type(value).__name__}",
                fix=f"{call}(graph.add_compute_set(name), vertex_class, tile=0, ...)",
            )

    def connect(
        self, field: FieldRef | tuple[VertexInstance, str], value: Tensor | Sequence[Tensor] | float
    ) -> None:
        """Put a tensor behind an edge of a vertex.

        Args:
            field: `vertex["x"]`, or one row of a list of edges: `vertex["x"][2]`.
            value: a tensor; a list of 1-D tensors for a list of edges; a number for a scalar
                Input, which becomes a constant on the vertex's tile.

        Raises:
            UnknownField: for a name the class does not declare.
            GraphConnectionError: for an edge connected already, a tensor of another rank or
                graph, or one that may not be written.
            ElementTypeError: for another element type, or something that is no tensor.

        >>> from poplite.types import FLOAT
        >>> from poplite.vertex import InOut, Vertex
        >>> class Double(Vertex):
        ...     x: InOut[FLOAT]
        ...     def compute(self) -> None:
        ...         self.x = 2.0 * self.x
        >>> graph = Graph()
        >>> vertex = graph.add_vertex(graph.add_compute_set("double"), Double)
        >>> graph.connect(vertex["x"], graph.add_variable(FLOAT, (), "x"))
        >>> list(vertex.connections)
        ['x']
        """
        at = here()
        ref = field_ref(field, at)
        if not ref.field.is_edge:
            raise GraphConnectionError(
                f"{ref.vertex}: field '{ref.field.name}' is state, not an edge",
                at=at,
                found=f"declared {ref.field}",
                fix=f"graph.set_initial_value(vertex['{ref.field.name}'], value)",
            )
        if ref.index is None:
            bind(ref.vertex, {ref.field.name: value}, at)
        else:
            bind_row(ref, value, at)

    def __repr__(self) -> str:
        variables = len(self._variables) - self._num_constants
        constants = counted(self._num_constants, "constant") + ", " if self._num_constants else ""
        return (
            f"<Graph {counted(self.target.tiles, 'tile')}, {counted(variables, 'variable')}, "
            f"{constants}{counted(len(self._compute_sets), 'compute set')}, "
            f"{counted(self.num_vertices, 'vertex', 'vertices')}>"
        )

    def _repr_html_(self) -> str:
        from poplite.viz.notebook_graph import graph_cell

        return graph_cell(self)

    # C++ spelling

    setTileMapping = set_tile_mapping
    getTileMapping = tile_mapping
    getVariableTileMapping = variable_tile_mapping
    getSortedContiguousRegions = sorted_contiguous_regions
    reorderToSimplify = reorder_to_simplify
    getSimplifyingRearranger = simplifying_rearranger
    findUnbroadcastTensor = find_unbroadcast_tensor
    addComputeSet = add_compute_set
    addVertex = add_vertex
    addFunction = add_function

    def getTarget(self) -> Target:
        """C++ spelling of `target`."""
        return self.target

    def getNumVertices(self) -> int:
        """C++ spelling of `num_vertices`."""
        return self.num_vertices


_MAP_TENSOR = "the tensor comes first: set_tile_mapping(tensor, tile)"
_MAP_FIRST: dict[type, str] = {
    ComputeSet: "put its vertices on tiles: for vertex in cs.vertices: "
    "graph.set_tile_mapping(vertex, tile)",
    VertexBlock: "tiles of many vertices are given with them: add_vertices(cs, V, tile=...)",
}


def _is_list(mapping: object) -> TypeGuard[Sequence[Sequence[tuple[int, int]]]]:
    return isinstance(mapping, Sequence) and not isinstance(mapping, str)
