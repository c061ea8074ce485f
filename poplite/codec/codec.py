"""The codec of frozen dataclasses: JSON with arrays, according to their field annotations.

Executables and reports consist of frozen dataclasses, so their annotations determine how they are
written, and what a file may contain at each place.  A file names a class only where there are
several to choose from (`ComputeStep | CopyStep`)::

    Cause(what="x", bytes=40, ...)      {"what": "x", "bytes": 40, ...}
    ComputeStep | CopyStep              ["CopyStep", {"moves": ...}]
    int64[9, 4]                         ["int64", 120, [9, 4]]     see `archive`

A new field of such types needs no change here.  Fields that have their default value are omitted.

A coder writes and reads the values of one annotation, many at a time, wherever they are in the
data: all numbers of one field of ten thousand records are checked at once.  When something is
wrong, the data are read again one by one, so that the message says where it is (`decoded`).
"""

from __future__ import annotations

import dataclasses
import os
import types
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from itertools import chain, compress, islice, repeat
from operator import attrgetter, index as whole_number
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import numpy as np

from poplite.arrays.series import Listed, Steps, coalesce
from poplite.codec.archive import DTYPE_NAMES, ArrayReader, ArrayWriter
from poplite.codec.file_formats import Malformed, at, check_room, shown
from poplite.errors import PopliteError
from poplite.source import Line, SourceLocation, shortest
from poplite.types import ELEMENT_TYPES, ElementType
from poplite.vertex.vertex import Vertex, VertexMeta

WHOLE = range(-(1 << 63), 1 << 63)
"""Integers that fit in 64 bits."""

Json = Any


class Writer:
    """The state of a write: collected arrays, and the numbers of vertex classes and lines.

    `lines` are the lines given as text, `locations` those given as a `SourceLocation`; `unfinished`
    has the JSON to which the content of an object is added once all objects are known.
    """

    def __init__(self) -> None:
        self.arrays = ArrayWriter()
        self.classes: dict[type[Vertex], int] = {}
        self.locations: dict[SourceLocation, int] = {}
        self.lines: dict[str, int] = {}
        self.unfinished: list[tuple[Json, Any]] = []


@dataclasses.dataclass(slots=True, eq=False)
class Reader:
    """The state of a read: lookup tables.

    Attributes:
        arrays: the arrays of the file.
        classes: vertex classes, by number.
        locations: lines, by number.
        lines: lines that are text, by number.
        lent: values of fields that objects read later take over, by name.
        looks: the number of array elements that may still be referenced; a file can refer to the
            same elements many times.
        tile_sets: sets of tiles, by number, each with its count of tiles and the last of them.
        one_by_one: whether values are read one at a time, to find the one that is wrong.
    """

    arrays: ArrayReader
    classes: Sequence[type[Vertex]]
    locations: Sequence[SourceLocation]
    lines: Sequence[str]
    lent: dict[str, Any] = dataclasses.field(default_factory=dict, init=False)
    looks: int = dataclasses.field(default=0, init=False)
    tile_sets: list[tuple[Any, int, int]] = dataclasses.field(default_factory=list, init=False)
    one_by_one: bool = dataclasses.field(default=False, init=False)


class Coder(ABC):
    """Writes and reads the values of one annotation.

    Attributes:
        name: its name in a file, used where there are several to choose from.
        as_is: the type whose values are written unchanged, if there is one.
    """

    name: str
    as_is: type | None = None

    @abstractmethod
    def fits(self, value: Any) -> bool:
        """Return whether the type of a value matches the annotation, to choose a coder."""

    def encode(self, value: Any, to: Writer) -> Json:
        """Return a value as JSON."""
        return self.encode_all([value], to)[0]

    def encode_all(self, values: Sequence[Any], to: Writer) -> list[Json]:
        """Return many values as JSON; a coder defines this, or `encode`."""
        return [self.encode(value, to) for value in values]

    def decode(self, data: Json, of: Reader) -> Any:
        """Decode a JSON value; raise `Malformed` if it is not valid."""
        return self.decode_all([data], of)[0]

    def decode_all(self, data: Sequence[Json], of: Reader) -> list[Any]:
        """Decode many JSON values; a coder defines this, or `decode`."""
        return [self.decode(each, of) for each in data]


