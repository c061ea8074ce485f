"""A variable: storage with a type, a shape, a name, a tile mapping and first values.

Users hold tensors, which are views; the variable is what those views look at.  The graph
makes one with every `add_variable` and `add_constant`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from operator import index as whole_number
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, SupportsIndex

from poplite.errors import TensorCreationError
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
"""Extents; a plain number is a shape of rank 1."""

_NONE: Mapping[int, Any] = MappingProxyType({})


@refuse_copies("graph.clone(tensor) makes a variable like another")
class Variable(Storage):
    """Storage of a graph.

    A graph may have a million of them, so that each is one object: it is the space of its views,
    and has a mapping of its own only once that is more than one tile.

    Attributes:
        name: name with its scopes, unique among the graph's variables.
        element_type: what one element is.
        shape: extents of the view that the graph returned when it made the variable.
        location: the user's line that made it.
        initial_value: what it holds when a program is loaded, in its shape; None is zeros.
        replica_values: the same of replicas that have another one, by their number.
        metadata: of a QUARTER variable, the element that holds its format and scale.
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
    )

    def __init__(
        self,
        number: int,
        base: int,
        name: str,
        element_type: ElementClass,
        shape: tuple[int, ...],
        constant: bool,
        location: SourceLocation,
        version: Version,
        tile: int = NO_TILE,
    ) -> None:
        super().__init__(number, base, math.prod(shape), constant)
        self.name, self.element_type, self.shape = name, element_type, shape
        self.location = location
        self._mapping: VariableMapping | None = None
        self._tile, self._version = tile, version
        version.number += 1
        self.initial_value: npt.NDArray[Any] | None = None
        self.replica_values: Mapping[int, npt.NDArray[Any]] = _NONE
        self.metadata: View | None = None

    def initial_value_of(self, replica: int) -> npt.NDArray[Any] | None:
        """Return what it holds in a replica when a program is loaded; None is zeros.

        Args:
            replica: its number.
        """
        return self.replica_values.get(replica, self.initial_value)

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


def shape_of(shape: ShapeLike, name: str, at: SourceLocation) -> tuple[int, ...]:
    """Return extents after checking them.

    Args:
        shape: what the user gave.
        name: the variable's name, for the message.
        at: the user's line.

    Raises:
        TensorCreationError: when an extent is negative, or no whole number.

    >>> from poplite.source import here
    >>> shape_of([2, 3], "x", here()), shape_of(5, "x", here())
    ((2, 3), (5,))
    """
    try:
        extents = tuple(
            [whole_number(extent) for extent in shape]
            if isinstance(shape, tuple | list | Sequence)
            else [whole_number(shape)]
        )
    except TypeError:
        extents = (-1,)
    if any(extent < 0 for extent in extents):
        raise TensorCreationError(
            f"'{name}': {clipped(shape, 60)} is not a shape",
            at=at,
            fix="whole numbers from 0, e.g. (64, 128); () is one element",
        )
    return extents
