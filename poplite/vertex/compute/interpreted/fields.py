"""What `self` and its fields are in the interpreted form.

Bare NumPy views would not do: they take negative indices, hand out NumPy integers that
overflow at 32 bits, and round at other places.  These wrappers read and store by the rules
of the arithmetic, on the very memory that the compiled form uses::

    self.a        ->  np.float32, int, np.uint64 or bool, by the field's element type
    self.y[i]     ->  the same, or TensorIndexError naming the field and the index
    self.n = v    ->  rounded to float32, or wrapped to the bits of the element
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.errors import TensorIndexError
from poplite.source import here
from poplite.types import (
    UNSIGNED_LONGLONG,
    ElementType,
    QuarterMetadata,
    decode,
    encode,
    metadata_edge,
)
from poplite.vertex.compute.arithmetic import Number, as_f32, wrap
from poplite.vertex.compute.interpreted.stores import Stores
from poplite.vertex.vertex import Field, Vertex, field_of

Memory = npt.NDArray[Any]
"""Elements of a field, one-dimensional; any element type."""

FieldValue = Memory | Sequence[Memory] | Number | np.generic
"""A scalar edge: one element; a vector: its elements; a list: one array each; a number."""


def load(
    element: type[ElementType[Any]], stored: Any, metadata: QuarterMetadata | None = None
) -> Number:
    """Read a stored element.

    Args:
        element: its element type.
        stored: the NumPy or Python number.
        metadata: format and scale, for QUARTER.

    >>> from poplite.types import UNSIGNED_INT
    >>> load(UNSIGNED_INT, np.uint32(7))
    7
    """
    if metadata is not None:
        return np.float32(decode(np.array([stored], np.uint8), metadata)[0])
    if element.is_floating_point:
        return np.float32(stored)
    if element is UNSIGNED_LONGLONG:
        return np.uint64(stored)
    return bool(stored) if element.dtype.kind == "b" else int(stored)


def store(
    element: type[ElementType[Any]],
    memory: Memory,
    index: int,
    value: Number,
    metadata: QuarterMetadata | None = None,
    stores: Stores | None = None,
) -> None:
    """Write a value as an element: rounded, wrapped, or compared with zero.

    Args:
        element: the element type of the memory.
        memory: where to write.
        index: which element, in range.
        value: a value inside `compute`.
        metadata: format and scale, for QUARTER.
        stores: how floats are stored; by default to nearest.

    >>> from poplite.types import INT
    >>> memory = np.zeros(1, INT)
    >>> store(INT, memory, 0, 2**31); int(memory[0])
    -2147483648
    """
    if stores is not None and element.is_floating_point:
        stores.store(element, memory, index, value, metadata)
    elif metadata is not None:
        memory[index] = encode(np.array([as_f32(value)]), metadata)[0]
    elif element.is_floating_point:
        memory[index] = as_f32(value)
    elif element.dtype.kind == "b":
        memory[index] = bool(value)
    else:
        signed = element.dtype.kind == "i"
        memory[index] = wrap(int(value), 8 * element.size_bytes, signed=signed)


class FieldVector:
    """One vector of a field.

    Args:
        label: what to call it in messages, such as `Blur.rows[2]`.
        element: its element type.
        memory: its elements.
        metadata: format and scale, for QUARTER.
        stores: how floats are stored; by default to nearest.
    """

    __slots__ = ("_element", "_label", "_memory", "_metadata", "_stores")

    def __init__(
        self,
        label: str,
        element: type[ElementType[Any]],
        memory: Memory,
        metadata: QuarterMetadata | None = None,
        stores: Stores | None = None,
    ) -> None:
        self._label, self._element, self._memory = label, element, memory
        self._metadata, self._stores = metadata, stores

    def __len__(self) -> int:
        return len(self._memory)

    def __getitem__(self, index: int) -> Number:
        stored = self._memory[_checked(self._label, index, len(self))]
        return load(self._element, stored, self._metadata)

    def __setitem__(self, index: int, value: Number) -> None:
        index = _checked(self._label, index, len(self))
        store(self._element, self._memory, index, value, self._metadata, self._stores)

    def __iter__(self) -> Iterator[Number]:
        return (self[index] for index in range(len(self)))

    def __repr__(self) -> str:
        values = self._memory if self._metadata is None else decode(self._memory, self._metadata)
        return f"<{self._label} {self._element!r}: {np.array2string(values, threshold=8)}>"


class FieldList:
    """The vectors of a field that is a list.

    Args:
        label: what to call it in messages.
        element: its element type.
        rows: the elements of each vector.
        metadata: format and scale, for QUARTER.
        stores: how floats are stored; by default to nearest.
    """

    __slots__ = ("_element", "_label", "_metadata", "_rows", "_stores")

    def __init__(
        self,
        label: str,
        element: type[ElementType[Any]],
        rows: Sequence[Memory],
        metadata: QuarterMetadata | None = None,
        stores: Stores | None = None,
    ) -> None:
        self._label, self._element, self._rows = label, element, rows
        self._metadata, self._stores = metadata, stores

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> FieldVector:
        row = self._rows[_checked(self._label, index, len(self))]
        label = f"{self._label}[{index}]"
        return FieldVector(label, self._element, row, self._metadata, self._stores)

    def __repr__(self) -> str:
        return f"<{self._label} {self._element!r}: {len(self)} vectors>"


class InterpretedSelf:
    """What `compute` sees as `self` when it runs interpreted.

    Args:
        vertex: the vertex class.
        values: for each field a scalar edge as a one-element array, a vector as a 1-D
            array, a list of vectors as a list of them, a State value as number or array.
            Arrays are used in place.
        stores: how floats are stored; by default to nearest.

    >>> from poplite.types import FLOAT
    >>> from poplite.vertex import InOut
    >>> class Scale(Vertex):
    ...     x: InOut[FLOAT]
    ...     def compute(self) -> None:
    ...         self.x = 2.0 * self.x
    >>> memory = np.ones(1, FLOAT)
    >>> InterpretedSelf(Scale, {"x": memory}).x
    np.float32(1.0)
    """

    __slots__ = ("__stores__", "__values__", "__vertex__")

    def __init__(
        self,
        vertex: type[Vertex],
        values: Mapping[str, FieldValue],
        stores: Stores | None = None,
    ) -> None:
        object.__setattr__(self, "__vertex__", vertex)
        object.__setattr__(self, "__values__", values)
        object.__setattr__(self, "__stores__", stores)

    def __getattr__(self, name: str) -> Any:
        vertex: type[Vertex] = object.__getattribute__(self, "__vertex__")
        if name not in vertex.fields and isinstance(getattr(vertex, name, None), (int, float)):
            return getattr(vertex, name)
        field, value, metadata = _found(self, name)
        label = f"{vertex.__name__}.{name}"
        if field.depth == 2:
            return FieldList(label, field.element, value, metadata, self.__stores__)
        if field.depth == 1:
            return FieldVector(label, field.element, value, metadata, self.__stores__)
        return load(field.element, value[0] if field.is_edge else value, metadata)

    def __setattr__(self, name: str, value: Number) -> None:
        field, memory, metadata = _found(self, name)
        store(field.element, memory, 0, value, metadata, self.__stores__)

    def __repr__(self) -> str:
        vertex: type[Vertex] = object.__getattribute__(self, "__vertex__")
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in vertex.fields)
        return f"<{vertex.__name__} interpreted: {shown}>"


def _found(owner: InterpretedSelf, name: str) -> tuple[Field, Any, QuarterMetadata | None]:
    """Return a field, what it holds, and its metadata if it has some."""
    field = field_of(object.__getattribute__(owner, "__vertex__"), name)
    values = object.__getattribute__(owner, "__values__")
    metadata = None
    if field.element.requires_metadata:
        metadata = QuarterMetadata.from_byte(int(values[metadata_edge(name)][0]))
    return field, values[name], metadata


def _checked(label: str, index: int, length: int) -> int:
    if 0 <= index < length:
        return index
    raise TensorIndexError(
        f"'{label}': index {index} of {length} elements",
        at=here(),
        fix=f"keep the index from 0 to {length - 1}" if length else "connect a longer tensor",
    )