def decoded(coder: Coder, data: Json, of: Reader) -> Any:
    """Decode a JSON value; raise `Malformed` with the place of the fault.

    >>> from poplite.codec.archive import ArrayReader
    >>> of = Reader(ArrayReader({}), (), (), ())
    >>> decoded(ItemsCoder(list, ScalarCoder(int)), [1, 2, "x"], of)
    Traceback (most recent call last):
    poplite.codec.file_formats.Malformed: [2]: 'x' is not of type int
    """
    looks = of.looks
    try:
        return coder.decode(data, of)
    except Malformed:
        of.one_by_one, of.looks = True, looks
        return coder.decode(data, of)
    finally:
        of.one_by_one = False


# -- coders of one annotation ----------------------------------------------------------------------


class ScalarCoder(Coder):
    """Numbers, Booleans and strings; integers are limited to a range.

    Args:
        kind: their type.
        whole: the range.
        beyond: the text of the message for an integer outside the range.
    """

    def __init__(
        self, kind: type, whole: range = WHOLE, beyond: str = "does not fit in 64 bits"
    ) -> None:
        self.kind, self.name, self.whole, self.beyond = kind, kind.__name__, whole, beyond
        self.as_is = None if kind is float else kind

    def fits(self, value: Any) -> bool:
        """Return whether a value is one of these."""
        if self.kind is int:
            return isinstance(value, int | np.integer) and not isinstance(value, bool)
        return isinstance(value, np.bool_ if self.kind is bool else self.kind) or (
            type(value) is self.kind
        )

    def encode(self, value: Any, to: Writer) -> Json:
        """Return a value as JSON."""
        if self.kind is int:
            return whole_number(value)
        if self.kind is float:
            return float(value).hex()  # JSON has no infinities, and no NaN
        return self.kind(value)

    def encode_all(self, values: Sequence[Any], to: Writer) -> list[Json]:
        """Return many values as JSON."""
        if set(map(type, values)) == {self.as_is}:
            return list(values)
        return super().encode_all(values, to)

    def decode(self, data: Json, of: Reader) -> Any:
        """Decode a JSON value."""
        if self.kind is float and type(data) is str:
            try:
                return float.fromhex(data)
            except (ValueError, OverflowError):
                raise Malformed(f"{shown(data)} is not a valid number") from None
        if type(data) is not self.kind:
            raise Malformed(f"{shown(data)} is not of type {self.name}")
        if self.kind is int and data not in self.whole:
            raise Malformed(f"{shown(data)} {self.beyond}")
        return data

    def decode_all(self, data: Sequence[Json], of: Reader) -> list[Any]:
        """Decode many JSON values."""
        if set(map(type, data)) == {self.as_is} and (
            self.kind is not int or (min(data) in self.whole and max(data) in self.whole)
        ):
            return list(data)
        return super().decode_all(data, of)


class ChosenCoder(Coder):
    """One of a few values, by name: members of an enumeration, literals, element types."""

    def __init__(self, name: str, values: Mapping[str, Any]) -> None:
        self.name, self.values = name, values
        self._names = {value: name for name, value in values.items()}

    def fits(self, value: Any) -> bool:
        """Return whether a value is one of these."""
        return isinstance(value, (str, Enum, type)) and value in self._names

    def encode_all(self, values: Sequence[Any], to: Writer) -> list[Json]:
        """Return many values as JSON."""
        try:
            return list(map(self._names.__getitem__, values))
        except KeyError as error:
            raise TypeError(f"{shown(error.args[0])} is not one of {self.name}") from None

    def decode(self, data: Json, of: Reader) -> Any:
        """Decode a JSON value."""
        if type(data) is not str or data not in self.values:
            raise Malformed(f"{shown(data)} is not one of {', '.join(map(repr, self.values))}")
        return self.values[data]

    def decode_all(self, data: Sequence[Json], of: Reader) -> list[Any]:
        """Decode many JSON values."""
        if set(map(type, data)) == {str} and self.values.keys() >= set(data):
            return list(map(self.values.__getitem__, data))
        return super().decode_all(data, of)


