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

Variables and clones are in `poplite.graph.graph_variables`, tiles and the order of memory in
`poplite.graph.graph_mapping`, what the host sees in `poplite.graph.graph_host`, sizes of fields and
costs of vertices in `poplite.graph.graph_fields`; here are compute sets with their vertices.

Semantics: Poplar API reference, "Graph".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex

from poplite.display import Displayed
from poplite.errors import GraphConnectionError
from poplite.graph.compute_sets.compute_set import ComputeSet, FieldRef, VertexInstance
from poplite.graph.compute_sets.vertex_block import VertexBlock
from poplite.graph.connect.bulk import block_of
from poplite.graph.connect.connect import bind, bind_row, field_ref, vertex_class_of
from poplite.graph.graph_fields import GraphFields
from poplite.graph.graph_host import GraphHost
from poplite.graph.graph_variables import MappingLike
from poplite.graph.host.handles import Handles
from poplite.graph.storage.names import checked_name
from poplite.graph.tensor.tensor import Tensor
from poplite.machine.replicas import tiles_text
from poplite.machine.target import Target
from poplite.source import SourceLocation, here
from poplite.text import clipped, counted
from poplite.vertex.vertex import Vertex

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from poplite.graph.virtual import VirtualGraph
    from poplite.program import Function, Program

__all__ = ["ComputeSet", "FieldRef", "Graph", "MappingLike", "VertexInstance"]


class Graph(GraphFields, GraphHost, Displayed):
    """Variables, compute sets and vertices for one target.

    Args:
        target: the machine; by default `Target()`.
        replication_factor: how many replicas of the graph share the machine, each with as many
            of its IPUs.

    Raises:
        InvalidMachineModel: when the target is no `Target`.
        GraphReplicationError: when its IPUs cannot be divided among the replicas.

    Attributes:
        target: the machine of one replica.
        replication_factor: how many replicas there are.
        directory: the tiles of all its elements.

    >>> Graph(Target(tiles=4))
    <Graph 4 tiles, 0 variables, 0 compute sets, 0 vertices>
    """

    def __init__(self, target: Target | None = None, replication_factor: int = 1) -> None:
        super().__init__(target, replication_factor)
        self._compute_sets: list[ComputeSet] = []
        self._estimators = {}
        self._handles = Handles()

    @property
    def compute_sets(self) -> tuple[ComputeSet, ...]:
        """All compute sets, in the order they were made."""
        return tuple(self._compute_sets)

    @property
    def num_vertices(self) -> int:
        """Vertices of all compute sets together."""
        return sum(len(cs.vertices) for cs in self._compute_sets)

    # Virtual graphs

    def create_virtual_graph(
        self,
        tiles: SupportsIndex | Sequence[int] | npt.NDArray[np.integer[Any]],
        upper: SupportsIndex | None = None,
    ) -> VirtualGraph:
        """Make a graph over some tiles of this one, which it counts from 0.

        Variables, compute sets, functions and streams are shared: only tile numbers differ. A
        virtual graph of a virtual graph is one of the same top-level graph.

        Args:
            tiles: how many, from tile 0; with `upper` the first tile; or a list of tiles, each
                once and in any order.
            upper: one past the last tile.

        Raises:
            InvalidTileMapping: for no tiles, a tile twice, or one that this graph does not have.

        >>> graph = Graph(Target(tiles=16, ipus=2))
        >>> second = graph.create_virtual_graph(8, 16)
        >>> x = second.add_variable("float32", (8,), "x", mapping="linear")
        >>> second.tile_mapping(x).tiles.tolist(), graph.tile_mapping(x).tiles.tolist()
        ([0, 1, 2, 3, 4, 5, 6, 7], [8, 9, 10, 11, 12, 13, 14, 15])
        """
        from poplite.graph.virtual import virtual_graph  # which imports this module

        return virtual_graph(self, tiles, upper, here())

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
        compute_set = ComputeSet(self.top_level_graph, full_name, at)
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
        return Function(self.top_level_graph, full_name, child(program, "add_function"), at)

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
        at = here()
        self._check_compute_set(compute_set, "add_vertices", at)
        cls = vertex_class_of(vertex_class, at)
        block = block_of(self, compute_set, cls, tile, fields, at)
        compute_set.vertices.append_block(block)
        return block

    def _check_compute_set(self, value: object, call: str, at: SourceLocation) -> None:
        graph = value.graph if type(value) is ComputeSet else None
        if graph is not self and graph is not self.top_level_graph:
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
        tiles = tiles_text(self.target.tiles, self.replication_factor)
        return (
            f"<Graph {tiles}, {counted(variables, 'variable')}, {constants}"
            f"{counted(len(self._compute_sets), 'compute set')}, "
            f"{counted(self.num_vertices, 'vertex', 'vertices')}>"
        )

    # C++ spelling

    addComputeSet = add_compute_set
    addVertex = add_vertex
    addFunction = add_function
    createVirtualGraph = create_virtual_graph

    def getReplicationFactor(self) -> int:
        """C++ spelling of `replication_factor`."""
        return self.replication_factor

    def getTarget(self) -> Target:
        """C++ spelling of `target`."""
        return self.target

    def getNumVertices(self) -> int:
        """C++ spelling of `num_vertices`."""
        return self.num_vertices
