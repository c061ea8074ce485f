"""`self` in the interpreted form, with its fields.

NumPy views would not be correct: they accept negative indices, return NumPy integers that
overflow at 32 bits, and round differently.  These wrappers read and store by the rules of the
arithmetic, on the same memory that the compiled form uses::

    self.a        ->  np.float32, int, np.uint64 or bool, by the field's element type
    self.y[i]     ->  the same, or TensorIndexError naming the field and the index
    self.n = v    ->  rounded to float32, or wrapped to the bits of the element

A vertex spends most of its time here, so each kind of element has its own class, which reads
without branches, and scalars that no vertex can change are read only once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter, methodcaller
from typing import Any, NoReturn, Protocol
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from poplite.errors import TensorIndexError
from poplite.text import amount
from poplite.types import (
    FLOAT,
    HALF,
    QUARTER,
    UNSIGNED_LONGLONG,
    ElementType,
    QuarterMetadata,
    decode,
    encode,
    metadata_edge,
)
from poplite.vertex.compute.arithmetic import Number, Stores, as_f32, wrap
from poplite.vertex.compute.lanes import WIDTH, Lanes, lanes_dtype
from poplite.vertex.vertex import Field, Vertex, field_of

Memory = npt.NDArray[Any]
"""Elements of a field, one-dimensional; any element type."""

Marks = npt.NDArray[np.bool_]
"""A mask of a vector's elements."""


class Accesses(Protocol):
    """Records accesses to a vector's elements."""

    def loaded(self, index: int) -> None:
        """Record that an element was read."""

    def stored(self, index: int, *, differs: bool) -> None:
        """Record that an element was stored; `differs` is whether its value changed."""


FieldValue = Memory | Sequence[Memory] | Number | np.generic
"""A scalar edge: one element; a vector: its elements; a list: one array each; a number."""


class FieldVector:
    """One vector of a field: of floats of any type, or of UNSIGNED_LONGLONG.

    `label` is its name in messages, such as `Blur.rows[2]`; `metadata` is the format and scale for
    QUARTER; without `stores`, floats are rounded to nearest.
    """

    __slots__ = ("_element", "_label", "_length", "_memory", "_metadata", "_stores")

    def __init__(
        self,
        label: str,
        element: type[ElementType[Any]],
        memory: Memory,
        metadata: QuarterMetadata | None = None,
        stores: Stores | None = None,
    ) -> None:
        self._label, self._element, self._memory = label, element, memory
        self._metadata, self._stores, self._length = metadata, stores, len(memory)

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> Number:
        if not 0 <= index < self._length:
            _refuse(self._label, index, self._length)
        stored = self._memory[index]
        if self._metadata is not None:
            return np.float32(decode(np.array([stored], np.uint8), self._metadata)[0])
        if self._element.is_floating_point:
            return np.float32(stored)
        return np.uint64(stored)

    def __setitem__(self, index: int, value: Number) -> None:
        if not 0 <= index < self._length:
            _refuse(self._label, index, self._length)
        if self._stores is not None and self._element.is_floating_point:
            self._stores.store(self._element, self._memory, index, value, self._metadata)
        elif self._metadata is not None:
            self._memory[index] = encode(np.array([as_f32(value)]), self._metadata)[0]
        elif self._element.is_floating_point:
            self._memory[index] = as_f32(value)
        else:
            self._memory[index] = wrap(int(value), signed=False)

    def __iter__(self) -> Iterator[Number]:
        return map(self.__getitem__, range(self._length))

    def lanes(self, first: int, count: int | None = None) -> Lanes:
        """Return elements from `first` on: `count`, or without it up to 64."""
        if count is None:
            count = min(WIDTH, self._length - first)
        self._span(first, count)
        return Lanes(self._memory[first : first + count].astype(lanes_dtype(self._element)))

    def set_lanes(self, first: int, value: Lanes) -> None:
        """Store the lanes that are present in elements from `first` on."""
        self._span(first, value.count)
        for i, number in enumerate(value.numbers(), first):
            self[i] = number

    def _span(self, first: int, count: int) -> None:
        """Reject lanes that exceed the vector; the error has `first` if that is out of range."""
        if not 0 <= first <= self._length:
            _refuse(self._label, first, self._length)
        if not 0 <= count <= WIDTH:
            raise _outside(self._label, no_count(count), f"use 0 to {WIDTH} lanes")
        if first + count > self._length:
            last = first + count - 1 if first < self._length else first
            _refuse(self._label, last, self._length)

    def __repr__(self) -> str:
        values = self._memory if self._metadata is None else decode(self._memory, self._metadata)
        return f"<{self._label} {self._element!r}: {np.array2string(values, threshold=8)}>"