class NumberedCoder(Coder):
    """Vertex classes and lines: listed once, referenced by number.

    Args:
        kind: their type.
        name: the noun for one of them in messages.
        listed: the attribute of writers and readers that lists them.
    """

    def __init__(self, kind: type, name: str, listed: str) -> None:
        self.kind, self.name, self.listed = kind, name, listed

    def fits(self, value: Any) -> bool:
        """Return whether a value is one of these."""
        return isinstance(value, self.kind)

    def encode_all(self, values: Sequence[Any], to: Writer) -> list[Json]:
        """Return many values as JSON."""
        known: dict[Any, int] = getattr(to, self.listed)
        return [known.setdefault(value, len(known)) for value in values]

    def decode(self, data: Json, of: Reader) -> Any:
        """Decode a JSON value."""
        known: Sequence[Any] = getattr(of, self.listed)
        if type(data) is not int or not 0 <= data < len(known):
            raise Malformed(f"{shown(data)} is not the number of a {self.name}")
        return known[data]

    def decode_all(self, data: Sequence[Json], of: Reader) -> list[Any]:
        """Decode many JSON values."""
        known: Sequence[Any] = getattr(of, self.listed)
        if set(map(type, data)) == {int} and 0 <= min(data) <= max(data) < len(known):
            return list(map(known.__getitem__, data))
        return super().decode_all(data, of)


class ArrayCoder(Coder):
    """NumPy arrays."""

    name = "array"

    def __init__(self, scalar: Any) -> None:
        self.scalar = np.generic if scalar is Any else get_origin(scalar) or scalar

    def fits(self, value: Any) -> bool:
        """Return whether a value is one of these."""
        return isinstance(value, np.ndarray)

    def encode_all(self, values: Sequence[Any], to: Writer) -> list[Json]:
        """Return many values as JSON."""
        for dtype in {value.dtype for value in values}:
            if dtype not in DTYPE_NAMES or not issubclass(dtype.type, self.scalar):
                raise TypeError(f"an array of {dtype} cannot be saved")
        return list(map(to.arrays.add, values))

    def decode(self, data: Json, of: Reader) -> Any:
        """Decode a JSON value."""
        values = of.arrays.take(data)
        if self.scalar is not np.generic and values.size > 1 and not any(values.strides):
            check_room(values.nbytes, "one number that is repeated")  # all are read
        if not issubclass(values.dtype.type, self.scalar):
            raise Malformed(f"the array has type {values.dtype}, not {self.scalar.__name__}")
        return values


class SeriesCoder(Coder):
    """Series of numbers in compact form, as the costs of 10,000 steps contain 100,000 numbers.

    Steps(5, ((3, 1),))     [5, 3, 1]
    Listed(5, offset)       [5, ["uint32", 0, [3]]]
    """

    name = "series"

    def __init__(self) -> None:
        self.offset = ArrayCoder(np.integer)

    def fits(self, value: Any) -> bool:
        """Return whether a value is one of these."""
        return isinstance(value, Steps | Listed)

    def encode(self, value: Any, to: Writer) -> Json:
        """Return a value as JSON."""
        if isinstance(value, Listed):
            return [whole_number(value.base), self.offset.encode(value.offset, to)]
        digits = value.digits if len(value.digits) == 1 else coalesce(value.digits)
        return [*map(whole_number, chain((value.first,), *digits))]

    def decode(self, data: Json, of: Reader) -> Any:
        """Decode a JSON value."""
        if type(data) is list and data and _is_whole(data[0]):
            first, *rest = data
            if len(rest) == 1 and type(rest[0]) is list:
                return Listed(first, self.offset.decode(rest[0], of))
            if len(rest) % 2 == 0 and all(map(_is_whole, rest)):
                return Steps(first, tuple(zip(rest[::2], rest[1::2], strict=True)))
        raise Malformed(f"{shown(data)} is not a valid series")


