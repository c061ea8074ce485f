"""A variable: storage with a type, a shape, a name, a tile mapping and first values.

Users hold tensors, which are views; the variable is what those views look at.  The graph
makes one with every `add_variable` and `add_constant`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from operator import index as whole_number
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from poplite.errors import GraphConnectionError, TensorCreationError
from poplite.graph.mapping.edits import VariableMapping, Version
from poplite.graph.storage.host_values import ElementClass, elements
from poplite.graph.tensor.metadata import initial_metadata
from poplite.graph.tensor.text import why_not_writeable
from poplite.source import SourceLocation
from poplite.text import clipped, counted, fitted
from poplite.types import type_text
from poplite.view import Storage, address_at, addresses, num_runs, storages

if TYPE_CHECKING:
    import numpy.typing as npt

    from poplite.graph.tensor.tensor import Tensor

ShapeLike = SupportsIndex | Sequence[SupportsIndex]
"""Extents; a plain number is a shape of rank 1."""

_NONE: Mapping[int, Any] = MappingProxyType({})


class Variable:
    """Storage of a graph.

    Attributes:
        name: name with its scopes, unique among the graph's variables.
        element_type: what one element is.
        shape: extents of the view that the graph returned when it made the variable.
        storage: its elements' addresses.
        location: the user's line that made it.
        mapping: the tiles of its elements.
        initial_value: what it holds when a program is loaded, in its shape; None is zeros.
        replica_values: the same of replicas that have another one, by their number.
        metadata: of a QUARTER variable, the tensor of its format and scale.
    """

    __slots__ = (
        "element_type",
        "initial_value",
        "location",
        "mapping",
        "metadata",
        "name",
        "replica_values",
        "shape",
        "storage",
    )

    def __init__(
        self,
        name: str,
        element_type: ElementClass,
        shape: tuple[int, ...],
        storage: Storage,
        location: SourceLocation,
        version: Version,
    ) -> None:
        self.name, self.element_type, self.shape = name, element_type, shape
        self.storage, self.location = storage, location
        self.mapping = VariableMapping(storage.num_elements, version)
        self.initial_value: npt.NDArray[Any] | None = None
        self.replica_values: Mapping[int, npt.NDArray[Any]] = _NONE
        self.metadata: Tensor | None = None

    def initial_value_of(self, replica: int) -> npt.NDArray[Any] | None:
        """Return what it holds in a replica when a program is loaded; None is zeros.

        Args:
            replica: its number.
        """
        return self.replica_values.get(replica, self.initial_value)

    @property
    def constant(self) -> bool:
        """Whether its value is fixed."""
        return self.storage.constant

    @property
    def num_elements(self) -> int:
        """How many elements it holds."""
        return self.storage.num_elements

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
            if isinstance(shape, Sequence)
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


def values_for(
    tensor: Tensor, value: npt.ArrayLike, at: SourceLocation, replica: int = 0
) -> npt.NDArray[Any]:
    """Return host values in the shape of a tensor: one number for all, or one for each.

    Args:
        tensor: what is given the values.
        value: a number, an array of the tensor's shape, or a flat list.
        at: the user's line.
        replica: the one whose metadata counts.

    Raises:
        TensorCreationError: for values of another count.
        ElementTypeError: for values of another kind.
        SizeOverflowError: for a value outside the range of the element type.

    >>> from poplite.graph import Graph
    >>> from poplite.source import here
    >>> values_for(Graph().add_variable("int32", (2, 2), "x"), [1, 2, 3, 4], here())
    array([[1, 2],
           [3, 4]], dtype=int32)
    """
    what, shape = f"'{tensor.name}'", tensor.shape
    metadata = initial_metadata(tensor, replica)
    values = elements(tensor.element_type, value, what=what, at=at, metadata=metadata)
    if values.ndim == 0:
        return np.full(shape, values)
    if values.shape not in (shape, (math.prod(shape),)):
        raise TensorCreationError(
            f"{what}: {counted(values.size, 'value')} of shape {list(values.shape)} for "
            f"{counted(tensor.num_elements, 'element')} of shape {list(shape)}",
            at=at,
            fix=f"one number for all, or an array of shape {shape}",
        )
    return values.reshape(shape)


def set_values(
    tensor: Tensor, value: npt.ArrayLike | Mapping[int, npt.ArrayLike], at: SourceLocation
) -> None:
    """Set the initial values of a tensor's elements, in the variables below it.

    Args:
        tensor: whole or a view.
        value: as for `values_for`; or that of each of some replicas, by their number.
        at: the user's line.

    Raises:
        GraphConnectionError: for constants, and views that hold an element twice.
        PopliteError: as `values_for`.

    >>> from poplite.graph import Graph
    >>> from poplite.source import here
    >>> graph = Graph()
    >>> set_values(graph.add_variable("int32", (4,), "x")[1::2], [5, 6], here())
    >>> graph.variables[0].initial_value
    array([0, 5, 0, 6], dtype=int32)
    """
    if not tensor.is_parallel_writeable():
        reason, fact = why_not_writeable(tensor)
        raise GraphConnectionError(
            f"'{tensor.name}': an initial value for a view that {reason}",
            at=at,
            found=fact,
            fix="a constant has its value from add_constant; make it a variable to set another"
            if tensor.contains_constant()
            else "set the view before broadcast, upsample or concat with itself",
        )
    view = tensor.view
    owners = [tensor.graph.variable_of(storage) for storage in storages(view)]
    differ = {n for variable in owners for n in variable.replica_values}
    if tensor.metadata is not None:
        differ.update(*(owner.replica_values for owner, _, _ in tensor.metadata.var_regions()))
    given: Iterable[tuple[int | None, npt.ArrayLike]]
    if isinstance(value, Mapping):
        given = value.items()
    else:
        given = [(number, value) for number in (None, *sorted(differ))]
    # All of them are checked before any is stored.
    checked = [(number, values_for(tensor, own, at, number or 0)) for number, own in given]
    for number, own in checked:
        values = own.reshape(-1)
        for variable in owners:
            stored, storage = _stored(variable, number), variable.storage
            if len(owners) == 1 and num_runs(view) == 1:
                first = address_at(view, 0) - storage.base
                stored[first : first + len(values)] = values
            else:
                where = addresses(view).reshape(-1) - storage.base
                mine = (where >= 0) & (where < storage.num_elements)
                stored[where[mine]] = values[mine]


def _stored(variable: Variable, replica: int | None) -> npt.NDArray[Any]:
    """Return the initial values of a replica, flat and to be changed; None is all others."""
    values = variable.initial_value
    if replica is not None:
        values = variable.replica_values.get(replica)
        if values is None and variable.initial_value is not None:
            values = variable.initial_value.copy()
    if values is None:
        values = np.zeros(variable.shape, variable.element_type.dtype)
    elif not values.flags.writeable:  # an engine has them
        values = values.copy()
    if replica is None:
        variable.initial_value = values
    else:
        variable.replica_values = {**variable.replica_values, replica: values}
    return values.reshape(-1)
