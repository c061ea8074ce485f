"""The half of a graph that holds data: variables, constants, their first values, and clones.

All variables share one space of element addresses, with an unused address after each, so
that no run of elements reaches from one variable into the next::

    address    0 ... 7  .  9 ... 12  .
    variable   x x x x     y y y y

`poplite.graph` builds tile mappings, compute sets and vertices on top.
Semantics: Poplar API reference, "Graph"; a variable has no tile until it is given one.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, cast

import numpy as np
import numpy.typing as npt

from poplite.clone import (
    Layout,
    TensorCloneDuplicationMethod,
    TensorCloneMethod,
    check_keeps_order,
    check_method,
    interleaved,
    layout,
)
from poplite.compute_set import FieldRef
from poplite.connect import bind
from poplite.directory import Directory
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
from poplite.indexing import check_size, number
from poplite.intervals import Int64
from poplite.joining import concat
from poplite.linear import Linear
from poplite.metadata import attach
from poplite.names import Names, checked_name
from poplite.placement import Nested
from poplite.quarter import QuarterMetadata
from poplite.source import SourceLocation, here
from poplite.target import Target
from poplite.tensor import Tensor
from poplite.tensor_queries import no_tensor
from poplite.types import QUARTER_METADATA, ElementType, ElementTypeLike, element_type
from poplite.values import ElementClass
from poplite.variable import ShapeLike, Variable, set_values, shape_of, values_for
from poplite.view import Storage, whole
from poplite.words import clipped, counted

if TYPE_CHECKING:
    from poplite.graph import Graph

MappingLike = SupportsIndex | Nested
"""A tile for all elements, or for each tile intervals over the flattened view."""

MAX_ADDRESS = 1 << 62


class GraphVariables:
    """Variables and constants of a graph, and where their elements live.

    Args:
        target: the machine; by default `Target()`.

    Raises:
        InvalidMachineModel: when the target is no `Target`.

    Attributes:
        target: the machine.
        directory: the tiles of all its elements.
    """

    def __init__(self, target: Target | None = None) -> None:
        self.target = Target() if target is None else _target(target)
        self._variables: list[Variable] = []
        self.directory = Directory(self._variables)
        self._num_constants = 0
        self._next_base = 0
        self._names = Names()

    @property
    def variables(self) -> tuple[Variable, ...]:
        """All variables and constants, in the order they were made."""
        return tuple(self._variables)

    def scope(self, name: str) -> AbstractContextManager[None]:
        """Put `name/` in front of the names made inside a `with` block; scopes nest.

        Args:
            name: one or more parts of a name.

        Raises:
            TensorCreationError: when the name is empty.

        >>> from poplite.graph import Graph
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

        >>> from poplite.graph import Graph
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
        return Tensor(self._graph, tensor.element_type, place.view(tensor.view))

    def variable_of(self, storage: Storage) -> Variable:
        """Return the variable that owns some storage.

        Args:
            storage: where a view's elements live.

        Raises:
            GraphConnectionError: when the storage is not of this graph.

        >>> from poplite.graph import Graph
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

    def _owner(self, address: int) -> int:
        """Return the number of the variable that owns one address."""
        return bisect_right(self._variables, address, key=_base) - 1

    def _owners(self, addresses: Int64) -> Int64:
        """Return the number of the variable that owns each address.

        Args:
            addresses: of elements.
        """
        bases = np.array([variable.storage.base for variable in self._variables], np.int64)
        return np.searchsorted(bases, addresses, side="right") - 1

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

    def _add_numbers(
        self,
        kind: ElementClass,
        numbers: npt.NDArray[Any],
        begin: Int64,
        end: Int64,
        tile: Int64,
        at: SourceLocation,
    ) -> Tensor:
        """Make a constant of numbers connected to many vertices.

        Args:
            kind: its element type.
            numbers: its values, already checked and rounded, and never written again.
            begin: first elements of runs that live on one tile.
            end: one past the last.
            tile: where they live.
            at: the user's line.
        """
        variable, tensor = self._make(kind, numbers.shape, "", True, at)
        variable.initial_value = numbers
        variable.initial_value.flags.writeable = False
        variable.mapping.paint_many(begin, end, tile)
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
        title = name or self._default_name(constant)
        kind, extents = _element_type(like, title, at), shape_of(shape, title, at)
        size = math.prod(extents)
        if self._next_base + size >= MAX_ADDRESS:
            raise SizeOverflowError(
                f"'{title}': shape {extents} has {counted(size, 'element')}, "
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
        full_name = self._names.unique("variable", name or self._default_name(constant))
        storage = Storage(number, self._next_base, math.prod(extents), constant)
        version = self.directory.version
        variable = Variable(full_name, kind, extents, storage, at, version)
        self._variables.append(variable)
        self._next_base += storage.num_elements + 1
        self._num_constants += constant
        return variable, Tensor(self._graph, kind, whole(storage, extents))

    def _default_name(self, constant: bool) -> str:
        return f"{'const' if constant else 'var'}{len(self._variables)}"

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

    def _map_new(
        self, variable: Variable, tensor: Tensor, mapping: object, at: SourceLocation
    ) -> None:
        what = f"'{variable.name}'"
        if mapping == "linear":
            variable.mapping.paint_linearly(Linear.over(variable.num_elements, self.target.tiles))
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
    setInitialValue = set_initial_value
    cloneN = clone_n

    @property
    def _graph(self) -> Graph:
        """This graph, which tensors and metadata belong to; there is no other kind."""
        return cast("Graph", self)


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


def _base(variable: Variable) -> int:
    return variable.storage.base