class ItemsCoder(Coder):
    """Tuples and lists of any length; sequences of other types are read as tuples."""

    def __init__(self, kind: Any, item: Coder) -> None:
        self.kind, self.item, self.name = kind, item, kind.__name__
        self.container = list if kind is list else tuple

    def fits(self, value: Any) -> bool:
        """Return whether a value is one of these."""
        return isinstance(value, self.kind) and type(value) is not str

    def encode_all(self, values: Sequence[Any], to: Writer) -> list[Json]:
        """Return many values as JSON."""
        items = iter(self.item.encode_all(list(chain.from_iterable(values)), to))
        return [list(islice(items, len(value))) for value in values]

    def decode_all(self, data: Sequence[Json], of: Reader) -> list[Any]:
        """Decode many JSON values."""
        check_lists(data)
        items = iter(self._items(data, of))
        return [self.container(islice(items, len(each))) for each in data]

    def _items(self, data: Sequence[list[Json]], of: Reader) -> list[Any]:
        if not of.one_by_one:
            return self.item.decode_all(list(chain.from_iterable(data)), of)
        items: list[Any] = []
        for each in data:
            for number, item in enumerate(each):
                with at(f"[{number}]"):
                    items.append(self.item.decode(item, of))
        return items


class FixedCoder(Coder):
    """Tuples of a fixed length, with a type for each position."""

    name = "tuple"

    def __init__(self, items: Sequence[Coder]) -> None:
        self.items = items

    def fits(self, value: Any) -> bool:
        """Return whether a value is one of these."""
        return isinstance(value, tuple) and len(value) == len(self.items)

    def encode_all(self, values: Sequence[Any], to: Writer) -> list[Json]:
        """Return many values as JSON."""
        columns = list(zip(*values, strict=True)) or [()] * len(self.items)
        found = [c.encode_all(column, to) for c, column in zip(self.items, columns, strict=True)]
        return list(map(list, zip(*found, strict=True)))

    def decode_all(self, data: Sequence[Json], of: Reader) -> list[Any]:
        """Decode many JSON values."""
        check_lists(data)
        for each in data:
            if len(each) != len(self.items):
                raise Malformed(f"it has {len(each):,} values, but {len(self.items)} are needed")
        columns = zip(*data, strict=True)
        found = [c.decode_all(column, of) for c, column in zip(self.items, columns, strict=False)]
        return list(zip(*found, strict=True))


class PartsCoder(Coder):
    """Objects as a list of their attributes, without trailing Nones.

    Args:
        cls: their class.
        coders: the coders of its attributes, in the order in which they are written.
        make: creates an object from a reader and the attributes.
    """

    def __init__(
        self, cls: type, coders: Mapping[str, Coder], make: Callable[..., Any] | None = None
    ) -> None:
        self.cls, self.coders, self.name = cls, coders, cls.__name__
        self.make = make or (lambda _, *parts: cls(*parts))

    def fits(self, value: Any) -> bool:
        """Return whether a value is one of these."""
        return isinstance(value, self.cls)

    def encode(self, value: Any, to: Writer) -> Json:
        """Return a value as JSON."""
        data = [coder.encode(getattr(value, name), to) for name, coder in self.coders.items()]
        while data and data[-1] is None:
            data.pop()
        return data

    def decode(self, data: Json, of: Reader) -> Any:
        """Decode a JSON value."""
        missing = len(self.coders) - len(as_list(data))
        if missing < 0:
            raise Malformed(f"{shown(data)} are not the parts of {self.name}")
        parts = []
        for (name, coder), part in zip(self.coders.items(), data + [None] * missing, strict=True):
            with at(f".{name}"):
                parts.append(coder.decode(part, of))
        return self.make(of, *parts)


