"""A variable: storage with a type, a shape, a name, a tile mapping and initial values.

Users hold tensors, which are views of variables. The graph makes a variable in every call of
`add_variable` and `add_constant`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import index as whole_number
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from poplite.errors import TensorCreationError, not_called
from poplite.graph.mapping.tile_table import NO_TILE
from poplite.graph.mapping.variable_mapping import VariableMapping, Version
from poplite.graph.storage.copies import refuse_copies
from poplite.graph.storage.host_values import ElementClass
from poplite.source import SourceLocation
from poplite.text import clipped, fitted
from poplite.types import type_text
from poplite.view import Storage, View, all_of

if TYPE_CHECKING:
    import numpy.typing as npt

ShapeLike = SupportsIndex | Sequence[SupportsIndex]
"""Sizes of the dimensions; a plain number is a shape of rank 1."""

_SEQUENCES = tuple, list, Sequence  # common ones first

_INT = frozenset({int})

_NONE: Mapping[int, Any] = MappingProxyType({})

COMMON = -1
"""In place of a replica's number: all replicas without values of their own."""


@refuse_copies("graph.clone(tensor) makes a variable like another")
class Variable(Storage):
    """A variable or constant of a graph.

    A graph may have a million of them, so that each is one object: it is the space of its views,
    and has a mapping of its own only once that is more than one tile.

    Attributes:
        name: name with its scopes, unique among the graph's variables.
        element_type: type of the elements.
        shape: shape of the tensor that the graph returned when it made the variable.
        location: the user's line that made it.
        initial_value: its values when a program is loaded, in its shape; None for zeros.
        replica_values: the initial values of replicas with different ones, by replica number.
        with_value: bool[elements], by replica number, `COMMON` for `initial_value`: which elements
            have an initial value; all others are zeros.  All have one where there is no entry.
        metadata: for QUARTER, the element that holds format and scale.
    """

    __slots__ = (
        "_mapping",
        "_tile",
        "_version",
        "element_type",
        "initial_value",
        "location",
        "metadata",
        "name",
        "replica_values",
        "shape",
        "with_value",
    )

    def __init__(self, *arguments: object, **named: object) -> None:
        """Refuse: users have variables of their graph only."""
        instead = "graph.add_variable(FLOAT, (4,), 'x'), and graph.variable_of(tensor)"
        raise not_called("Variable", instead, is_empty=not arguments and not named)

    def _filled(
        self,
        number: int,
        base: int,
        num_elements: int,
        name: str,
        element_type: ElementClass,
        shape: tuple[int, ...],
        constant: bool,
        location: SourceLocation,
        version: Version,
        tile: int,
    ) -> Variable:
        """Return the variable itself, which `__new__` has made, with all that it has."""
        Storage.__init__(self, number, base, num_elements, constant)
        self.name, self.element_type, self.shape = name, element_type, shape
        self.location = location
        self._mapping: VariableMapping | None = None
        self._tile, self._version = tile, version
        version.number += 1
        self.initial_value: npt.NDArray[Any] | None = None
        self.replica_values: Mapping[int, npt.NDArray[Any]] = _NONE
        self.with_value: Mapping[int, npt.NDArray[np.bool_]] = _NONE
        self.metadata: View | None = None
        return self

    @property
    def packed_with_value(self) -> dict[int, npt.NDArray[np.uint8]]:
        """`with_value` in bits, as `np.packbits` has them, where an element has no value."""
        some = self.with_value
        return {each: np.packbits(some[each]) for each in sorted(some) if not some[each].all()}

    def initial_value_of(self, replica: int) -> npt.NDArray[Any] | None:
        """Return the values in one replica when a program is loaded; None for zeros.

        Args:
            replica: number of the replica.
        """
        return self.replica_values.get(replica, self.initial_value)

    def hash(self) -> int:
        """Return the number of the variable in its graph, which no other has."""
        return self.id

    @property
    def view(self) -> View:
        """All its elements, in its shape."""
        return all_of(self, self.shape)

    @property
    def storage(self) -> Storage:
        """Its elements' addresses."""
        return self

    @property
    def mapping(self) -> VariableMapping:
        """The tiles of its elements."""
        if self._mapping is None:
            self._mapping = VariableMapping(self.num_elements, self._version, self._tile)
        return self._mapping

    @property
    def only_tile(self) -> int | None:
        """The tile of all elements, where no other was ever asked for; None says nothing."""
        if self._mapping is not None:
            return self._mapping.only_tile
        return None if self._tile == NO_TILE else self._tile

    def __repr__(self) -> str:
        kind = "Constant" if self.constant else "Variable"
        content = f"{type_text(self.element_type)}{list(self.shape)}"
        return fitted(f"<{kind} '{{}}' {content}>", self.name)


def shape_of(shape: ShapeLike, name: str) -> tuple[int, ...]:
    """Return a shape as a tuple after checking it."""
    sizes: Any = shape if isinstance(shape, _SEQUENCES) else (shape,)
    extents: tuple[int, ...]
    try:
        # A tuple is kept where it can be: a million variables may have the same.
        is_kept = type(sizes) is tuple and _INT.issuperset(map(type, sizes))
        extents = sizes if is_kept else tuple(map(whole_number, sizes))
    except TypeError:
        extents = (-1,)
    if extents and min(extents) < 0:
        raise TensorCreationError(
            f"'{name}': {clipped(shape, 60)} is not a shape",
            fix="whole numbers from 0, e.g. (64, 128); () is one element",
        )
    return extents
