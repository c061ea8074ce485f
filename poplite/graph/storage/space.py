"""The storage of a graph: variables in one space of element addresses, and their names.

All variables share the space, with an unused address after each, so that no run of elements
reaches from one variable into the next::

    address    0 ... 7  .  9 ... 12  .
    variable   x x x x     y y y y

`poplite.graph.graph_variables` builds on top what users call.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.errors import (
    ElementTypeError,
    GraphConnectionError,
    InvalidMachineModel,
    PopliteError,
    SizeOverflowError,
    TensorCreationError,
)
from poplite.graph.storage.directory import Directory
from poplite.graph.storage.host_values import ElementClass
from poplite.graph.storage.names import Names, checked_name
from poplite.graph.storage.tile_numbers import TileNumbers
from poplite.graph.storage.variable import ShapeLike, Variable, shape_of
from poplite.graph.tensor.refused import no_tensor
from poplite.graph.tensor.tensor import Tensor
from poplite.machine.replicas import part_of
from poplite.machine.target import Target
from poplite.source import SourceLocation, here
from poplite.text import clipped, counted
from poplite.types import (
    QUARTER_METADATA,
    ElementType,
    ElementTypeLike,
    QuarterMetadata,
    element_type,
)
from poplite.view import Storage, whole

if TYPE_CHECKING:
    from poplite.graph.graph import Graph

MAX_ADDRESS = 1 << 62


class GraphStorage(TileNumbers):
    """What a graph keeps of its variables.

    Args:
        target: the machine; by default `Target()`.
        replication_factor: how many replicas share it.

    Raises:
        InvalidMachineModel: when the target is no `Target`.
        GraphReplicationError: when its IPUs cannot be divided among the replicas.
    """

    def __init__(self, target: Target | None = None, replication_factor: int = 1) -> None:
        machine = Target() if target is None else _target(target)
        self.target, self.replication_factor = part_of(machine, replication_factor, here())
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
        variable.mapping.paint(0, 1, self.convert_tile_to_top_level_graph_tile(0))
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
        return variable, Tensor(self.top_level_graph, kind, whole(storage, extents))

    def _default_name(self, constant: bool) -> str:
        return f"{'const' if constant else 'var'}{len(self._variables)}"

    def _own(self, tensor: object, what: str, at: SourceLocation, call: str = "") -> None:
        if not isinstance(tensor, Tensor):
            raise no_tensor(what, tensor, call)
        if tensor.graph is not self.top_level_graph:
            raise GraphConnectionError(
                f"'{tensor.name}' belongs to another graph",
                at=at,
                found=f"this is {self!r}, the tensor's is {tensor.graph!r}",
                fix="use the graph that made the tensor: tensor.graph",
            )

    @property
    def _graph(self) -> Graph:
        """This graph; there is no other kind."""
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