class TableCoder(Coder):
    """Mappings, in the order of their items."""

    name = "mapping"

    def __init__(self, key: Coder, value: Coder) -> None:
        self.key, self.value = key, value

    def fits(self, value: Any) -> bool:
        """Return whether a value is one of these."""
        return isinstance(value, Mapping)

    def encode(self, value: Any, to: Writer) -> Json:
        """Return a value as JSON."""
        return [[self.key.encode(k, to), self.value.encode(v, to)] for k, v in value.items()]

    def decode(self, data: Json, of: Reader) -> Any:
        """Decode a JSON value."""
        found: dict[Any, Any] = {}
        for pair in as_list(data):
            if len(as_list(pair)) != 2:
                raise Malformed(f"{shown(pair)} is not a valid pair")
            key = self.key.decode(pair[0], of)
            if key in found:
                raise Malformed(f"key {shown(key)} occurs twice")
            try:
                found[key] = self.value.decode(pair[1], of)
            except Malformed as error:
                error.place.append(f"[{key!r}]")
                raise
        return found


class _Column(NamedTuple):
    """A field of records; its default and the JSON of its default are MISSING if it has none.

    `fitting` are the types of values that are known to fit.
    """

    name: str
    get: Callable[[Any], Any]
    usual: Any
    default: Json
    fitting: set[type]


_OMITTED = object()
"""Takes the place of a field that a record does not have."""


class RecordCoder(Coder):
    """Dataclasses, as the saved fields of their constructor, without those that have defaults.

    If the metadata of a field contain "lends", fields of the same name in objects read later take
    its value; these are not saved themselves.

    Attributes:
        parameters: for each parameter of the constructor, a function that returns its default, or
            None if it has no default.
        groups: coders, each with the fields that it writes together.
    """

    def __init__(self, cls: type, coders: Mapping[str, Coder]) -> None:
        self.cls, self.coders, self.name = cls, coders, cls.__name__
        taken = [field for field in dataclasses.fields(cls) if field.init]
        known = [field for field in taken if field.name in coders]
        self.parameters = {field.name: _default_of(field) for field in taken}
        self.needed = {name for name in coders if self.parameters[name] is None}
        self.lent = {field.name for field in known if field.metadata.get("lends")}
        nowhere = Writer()
        groups: dict[int, tuple[Coder, list[_Column]]] = {}
        for field in known:
            coder, usual = coders[field.name], field.default
            data = usual if usual is dataclasses.MISSING else coder.encode(usual, nowhere)
            column = _Column(field.name, attrgetter(field.name), usual, data, set())
            groups.setdefault(id(coder), (coder, []))[1].append(column)
        self.groups = list(groups.values())
        named = nowhere.arrays.parts() or nowhere.classes or nowhere.locations or nowhere.lines
        assert not named, "defaults contain no references"

    def fits(self, value: Any) -> bool:
        """Return whether a value is one of these."""
        return type(value) is self.cls

    def encode_all(self, values: Sequence[Any], to: Writer) -> list[Json]:
        """Return many values as JSON."""
        found: list[dict[str, Json]] = [{} for _ in values]
        for coder, columns in self.groups if values else ():
            parts, places = [], []
            for name, get, usual, default, fitting in columns:
                column, rows = list(map(get, values)), found
                if usual is not dataclasses.MISSING:
                    differ = [part is not usual for part in column]
                    if True not in differ:
                        continue
                    if False in differ:
                        column = list(compress(column, differ))
                        rows = list(compress(found, differ))
                kinds = set(map(type, column))
                is_written = kinds == {coder.as_is}
                if not is_written:
                    if not kinds <= fitting:
                        self._check_kinds(name, coder, column)
                        fitting |= kinds
                    parts += column
                places.append((column if is_written else None, rows, name, default))
            data: Iterator[Json] = iter(coder.encode_all(parts, to) if parts else ())
            for written, rows, name, default in places:  # in this order, also in the file
                _put(data if written is None else written, rows, name, default)
        return found

    def _check_kinds(self, name: str, coder: Coder, parts: Sequence[Any]) -> None:
        for part in parts:
            if not coder.fits(part):
                raise TypeError(f"{self.name}.{name} is {shown(part)}, not {coder.name}")

    def decode_all(self, data: Sequence[Json], of: Reader) -> list[Any]:
        """Decode many JSON values."""
        if not data:
            return []
        found = self._fields(self._columns(data), len(data), of)
        for name, make in self.parameters.items():
            if name not in found:
                found[name] = [make() for _ in data] if make else repeat(of.lent[name], len(data))
            elif make:
                found[name] = [make() if each is _OMITTED else each for each in found[name]]
        try:
            return list(map(self.cls, *[found[name] for name in self.parameters]))
        except PopliteError as error:  # from a class that checks its arguments
            raise Malformed(error.what) from error

    def _fields(
        self, columns: Mapping[str, Sequence[Json]], count: int, of: Reader
    ) -> dict[str, Iterable[Any]]:
        """Decode the columns of `count` records, those of one coder together."""
        found: dict[str, Iterable[Any]] = {}
        for coder, fields in self.groups:
            names = [field.name for field in fields if field.name in columns]
            if len(names) > 1 and not of.one_by_one:
                parts = list(chain.from_iterable([columns[name] for name in names]))
                values = iter(self._decoded(names[0], coder, parts, of))
                found.update([(name, list(islice(values, count))) for name in names])
            else:
                found.update([(n, self._decoded(n, coder, columns[n], of)) for n in names])
            for name in self.lent.intersection(names):
                [of.lent[name]] = found[name]
        return found

    @staticmethod
    def _decoded(name: str, coder: Coder, data: Sequence[Json], of: Reader) -> list[Any]:
        """Decode the JSON of a field, without the places where it is omitted."""
        try:
            return decoded_around(_OMITTED, coder, data, of)
        except Malformed as error:
            error.place.append(f".{name}")
            raise

    def _columns(self, data: Sequence[Json]) -> dict[str, Sequence[Json]]:
        """Return the JSON of each field that some records have; check the names of fields."""
        kinds = objects_by_names(data, self._wrong)
        for each in kinds:
            if not each.keys() <= self.coders.keys():
                raise self._wrong(each)
            if not self.needed <= each.keys():
                missing = min(self.needed - each.keys())
                raise Malformed(
                    f"{shown(each)} is not a valid {self.name}: the required field "
                    f"{missing!r} is missing"
                )
        if len(kinds) == 1:
            return dict(zip(data[0], zip(*map(dict.values, data), strict=True), strict=True))
        names = dict.fromkeys(chain.from_iterable(kinds))
        return {name: [each.get(name, _OMITTED) for each in data] for name in names}

    def _wrong(self, data: Json) -> Malformed:
        return Malformed(f"{shown(data)} is not a valid {self.name}")