class _Singles(FieldVector):
    """A vector of FLOAT, whose NumPy elements are values of the arithmetic."""

    __slots__ = ()

    def __getitem__(self, index: int) -> Number:
        if not 0 <= index < self._length:
            _refuse(self._label, index, self._length)
        single: np.float32 = self._memory[index]
        return single

    def __setitem__(self, index: int, value: Number) -> None:
        if not 0 <= index < self._length:
            _refuse(self._label, index, self._length)
        self._memory[index] = value if type(value) is np.float32 else as_f32(value)


class _Integers(FieldVector):
    """A vector of ints or bools, which a memoryview reads and stores faster than NumPy."""

    __slots__ = ("_ints",)

    def __init__(
        self,
        label: str,
        element: type[ElementType[Any]],
        memory: Memory,
        metadata: QuarterMetadata | None = None,
        stores: Stores | None = None,
    ) -> None:
        super().__init__(label, element, memory, metadata, stores)
        self._ints: Any = memoryview(memory)  # type: ignore[arg-type]

    def __getitem__(self, index: int) -> Number:
        if not 0 <= index < self._length:
            _refuse(self._label, index, self._length)
        number: int = self._ints[index]
        return number

    def __setitem__(self, index: int, value: Number) -> None:
        if not 0 <= index < self._length:
            _refuse(self._label, index, self._length)
        try:
            self._ints[index] = value
        except (ValueError, TypeError):  # it has more bits, or is not a Python number
            element = self._element
            signed = element.dtype.kind == "i"
            self._ints[index] = wrap(int(value), 8 * element.size_bytes, signed=signed)


class _Observed(FieldVector):
    """A wrapper of a vector that records accesses."""

    __slots__ = ("_vector",)

    def __init__(self, vector: FieldVector) -> None:
        self._vector = vector

    def __len__(self) -> int:
        return len(self._vector)

    def __getitem__(self, index: int) -> Number:
        return self._vector[index]

    def __iter__(self) -> Iterator[Number]:
        return map(self.__getitem__, range(len(self)))

    def lanes(self, first: int, count: int | None = None) -> Lanes:
        """Return lanes of the vector."""
        return self._vector.lanes(first, count)

    def _span(self, first: int, count: int) -> None:
        self._vector._span(first, count)

    def __repr__(self) -> str:
        return repr(self._vector)


class _Marked(_Observed):
    """A vector that marks which elements are stored."""

    __slots__ = ("_marks",)

    def __init__(self, vector: FieldVector, marks: Marks) -> None:
        super().__init__(vector)
        self._marks = marks

    def __setitem__(self, index: int, value: Number) -> None:
        self._vector[index] = value
        self._marks[index] = True


class _Logged(_Observed):
    """A vector that reports which elements are loaded and stored."""

    __slots__ = ("_accesses", "_stored")

    def __init__(self, vector: FieldVector, memory: Memory, accesses: Accesses) -> None:
        super().__init__(vector)
        self._stored, self._accesses = memory, accesses

    def __getitem__(self, index: int) -> Number:
        value = self._vector[index]
        self._accesses.loaded(index)
        return value

    def __setitem__(self, index: int, value: Number) -> None:
        before = self._stored[index].tobytes() if 0 <= index < len(self) else b""
        self._vector[index] = value
        self._accesses.stored(index, differs=self._stored[index].tobytes() != before)

    def lanes(self, first: int, count: int | None = None) -> Lanes:
        """Return lanes of the vector."""
        found = self._vector.lanes(first, count)
        for index in range(first, first + found.count):
            self._accesses.loaded(index)
        return found


