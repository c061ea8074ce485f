"""Variables and constants of a graph: making them, their first values, and clones.

    x = graph.add_variable(FLOAT, (8,), "x", initial_value=1)
    taps = graph.add_constant(FLOAT, (3,), [1, 2, 1], "taps", mapping=0)
    y = graph.clone(x.T)

Below are storage and names, `poplite.graph.storage.space`; `poplite.graph.graph_mapping` builds
tile mappings on top, `poplite.graph` compute sets and vertices.
Semantics: Poplar API reference, "Graph"; a variable has no tile until it is given one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, SupportsIndex

import numpy as np
import numpy.typing as npt

from poplite.errors import GraphConnectionError, InvalidTileMapping, did_you_mean
from poplite.graph.clone import (
    Layout,
    TensorCloneDuplicationMethod,
    TensorCloneMethod,
    check_keeps_order,
    check_method,
    interleaved,
    layout,
)
from poplite.graph.compute_sets.compute_set import FieldRef
from poplite.graph.connect.connect import bind
from poplite.graph.mapping.linear import Linear
from poplite.graph.storage.space import GraphStorage
from poplite.graph.storage.variable import ShapeLike, Variable, set_values, values_for
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.indexing import check_size, number
from poplite.graph.tensor.metadata import attach
from poplite.graph.tensor.placement import Nested, paint_linearly
from poplite.graph.tensor.tensor import Tensor
from poplite.machine.replicas import by_replica
from poplite.source import SourceLocation, here
from poplite.types import UNSIGNED_INT, ElementTypeLike, QuarterMetadata

MappingLike = SupportsIndex | Nested
"""A tile for all elements, or for each tile intervals over the flattened view."""


class GraphVariables(GraphStorage):
    """Variables and constants of a graph, and where their elements live.

    Args:
        target: the machine; by default `Target()`.
        replication_factor: how many replicas share it.

    Raises:
        InvalidMachineModel: when the target is no `Target`.
        GraphReplicationError: when its IPUs cannot be divided among the replicas.

    Attributes:
        target: the machine of one replica.
        replication_factor: how many replicas there are.
        directory: the tiles of all its elements.
    """

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

        >>> from poplite.graph import Graph
        >>> from poplite.machine.target import Target
        >>> Graph(Target(tiles=4)).add_variable("float32", (2, 4), "x", mapping="linear").shape
        (2, 4)
        """
        at = here()
        with self._new(element_type, shape, name, False, at) as (variable, tensor):
            attach(self._graph, variable, metadata, at)
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

        >>> from poplite.graph import Graph
        >>> graph = Graph()
        >>> graph.add_constant("int32", (3,), [1, 2, 3], "taps", mapping=0).contains_constant()
        True
        """
        at = here()
        with self._new(element_type, shape, name, True, at) as (variable, tensor):
            attach(self._graph, variable, metadata, at)
            variable.initial_value = values_for(tensor, value, at)
            variable.initial_value.flags.writeable = False
            if mapping is not None:
                self._map_new(variable, tensor, mapping, at)
        return tensor

    def add_replication_index_constant(
        self, name: str = "", *, mapping: Literal["linear"] | MappingLike | None = None
    ) -> Tensor:
        """Make a constant that holds the number of the replica it is in, from 0.

        Args:
            name: as for `add_variable`.
            mapping: as for `add_variable`.

        Returns:
            A scalar of UNSIGNED_INT.

        Raises:
            InvalidTileMapping: for a mapping that does not fit.

        >>> from poplite.graph import Graph
        >>> from poplite.machine.target import Target
        >>> graph = Graph(Target(tiles=8, ipus=2), replication_factor=2)
        >>> graph.add_replication_index_constant("which", mapping=0)
        <Tensor 'which' uint32[] on tile 0, 4 B>
        """
        index = self.add_constant(UNSIGNED_INT, (), 0, name, mapping=mapping)
        replicas = range(self.replication_factor)
        self._variables[-1].replica_values = {n: np.array(n, np.uint32) for n in replicas}
        return index

    def set_initial_value(
        self, target: Tensor | FieldRef, value: npt.ArrayLike | Mapping[int, npt.ArrayLike]
    ) -> None:
        """Set what a variable holds when a program is loaded, or the value of a state field.

        Elements that get no initial value start as zero.

        Args:
            target: a tensor, whole or a view; or a state field, `vertex["count"]`.
            value: a number for all elements, an array of the tensor's shape, or a flat list.
                In a dictionary, the same for some of the replicas, by their number.

        Raises:
            GraphReplicationError: for a replica that does not exist.
            GraphConnectionError: for constants, and views that hold an element twice.
            TensorCreationError: for values of another count.
            ElementTypeError: for values of another kind.
            SizeOverflowError: for a value outside the range of the element type.

        >>> from poplite.graph import Graph
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
        if isinstance(value, Mapping):
            what = f"initial value of '{target.name}'"
            value = by_replica(value, self.replication_factor, what, at)
        set_values(target, value, at)

    def clone(
        self,
        tensor: Tensor,
        name: str = "",
        *,
        element_type: ElementTypeLike | None = None,
        method: TensorCloneMethod = TensorCloneMethod.PRESERVE_ORDER_UNLESS_ALIASES,
        metadata: Tensor | QuarterMetadata | None = None,
    ) -> Tensor:
        """Make a variable for the elements of a tensor, with its shape and on its tiles.

        The content is not copied.  Elements without a tile have none in the clone either; what
        was constant is variable.

        Args:
            tensor: whole or a view; may hold elements twice.
            name: name of the variable; by default the tensor's.
            element_type: of the clone; by default the tensor's.
            method: the order of the elements in memory.
            metadata: for QUARTER, as for `add_variable`; by default the tensor's.

        Returns:
            A tensor of the tensor's shape over a new variable.

        Raises:
            ElementTypeError: for something that is no tensor, an unknown element type or method.
            GraphConnectionError: for a tensor of another graph.
            TensorMetadataError: for QUARTER without metadata, or another type with some.

        >>> from poplite.graph import Graph
        >>> graph = Graph()
        >>> x = graph.add_variable("float32", (2, 3), "x", mapping=1)
        >>> graph.clone(x.T)
        <Tensor 'x_1' float32[3, 2] on tile 1, 24 B>
        >>> graph.clone(x.T).var_str()
        'VAR:2 DIMSHUFFLE(1,0)'
        """
        at = here()
        self._own(tensor, "clone", at, "clone(tensor)")
        kind = check_method("clone", "method", method, TensorCloneMethod, at)
        return self._clone(tensor, name, element_type, metadata, layout(tensor, kind), at)

    def clone_n(
        self,
        tensor: Tensor,
        n: int,
        name: str = "",
        *,
        method: TensorCloneMethod = TensorCloneMethod.PRESERVE_ORDER_UNLESS_ALIASES,
        duplication: TensorCloneDuplicationMethod = (
            TensorCloneDuplicationMethod.DUPLICATE_BY_OUTER_DIMENSION
        ),
        metadata: Tensor | QuarterMetadata | None = None,
    ) -> Tensor:
        """Make n clones of a tensor, as one tensor with a new first dimension.

        Args:
            tensor: whole or a view.
            n: how many, from 0.
            name: name of the variables; by default the tensor's.
            method: the order of the elements of each clone in memory.
            duplication: where the clones lie beside each other.
            metadata: for QUARTER, as for `add_variable`; by default the tensor's.

        Returns:
            A tensor of shape `(n, *tensor.shape)`.

        Raises:
            TensorCreationError: when copies are to lie side by side by tile, and the method
                would make a new order.
            TensorIndexError: when n is negative or no whole number.
            PopliteError: as `clone`.

        >>> from poplite.graph import Graph
        >>> graph = Graph()
        >>> graph.clone_n(graph.add_variable("float32", (2, 3), "x"), 4).shape
        (4, 2, 3)
        """
        at = here()
        self._own(tensor, "clone_n", at, "clone_n(tensor, n)")
        kind = check_method("clone_n", "method", method, TensorCloneMethod, at)
        duplicate = check_method(
            "clone_n", "duplication", duplication, TensorCloneDuplicationMethod, at
        )
        count = number(n, "n", tensor)
        check_size(count * tensor.num_elements, tensor, "fewer clones")
        by_tile = TensorCloneDuplicationMethod.DUPLICATE_BY_TILE_CONTIGUOUS_REGION
        if duplicate is by_tile:
            check_keeps_order(tensor, kind, at)
            many = interleaved(tensor, layout(tensor, kind), count)
            return self._clone(tensor, name, None, metadata, many, at)
        one = layout(tensor, kind)
        clones = [
            self._clone(tensor, name, None, metadata, one, at).expand([0]) for _ in range(count)
        ]
        return concat(clones) if clones else tensor.expand([0]).broadcast(0, 0)

    def _clone(
        self,
        source: Tensor,
        name: str,
        like: ElementTypeLike | None,
        metadata: Tensor | QuarterMetadata | None,
        place: Layout,
        at: SourceLocation,
    ) -> Tensor:
        kind = source.element_type if like is None else like
        if metadata is None and kind is source.element_type:
            metadata = source.metadata
        local = name or self._names.local(source.name)
        with self._new(kind, (place.size,), local, False, at) as (variable, tensor):
            attach(self._graph, variable, metadata, at)
            end = np.cumsum(place.length)
            variable.mapping.paint_many(end - place.length, end, place.tile)
        return Tensor(self.top_level_graph, tensor.element_type, place.view(tensor.view))

    def _map_new(
        self, variable: Variable, tensor: Tensor, mapping: object, at: SourceLocation
    ) -> None:
        what = f"'{variable.name}'"
        if mapping == "linear" and tensor.graph is self:
            variable.mapping.paint_linearly(Linear.over(variable.num_elements, self.target.tiles))
        elif mapping == "linear":  # over the tiles of a virtual graph
            paint_linearly(self._graph, tensor)
        elif isinstance(mapping, str):
            raise InvalidTileMapping(
                f"{what}: mapping '{mapping}' is not known{did_you_mean(mapping, ['linear'])}",
                at=at,
                fix="mapping='linear', a tile number, or a list of intervals for each tile",
            )
        else:
            self._graph.set_tile_mapping(tensor, mapping)  # type: ignore[arg-type]

    # C++ spelling

    addVariable = add_variable
    addConstant = add_constant
    addReplicationIndexConstant = add_replication_index_constant
    setInitialValue = set_initial_value
    cloneN = clone_n