class EitherCoder(Coder):
    """One of several annotations; None is null, the others are named where there is a choice."""

    def __init__(self, options: Sequence[Coder], *, optional: bool) -> None:
        self.options = {option.name: option for option in options}
        assert len(self.options) == len(options), "options are distinguished by name"
        self.optional = optional
        self._by_type: dict[type, Coder | None] = {}
        self.name = " | ".join([*self.options, *(["None"] if optional else [])])

    def fits(self, value: Any) -> bool:
        """Return whether a value is one of these."""
        return (value is None and self.optional) or self._of(value) is not None

    def _of(self, value: Any) -> Coder | None:
        kind = type(value)
        if kind not in self._by_type:
            fitting = (option for option in self.options.values() if option.fits(value))
            self._by_type[kind] = next(fitting, None)
        return self._by_type[kind]

    def encode_all(self, values: Sequence[Any], to: Writer) -> list[Json]:
        """Return many values as JSON."""
        found: list[Json] = [None] * len(values)
        chosen = list(map(self._of, values))
        for option in dict.fromkeys(chosen):
            rows = [row for row, each in enumerate(chosen) if each is option]
            if option is None:
                assert self.optional
                assert {type(values[row]) for row in rows} == {type(None)}
                continue
            data = option.encode_all([values[row] for row in rows], to)
            for row, each in zip(rows, data, strict=True):
                found[row] = each if len(self.options) == 1 else [option.name, each]
        return found

    def decode_all(self, data: Sequence[Json], of: Reader) -> list[Any]:
        """Decode many JSON values."""
        if len(self.options) == 1:
            (option,) = self.options.values()
            return (
                decoded_around(None, option, data, of)
                if self.optional
                else option.decode_all(data, of)
            )
        found: list[Any] = [None] * len(data)
        by_name: dict[str, list[int]] = {}
        for row, each in enumerate(data):
            if each is not None or not self.optional:
                by_name.setdefault(self._name_of(each), []).append(row)
        for name, rows in by_name.items():
            some = [data[row][1] for row in rows]
            for row, value in zip(rows, self.options[name].decode_all(some, of), strict=True):
                found[row] = value
        return found

    def _name_of(self, data: Json) -> str:
        match data:
            case [str() as name, _] if name in self.options:
                return name
        raise Malformed(f"{shown(data)} is not one of {self.name}")


