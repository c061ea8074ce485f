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

All variables share one space of element addresses, with an unused address after each, so
that no run of elements reaches from one variable into the next.

Semantics: Poplar API reference, "Graph"; a variable has no tile until it is given one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Literal, SupportsIndex, TypeGuard

import numpy as np
import numpy.typing as npt

from poplite.compute_set import ComputeSet, FieldRef, VertexInstance
from poplite.connect import bind, bind_row, field_ref, vertex_class_of
from poplite.errors import (
    ElementTypeError,
    GraphConnectionError,
    InvalidMachineModel,
    InvalidTileMapping,
    PopliteError,
    SizeOverflowError,
    TensorCreationError,
    did_you_mean,
)
from poplite.mapping import TileMapping, unmapped_error
from poplite.metadata import attach
from poplite.names import Names, checked_name
from poplite.partition import spread
from poplite.placement import Nested, mapping_of, paint_intervals, paint_tensor, tile_number
from poplite.quarter import QuarterMetadata
from poplite.source import SourceLocation, here
from poplite.target import Target
from poplite.tensor import Tensor
from poplite.tensor_queries import no_tensor
from poplite.types import QUARTER_METADATA, ElementType, ElementTypeLike, element_type
from poplite.values import ElementClass
from poplite.variable import ShapeLike, Variable, set_values, shape_of, values_for
from poplite.vertex import Vertex
from poplite.view import Storage, storages, whole
from poplite.words import clipped, counted

MappingLike = SupportsIndex | Nested
"""A tile for all elements, or for each tile intervals over the flattened view."""

MAX_ADDRESS = 1 << 62

__all__ = ["ComputeSet", "FieldRef", "Graph", "MappingLike", "VertexInstance"]