def vector(
    label: str,
    element: type[ElementType[Any]],
    memory: Memory,
    metadata: QuarterMetadata | None = None,
    stores: Stores | None = None,
    marks: Marks | None = None,
    accesses: Accesses | None = None,
) -> FieldVector:
    """Return a vector of a field; arguments are as for `FieldVector`.

    With `marks`, a bool array of the vector's length, stored elements are marked there;
    `accesses` records loads and stores.

    >>> from poplite.types import INT
    >>> x = vector("x", INT, np.zeros(1, INT))
    >>> x[0] = 2**31; x[0]
    -2147483648
    """
    cls = _CLASSES.get(element, _Integers)
    if stores is not None and element.is_floating_point:
        cls = FieldVector
    found = cls(label, element, memory, metadata, stores)
    if accesses is not None:
        found = _Logged(found, memory, accesses)
    return found if marks is None else _Marked(found, marks)


_CLASSES: Mapping[type[ElementType[Any]], type[FieldVector]] = {
    FLOAT: _Singles,
    HALF: FieldVector,
    QUARTER: FieldVector,
    UNSIGNED_LONGLONG: FieldVector,
}
"""The class for each element type; all other types are ints and bools."""


class FieldList:
    """The vectors of a field that is a list; arguments are as for `vector`, one array per row."""

    __slots__ = (
        "_accesses", "_element", "_label", "_marks", "_metadata", "_rows", "_stores", "_vectors",
    )  # fmt: skip

    def __init__(
        self,
        label: str,
        element: type[ElementType[Any]],
        rows: Sequence[Memory],
        metadata: QuarterMetadata | None = None,
        stores: Stores | None = None,
        marks: Sequence[Marks] | None = None,
        accesses: Sequence[Accesses] | None = None,
    ) -> None:
        self._accesses = accesses
        self._label, self._element, self._rows = label, element, rows
        self._metadata, self._stores, self._marks = metadata, stores, marks
        self._vectors: dict[int, FieldVector] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> FieldVector:
        found = self._vectors.get(index)
        if found is None:
            if not 0 <= index < len(self._rows):
                _refuse(self._label, index, len(self._rows), "rows")
            label, row = f"{self._label}[{index}]", self._rows[index]
            marks = None if self._marks is None else self._marks[index]
            accesses = None if self._accesses is None else self._accesses[index]
            found = vector(label, self._element, row, self._metadata, self._stores, marks, accesses)
            self._vectors[index] = found
        return found

    def __repr__(self) -> str:
        return f"<{self._label} {self._element!r}: {len(self)} vectors>"