def _put(data: Iterable[Json], rows: Sequence[Json], name: str, default: Json) -> None:
    """Add a field to rows; those of its default, which may be MISSING, omit it."""
    # `rows` come first, so that an iterator gives no more than their number.
    if default is dataclasses.MISSING:
        for row, each in zip(rows, data, strict=False):
            row[name] = each
    else:
        for row, each in zip(rows, data, strict=False):
            if each != default:
                row[name] = each


def decoded_around(gap: object, coder: Coder, data: Sequence[Json], of: Reader) -> list[Any]:
    """Decode JSON values; those that are `gap` stay in their places as they are."""
    some = [each for each in data if each is not gap]
    found = coder.decode_all(some, of) if some else []
    if len(some) == len(data):
        return found
    parts = iter(found)
    return [gap if each is gap else next(parts) for each in data]


def objects_by_names(
    data: Sequence[Json], error: Callable[[Json], Malformed]
) -> list[dict[str, Json]]:
    """Return an object for each sequence of names that some have; raise `error` of what is none."""
    if not set(map(type, data)) <= {dict}:
        raise error(next(each for each in data if type(each) is not dict))
    return list(dict(zip(map(tuple, data), data, strict=True)).values())


def _default_of(field: dataclasses.Field[Any]) -> Callable[[], Any] | None:
    """Return a function that returns the default of a field, or None if it has no default."""
    if field.default is not dataclasses.MISSING:
        return lambda: field.default
    return None if field.default_factory is dataclasses.MISSING else field.default_factory


def check_lists(data: Sequence[Json]) -> None:
    """Reject anything but lists of JSON."""
    for each in data:
        as_list(each)


def as_list(data: Json) -> list[Any]:
    """Return a list of JSON unchanged; reject anything else."""
    if type(data) is not list:
        raise Malformed(f"{shown(data)} is not a valid list")
    return data


def _is_whole(data: Json) -> bool:
    return type(data) is int and data in WHOLE


# -- coders of all annotations ---------------------------------------------------------------------


