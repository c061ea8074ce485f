"""The graph: variables spread over tiles, computed by sets of vertices.

Everything that a program works on is created by the methods of `Graph`. A call checks names,
types, shapes, tiles and edges immediately; properties of the complete program (elements without a
tile, races) are checked when the graph is compiled::

    graph = Graph(Target(tiles=4))
    x = graph.add_variable(FLOAT, (8,), "x", mapping="linear")
    with graph.scope("layer1"):
        cs = graph.add_compute_set("double")              # 'layer1/double'
    for tile in range(4):
        graph.add_vertex(cs, Double, tile=tile, x=x[2 * tile : 2 * tile + 2])

`Graph` only delegates: it owns its parts (`Parts` and the tile numbers), finds the user's source
line, and calls the other modules of the package: `space` for variables, `tile_mapping` for their
tiles, `compute_sets` and `connect` for vertices, `host` for streams and remote buffers.

A virtual graph is a graph over some tiles of another, with their own tile numbers, starting at 0::

    first = graph.create_virtual_graph(0, 1472)              the tiles of one IPU
    second = graph.create_virtual_graph(1472, 2944)
    y = second.add_variable(FLOAT, (n,), mapping="linear")   over the second IPU

It shares the parts of the top-level graph: variables, compute sets and functions made with it
belong to that graph (`y.graph is graph`), and messages, vertices and pictures use its tile numbers.

Semantics: Poplar API reference, "Graph", "Graph::createVirtualGraph".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Never, SupportsIndex, TextIO, overload

import numpy as np
import numpy.typing as npt

from poplite.display import Displayed, write_dataflow
from poplite.errors import (
    SHOWN_FAULTS,
    GraphConnectionError,
    ListsPresent,
    checked_truth,
    refuse_copies,
)
from poplite.graph import compute_sets, connect, poplar_only, saving, variables
from poplite.graph.host import (
    DataStream,
    DataStreamType,
    Handles,
    HostFunction,
    HostHandle,
    RemoteBuffer,
    ReplicatedStreamMode,
    TypeLike,
    host_function_of,
    registered,
    remote_buffer_of,
    stream_of,
    write_handle,
)
from poplite.graph.saving import SerializationFormat
from poplite.graph.space import (
    Names,
    ShapeLike,
    Space,
    Variable,
    checked_name,
    checked_scope,
    variable_named,
)
from poplite.graph.tensor import rearrange, regions, tensor_mapping
from poplite.graph.tensor.rearrange import TensorCloneDuplicationMethod, TensorCloneMethod
from poplite.graph.tensor.tensor import Tensor, check_own, of_variable
from poplite.graph.tile_mapping import (
    AllTiles,
    NearTiles,
    SomeTiles,
    TileMapping,
    TileNumbers,
    chosen_tiles,
    tile_of_pair,
)
from poplite.graph.variables import MappingLike
from poplite.machine.target import Target, checked_target, replica_part, tiles_text
from poplite.poplar.callable_values import CalledInt
from poplite.poplar.spelling import binder_of, cpp_spelling
from poplite.public import checked_methods
from poplite.source import here
from poplite.text import amount, clipped
from poplite.types import UNSIGNED_INT, ElementTypeLike, QuarterMetadata
from poplite.view import Storage
from poplite.view.address_sets import storages

if TYPE_CHECKING:
    import os

    from poplite.arrays.intervals import Int64
    from poplite.cpp.added import CodeletSources
    from poplite.graph.compute_sets.compute_set import (
        ComputeSet,
        FieldRef,
        RecordedOperation,
        VertexInstance,
    )
    from poplite.graph.compute_sets.perf_estimates import Estimator, VertexPerfEstimate
    from poplite.graph.compute_sets.vertex_block import VertexBlock
    from poplite.graph.saving import Format, Loaded, ProgramsLike, Stream, VertexSource
    from poplite.machine.device import Device
    from poplite.poplar.spellings import GraphSpelling
    from poplite.program.base import Function, FunctionBuffer, Program
    from poplite.program.recording import RecordedSteps
    from poplite.vertex.vertex import Vertex

    _Field = FieldRef | tuple[VertexInstance, str]
else:
    GraphSpelling = object

_SAME_ORDER = TensorCloneMethod.PRESERVE_ORDER_UNLESS_ALIASES


@dataclass(slots=True, eq=False)
class Parts:
    """The parts of a graph, which its virtual graphs share.

    Attributes:
        names: the names of variables, compute sets and functions that are in use.
        compute_sets: the compute sets, in order of creation.
        operations: the operations, in the order in which they were recorded.
        handles: the objects that the host accesses by name.
        recorded_functions: the functions created by `graph_function`, by function and signature.
        function_buffers: the function buffers, by the name of their function.
        working: virtual graphs prepared for operations, by the top-level numbers of their tiles.
        codelets: vertex classes that only this graph knows by name, by that name without blanks.
    """

    space: Space
    names: Names
    compute_sets: list[ComputeSet] = field(default_factory=list)
    operations: list[RecordedOperation] = field(default_factory=list)
    handles: Handles = field(default_factory=Handles)
    recorded_functions: dict[object, object] = field(default_factory=dict)
    estimators: dict[type[Vertex], Estimator] = field(default_factory=dict)
    function_buffers: dict[str, FunctionBuffer] = field(default_factory=dict)
    working: dict[bytes, Graph] = field(default_factory=dict)
    codelets: dict[str, type[Vertex]] = field(default_factory=dict)


@cpp_spelling(poplar_only, but="connect")
@checked_methods(
    "pl.Graph graph", but="add_vertex connect set_tile_mapping tile_mapping variable_of"
)
@refuse_copies(
    "call the function that builds the graph once more; pl.compile_graph(...).save(path) "
    "stores a compiled one"
)
class Graph(Displayed, GraphSpelling, metaclass=ListsPresent):
    """Variables, compute sets and vertices for one target.

    Args:
        target: the machine; by default `Target()`.
        replication_factor: number of replicas of the graph; the IPUs of the machine are divided
            evenly among them.

    Raises:
        InvalidMachineModel: when the target is not a `Target`.
        GraphReplicationError: when the IPUs cannot be divided evenly among the replicas.

    Attributes:
        target: the machine of one replica.
        replication_factor: number of replicas.
        space: the variables, and the tiles of all their elements.

    >>> Graph(Target(tiles=4))
    <Graph 4 tiles, 0 variables, 0 compute sets, 0 vertices>
    """

    target: Target
    replication_factor: CalledInt

    def __init__(self, target: Target | Device | None = None, replication_factor: int = 1) -> None:
        machine, replicas = replica_part(checked_target(target), replication_factor)
        self.target, self.replication_factor = machine, CalledInt(replicas)
        names, tiles = Names(), int(machine.tiles)  # arithmetic is slower with a `CalledInt`
        self.space: Space = Space(tiles, names, int(machine.memory_bytes))
        self._parts = Parts(self.space, names)
        self._tiles: TileNumbers = AllTiles(tiles)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """All variables and constants, in order of creation."""
        return tuple(self.space.variables)

    @property
    def compute_sets(self) -> tuple[ComputeSet, ...]:
        """All compute sets, in order of creation."""
        return tuple(self._parts.compute_sets)

    @property
    def operations(self) -> tuple[RecordedOperation, ...]:
        """The operations of `poplite.ops`, in the order in which they were recorded."""
        return tuple(self._parts.operations)

    @property
    def num_vertices(self) -> CalledInt:
        """Number of vertices in all compute sets."""
        return CalledInt(sum(len(cs.vertices) for cs in self._parts.compute_sets))

    def scope(self, name: str) -> AbstractContextManager[None]:
        """Add the prefix `name/` to names created in a `with` block; scopes can be nested.

        Args:
            name: one or more parts of a name, separated by `/`.

        Raises:
            TensorCreationError: when the name is empty.

        >>> from poplite.graph import Graph
        >>> graph = Graph()
        >>> with graph.scope("conv1"):
        ...     w = graph.add_variable("float32", (3,), "w")
        >>> w.name
        'conv1/w'
        """
        return self._parts.names.within(checked_scope(name))

    # Variables

    def add_variable(
        self,
        element_type: ElementTypeLike,
        shape: ShapeLike,
        name: str = "",
        *,
        mapping: Literal["linear"] | MappingLike | None = None,
        initial_value: npt.ArrayLike | Mapping[int, npt.ArrayLike] | None = None,
        metadata: Tensor | QuarterMetadata | None = None,
    ) -> Tensor:
        """Create a variable, and return the tensor of all its elements.

        Args:
            element_type: element type, or the NumPy dtype of one.
            shape: sizes of the dimensions; `()` is one element of rank 0.
            name: name within the current scopes; a number is appended if the name is in use.
            mapping: "linear" spreads the elements evenly and in order over all tiles; a tile
                number, or intervals for each tile, mean the same as in `set_tile_mapping`.
                Without a mapping the elements have no tile yet.
            initial_value: as in `set_initial_value`.
            metadata: format and scale of QUARTER elements: a value, which becomes a constant on
                tile 0, or a tensor with one QUARTER_METADATA element, which programs may change.

        Returns:
            A tensor of that shape.

        Raises:
            ElementTypeError: for an unknown element type.
            TensorMetadataError: for QUARTER without metadata, or another type with metadata.
            TensorCreationError: for an invalid shape.
            InvalidTileMapping: for a mapping that does not fit the variable or the graph.

        >>> from poplite.graph import Graph
        >>> from poplite.machine.target import Target
        >>> Graph(Target(tiles=4)).add_variable("float32", (2, 4), "x", mapping="linear").shape
        (2, 4)
        """
        at = here(2)  # the caller of this function
        space, tiles, replicas = self.space, self._tiles, self.replication_factor
        variable = variables.add_variable(
            space, tiles, element_type, shape, name, mapping, initial_value, metadata, replicas, at
        )
        return of_variable(self.top_level_graph, variable)

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
        """Create a constant, and return the tensor of all its elements.

        A constant needs a tile mapping, as a variable does. Nothing may write to it.

        Args:
            element_type: element type, or the NumPy dtype of one.
            shape: sizes of the dimensions; `()` is one element of rank 0.
            value: a number for all elements, an array of that shape, or a flat list.
            name: name within the current scopes; a number is added if the name is in use.
            mapping: as in `add_variable`.
            metadata: as in `add_variable`.

        Raises:
            ElementTypeError: for an unknown element type, or values of the wrong kind.
            TensorMetadataError: for QUARTER without metadata, or another type with metadata.
            TensorCreationError: for an invalid shape, or a wrong number of values.
            SizeOverflowError: for a value outside the range of the element type.
            InvalidTileMapping: for a mapping that does not fit the constant or the graph.

        >>> from poplite.graph import Graph
        >>> graph = Graph()
        >>> graph.add_constant("int32", (3,), [1, 2, 3], "taps", mapping=0).contains_constant()
        True
        """
        variable = variables.add_constant(
            self.space, self._tiles, element_type, shape, name, mapping, value, metadata, here()
        )
        return of_variable(self.top_level_graph, variable)

    def add_replication_index_constant(
        self, name: str = "", *, mapping: Literal["linear"] | MappingLike | None = None
    ) -> Tensor:
        """Create a constant whose value is the number of its replica, counted from 0.

        Args:
            name: as in `add_variable`.
            mapping: as in `add_variable`.

        Returns:
            A scalar of UNSIGNED_INT.

        Raises:
            InvalidTileMapping: for a mapping that does not fit the graph.

        >>> from poplite.graph import Graph
        >>> from poplite.machine.target import Target
        >>> graph = Graph(Target(tiles=8, ipus=2), replication_factor=2)
        >>> graph.add_replication_index_constant("which", mapping=0)
        <Tensor 'which' uint32[] on tile 0, 4 B>
        """
        index = self.add_constant(UNSIGNED_INT, (), 0, name, mapping=mapping)
        numbers = {n: np.array(n, np.uint32) for n in range(self.replication_factor)}
        self.space.variables[-1].replica_values = numbers
        return index

    def set_initial_value(
        self, target: Tensor | FieldRef, value: npt.ArrayLike | Mapping[int, npt.ArrayLike]
    ) -> None:
        """Set the values of elements when a program is loaded, or the value of a state field.

        Elements without an initial value start at zero; strict checks regard them as unwritten.

        Args:
            target: any view of variables; or a state field, `vertex["count"]`.
            value: a number for all elements, an array of the tensor's shape, or a flat list; or
                a dictionary of these by replica number, which may omit replicas.

        Raises:
            GraphReplicationError: for a replica that does not exist.
            GraphConnectionError: for a view of a constant, or one that contains an element twice.
            TensorCreationError: for a wrong number of values.
            ElementTypeError: for values of the wrong kind.
            SizeOverflowError: for a value outside the range of the element type.

        >>> from poplite.graph import Graph
        >>> graph = Graph()
        >>> x = graph.add_variable("float32", (4,), "x")
        >>> graph.set_initial_value(x[1:3], 5)
        >>> graph.variables[0].initial_value
        array([0., 5., 5., 0.], dtype=float32)
        """
        if not isinstance(target, Tensor) and isinstance(target, compute_sets.FieldRef):
            connect.bind_state(target, value)
            return
        check_own(self, target, "set_initial_value", "set_initial_value(tensor, value)")
        variables.set_values(target, value, self.replication_factor)

    @overload
    def clone(
        self,
        tensor: Tensor,
        name: str = "",
        method: TensorCloneMethod = ...,
        *,
        element_type: ElementTypeLike | None = None,
        metadata: Tensor | QuarterMetadata | None = None,
    ) -> Tensor: ...
    @overload
    def clone(
        self,
        first: ElementTypeLike | Tensor | QuarterMetadata,
        tensor: Tensor,
        name: str = "",
        method: TensorCloneMethod = ...,
        /,
    ) -> Tensor: ...
    @overload
    def clone(
        self,
        element_type: ElementTypeLike,
        metadata: Tensor | QuarterMetadata,
        tensor: Tensor,
        name: str = "",
        method: TensorCloneMethod = ...,
        /,
    ) -> Tensor: ...
    # Any: the overloads above are the signature.
    def clone(
        self,
        tensor: Any,
        name: Any = "",
        method: Any = _SAME_ORDER,
        *rest: Any,  # in Poplar's order
        element_type: ElementTypeLike | None = None,
        metadata: Tensor | QuarterMetadata | None = None,
    ) -> Tensor:
        """Create a variable with the shape and the tile mapping of a tensor.

        The contents are not copied. An element without a tile has none in the clone either. The
        clone of a constant is a variable. The element type, and after it the metadata, may also
        come first, as in Poplar: `clone(HALF, tensor)`, `clone(metadata, tensor)`.

        Args:
            tensor: any view; it may contain an element twice.
            name: name of the variable; by default the tensor's.
            method: the order of the elements in memory.
            element_type: element type of the clone; by default the tensor's.
            metadata: for QUARTER, as in `add_variable`; by default the tensor's.
            *rest: name and method, after the element type in Poplar's order.

        Returns:
            A tensor of the tensor's shape over a new variable.

        Raises:
            ElementTypeError: for anything but a tensor, or an unknown element type or method.
            GraphConnectionError: for a tensor of another graph.
            TensorMetadataError: for QUARTER without metadata, or another type with metadata.

        >>> from poplite.graph import Graph
        >>> graph = Graph()
        >>> x = graph.add_variable("float32", (2, 3), "x", mapping=1)
        >>> graph.clone(x.T)
        <Tensor 'x_1'.reshape((2, 3)).T float32[3, 2] on tile 1, 24 B>
        >>> graph.clone(x.T).var_str()
        'VAR:2 DIMSHUFFLE(1,0)'
        """
        if rest or isinstance(name, Tensor | QuarterMetadata):
            given = (tensor, name) if method is _SAME_ORDER else (tensor, name, method, *rest)
            also = {"element_type": element_type, "metadata": metadata}
            ordered, named = binder_of("Graph", "clone").in_our_order(given, also)
            tensor, name, method = ordered + ["", _SAME_ORDER][len(ordered) - 1 :]
            element_type, metadata = named["element_type"], named["metadata"]
        check_own(self, tensor, "clone", "clone(tensor)")
        return variables.add_clone(self._tiles, tensor, name, element_type, method, metadata)

    def clone_n(
        self,
        tensor: Tensor,
        n: int,
        name: str = "",
        *,
        method: TensorCloneMethod | str = TensorCloneMethod.PRESERVE_ORDER_UNLESS_ALIASES,
        duplication: TensorCloneDuplicationMethod | str = (
            TensorCloneDuplicationMethod.DUPLICATE_BY_OUTER_DIMENSION
        ),
        element_type: ElementTypeLike | None = None,
        metadata: Tensor | QuarterMetadata | None = None,
    ) -> Tensor:
        """Create n clones of a tensor, as one tensor with a new first dimension.

        Args:
            tensor: any view; its elements need tiles when an engine is created.
            n: number of clones, 0 or more.
            name: name of the variables; by default the tensor's.
            method: the order of the elements of each clone in memory.
            duplication: how the clones are arranged in memory.
            element_type: element type of the clones; by default the tensor's.
            metadata: for QUARTER, as in `add_variable`; by default the tensor's.

        Returns:
            A tensor of shape `(n, *tensor.shape)`.

        Raises:
            TensorCreationError: for DUPLICATE_BY_TILE_CONTIGUOUS_REGION with a method that does
                not preserve the order.
            TensorIndexError: when n is negative or not an integer.
            GraphMemoryAllocationError: for more clones than fit the memory of all tiles together.
            PopliteError: as in `clone`.

        >>> from poplite.graph import Graph
        >>> graph = Graph()
        >>> graph.clone_n(graph.add_variable("float32", (2, 3), "x"), 4).shape
        (4, 2, 3)
        """
        check_own(self, tensor, "clone_n", "clone_n(tensor, n)")
        return variables.add_clones(
            self._tiles, tensor, n, name, element_type, method, duplication, metadata
        )

    def tensor(self, name: str) -> Tensor:
        """Return the tensor of all elements of a variable or constant.

        Args:
            name: the name with its scopes; they can be omitted when the name is unique.

        Raises:
            UnknownName: when no variable has that name (the message suggests the nearest one),
                or several have it.

        >>> import poplite as pl
        >>> graph = pl.Graph()
        >>> with graph.scope("blocks"):
        ...     w = graph.add_variable(pl.FLOAT, (4, 6), "w")
        >>> graph.tensor("blocks/w") == w == graph.tensor("w")
        <same elements: True (not ops.equal)>
        """
        variable = variable_named(self.space, name, call=f"graph.tensor({clipped(name)})")
        return of_variable(self.top_level_graph, variable)

    def variable_of(self, source: Tensor | Storage) -> Variable:
        """Return the variable that a tensor views, or that owns a storage.

        Args:
            source: a tensor of one variable, or the storage below a view: `tensor.view.space`.

        Raises:
            GraphConnectionError: when it belongs to another graph, or the tensor views no variable
                or several.

        >>> from poplite.graph import Graph
        >>> graph = Graph()
        >>> x = graph.add_variable("float32", (4,), "x")
        >>> graph.variable_of(x[1:])
        <Variable 'x' float32[4]>
        """
        below = storages(source.view) if isinstance(source, Tensor) else (source,)
        if len(below) != 1:
            names = ", ".join(f"'{self.variable_of(each).name}'" for each in below[:SHOWN_FAULTS])
            raise GraphConnectionError(
                f"graph.variable_of(): the tensor views {amount(len(below), 'variable')}",
                found=f"{source!r}: {names or 'no elements'}",
                fix="pass a view of a single variable",
            )
        known = self.space.variables
        if isinstance(below[0], Storage) and 0 <= below[0].id < len(known):
            variable = known[below[0].id]
            if variable.storage is below[0]:
                return variable
        raise GraphConnectionError(
            f"{clipped(source, 80)} does not belong to {self!r}",
            fix="use the graph of the tensor: tensor.graph",
        )

    # Tiles

    def set_tile_mapping(
        self, target: Tensor | VertexInstance, mapping: Literal["linear"] | MappingLike
    ) -> None:
        """Map the elements of a tensor, or a vertex, to tiles.

        Later calls override earlier ones, element by element. A `ConstantRemappedWarning` reports
        elements of a constant that were mapped to another tile.

        Args:
            target: any view, or a vertex.
            mapping: a tile number; for a tensor also "linear", in order over all tiles, or for
                each tile a list of intervals `(begin, end)` over the flattened view. Elements
                outside all intervals keep their tile.

        Raises:
            InvalidTileMapping: for a tile that the graph does not have, an interval outside the
                view, or an element mapped to two tiles.

        >>> import poplite as pl
        >>> graph = pl.Graph(pl.Target(tiles=2))
        >>> x = graph.add_variable("float32", (8,), "x")
        >>> graph.set_tile_mapping(x, 0)
        >>> graph.set_tile_mapping(x[2:4], 1)
        >>> graph.tile_mapping(x)[0]
        [Interval(begin=0, end=2), Interval(begin=4, end=8)]
        """
        if type(mapping) is int and isinstance(target, Tensor) and target.graph is self:
            storage = target.view.space
            constant = isinstance(storage, Storage) and storage.constant
            moves = constant and tensor_mapping.any_mapped(self.space, target.view)
            if 0 <= mapping < self.target.tiles and not moves:
                # Nothing can fail here, so the user's line, which is slow to find, is not needed.
                # `target.graph` is never a virtual graph, so the tile needs no renumbering.
                tensor_mapping.paint_view(self.space, target.view, mapping)
                return
        if isinstance(target, Tensor):
            check_own(self, target, "set_tile_mapping")
            tensor_mapping.paint_mapping(self.space, self._tiles, target.view, mapping, target.name)
        else:
            connect.check_mapped(self, target)
            connect.put_on_tile(target, self._tiles, mapping)

    def tile_mapping(self, tensor: Tensor, require_complete: bool = True) -> TileMapping:
        """Return the tiles of the elements of a tensor.

        Args:
            tensor: any view. An element that occurs twice in the view is listed twice.
            require_complete: refuse a tensor with elements that have no tile, or no tile of this
                virtual graph; otherwise they count as unmapped.

        Returns:
            For each tile of the graph, intervals over the flattened view.

        Raises:
            InvalidTileMapping: when elements have no tile and `require_complete` is set.

        >>> import poplite as pl
        >>> graph = pl.Graph(pl.Target(tiles=4))
        >>> x = graph.add_variable("float32", (8,), "x", mapping="linear")
        >>> graph.tile_mapping(x[1:5])
        <TileMapping 4 elements, 3 tiles, max 2 min 1, 3 intervals>
        >>> graph.create_virtual_graph([3, 0]).tile_mapping(x, require_complete=False)
        <TileMapping 8 elements, 2 tiles, max 2 min 2, 2 intervals, 4 unmapped>
        """
        check_own(self, tensor, "tile_mapping")
        if checked_truth(require_complete, "tile_mapping: require_complete"):
            return tensor_mapping.complete_mapping(
                self.space, self._tiles, tensor.view, tensor.name
            )
        return self._tiles.renumbered(tensor_mapping.mapping_of(self.space, tensor.view))

    def variable_tile_mapping(self, tensor: Tensor) -> TileMapping:
        """Return the tiles of all elements of the variable underlying a view.

        Args:
            tensor: a view of one variable.

        Returns:
            For each tile of the graph, intervals over the variable's elements. Elements without
            a tile, or without a tile of this virtual graph, are omitted.

        Raises:
            TensorCreationError: when the tensor views no variable, or more than one.

        >>> import poplite as pl
        >>> graph = pl.Graph(pl.Target(tiles=2))
        >>> x = graph.add_variable("float32", (8,), "x", mapping="linear")
        >>> graph.variable_tile_mapping(x[3]) == graph.tile_mapping(x)
        True
        """
        check_own(self, tensor, "variable_tile_mapping")
        mapping = tensor_mapping.variable_mapping(self.space, tensor.view, tensor.name)
        return self._tiles.renumbered(mapping)

    # Virtual graphs

    def create_virtual_graph(
        self,
        tiles: SupportsIndex | Sequence[int] | npt.NDArray[np.integer[Any]],
        upper: SupportsIndex | None = None,
    ) -> VirtualGraph:
        """Create a graph over some tiles of this graph, numbered from 0.

        Variables, compute sets, functions and streams are shared; only the tile numbers differ.
        A virtual graph of a virtual graph belongs to the same top-level graph.

        Args:
            tiles: the number of tiles, from tile 0; with `upper` the first tile; or a list of
                tiles, without repetitions and in any order.
            upper: one past the last tile.

        Raises:
            InvalidTileMapping: for an empty list, a repeated tile, or a tile that this graph
                does not have.

        >>> graph = Graph(Target(tiles=16, ipus=2))
        >>> second = graph.create_virtual_graph(8, 16)
        >>> x = second.add_variable("float32", (8,), "x", mapping="linear")
        >>> second.tile_mapping(x).tiles.tolist(), graph.tile_mapping(x).tiles.tolist()
        ([0, 1, 2, 3, 4, 5, 6, 7], [8, 9, 10, 11, 12, 13, 14, 15])
        """
        return virtual_graph(self, tiles, upper)

    @property
    def top_level_graph(self) -> Graph:
        """The graph over all tiles, to which variables, compute sets and functions belong.

        >>> import poplite as pl
        >>> graph = pl.Graph(pl.Target(tiles=8))
        >>> graph.create_virtual_graph(2).top_level_graph is graph
        True
        """
        return self

    def convert_tile_to_top_level_graph_tile(self, tile: int) -> int:
        """Return the number that a tile of this graph has in the top-level graph.

        Args:
            tile: number of the tile in this graph.

        Raises:
            InvalidTileMapping: when this graph has no such tile.

        >>> import poplite as pl
        >>> graph = pl.Graph(pl.Target(tiles=8))
        >>> graph.create_virtual_graph(4, 8).convert_tile_to_top_level_graph_tile(1)
        5
        """
        return self._tiles.checked(tile, "convert_tile_to_top_level_graph_tile")

    def convert_top_level_graph_tile_to_tile(self, tile: int) -> int:
        """Return the number that a tile of the top-level graph has in this graph.

        Args:
            tile: number of the tile in the top-level graph.

        Raises:
            InvalidTileMapping: when the top-level graph has no such tile, or this graph does not
                include it.

        >>> import poplite as pl
        >>> graph = pl.Graph(pl.Target(tiles=8))
        >>> graph.create_virtual_graph(4, 8).convert_top_level_graph_tile_to_tile(5)
        1
        """
        return self._tiles.number_of(tile, "convert_top_level_graph_tile_to_tile")

    def convert_virtual_tile_to_physical_tile(self, tile: int) -> int:
        """Return the number that a tile of this graph has in the machine.

        The modelled machine numbers its tiles as the top-level graph does.

        Args:
            tile: number of the tile in this graph.

        Raises:
            InvalidTileMapping: when this graph has no such tile.
        """
        return self.convert_tile_to_top_level_graph_tile(tile)

    def convert_physical_tile_to_virtual_tile(
        self, tile: int, tile_of_ipu: int | None = None
    ) -> int:
        """Return the number that a tile of the machine has in this graph.

        Args:
            tile: number of the tile in the machine; with `tile_of_ipu`, the number of an IPU.
            tile_of_ipu: number of the tile within that IPU.

        Raises:
            InvalidTileMapping: when the machine has no such IPU or tile, or this graph does not
                include it.

        >>> import poplite as pl
        >>> graph = pl.Graph(pl.Target(tiles=8, ipus=2))
        >>> graph.create_virtual_graph([5, 0]).convert_physical_tile_to_virtual_tile(1, 1)
        0
        """
        if tile_of_ipu is not None:
            tile = tile_of_pair(self.top_level_graph.target, tile, tile_of_ipu)
        return self.convert_top_level_graph_tile_to_tile(tile)

    # Memory order

    def sorted_contiguous_regions(
        self,
        tensor: Tensor,
        intervals: Sequence[tuple[int, int]] | npt.NDArray[np.int64] | None = None,
        remove_aliased: bool = False,
        report_aliases: bool | list[int] = False,
    ) -> regions.SortedRegions:
        """Group the elements of a tensor by contiguous ranges of memory, in memory order.

        A group is a list of intervals of the flattened tensor that form, one after the other,
        one contiguous range of memory. Groups are sorted by address; groups with the same
        address keep their order in the tensor.

        Args:
            tensor: any view.
            intervals: elements of the flattened tensor, in any order: pairs `(begin, end)`, or
                int64[N, 2]; by default all elements.
            remove_aliased: list an element that occurs several times only once.
            report_aliases: report which intervals refer to the same memory. Intervals are cut so
                that any two refer to the same memory or are disjoint. A list, as in Poplar, is
                overwritten with the `aliases` of the result.

        Raises:
            TensorIndexError: for an interval outside the tensor.
            GraphConnectionError: for a tensor of another graph.
            ElementTypeError: when `report_aliases` is neither a bool nor a list.

        >>> import poplite as pl
        >>> graph = pl.Graph()
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
        check_own(self, tensor, "sorted_contiguous_regions")
        report = regions.reports_aliases(report_aliases)
        groups = regions.sorted_regions(tensor, intervals, remove_aliased, report)
        if isinstance(report_aliases, list) and groups.aliases is not None:
            report_aliases[:] = groups.aliases.tolist()
        return groups

    def sorted_contiguous_regions_by_tile(
        self, tensor: Tensor, remove_aliased: bool = False, report_aliases: bool = False
    ) -> regions.TileRegions:
        """Group the elements of a tensor by contiguous ranges of memory, for every tile.

        This is much faster than a call of `sorted_contiguous_regions` for each tile.

        Args:
            tensor: any view; every element must have a tile.
            remove_aliased: as in `sorted_contiguous_regions`.
            report_aliases: as in `sorted_contiguous_regions`.

        Raises:
            InvalidTileMapping: when elements have no tile.
            GraphConnectionError: for a tensor of another graph.

        >>> import poplite as pl
        >>> graph = pl.Graph(pl.Target(tiles=2))
        >>> x = graph.add_variable("float32", (2, 3), "x", mapping="linear")
        >>> graph.sorted_contiguous_regions_by_tile(x.T)[1]
        <SortedRegions 3 elements, 1 group, 3 intervals: [1, 2) 3 times every 2>
        """
        check_own(self, tensor, "sorted_contiguous_regions_by_tile")
        return regions.tile_regions(self._tiles, tensor, remove_aliased, report_aliases)

    def reorder_to_simplify(
        self, tensor: Tensor, others: Sequence[Tensor] = (), require_simplest_order: bool = True
    ) -> tuple[Tensor, ...]:
        """Rearrange tensors in the same way so that the first has few contiguous regions.

        Args:
            tensor: the tensor to simplify.
            others: tensors with the same number of elements.
            require_simplest_order: also sort the pieces of a concatenation; otherwise only
                strides are sorted, which takes microseconds.

        Returns:
            The tensor and the others, each 1-D.

        Raises:
            TensorCreationError: for a tensor with a different number of elements.
            GraphConnectionError: for a tensor of another graph.

        >>> import poplite as pl
        >>> graph = pl.Graph()
        >>> x, y = graph.add_variable("int32", (2, 3), "x"), graph.add_variable("int32", (3, 2))
        >>> out, a = graph.reorder_to_simplify(x.T, [y])
        >>> out.is_contiguous(), out == x.flatten(), a == y.T.flatten()
        (True, <same elements: True (not ops.equal)>, <same elements: True (not ops.equal)>)
        """
        call = "graph.reorder_to_simplify(tensor, [other])"
        for each in (tensor, *rearrange.checked_others(others, call)):
            check_own(self, each, "reorder_to_simplify", call)
        return rearrange.reordered(tensor, others, require_simplest_order)

    def simplifying_rearranger(self, tensor: Tensor) -> rearrange.TensorRearranger:
        """Return a rearranger to the order in which a tensor has the fewest regions.

        Args:
            tensor: any view.

        Raises:
            GraphConnectionError: for a tensor of another graph.

        >>> import poplite as pl
        >>> graph = pl.Graph()
        >>> x = graph.add_variable("int32", (2, 3), "x")
        >>> graph.simplifying_rearranger(x.T).rearrange(x.T) == x.flatten()
        <same elements: True (not ops.equal)>
        """
        check_own(self, tensor, "simplifying_rearranger")
        return rearrange.TensorRearranger(tensor.view)

    def find_unbroadcast_tensor(self, tensor: Tensor) -> Tensor | None:
        """Return the smallest tensor that can be broadcast to a tensor.

        Args:
            tensor: any view.

        Returns:
            A tensor of the same rank that, broadcast along its dimensions, equals `tensor`; None
            (in Poplar an invalid tensor) if no dimension is broadcast.

        Raises:
            GraphConnectionError: for a tensor of another graph.

        >>> import poplite as pl
        >>> graph = pl.Graph()
        >>> x = graph.add_variable("int32", (2, 3), "x")
        >>> graph.find_unbroadcast_tensor(x.broadcast(4, 0)) == x
        <same elements: True (not ops.equal)>
        """
        check_own(self, tensor, "find_unbroadcast_tensor")
        return rearrange.unbroadcast(tensor)

    # Compute sets and functions

    def add_compute_set(self, name: str = "") -> ComputeSet:
        """Create an empty compute set.

        Args:
            name: name within the current scopes; a number is added if the name is in use.

        Raises:
            TensorCreationError: when the name is not a string.

        >>> Graph().add_compute_set("step").name
        'step'
        """
        name = checked_name(name, "compute set", "graph.add_compute_set('step')")
        existing = self._parts.compute_sets
        full_name = self._parts.names.unique("compute set", name or f"cs{len(existing)}")
        existing.append(compute_sets.ComputeSet(self.top_level_graph, full_name, here()))
        return existing[-1]

    def steps(self, name: str = "") -> RecordedSteps:
        """Return a program that collects the steps of operations called in its `with` block.

        In the block of a virtual graph, operations use only the tiles of that graph.

        Args:
            name: a name for messages and drawings.

        >>> import poplite as pl
        >>> graph = pl.Graph(pl.Target(tiles=2))
        >>> x = graph.add_variable("float32", (4,), "x", mapping="linear", initial_value=3)
        >>> with graph.steps("update") as update:
        ...     y = pl.ops.map(x * 0.5)
        >>> engine = pl.Engine(graph, update)
        >>> engine.run()
        >>> engine.read(y)
        array([1.5, 1.5, 1.5, 1.5], dtype=float32)
        """
        from poplite.program.recording import RecordedSteps  # it imports this module

        return RecordedSteps(self, checked_name(name, "program", "graph.steps()"))

    def add_function(self, program: Program, name: str = "") -> Function:
        """Create a function: a program that `Call` can run from many places.

        Args:
            program: the body of the function. Functions have no arguments: data is passed in
                variables.
            name: name within the current scopes; a number is added if the name is in use.

        Raises:
            ControlProgramError: when `program` is not a program, or calls a function of another
                graph.
            TensorCreationError: when the name is not a string.

        >>> from poplite.program import Call, Program
        >>> Call(Graph().add_function(Program(), "blur"))
        <Call 'blur', 0 steps>
        """
        from poplite.program.base import function_of  # it imports this module

        name = checked_name(name, "function", "graph.add_function(program, 'blur')")
        full_name = self._parts.names.unique("function", name or "function")
        return function_of(self.top_level_graph, full_name, program, here())

    # Vertices

    def add_codelets(self, source: CodeletSources, flags: str = "") -> Mapping[str, type[Vertex]]:
        """Add the vertex classes of C++ codelets, which vertices then name as in C++.

        They are compiled for this computer and run like classes in Python, with the same checks,
        cycles and pictures. A second process with the same text compiles nothing. Needs the extra
        `cpp`: `pip install "poplite[cpp]"`.

        Args:
            source: the path of a C++ file, its text (of several lines, or a stream), or a list of
                these, which may use each other's functions.
            flags: options of the compiler, such as `-I` and `-D`.

        Returns:
            The vertex classes by name, without blanks: `"Blur<half>"`.

        Raises:
            FileLoadError: if a file cannot be read, and if libclang or a compiler is missing.
            VertexCompileError: for errors of the C++ text, with its line.
            VertexDefinitionError: for a text without vertex class, and for a name that the graph
                has already for another text.
            ElementTypeError: for anything but a path or a text.

        >>> text = '''
        ... #include <poplar/Vertex.hpp>
        ...
        ... class Double : public poplar::Vertex {
        ... public:
        ...   poplar::InOut<poplar::Vector<float>> x;
        ...   void compute() {
        ...     for (unsigned i = 0; i < x.size(); ++i) x[i] *= 2;
        ...   }
        ... };
        ... '''
        >>> graph = Graph(Target(tiles=2))
        >>> list(graph.add_codelets(text))                         # doctest: +SKIP
        ['Double']
        """
        from poplite.cpp.added import added_codelets  # few graphs have any

        return added_codelets(self._parts.codelets, source, flags)

    def _class_of(self, vertex_class: object) -> type[Vertex]:
        """Return a vertex class that is given as the class or its name."""
        return connect.vertex_class_of(vertex_class, self._parts.codelets)

    def add_vertex(
        self,
        compute_set: ComputeSet,
        vertex_class: type[Vertex] | str,
        /,
        *surplus: Never,
        tile: int | None = None,
        **fields: Any,  # typed by the vertex class, which a signature cannot say
    ) -> VertexInstance:
        """Add a vertex to a compute set, and connect its fields.

        Args:
            compute_set: the compute set to which the vertex is added.
            vertex_class: the class of the vertex, or its name if that is unique. For a
                template (`class Add(Vertex, Generic[T])`) either `Add[FLOAT]`, or `Add`, whose
                element types are deduced from the connected tensors.
            *surplus: none; the fields of a vertex are given by name.
            tile: the tile that runs the vertex; without it, use `set_tile_mapping(vertex, tile)`.
            **fields: the value of each field: a tensor; a list of 1-D tensors for a list of
                edges; a number for a scalar Input (it becomes a constant on the vertex's tile)
                or for State; numbers for State of a Vector. Other fields can be connected later.

        Raises:
            UnknownField: for a name that the class does not declare.
            UnknownVertexType: for anything but a vertex class, or the name of one.
            VertexDefinitionError: for a class without `compute`.
            GraphConnectionError: for a tensor of the wrong rank or of another graph, or one that
                may not be written.
            ElementTypeError: for a wrong element type, or anything but a tensor.
            InvalidTileMapping: for a tile that the graph does not have.

        >>> from poplite.types import FLOAT
        >>> from poplite.vertex import InOut, Vertex
        >>> class Double(Vertex):
        ...     x: InOut[FLOAT]
        ...     def compute(self) -> None:
        ...         self.x = 2.0 * self.x
        >>> graph = Graph(Target(tiles=4))
        >>> x = graph.add_variable(FLOAT, (4,), "x", mapping="linear")
        >>> graph.add_vertex(graph.add_compute_set("double"), Double, tile=3, x=x[3])
        <VertexInstance 0 of 'Double' on tile 3 of 'double'>
        """
        at = here()
        connect.check_compute_set(self, compute_set, "add_vertex")
        if surplus:
            raise connect.not_by_name(self._class_of(vertex_class), surplus)
        vertex = compute_sets.new_vertex(compute_set, self._class_of(vertex_class), at)
        if tile is not None:
            number = self._tiles.in_range(tile)
            vertex.tile = self._tiles.checked(tile, vertex.label) if number is None else number
        connect.bind(vertex, fields, at)
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

        Adding a million vertices takes no longer than adding a few thousand one by one; if the
        tensors are regular, they take no more memory than a single vertex.

        Args:
            compute_set: the compute set to which the vertices are added.
            vertex_class: the class of the vertices; a template gets its element types from the
                tensors.
            tile: the tile of all vertices, or an array with the tile of each.
            **fields: the values of each field. For n vertices: a tensor of shape (n, ...), of
                which vertex k gets `t[k]`; the slices of a tensor, `t.slices(array)`; or a list
                of n tensors (n lists of tensors for a list of edges). A scalar Input or State
                also takes a number, or an array of n numbers; State of a Vector takes an array of
                shape (n, length) or a list of n arrays.

        Returns:
            The vertices. `block[k]` makes the instance of one of them.

        Raises:
            UnknownField: for a name that the class does not declare.
            VertexDefinitionError: for a class without `compute`.
            GraphConnectionError: for a missing field, fields for different numbers of vertices,
                a tensor of the wrong rank or of another graph, or one that may not be written.
            ElementTypeError: for a wrong element type, or anything but a tensor.
            SizeOverflowError: for a number outside the range of its field.
            InvalidTileMapping: for a tile that the graph does not have.

        >>> import numpy as np
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
        connect.check_compute_set(self, compute_set, "add_vertices")
        cls = self._class_of(vertex_class)
        block = connect.block_of(self._tiles, compute_set, cls, tile, fields, here())
        compute_set.vertices.append_block(block)
        return block

    def connect(
        self, field: FieldRef | tuple[VertexInstance, str], value: Tensor | Sequence[Tensor] | float
    ) -> None:
        """Connect a tensor to an edge of a vertex.

        Args:
            field: `vertex["x"]`, or one row of a list of edges: `vertex["x"][2]`.
            value: a tensor; a list of 1-D tensors for a list of edges; a number for a scalar
                Input, which becomes a constant on the vertex's tile.

        Raises:
            UnknownField: for a name that the class does not declare.
            GraphConnectionError: for an edge that is already connected, a tensor of the wrong
                rank or of another graph, or one that may not be written.
            ElementTypeError: for a wrong element type, or anything but a tensor.

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
        connect.bind_edge(connect.field_ref(field), value, here())

    # Fields of vertices

    def set_field_size(self, field: _Field, size: int) -> None:
        """Set the number of rows of a list of edges, or of values of a state vector.

        A list that is connected row by row is complete once it has that many rows. The values of
        a state vector are zero until they are set.

        Args:
            field: `vertex["rows"]`.
            size: number of rows or values.

        Raises:
            GraphConnectionError: for a field of any other kind, a field whose size is already set,
                or a size that does not fit the connected tensor or the field's layout.
            TensorIndexError: when the size is negative or not an integer.

        >>> import poplite as pl
        >>> class Total(pl.Vertex):
        ...     rows: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
        ...     y: pl.Output[pl.FLOAT]
        ...     def compute(self) -> None:
        ...         self.y = self.rows[0][0] + self.rows[1][0]
        >>> graph = pl.Graph()
        >>> x = graph.add_variable(pl.FLOAT, (2, 4), "x", mapping=0)
        >>> vertex = graph.add_vertex(graph.add_compute_set("total"), Total, tile=0)
        >>> graph.set_field_size(vertex["rows"], 2)
        >>> for row in range(2):
        ...     graph.connect(vertex["rows"][row], x[row])
        >>> graph.field_size(vertex["rows"]), graph.field_size(vertex["rows"][1])
        (2, 4)
        """
        connect.set_field_size(connect.field_ref(field), size)

    def field_size(self, field: _Field) -> int:
        """Return the number of rows of a list of edges, or of elements of any other field or a row.

        Args:
            field: `vertex["x"]`, or a row of a list: `vertex["rows"][2]`.

        Raises:
            NoSizeSpecified: when the size is not known yet.
            TensorIndexError: for a row that the list does not have.
        """
        return compute_sets.size_of(connect.field_ref(field))

    def max_field_dim(self, vertex_class: type[Vertex] | str, field: str, dim: int = 0) -> int:
        """Return the largest size that the layout of a field allows for one dimension.

        Args:
            vertex_class: the class, or a template.
            field: the field's name.
            dim: 0 is the length of a vector, or the number of rows of a list of edges; 1 is the
                length of each row.

        Raises:
            UnknownField: for a name that the class does not declare.
            TensorIndexError: for a dimension that the field does not have.

        >>> from typing import Annotated
        >>> import poplite as pl
        >>> class Scale(pl.Vertex):
        ...     x: Annotated[pl.InOut[pl.Vector[pl.HALF]], pl.Layout(pl.VectorLayout.SHORT_SPAN)]
        ...     def compute(self) -> None:
        ...         self.x[0] = 2.0 * self.x[0]
        >>> graph = pl.Graph()
        >>> graph.max_field_dim(Scale, "x"), graph.max_vertex_field_value(Scale, "x")
        (2047, 65504.0)
        """
        cls = self._class_of(vertex_class)
        return compute_sets.max_dim(cls, field, dim)

    def max_vertex_field_value(self, vertex_class: type[Vertex] | str, field: str) -> int | float:
        """Return the largest number that an element of a field can hold.

        Args:
            vertex_class: the class; a template with its element types: `Add[FLOAT]`.
            field: the field's name.

        Raises:
            UnknownField: for a name that the class does not declare.
            ElementTypeError: for an element type that is not known yet, and for QUARTER, whose
                largest number depends on format and scale.
        """
        cls = self._class_of(vertex_class)
        return compute_sets.largest_number(cls, field)

    # Costs of vertices

    def set_perf_estimate(
        self,
        vertex: VertexInstance | VertexBlock,
        cycles: int | VertexPerfEstimate | Sequence[int] | npt.NDArray[np.integer[Any]],
        flops: int | Sequence[int] | npt.NDArray[np.integer[Any]] = 0,
    ) -> None:
        """Set the cost of running a vertex once.

        Args:
            vertex: a vertex, or the block that `add_vertices` returned.
            cycles: cycles of the thread that runs the vertex, or an estimate; for a block also an
                array with a number for each vertex.
            flops: floating-point operations: a number, or for a block also an array.

        Raises:
            GraphConnectionError: for anything else, or a single vertex of a block.
            ElementTypeError: for anything but integers, or an array of the wrong length.
            SizeOverflowError: for a negative number.

        >>> import poplite as pl
        >>> class Double(pl.Vertex):
        ...     x: pl.InOut[pl.FLOAT]
        ...     def compute(self) -> None:
        ...         self.x = 2.0 * self.x
        >>> graph = pl.Graph()
        >>> x = graph.add_variable(pl.FLOAT, (4,), "x", mapping=0)
        >>> block = graph.add_vertices(graph.add_compute_set("double"), Double, tile=0, x=x)
        >>> graph.set_perf_estimate(block, [8, 8, 9, 8])
        >>> graph.perf_estimate(block[2])
        VertexPerfEstimate(cycles=9, flops=0)
        """
        connect.check_vertex(
            self,
            vertex,
            compute_sets.VertexInstance | compute_sets.VertexBlock,
            "set_perf_estimate",
        )
        compute_sets.set_estimate(vertex, cycles, flops)

    def perf_estimate(self, vertex: VertexInstance) -> VertexPerfEstimate | None:
        """Return the estimated cost of running a vertex once.

        Args:
            vertex: a vertex of this graph.

        Returns:
            The estimate set for the vertex, else the result of its class's estimator, else that of
            its class's method `cycles`, else None.

        Raises:
            GraphConnectionError: for anything but a vertex of this graph.
            ElementTypeError: when the estimator does not return an estimate.
            NoSizeSpecified: when `cycles` needs the size of a field that is not known yet.
            VertexDefinitionError: when `cycles` reads data, raises, or does not return an
                integer.
        """
        connect.check_vertex(self, vertex, compute_sets.VertexInstance, "perf_estimate")
        return compute_sets.estimate_of(vertex, self.top_level_graph.target, self._parts.estimators)

    def register_perf_estimator(
        self, vertex_class: type[Vertex] | str, estimator: Estimator
    ) -> None:
        """Register a function that estimates the cost of the vertices of a class.

        Args:
            vertex_class: the class; a template means all classes made from it.
            estimator: a function of a vertex, whose `field_info("x")` has sizes and values, and
                the target; it returns cycles or an estimate, and replaces an earlier estimator.

        Raises:
            ElementTypeError: when the class is not a vertex class, or the estimator is not
                callable.

        >>> import poplite as pl
        >>> class Double(pl.Vertex):
        ...     x: pl.InOut[pl.Vector[pl.FLOAT]]
        ...     def compute(self) -> None:
        ...         for i in range(len(self.x)):
        ...             self.x[i] = 2.0 * self.x[i]
        >>> graph = pl.Graph()
        >>> graph.register_perf_estimator(
        ...     Double, lambda vertex, target: 12 + 2 * vertex.field_info("x").size
        ... )
        >>> x = graph.add_variable(pl.FLOAT, (8,), "x", mapping=0)
        >>> vertex = graph.add_vertex(graph.add_compute_set("double"), Double, tile=0, x=x)
        >>> graph.perf_estimate(vertex).cycles
        28
        """
        cls = self._class_of(vertex_class)
        self._parts.estimators[cls] = compute_sets.checked_estimator(estimator)

    @property
    def perf_estimators(self) -> Mapping[type[Vertex], Estimator]:
        """Registered cost estimators, by vertex class."""
        return MappingProxyType(self._parts.estimators)

    # Streams

    def add_host_to_device_fifo(
        self,
        handle: str,
        element_type: TypeLike,
        num_elements: int,
        replicated_mode: ReplicatedStreamMode | str = ReplicatedStreamMode.REPLICATE,
        buffering_depth: int = 1,
    ) -> DataStream:
        """Create a stream of blocks from the host to the device.

        Args:
            handle: name of the stream; unique among the graph's streams.
            element_type: type of the elements.
            num_elements: elements in a block; a Copy transfers one block.
            replicated_mode: whether each replica gets its own blocks, or all get the same.
            buffering_depth: number of blocks that a `StreamCallback` may fill in advance.

        Raises:
            StreamConnectionError: when the handle is in use.
            StreamMemoryAllocationError: when a block is larger than 128 MiB.
            TensorCreationError: for an invalid number, or a handle that is not a string.
            ElementTypeError: for an unknown element type.

        >>> from poplite.graph import Graph
        >>> Graph().add_host_to_device_fifo("images", "float32", 784)
        <DataStream 'images' host to device, float32[784], 3,136 B>
        """
        kind, graph, at = DataStreamType.HOST_TO_DEVICE_FIFO, self.top_level_graph, here()
        block, mode = (element_type, num_elements), replicated_mode
        stream = stream_of(graph, handle, *block, kind, mode, buffering_depth, at)
        return registered(self._parts.handles.streams, "stream", handle, stream)

    def add_device_to_host_fifo(
        self, handle: str, element_type: TypeLike, num_elements: int
    ) -> DataStream:
        """Create a stream of blocks from the device to the host.

        Args:
            handle: name of the stream; unique among the graph's streams.
            element_type: type of the elements.
            num_elements: elements in a block; a Copy transfers one block.

        Raises:
            StreamConnectionError: when the handle is in use.
            StreamMemoryAllocationError: when a block is larger than 128 MiB.
            TensorCreationError: for an invalid number, or a handle that is not a string.
            ElementTypeError: for an unknown element type.

        >>> from poplite.graph import Graph
        >>> Graph().add_device_to_host_fifo("loss", "float32", 1)
        <DataStream 'loss' device to host, float32[1], 4 B>
        """
        kind, graph, at = DataStreamType.DEVICE_TO_HOST_FIFO, self.top_level_graph, here()
        block, mode = (element_type, num_elements), ReplicatedStreamMode.REPLICATE
        stream = stream_of(graph, handle, *block, kind, mode, 1, at)
        return registered(self._parts.handles.streams, "stream", handle, stream)

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
        """Create a buffer of rows on the host, which keeps its contents between runs.

        Args:
            handle: name of the buffer; unique among the graph's remote buffers.
            element_type: type of the elements.
            num_elements: elements in a row.
            repeats: number of rows.
            rearrange_on_host: stored as a hint; it has no effect on values.
            optimise_memory: stored as a hint; it has no effect on values.

        Raises:
            StreamConnectionError: when the handle is in use.
            StreamMemoryAllocationError: when a row is larger than 128 MiB.
            TensorCreationError: for an invalid number, or a handle that is not a string.
            ElementTypeError: for an unknown element type, or QUARTER.

        >>> from poplite.graph import Graph
        >>> Graph().add_remote_buffer("table", "float32", 64, repeats=1000)
        <RemoteBuffer 'table' 1,000 rows of float32[64], 256,000 B>
        """
        graph, wishes, at = self.top_level_graph, (rearrange_on_host, optimise_memory), here()
        buffer = remote_buffer_of(graph, handle, element_type, num_elements, repeats, *wishes, at)
        return registered(self._parts.handles.remote_buffers, "remote buffer", handle, buffer)

    def add_function_buffer(self, function: Function) -> FunctionBuffer:
        """Store the code of a function on the host until `Copy(buffer, function)` loads it.

        Args:
            function: a function of this graph.

        Raises:
            StreamConnectionError: when the function already has a buffer.
            ControlProgramError: for anything but a function of this graph.

        >>> from poplite.graph import Graph
        >>> from poplite.program import Program
        >>> graph = Graph()
        >>> graph.add_function_buffer(graph.add_function(Program(), "blur"))
        <FunctionBuffer of 'blur'>
        """
        from poplite.program.base import buffer_of  # it imports this module

        buffer = buffer_of(self.top_level_graph, function, here())
        buffers = self._parts.function_buffers
        return registered(buffers, "function buffer of", function.name, buffer)

    # Host functions, and tensors that the host accesses by name

    def add_host_function(
        self,
        handle: str,
        inputs: Iterable[tuple[TypeLike, int]] = (),
        outputs: Iterable[tuple[TypeLike, int]] = (),
    ) -> HostFunction:
        """Create a function that runs on the host, in the middle of a program.

        Args:
            handle: name of the function; unique among the graph's host functions.
            inputs: element type and number of elements of each array that it reads.
            outputs: element type and number of elements of each array that it fills.

        Raises:
            StreamConnectionError: when the handle is in use.
            StreamMemoryAllocationError: when an array is larger than 128 MiB.
            TensorCreationError: for an invalid number, or a handle that is not a string.
            ElementTypeError: for an unknown element type, or QUARTER.

        >>> from poplite.graph import Graph
        >>> Graph().add_host_function("sort", [("int32", 8)], [("int32", 8)])
        <HostFunction 'sort' int32[8] -> int32[8]>
        """
        function = host_function_of(self.top_level_graph, handle, inputs, outputs, here())
        return registered(self._parts.handles.host_functions, "host function", handle, function)

    def create_host_write(self, handle: str, tensor: Tensor) -> None:
        """Let the host write a tensor by its handle: `engine.write(handle, array)`.

        Args:
            handle: the name; unique among the graph's handles for writing.
            tensor: any view without aliases or constants.

        Raises:
            StreamConnectionError: when the handle is in use.
            GraphConnectionError: when the tensor may not be written, or belongs to another graph.
            TensorCreationError: when the handle is not a string.

        >>> from poplite.graph import Graph
        >>> graph = Graph()
        >>> graph.create_host_write("x", graph.add_variable("float32", (4,), "x", mapping=0))
        """
        check_own(self, tensor, "create_host_write", "graph.create_host_write('x', tensor)")
        made = write_handle(tensor, handle, here())
        registered(self._parts.handles.writes, "host write", handle, made)

    def create_host_read(self, handle: str, tensor: Tensor) -> None:
        """Let the host read a tensor by its handle: `engine.read(handle)`.

        Args:
            handle: the name; unique among the graph's handles for reading.
            tensor: any view.

        Raises:
            StreamConnectionError: when the handle is in use.
            GraphConnectionError: when the tensor belongs to another graph.
            TensorCreationError: when the handle is not a string.

        >>> from poplite.graph import Graph
        >>> graph = Graph()
        >>> graph.create_host_read("x", graph.add_variable("float32", (4,), "x", mapping=0))
        """
        check_own(self, tensor, "create_host_read", "graph.create_host_read('x', tensor)")
        registered(self._parts.handles.reads, "host read", handle, HostHandle(tensor, here()))

    @property
    def host_reads(self) -> Mapping[str, HostHandle]:
        """Tensors that the host can read, by handle."""
        return MappingProxyType(self._parts.handles.reads)

    @property
    def host_writes(self) -> Mapping[str, HostHandle]:
        """Tensors that the host can write, by handle."""
        return MappingProxyType(self._parts.handles.writes)

    @property
    def function_buffers(self) -> Mapping[str, FunctionBuffer]:
        """Function buffers, by the name of their function."""
        return MappingProxyType(self._parts.function_buffers)

    def serialize_tensors(
        self, stream: Stream, tensors: Sequence[Tensor], format: Format = SerializationFormat.JSON
    ) -> None:
        """Write the elements, variables and shapes of tensors, without values.

        Args:
            stream: a file, open for writing text, or bytes for BINARY.
            tensors: views of this graph's variables.
            format: JSON, or the same text as bytes.

        Raises:
            GraphConnectionError: for a tensor of another graph.
            ElementTypeError: for anything but a file of that kind, or a list of tensors.
            InvalidOption: for an unknown format.

        >>> import io
        >>> from poplite.graph import Graph
        >>> graph, file = Graph(), io.StringIO()
        >>> x = graph.add_variable("float32", (2, 3), "x")
        >>> graph.serialize_tensors(file, [x.T])
        >>> graph.deserialize_tensors(io.StringIO(file.getvalue()))[0] == x.T
        <same elements: True (not ops.equal)>
        """
        saving.serialize_tensors(self, stream, tensors, format)

    def deserialize_tensors(
        self, stream: Stream, format: Format = SerializationFormat.JSON
    ) -> list[Tensor]:
        """Return the tensors that `serialize_tensors` wrote, as views of this graph's variables.

        Args:
            stream: a file, open for reading.
            format: the format; it has no effect, since the content shows which format it is.

        Raises:
            FileLoadError: when the file contains no tensors, or the graph has no such elements.
            UnknownName: when the graph has no variable of that name.
        """
        return saving.deserialize_tensors(self, stream, format)

    def save(self, path: str | os.PathLike[str], programs: ProgramsLike = ()) -> None:
        """Write the graph and programs for it to a file, completely or not at all.

        The file contains everything that was built: variables with their tiles and initial values,
        vertices with their connections, streams, and programs. It contains no code: vertex classes
        are identified by module and name. Equal graphs give equal bytes. `poplite-viz` accepts such
        a file for every picture.

        Estimators registered by `register_perf_estimator` are functions and are not saved.

        Args:
            path: the file; an existing one is replaced.
            programs: programs of this graph, as `Engine` takes them; none by default.

        Raises:
            FileLoadError: when the file cannot be written, or a template's element types are not
                known.
            ControlProgramError: when a program is not a program, or belongs to another graph.

        >>> import tempfile
        >>> from poplite.graph import Graph
        >>> from poplite.machine.target import Target
        >>> from poplite.program import Copy
        >>> graph = Graph(Target(tiles=4))
        >>> x, y = (graph.add_variable("int32", (8,), name, mapping="linear") for name in "xy")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     graph.save(f"{folder}/copy.graph", Copy(x, y))
        ...     Graph.load(f"{folder}/copy.graph")
        (<Graph 4 tiles, 2 variables, 0 compute sets, 0 vertices>, {'0': <Copy 'x' -> 'y' 8 ...>})
        """
        saving.save(self, path, programs)

    @staticmethod
    def load(
        path: str | os.PathLike[str],
        vertices: Iterable[VertexSource] = (),
        *,
        codelets: bool = False,
    ) -> Loaded:
        """Read a graph and its programs from a file that `save` wrote.

        Nothing in the file is executed, and no name in it is imported. A vertex class is looked
        up in `vertices`, in its module if that is already imported, and in `poplite.vertices`.
        If no class with the same fields and code is found, the graph can be drawn and queried, but
        not compiled.

        Args:
            path: the file.
            vertices: vertex classes, and modules that define some.
            codelets: whether the C++ text of codelets in the file may be compiled; see
                `Executable.load`.

        Returns:
            The graph, and its programs by name; "0", "1", ... for programs without a name.

        Raises:
            FileLoadError: when the file does not exist, is damaged or has another format.
            ElementTypeError: when an item of `vertices` is neither a class nor a module.
        """
        return saving.load(path, vertices, codelets=codelets)

    def serialize(
        self,
        stream: Stream,
        programs: ProgramsLike | Format = (),
        format: Format = SerializationFormat.BINARY,
    ) -> None:
        """Write a graph to a stream, as `save` writes it to a file; Poplar's way to save a graph.

        Args:
            stream: a file, open for writing bytes, or text for JSON.
            programs: as for `save`; as in Poplar, the format may be given in their place.
            format: the bytes of the file, or JSON that contains them as text.

        Raises:
            PopliteError: as for `save`, and for anything but a file of that kind.
        """
        saving.serialize(self, stream, programs, format)

    @staticmethod
    def deserialize(stream: Stream, vertices: Iterable[VertexSource] = ()) -> Loaded:
        """Read a graph and its programs from a stream that `serialize` wrote.

        Args:
            stream: a file, open for reading, in either format; it is read to its end.
            vertices: as for `load`.

        Raises:
            FileLoadError: as for `load`.
            ElementTypeError: for anything but a file.

        >>> import io
        >>> from poplite.graph import Graph
        >>> Graph().serialize(file := io.BytesIO())
        >>> Graph.deserialize(io.BytesIO(file.getvalue()))[0].num_vertices
        0
        """
        return saving.deserialize(stream, vertices)

    def output_vertex_graph(self, stream: TextIO, programs: Iterable[Program] = ()) -> None:
        """Write the data flow in Graphviz's language, as `poplite-viz graph` does.

        Args:
            stream: a text file, open for writing.
            programs: programs that run one after the other; they add an order, and copies.

        Raises:
            ControlProgramError: when a program belongs to another graph or is not a program, or for
                anything but a list.
            ElementTypeError: for anything but a text file.

        >>> import sys
        >>> from poplite.graph import Graph
        >>> Graph().output_vertex_graph(sys.stdout)
        // dataflow graph written by poplite-viz
        digraph {
        ...
        """
        write_dataflow(self, programs, stream)

    def __repr__(self) -> str:
        constants = self.space.num_constants
        others = len(self.space.variables) - constants
        also = amount(constants, "constant") + ", " if constants else ""
        return (
            f"<Graph {tiles_text(self.target.tiles, self.replication_factor)}, "
            f"{amount(others, 'variable')}, {also}"
            f"{amount(len(self._parts.compute_sets), 'compute set')}, "
            f"{amount(self.num_vertices, 'vertex', 'vertices')}>"
        )


# -- virtual graphs --------------------------------------------------------------------------------


class VirtualGraph(Graph):
    """A graph over some tiles of another, created by `graph.create_virtual_graph`.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=8))
    >>> high = graph.create_virtual_graph(4, 8)
    >>> x = high.add_variable(pl.FLOAT, (4,), "x", mapping=1)
    >>> graph.tile_mapping(x).tiles.tolist(), high.tile_mapping(x).tiles.tolist()
    ([5], [1])
    """

    space: Space

    def __init__(self, top: Graph, tiles: Int64) -> None:
        self._top, self._parts, self.space = top, top._parts, top.space
        self._tiles = SomeTiles(tiles, top, top.target.tiles)
        self.target: Target = replace(top.target, tiles=len(tiles), ipus=_ipus(top.target, tiles))
        self.replication_factor: CalledInt = top.replication_factor

    @property
    def top_level_graph(self) -> Graph:
        """The graph over all tiles, to which variables, compute sets and functions belong."""
        return self._top

    def __repr__(self) -> str:
        return repr(self._tiles)


class WorkingGraph(VirtualGraph):
    """A virtual graph prepared for operations: all that they access is mapped to its tiles.

    Attributes:
        virtual: the virtual graph, whose tile numbers the user's mappings use.
    """

    virtual: VirtualGraph

    def __init__(self, given: VirtualGraph) -> None:
        assert isinstance(given._tiles, SomeTiles)
        self._top, self._parts, self.space = given._top, given._parts, given.space
        self._tiles, self.virtual = NearTiles(given._tiles), given
        self.target, self.replication_factor = given.target, given.replication_factor


def working_graph(graph: Graph) -> Graph:
    """Return the graph that operations use; always the same object for the same list of tiles."""
    if not isinstance(graph, VirtualGraph) or isinstance(graph, WorkingGraph):
        return graph
    assert isinstance(graph._tiles, SomeTiles)
    known, key = graph._parts.working, graph._tiles.tiles.tobytes()
    if key not in known:
        known[key] = WorkingGraph(graph)
    return known[key]


def home_graph(graph: Graph, tensors: Iterable[Tensor]) -> Graph:
    """Return the virtual graph used to create these tensors, or the graph itself."""
    home = graph.space.home_of(tensor.view for tensor in tensors)
    return graph if home is None else VirtualGraph(graph.top_level_graph, home.tiles)


def mapping_graph(graph: Graph) -> Graph:
    """Return the graph whose tile numbers the user's mappings use, for a graph for operations."""
    return graph.virtual if isinstance(graph, WorkingGraph) else graph


def virtual_graph(parent: Graph, tiles: object, upper: object) -> VirtualGraph:
    """Return a graph over some tiles of another; see `Graph.create_virtual_graph`."""
    own = chosen_tiles(tiles, upper, int(parent.target.tiles), parent)
    return VirtualGraph(parent.top_level_graph, parent._tiles.to_top_level(own))


def _ipus(target: Target, tiles: Int64) -> int:
    """Return the number of IPUs with these tiles; 1 unless each has one run of equal length."""
    ipu = tiles // target.tiles_per_ipu
    ends = np.append(np.flatnonzero(np.diff(ipu)) + 1, len(tiles))
    equal = (np.diff(ends, prepend=0) == ends[0]).all()
    return len(ends) if equal and len(np.unique(ipu)) == len(ends) else 1