class InterpretedSelf:
    """The `self` of `compute` in the interpreted form.

    Vectors, and scalars that no vertex changes, are ordinary attributes; scalars that it may write
    are read from memory each time.  `values` holds, by field, a scalar edge as a one-element
    array, a vector as a 1-D array, a list of vectors as a list of arrays, a State value as a number
    or array; arrays are used in place.  `marks` and `accesses` are as for `vector`, shaped like the
    field, and given only for some fields.

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

    __slots__ = ("__dict__", "__scalars__", "__values__", "__vertex__")

    def __init__(
        self,
        vertex: type[Vertex],
        values: Mapping[str, FieldValue],
        stores: Stores | None = None,
        marks: Mapping[str, Any] | None = None,
        accesses: Mapping[str, Any] | None = None,
    ) -> None:
        own, scalars, set_own = self.__dict__, dict[str, FieldVector](), object.__setattr__
        set_own(self, "__vertex__", vertex)
        set_own(self, "__values__", values)
        set_own(self, "__scalars__", scalars)
        for name, label, element, make, read in _plan(vertex):
            memory: Any = values[name]
            if read is not None:
                own[name] = read(memory)
                continue
            marked = None if marks is None else marks.get(name)
            depth = vertex.fields[name].depth
            memory = memory if depth else _array(element, memory)
            noted = None if accesses is None else accesses.get(name)
            metadata = _metadata(element, values, name)
            made = make(label, element, memory, metadata, stores, marked, noted)
            if depth:
                own[name] = made
            else:
                scalars[name] = made

    def __getattr__(self, name: str) -> Any:
        own = object.__getattribute__  # a copy has no attributes while it is created
        scalar = own(self, "__scalars__").get(name)
        if scalar is not None:
            return scalar[0]
        vertex: type[Vertex] = own(self, "__vertex__")
        number = getattr(vertex, name, None)
        if isinstance(number, (int, float)):
            return number
        return field_of(vertex, name)  # raises UnknownField

    def __setattr__(self, name: str, value: Number) -> None:
        scalar = self.__scalars__.get(name)
        if scalar is None:  # no vertex may write it, but a debugger may
            field, memory = field_of(self.__vertex__, name), self.__values__[name]
            if field.depth:
                raise AttributeError(
                    f"'{field}' is a vector; its elements must be assigned one by one"
                )
            metadata = _metadata(field.element, self.__values__, name)
            memory = _array(field.element, memory)
            scalar = vector(str(field), field.element, memory, metadata)
        scalar[0] = value
        if name in self.__dict__:
            self.__dict__[name] = scalar[0]

    def __repr__(self) -> str:
        vertex: type[Vertex] = self.__vertex__
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in vertex.fields)
        return f"<{vertex.__name__} interpreted: {shown}>"


_Read = Callable[[Any], Number]
_Planned = tuple[str, str, type[ElementType[Any]], Callable[..., Any], _Read | None]
_PLANS: WeakKeyDictionary[type[Vertex], tuple[_Planned, ...]] = WeakKeyDictionary()


def _plan(vertex: type[Vertex]) -> tuple[_Planned, ...]:
    """Return for each field its name, label and element type, and its constructor or reader."""
    if vertex not in _PLANS:
        _PLANS[vertex] = tuple(
            (
                name,
                f"{vertex.__name__}.{name}",
                field.element,
                FieldList if field.depth == 2 else vector,
                _reader(field),
            )
            for name, field in vertex.fields.items()
        )
    return _PLANS[vertex]


def _reader(field: Field) -> _Read | None:
    """Return the reader of a scalar that no vertex changes, or None for all other fields."""
    element = field.element
    if field.depth or field.writes or element.requires_metadata:
        return None
    read: _Read = (
        itemgetter(0) if element in (FLOAT, UNSIGNED_LONGLONG) else methodcaller("item", 0)
    )
    if element is HALF:
        return lambda memory: np.float32(_array(element, memory)[0])
    return read if field.is_edge else lambda memory: read(_array(element, memory))


def _array(element: type[ElementType[Any]], memory: Any) -> Memory:
    """Return memory as an array: a State value may be a number."""
    return memory if isinstance(memory, np.ndarray) else np.array([memory], element.dtype)


def _metadata(
    element: type[ElementType[Any]], values: Mapping[str, Any], name: str
) -> QuarterMetadata | None:
    if not element.requires_metadata:
        return None
    return QuarterMetadata.from_byte(int(values[metadata_edge(name)][0]))


class OutsideField(TensorIndexError):
    """An out-of-range index of a field; `label` is the field or row, such as `Blur.rows[2]`."""

    label = ""


def outside_field(vertex: type[Vertex], number: int, index: int, length: int) -> OutsideField:
    """Return the error for an index of a field by number, or of an unknown row of it."""
    field = list(vertex.fields.values())[number]
    noun = "rows or elements" if field.depth == 2 else "elements"
    fix = f"keep the index from 0 to {length - 1}" if length else "connect a longer tensor"
    return _outside(f"{vertex.__name__}.{field.name}", f"index {index} of {length} {noun}", fix)


def _refuse(label: str, index: int, length: int, noun: str = "elements") -> NoReturn:
    longer = "connect a longer tensor" if noun == "elements" else "connect more rows"
    fix = f"keep the index from 0 to {length - 1}" if length else longer
    raise _outside(label, f"index {index} of {length} {noun}", fix)


def _outside(label: str, what: str, fix: str) -> OutsideField:
    error = OutsideField(f"'{label}': {what}", fix=fix)
    error.label = label
    return error


def no_count(count: int) -> str:
    """Return the message for an invalid number of lanes."""
    return f"{amount(count, 'lane')}, but the number must be from 0 to {WIDTH}"