class Codec:
    """The coders for one kind of file.

    Args:
        known: coders of annotations that only such files contain, or encode differently.
    """

    def __init__(self, known: Mapping[Any, Coder]) -> None:
        self.coders: dict[Any, Coder] = dict(known)

    def coder_of(self, annotation: Any) -> Coder:
        """Return the coder of an annotation as `typing.get_type_hints` returns it.

        >>> from poplite.codec.codec import Writer
        >>> Codec({}).coder_of(tuple[int, ...]).encode((1, 2), Writer())
        [1, 2]
        >>> Codec({}).coder_of(object)
        Traceback (most recent call last):
        TypeError: <class 'object'> cannot be saved
        """
        if annotation not in self.coders:
            self.coders[annotation] = self._new_coder(annotation)
        return self.coders[annotation]

    def _new_coder(self, annotation: Any) -> Coder:
        origin, arguments = get_origin(annotation) or annotation, get_args(annotation)
        if hasattr(origin, "__value__"):  # a `type` alias of Python 3.12, as in NumPy 2.5
            return self.coder_of(origin.__value__[arguments] if arguments else origin.__value__)
        if annotation in (bool, int, float, str):
            return ScalarCoder(annotation)
        if annotation == Line:
            return NumberedCoder(str, "line", "lines")
        if annotation is SourceLocation:
            return NumberedCoder(SourceLocation, "location", "locations")
        if origin is Literal:
            return ChosenCoder("literal", {value: value for value in arguments})
        if origin is type:
            inner = get_origin(arguments[0]) or arguments[0]
            if inner is Vertex:
                return NumberedCoder(VertexMeta, "class", "classes")
            if inner is ElementType:
                return ChosenCoder(
                    "element type", {repr(element): element for element in ELEMENT_TYPES}
                )
        if origin is np.ndarray:
            return ArrayCoder(get_args(arguments[1])[0])
        if origin in (Union, types.UnionType):
            return self._union(arguments)
        if origin in (tuple, list, Sequence):
            if origin is not tuple or arguments[-1] is ...:
                return ItemsCoder(origin, self.coder_of(arguments[0]))
            return FixedCoder([self.coder_of(each) for each in arguments])
        if isinstance(origin, type) and issubclass(origin, Mapping) and arguments:
            return TableCoder(self.coder_of(arguments[0]), self.coder_of(arguments[1]))
        if isinstance(origin, type) and issubclass(origin, Enum):
            return ChosenCoder(origin.__name__, {member.name: member for member in origin})
        if dataclasses.is_dataclass(annotation):
            return self._record(annotation)
        raise TypeError(f"{annotation} cannot be saved")

    def _union(self, arguments: tuple[Any, ...]) -> Coder:
        optional = type(None) in arguments
        if {Steps, Listed} == set(arguments) - {type(None)}:
            return EitherCoder([SeriesCoder()], optional=True) if optional else SeriesCoder()
        some = [self.coder_of(each) for each in arguments if each is not type(None)]
        return EitherCoder(some, optional=optional)

    def _record(self, cls: Any) -> Coder:
        hints, taken = get_type_hints(cls, include_extras=True), dataclasses.fields(cls)
        own = [each.name for each in taken if each.init and each.metadata.get("saved", True)]
        return RecordCoder(cls, {name: self.coder_of(hints[name]) for name in own})


GRAPHS = Codec({})
"""The codec of graphs, which add annotations of their own."""


def coder_of(annotation: Any) -> Coder:
    """Return the coder of an annotation in files of graphs."""
    return GRAPHS.coder_of(annotation)


def lines_of(data: Json) -> list[str]:
    """Return the lines that a file lists as text."""
    if type(data) is not list or any(type(each) is not str for each in data):
        raise Malformed(f"{shown(data)} is not a valid list of lines")
    return data


def written_locations(locations: Iterable[SourceLocation]) -> list[Json]:
    """Return lines as a file lists them, each with its callers, the nearest first."""
    names: dict[str, str] = {}
    return [
        [_portable(line, names), [_portable(each, names) for each in _callers(line)]]
        for line in locations
    ]


def decoded_locations(data: Json) -> list[SourceLocation]:
    """Return the lines that `written_locations` encoded."""
    if type(data) is not list:
        raise Malformed("its manifest lists no locations")
    found = []
    for pair in data:
        if type(pair) is not list or len(pair) != 2 or type(pair[1]) is not list:
            raise Malformed("its manifest does not list the callers of each line")
        location = None
        for each in [*reversed(pair[1]), pair[0]]:
            match each:
                case [str() as file, int() as line, str() as function]:
                    location = SourceLocation(file, line, function, location)
                case _:
                    raise Malformed(f"{shown(each)} is not a valid source line")
        assert location is not None
        found.append(location)
    return found


def _portable(location: SourceLocation, names: dict[str, str]) -> list[Any]:
    """Return a line as JSON; `names` keeps the names of files that are known."""
    name = names.get(location.file)
    if name is None:
        name = names[location.file] = _name_of(location.file)
    return [name, location.line, location.function]


def _name_of(file: str) -> str:
    """Return a path relative to the working directory, or a file name."""
    # Bytes of a path that are not valid UTF-8 appear as surrogates in the string.
    file = shortest(file).encode(errors="replace").decode()
    return os.path.basename(file) if os.path.isabs(file) else file


def _callers(location: SourceLocation) -> Iterator[SourceLocation]:
    while (caller := location.caller) is not None:
        yield caller
        location = caller