class Graph:
    """Variables, compute sets and vertices for one target.

    Args:
        target: the machine; by default `Target()`.

    Raises:
        InvalidMachineModel: when the target is no `Target`.

    Attributes:
        target: the machine.

    >>> Graph(Target(tiles=4))
    <Graph 4 tiles, 0 variables, 0 compute sets, 0 vertices>
    """

    def __init__(self, target: Target | None = None) -> None:
        self.target = Target() if target is None else _target(target)
        self._variables: list[Variable] = []
        self._compute_sets: list[ComputeSet] = []
        self._num_constants = 0
        self._next_base = 0
        self._names = Names()

    @property
    def variables(self) -> tuple[Variable, ...]:
        """All variables and constants, in the order they were made."""
        return tuple(self._variables)

    @property
    def compute_sets(self) -> tuple[ComputeSet, ...]:
        """All compute sets, in the order they were made."""
        return tuple(self._compute_sets)

    @property
    def num_vertices(self) -> int:
        """Vertices of all compute sets together."""
        return sum(len(cs.vertices) for cs in self._compute_sets)

    def scope(self, name: str) -> AbstractContextManager[None]:
        """Put `name/` in front of the names made inside a `with` block; scopes nest.

        Args:
            name: one or more parts of a name.

        Raises:
            TensorCreationError: when the name is empty.

        >>> graph = Graph()
        >>> with graph.scope("conv1"):
        ...     w = graph.add_variable("float32", (3,), "w")
        >>> w.name
        'conv1/w'
        """
        if not isinstance(name, str) or not name:
            raise TensorCreationError(
                f"{clipped(name)} is no name for a scope",
                at=here(),
                found=f"its type is {type(name).__name__}" if name != "" else "an empty name",
                fix="graph.scope('layer1')",
            )
        return self._names.within(name)

    # Variables

    def add_variable(
        self,
        element_type: ElementTypeLike,
        shape: ShapeLike,
        name: str = "",
        *,
        mapping: Literal["linear"] | MappingLike | None = None,
        initial_value: npt.ArrayLike | None = None,
        metadata: Tensor | QuarterMetadata | None = None,
    ) -> Tensor:
        """Make a variable, and return the tensor of all of it.

        Args:
            element_type: element type, or a NumPy dtype that one stores.
            shape: extents; `()` is one element of rank 0.
            name: name within the current scopes; a name already taken gets a number.
            mapping: "linear" spreads the elements evenly and in order over all tiles; a
                tile number or intervals for each tile as for `set_tile_mapping`. Without
                it, no element has a tile yet.
            initial_value: as for `set_initial_value`.
            metadata: for QUARTER, format and scale: a value, which becomes a constant on tile
                0, or a tensor of one QUARTER_METADATA element, which programs may change.

        Returns:
            A tensor of that shape.

        Raises:
            ElementTypeError: for an unknown element type.
            TensorMetadataError: for QUARTER without metadata, or another type with some.
            TensorCreationError: for a shape that is none.
            InvalidTileMapping: for a mapping that does not fit.

        >>> Graph(Target(tiles=4)).add_variable("float32", (2, 4), "x", mapping="linear").shape
        (2, 4)
        """
        at = here()
        with self._new(element_type, shape, name, False, at) as (variable, tensor):
            attach(self, variable, metadata, at)
            if mapping is not None:
                self._map_new(variable, tensor, mapping, at)
            if initial_value is not None:
                self.set_initial_value(tensor, initial_value)
        return tensor

    def add_constant(
        self,
        element_type: ElementTypeLike,
        shape: ShapeLike,
        value: npt.ArrayLike,
        name: str = "",
        *,
        mapping: Literal["linear"] | MappingLike | None = None,
        metadata: Tensor | QuarterMetadata | None = None,
    ) -> Tensor:
        """Make a constant, and return the tensor of all of it.

        It needs a tile mapping like a variable.  Nothing may write to it.

        Args:
            element_type: element type, or a NumPy dtype that one stores.
            shape: extents; `()` is one element of rank 0.
            value: a number for all elements, an array of that shape, or a flat list.
            name: name within the current scopes; a name already taken gets a number.
            mapping: as for `add_variable`.
            metadata: as for `add_variable`.

        Raises:
            ElementTypeError: for an unknown element type, or values of another kind.
            TensorMetadataError: for QUARTER without metadata, or another type with some.
            TensorCreationError: for a shape that is none, or values of another count.
            SizeOverflowError: for a value outside the range of the element type.
            InvalidTileMapping: for a mapping that does not fit.

        >>> graph = Graph()
        >>> graph.add_constant("int32", (3,), [1, 2, 3], "taps", mapping=0).contains_constant()
        True
        """
        at = here()
        with self._new(element_type, shape, name, True, at) as (variable, tensor):
            attach(self, variable, metadata, at)
            variable.initial_value = values_for(tensor, value, at)
            variable.initial_value.flags.writeable = False
            if mapping is not None:
                self._map_new(variable, tensor, mapping, at)
        return tensor

    def set_initial_value(self, target: Tensor | FieldRef, value: npt.ArrayLike) -> None:
        """Set what a variable holds when a program is loaded, or the value of a state field.

        Elements that get no initial value start as zero.

        Args:
            target: a tensor, whole or a view; or a state field, `vertex["count"]`.
            value: a number for all elements, an array of the tensor's shape, or a flat list.

        Raises:
            GraphConnectionError: for constants, and views that hold an element twice.
            TensorCreationError: for values of another count.
            ElementTypeError: for values of another kind.
            SizeOverflowError: for a value outside the range of the element type.

        >>> graph = Graph()
        >>> x = graph.add_variable("float32", (4,), "x")
        >>> graph.set_initial_value(x[1:3], 5)
        >>> graph.variables[0].initial_value
        array([0., 5., 5., 0.], dtype=float32)
        """
        at = here()
        if isinstance(target, FieldRef):
            if target.field.is_edge:
                raise GraphConnectionError(
                    f"{target.vertex}: field '{target.field.name}' is an edge, not state",
                    at=at,
                    found=f"declared {target.field}",
                    fix=f"graph.connect(vertex['{target.field.name}'], tensor)",
                )
            bind(target.vertex, {target.field.name: value}, at)
            return
        self._own(target, "set_initial_value", at, "set_initial_value(tensor, value)")
        set_values(target, value, at)

    def variable_of(self, storage: Storage) -> Variable:
        """Return the variable that owns some storage.

        Args:
            storage: where a view's elements live.

        Raises:
            GraphConnectionError: when the storage is not of this graph.

        >>> graph = Graph()
        >>> x = graph.add_variable("float32", (4,), "x")
        >>> graph.variable_of(graph.variables[0].storage)
        <Variable 'x' float32[4]>
        """
        if 0 <= storage.id < len(self._variables):
            variable = self._variables[storage.id]
            if variable.storage is storage:
                return variable
        raise GraphConnectionError(
            f"{storage!r} is not of {self!r}",
            at=here(),
            fix="use the graph that made the tensor: tensor.graph",
        )

    def _add_number(
        self, kind: ElementClass, number: bool | int | float, tile: int | None, at: SourceLocation
    ) -> Tensor:
        """Make a scalar constant quickly, for a number connected to a vertex.

        Args:
            kind: its element type.
            number: its value, already checked and rounded.
            tile: where it lives, if known.
            at: the user's line.
        """
        variable, tensor = self._make(kind, (), "", True, at)
        variable.initial_value = np.array(number, kind.dtype)
        variable.initial_value.flags.writeable = False
        if tile is not None:
            variable.mapping.paint(0, 1, tile)
        return tensor

    def _add_metadata(self, name: str, metadata: QuarterMetadata, at: SourceLocation) -> Tensor:
        """Make the constant of a QUARTER variable's format and scale.

        Args:
            name: full name.
            metadata: its value.
            at: the user's line.
        """
        local = self._names.local(name)
        variable, tensor = self._make(QUARTER_METADATA, (), local, True, at)
        variable.initial_value = np.array(metadata.to_byte(), QUARTER_METADATA.dtype)
        variable.initial_value.flags.writeable = False
        variable.mapping.paint(0, 1, 0)
        return tensor

    @contextmanager
    def _new(
        self,
        like: ElementTypeLike,
        shape: ShapeLike,
        name: str,
        constant: bool,
        at: SourceLocation,
    ) -> Iterator[tuple[Variable, Tensor]]:
        """Make a variable, and take it back if the `with` block raises."""
        if isinstance(shape, type) and issubclass(shape, ElementType):
            raise ElementTypeError(
                f"a shape is needed, but {shape!r} is an element type",
                at=at,
                found=f"element type {clipped(like)}, shape {shape!r}, name {clipped(name)}",
                fix=f"the element type first, then shape and name: ({shape!r}, (4,), 'x')",
            )
        name = checked_name(name, "variable", at, "name='x'; a tile goes to mapping=")
        kind, extents = _element_type(like, name, at), shape_of(shape, name, at)
        size = math.prod(extents)
        if self._next_base + size >= MAX_ADDRESS:
            raise SizeOverflowError(
                f"'{name}': shape {extents} has {counted(size, 'element')}, "
                "more than addresses are left",
                at=at,
                found=f"a graph has {MAX_ADDRESS:,} addresses; {self._next_base:,} are used",
                fix="a smaller shape",
            )
        before = len(self._variables)
        variable, tensor = self._make(kind, extents, name, constant, at)
        try:
            yield variable, tensor
        except PopliteError:
            for made in self._variables[before:]:  # the variable, and perhaps its metadata
                self._num_constants -= made.constant
                self._names.release("variable", made.name)
            del self._variables[before:]
            raise

    def _make(
        self,
        kind: ElementClass,
        extents: tuple[int, ...],
        name: str,
        constant: bool,
        at: SourceLocation,
    ) -> tuple[Variable, Tensor]:
        number = len(self._variables)
        default = f"{'const' if constant else 'var'}{number}"
        full_name = self._names.unique("variable", name or default)
        storage = Storage(number, self._next_base, math.prod(extents), constant)
        variable = Variable(full_name, kind, extents, storage, at)
        self._variables.append(variable)
        self._next_base += storage.num_elements + 1
        self._num_constants += constant
        return variable, Tensor(self, kind, whole(storage, extents))

    def _own(self, tensor: object, what: str, at: SourceLocation, call: str = "") -> None:
        if not isinstance(tensor, Tensor):
            raise no_tensor(what, tensor, call)
        if tensor.graph is not self:
            raise GraphConnectionError(
                f"'{tensor.name}' belongs to another graph",
                at=at,
                found=f"this is {self!r}, the tensor's is {tensor.graph!r}",
                fix="use the graph that made the tensor: tensor.graph",
            )

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
        at = here()
        if isinstance(target, VertexInstance):
            if target.graph is not self:
                raise GraphConnectionError(
                    f"{target} belongs to another graph",
                    at=at,
                    fix="use the graph that made the vertex: vertex.graph",
                )
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

    def _map_new(
        self, variable: Variable, tensor: Tensor, mapping: object, at: SourceLocation
    ) -> None:
        what = f"'{variable.name}'"
        if mapping == "linear":
            variable.mapping.paint_many(*spread(variable.num_elements, self.target.tiles))
        elif isinstance(mapping, str):
            raise InvalidTileMapping(
                f"{what}: mapping '{mapping}' is not known{did_you_mean(mapping, ['linear'])}",
                at=at,
                fix="mapping='linear', a tile number, or a list of intervals for each tile",
            )
        else:
            self.set_tile_mapping(tensor, mapping)  # type: ignore[arg-type]

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
        answer = mapping_of(tensor)
        if require_complete and not answer.is_complete:
            owners = [self.variable_of(storage) for storage in storages(tensor.view)]
            line = next(v for v in owners if not v.mapping.is_complete).location
            view = tensor.shape != owners[0].shape
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
        if type(compute_set) is not ComputeSet or compute_set.graph is not self:
            raise GraphConnectionError(
                f"{clipped(compute_set, 100)} is no compute set of {self!r}",
                at=at,
                found="it is of another graph"
                if isinstance(compute_set, ComputeSet)
                else f"its type is {type(compute_set).__name__}",
                fix="add_vertex(graph.add_compute_set(name), vertex_class, tile=0, ...)",
            )
        vertex = VertexInstance(compute_set, vertex_class_of(vertex_class, at), at)
        if tile is not None:
            vertex.tile = self._tile(tile, vertex.label, at)
        bind(vertex, fields, at)
        compute_set.vertices.append(vertex)
        return vertex

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

    addVariable = add_variable
    addConstant = add_constant
    setInitialValue = set_initial_value
    setTileMapping = set_tile_mapping
    getTileMapping = tile_mapping
    getVariableTileMapping = variable_tile_mapping
    addComputeSet = add_compute_set
    addVertex = add_vertex

    def getTarget(self) -> Target:
        """C++ spelling of `target`."""
        return self.target

    def getNumVertices(self) -> int:
        """C++ spelling of `num_vertices`."""
        return self.num_vertices


def _target(value: object) -> Target:
    if isinstance(value, Target):
        return value
    tiles = value if isinstance(value, int) and value > 0 else 4
    raise InvalidMachineModel(
        f"Graph: {clipped(value)} is no target",
        at=here(),
        found=f"its type is {type(value).__name__}, where a Target is needed",
        fix=f"Graph(Target(tiles={tiles}))",
    )


_MAP_TENSOR = "the tensor comes first: set_tile_mapping(tensor, tile)"
_MAP_FIRST: dict[type, str] = {
    ComputeSet: "put its vertices on tiles: for vertex in cs.vertices: "
    "graph.set_tile_mapping(vertex, tile)"
}


def _element_type(like: ElementTypeLike, name: str, at: SourceLocation) -> ElementClass:
    try:
        return element_type(like)
    except ElementTypeError as error:
        raise ElementTypeError(
            f"'{name}': {error.what}" if name else error.what,
            at=at,
            found=error.found or f"given {clipped(like)} as the element type",
            fix=error.fix,
        ) from None


def _is_list(mapping: object) -> TypeGuard[Sequence[Sequence[tuple[int, int]]]]:
    return isinstance(mapping, Sequence) and not isinstance(mapping, str)
