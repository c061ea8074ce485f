r"""Columns of integers for the host program: the format of their file, elements as columns.

    "poplite\0", version, number of columns, CRC-32 of all other bytes
    name in 40 bytes, type, offset, count         64 bytes for each column
    the columns, each at a multiple of 64 bytes

The type of a column is the smallest that fits all its numbers, so that equal numbers give equal
bytes; it is named as in Python's `struct`. Columns named `.bytes` are stored unchanged. The host
program reads them in place.

The elements of variables, edges and tensors are columns, as are the places of host data.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import accumulate
from struct import Struct, pack
from typing import Any, ClassVar
from zlib import crc32

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.arrays.series import Series, Steps, compact, constant
from poplite.frozen import frozen
from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.compute_sets.edge_table import EdgeTable, FieldEdges
from poplite.graph.compute_sets.vertex_block import EdgeRuns, Edges
from poplite.graph.graph import Graph
from poplite.graph.host import DataStream, DataStreamType, HostFunction
from poplite.graph.space import Variable
from poplite.ipu.codelet_function import ELEMENTS
from poplite.program import PrintTensor
from poplite.types import QUARTER, QUARTER_METADATA, UNSIGNED_CHAR, ElementType
from poplite.view import Storage, View, runs

MAGIC = b"poplite\0"
VERSION = 2
ALIGNMENT = 64

HEAD = Struct("<8sQQQ32x")
SUM = Struct("<24xQ")
ROW = Struct("<40sc7xQQ")
_ENDS = [(kind, int(np.iinfo(kind).min), int(np.iinfo(kind).max)) for kind in "BbHhIiQq"]
"""Types by increasing size, with their limits; for equal sizes, unsigned types come first."""

_SHORT = 64
"""Maximum length of a list whose limits Python finds faster than NumPy."""

Values = Sequence[int] | npt.NDArray[Any]


def file_of(columns: Mapping[str, Values | bytes | bytearray]) -> bytes:
    """Return a file of columns.

    >>> list(file_of({"tile": [3, 200], "text.bytes": b"ab"})[192:194])
    [3, 200]
    """
    begin = at = aligned_size(HEAD.size + ROW.size * len(columns))
    rows, parts = [HEAD.pack(MAGIC, VERSION, len(columns), 0)], []
    for name, values in columns.items():
        kind, count, data = _narrow(values)
        rows.append(ROW.pack(name.encode(), kind.encode(), at, count))
        parts += [data, bytes(-len(data) % ALIGNMENT)]
        at += aligned_size(len(data))
    head, parts = b"".join(rows).ljust(begin, b"\0"), [part for part in parts if part]
    return b"".join([with_checksum(head, parts), *parts])


def with_checksum(data: bytes, more: Iterable[bytes | memoryview] = ()) -> bytes:
    """Return a file with its checksum, computed over its other bytes followed by `more`."""
    begin, end = SUM.size - 8, SUM.size
    found = crc32(memoryview(data)[end:], crc32(data[:begin]))
    for part in more:
        found = crc32(part, found)
    return data[:begin] + pack("<Q", found) + data[end:]


def _narrow(values: Values | bytes | bytearray) -> tuple[str, int, bytes | memoryview]:
    """Return the type of a column, its length, and its bytes."""
    count = len(values)
    if isinstance(values, bytes | bytearray) or count == 0:
        return "B", count, bytes(values)
    if count <= _SHORT:
        kind = _smallest_type(min(values), max(values))
        return kind, count, pack(f"<{count}{kind}", *values)
    array = np.asarray(values)
    kind = _smallest_type(array.min(), array.max())
    return kind, count, np.ascontiguousarray(array, f"<{kind}").data.cast("B")


def _smallest_type(low: int, high: int) -> str:
    """Return the smallest type that fits numbers from `low` to `high`."""
    for kind, least, most in _ENDS:
        if least <= low and high <= most:
            return kind
    raise AssertionError(f"no type fits numbers from {low} to {high}")


def aligned_size(size: int) -> int:
    """Return the size of a column including its padding."""
    return -(-size // ALIGNMENT) * ALIGNMENT


# -- texts, series of numbers, values --------------------------------------------------------------
#     text       text.end, text.bytes                   all texts, concatenated
#     series     first, and digits (extent, stride)     as `poplite.arrays.series.Steps`
#                first, and a list                      as `Listed`, at most four bytes per number
#     values     values.bytes                           elements in memory format
#
# Equal texts and equal steps are written once.


NONE = -1
"""Marks a missing number of a series."""


class Texts:
    """Numbered texts."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """Return the number of a text, added on first use."""
        return self._numbers.setdefault(text, len(self._numbers))

    def columns(self) -> dict[str, Any]:
        """Return the columns of all texts."""
        encoded = [text.encode() for text in self._numbers]
        ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
        return {"text.end": ends, "text.bytes": b"".join(encoded)}


class SeriesTable:
    """Numbered series of numbers.

    >>> table = SeriesTable()
    >>> table.steps(0, ((1000, 64),)), table.listed([5, 1, 4]), table.steps(0, ((1000, 64),))
    (0, 1, 0)
    """

    def __init__(self) -> None:
        self._steps: dict[tuple[int, tuple[tuple[int, int], ...]], int] = {}
        self._first: list[int] = []
        self._digits_end: list[int] = []
        self._digits: list[tuple[int, int]] = []
        self._list: list[int] = []
        self._lists: list[npt.NDArray[Any]] = []

    def add(self, series: Series) -> int:
        """Add a series, and return its number; equal steps have one number."""
        if isinstance(series, Steps):
            return self.steps(series.first, series.digits)
        low = int(series.offset.min())
        self._lists.append(_shortest(series.offset, low))
        return self._row(series.base + low, (), len(self._lists) - 1)

    def steps(self, first: int, digits: Iterable[tuple[int, int]]) -> int:
        """Return the number of a series of steps."""
        key = first, tuple(digit for digit in digits if digit[0] != 1)
        if key not in self._steps:
            self._steps[key] = self._row(*key, NONE)
        return self._steps[key]

    def listed(self, numbers: Iterable[int] | Int64) -> int:
        """Return the number of a series of arbitrary numbers."""
        return self.add(compact(np.asarray(numbers, np.int64)))

    def columns(self) -> dict[str, Any]:
        """Return the columns of all series."""
        ends, data = [], bytearray()
        for each in self._lists:
            data += bytes(-len(data) % each.itemsize)
            ends.append(len(data))
            data += each.tobytes()
        return {
            "series.first": self._first,
            "series.digits_end": self._digits_end,
            "series.list": self._list,
            "digit.extent": [extent for extent, _ in self._digits],
            "digit.stride": [stride for _, stride in self._digits],
            "list.begin": ends,
            "list.width": [each.itemsize for each in self._lists],
            "list.bytes": data,
        }

    def _row(self, first: int, digits: Iterable[tuple[int, int]], number: int) -> int:
        self._first.append(first)
        self._digits += digits
        self._digits_end.append(len(self._digits))
        self._list.append(number)
        return len(self._first) - 1


class ColumnRows:
    """Rows of several tables, with a column for each name."""

    names: ClassVar[str]
    """The names of all columns, "table.name", in order."""

    def __init__(self) -> None:
        self._columns: dict[str, list[int]] = {name: [] for name in self.names.split()}

    def columns(self) -> dict[str, list[int]]:
        """Return the columns of all rows."""
        return self._columns

    def row(self, table: str, **numbers: int) -> int:
        """Add a row, and return its number."""
        for name, number in numbers.items():
            column = self._columns[f"{table}.{name}"]
            column.append(number)
        return len(column) - 1


class ElementBytes:
    """Elements in memory format, with each array at a multiple of eight bytes."""

    def __init__(self) -> None:
        self._data = bytearray()

    def add(self, array: npt.NDArray[Any]) -> int:
        """Add an array, and return the offset of its first byte."""
        self._data += bytes(-len(self._data) % 8)
        at = len(self._data)
        self._data += np.ascontiguousarray(array).tobytes()
        return at

    def columns(self) -> dict[str, Any]:
        """Return the column of all values."""
        return {"values.bytes": self._data}


class Stored:
    """Data that rows of all tables refer to by number or offset."""

    def __init__(self) -> None:
        self.texts, self.series, self.values = Texts(), SeriesTable(), ElementBytes()

    def columns(self) -> dict[str, Any]:
        """Return the columns of all these data."""
        return {**self.series.columns(), **self.texts.columns(), **self.values.columns()}


def _shortest(offsets: npt.NDArray[Any], low: int) -> npt.NDArray[Any]:
    """Return offsets relative to `low`, the least one, in the smallest type that fits them."""
    highest = int(offsets.max()) - low
    kind = next(kind for kind in ("u1", "<u2", "<u4", "<u8") if highest <= np.iinfo(kind).max)
    shortest: npt.NDArray[Any] = (offsets - offsets.dtype.type(low)).astype(kind)
    return shortest


# -- inputs that are read from a copy --------------------------------------------------------------
# These inputs share elements with an Output of their own vertex. The simulator reads the values
# from before the compute set. A machine does not guarantee that, so the elements of such a field
# are copied before the compute set runs, edge after edge, to a variable on the tiles of its
# vertices::
#
#     vertex 0   x: v[0:4]   y: v[2:6]        copy v[0:4], v[4:8] -> before
#     vertex 1   x: v[4:8]   y: v[6:10]       vertex 0   x: before[0:4]   y: v[2:6]


@frozen(eq=False)
class CopiedInput:
    """A field whose vertices read a copy.

    Attributes:
        name: name of the variable with the copy.
        base: its first address.
        edges: the edges of the vertices in that variable.
        source: the copied elements, as pieces of one edge.
        tiles: the tile of each edge.
    """

    field: FieldEdges
    name: str
    base: int
    edges: Edges
    source: EdgeRuns
    tiles: Int64

    @property
    def element_type(self) -> type[ElementType[Any]]:
        """The element type that the vertices read."""
        return self.field.field.element

    @property
    def destination(self) -> Edges:
        """The whole variable, as one edge."""
        count = self.num_elements
        return Edges(constant(1, 1), constant(count, 1), constant(self.base, 1))

    @property
    def taken(self) -> Edges:
        """The elements to copy, as one edge."""
        return Edges(constant(1, 1), constant(self.num_elements, 1), None, self.source)

    @property
    def breaks(self) -> Int64:
        """The beginning of each edge's part of the variable, and the end."""
        return _breaks(self.edges)

    @property
    def num_elements(self) -> int:
        """The number of elements that are copied."""
        return self.edges.num_elements


def copied_inputs(
    graph: Graph, compute_set: ComputeSet, table: EdgeTable, base: int
) -> list[CopiedInput]:
    """Return the fields of a compute set whose vertices read copies, stored from `base` on."""
    if not table.crossings.own:
        return []
    copied = []
    tiles = np.zeros(len(compute_set.vertices), np.int64)
    for family in table.families:
        tiles[family.numbers.array()] = family.tiles(graph.target.tiles).array()
    for field in table.crossings.own:
        edges = field.edges
        begins = base + _breaks(edges)[:-1]
        runs = field.runs
        own = CopiedInput(
            field,
            f"{compute_set.name}/{field.field.name}/before",
            base,
            Edges(edges.rows, edges.length, compact(begins)),
            EdgeRuns(np.array([0, len(runs.begin)]), runs.begin, runs.size),
            tiles[field.vertex()],
        )
        copied.append(own)
        base += own.num_elements + 1
    return copied


def _breaks(edges: Edges) -> Int64:
    return np.append(0, np.cumsum(edges.length.array()))


# -- variables and constants -----------------------------------------------------------------------
# variable.tile      the tile of all elements; or, if there are several tiles,
# variable.breaks    the beginning of each part on one tile, and the end, and
# variable.tiles     the tile of each part, -1 for none
# variable.values    the position of initial values; one for all elements if `variable.uniform`
# variable.host      whether the host reads and writes it


TYPES = tuple(ELEMENTS)
"""Element types by number, in the order in which the host program lists them."""


def type_number(element: type[ElementType[Any]]) -> int:
    """Return the number of an element type; QUARTER elements are only moved, as bytes.

    >>> from poplite.types import FLOAT
    >>> type_number(FLOAT), type_number(QUARTER) == type_number(UNSIGNED_CHAR)
    (11, True)
    """
    return TYPES.index(UNSIGNED_CHAR if element in (QUARTER, QUARTER_METADATA) else element)


class VariableColumns(ColumnRows):
    """Columns of variables, by increasing address.

    Attributes:
        end: an address after all variables.
    """

    names = (
        "variable.name variable.type variable.constant variable.base variable.count variable.tile "
        "variable.breaks variable.tiles variable.values variable.uniform variable.host "
        "variable.dims_end dim.size"
    )

    def __init__(self, stored: Stored) -> None:
        super().__init__()
        self._texts, self._series, self._values = stored.texts, stored.series, stored.values
        self.end = 0

    def add(self, variable: Variable, *, hosted: bool) -> None:
        """Add a variable of the graph."""
        tile, breaks, tiles = _placed(variable, self._series)
        at, uniform = _first_values(variable, self._values)
        self._row(
            variable.shape,
            name=self._texts.number(variable.name),
            type=type_number(variable.element_type),
            constant=int(variable.constant),
            base=variable.base,
            count=variable.num_elements,
            tile=tile,
            breaks=breaks,
            tiles=tiles,
            values=at,
            uniform=uniform,
            host=int(hosted),
        )

    def add_copy(self, copied: CopiedInput) -> None:
        """Add a variable for the copy that a field reads."""
        self._row(
            (copied.num_elements,),
            name=self._texts.number(copied.name),
            type=type_number(copied.element_type),
            constant=0,
            base=copied.base,
            count=copied.num_elements,
            tile=NONE,
            breaks=self._series.listed(copied.breaks),
            tiles=self._series.listed(copied.tiles),
            values=NONE,
            uniform=0,
            host=0,
        )

    def _row(self, shape: Sequence[int], **numbers: int) -> None:
        dims = self.columns()["dim.size"]
        dims += shape
        self.row("variable", **numbers, dims_end=len(dims))
        self.end = max(self.end, numbers["base"] + numbers["count"] + 1)


def _placed(variable: Variable, series: SeriesTable) -> tuple[int, int, int]:
    tile = variable.only_tile
    if tile is not None:
        return tile, NONE, NONE
    breaks, tiles = variable.mapping.pieces()
    if len(tiles) == 1:
        return int(tiles[0]), NONE, NONE
    return NONE, series.listed(breaks), series.listed(tiles)


def _first_values(variable: Variable, values: ElementBytes) -> tuple[int, int]:
    array = variable.initial_value
    if array is None and variable.constant:
        array = np.zeros(variable.shape, variable.element_type)
    if array is None:
        return NONE, 0
    flat = np.ascontiguousarray(array).reshape(-1)
    bits = flat.view(f"u{flat.itemsize}")
    is_uniform = len(flat) > 0 and bool((bits == bits[0]).all())
    return values.add(flat[:1] if is_uniform else flat), int(is_uniform)


# -- edges and tensors -----------------------------------------------------------------------------
#     edges.type      element type as which they are read
#     edges.rows      number of edges of each vertex
#     edges.length    number of elements of each edge
#     edges.start     address of the first element of each edge, and
#     edges.inner     offsets of its other elements; none if they follow directly
#     edges.first     or, if edges are in pieces: the first piece of each edge, and
#     edges.begin     the first address of each piece
#     edges.size      and its number of elements
#
# A tensor is one edge. Addresses count the elements of all variables, with a gap after each
# variable.


ElementClass = type[ElementType[Any]]

_COLUMNS = "type", "rows", "length", "start", "inner", "first", "begin", "size"


class EdgesTable:
    """Numbered edges and tensors.

    Attributes:
        largest: the largest number of edges and elements of one field.
    """

    def __init__(self, series: SeriesTable) -> None:
        self._series = series
        self._rows: dict[tuple[int, ...], int] = {}
        self.largest = 0

    def add(self, edges: Edges, element: ElementClass) -> int:
        """Return the number of the edges of a field."""
        view, counts = edges.pieces, (edges.rows, edges.length)
        if edges.start is not None:
            return self._row(element, *counts, edges.start)
        if isinstance(view, View) and len(view.shape) > 1 and isinstance(view.space, Storage):
            start = view.slice(0, 1, len(view.shape) - 1)
            inner = self._series.steps(0, _digits(view, len(view.shape) - 1))
            first = Steps(view.space.base + view.off, tuple(start.flat_digits()))
            return self._row(element, *counts, first, inner)
        return self._row(element, *counts, pieces=edges.runs())

    def tensor(self, view: View, element: ElementClass) -> int:
        """Return the number of a tensor, in the order of its elements."""
        counts = constant(1, 1), constant(view.num_elements, 1)
        if not view.num_elements:
            return self._row(element, *counts, constant(0, 1))
        if isinstance(view.space, Storage):
            digits = view.flat_digits()
            is_plain = len(digits) == 1 and digits[0][1] == 1
            inner = NONE if is_plain or not digits else self._series.steps(0, digits)
            start = constant(view.space.base + view.off, 1)
            return self._row(element, *counts, start, inner)
        begin, size = runs(view)
        return self._row(element, *counts, pieces=EdgeRuns(np.array([0, len(begin)]), begin, size))

    def columns(self) -> dict[str, Any]:
        """Return the columns of all edges."""
        columns = zip(*self._rows, strict=True) if self._rows else [()] * len(_COLUMNS)
        return {f"edges.{name}": column for name, column in zip(_COLUMNS, columns, strict=True)}

    def _row(
        self,
        element: ElementClass,
        rows: Series,
        length: Series,
        start: Series | None = None,
        inner: int = NONE,
        pieces: EdgeRuns | None = None,
    ) -> int:
        self.largest = max(self.largest, length.total() + length.count)
        key = [type_number(element), self._series.add(rows), self._series.add(length)]
        key += [NONE if start is None else self._series.add(start), inner]
        key += [NONE] * 3 if pieces is None else map(self._series.listed, pieces)
        return self._rows.setdefault(tuple(key), len(self._rows))


def _digits(view: View, dim: int) -> tuple[tuple[int, int], ...]:
    stride = view.dims[dim]
    return ((view.shape[dim], stride),) if isinstance(stride, int) else stride


# -- places of the host's data in the shared mapping -----------------------------------------------


@frozen
class Place:
    """Elements in the shared mapping.

    Attributes:
        offset: first byte.
        is_input: for a stream or a function, whether data move from the host to the device.

    >>> from poplite.types import FLOAT
    >>> Place(0, FLOAT, (4, 6)).size_bytes
    96
    """

    offset: int
    element_type: type[ElementType[Any]]
    shape: tuple[int, ...]
    is_input: bool = False

    @property
    def num_elements(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def size_bytes(self) -> int:
        """Size of all elements in bytes."""
        return self.num_elements * self.element_type.size_bytes


# -- streams, functions and handles ----------------------------------------------------------------
#
#     handle.name, .of, .type, .reads, .writes         tensors with a user's handle
#     stream.name, .type, .count, .offset, .input      streams that programs use
#     called.name, .end                                functions of the host, and their
#     argument.type, .count, .offset, .input           inputs, which go to the host, and outputs
# All handles begin at byte 0, since one is moved at a time; other data follow the largest handle.


Places = dict[str, Place]


def host_variables(graph: Graph) -> dict[Variable, None]:
    """Return the variables that the host may access: neither constants nor temporaries."""
    temporaries = {each for operation in graph.operations for each in operation.temporaries}
    accessible = (each for each in graph.variables if not each.constant and each not in temporaries)
    return dict.fromkeys(accessible)


def handle_places(graph: Graph, variables: Iterable[Variable]) -> tuple[Places, Places]:
    """Return the places of the handles that the host reads, and of the handles it writes."""
    reads = {f"variable:{v.name}": Place(0, v.element_type, v.shape) for v in variables}
    writes = dict(reads)
    for places, handles in ((reads, graph.host_reads), (writes, graph.host_writes)):
        for name, handle in handles.items():
            tensor = handle.tensor
            places[f"handle:{name}"] = Place(0, tensor.element_type, tensor.shape)
    return reads, writes


def handle_columns(graph: Graph, texts: Texts, edges: EdgesTable) -> dict[str, list[int]]:
    """Return the columns of the tensors that have a user's handle."""
    rows = [
        (f"handle:{name}", handle.tensor, side)
        for side, handles in enumerate((graph.host_reads, graph.host_writes))
        for name, handle in handles.items()
    ]
    return {
        "handle.name": [texts.number(name) for name, _, _ in rows],
        "handle.of": [edges.tensor(tensor.view, tensor.element_type) for _, tensor, _ in rows],
        "handle.type": [type_number(tensor.element_type) for _, tensor, _ in rows],
        "handle.writes": [side for _, _, side in rows],
    }


class HostPlaces:
    """The streams and functions of the host that programs use, and streams of printed tensors.

    Attributes:
        streams: the place of each stream, by name.
        functions: the places of each function's arrays, by name, inputs first.
        prints: the programs that print, by the names of their streams.
        end: one past the last byte of all places.
    """

    def __init__(self, taken: Collection[str], begin: int) -> None:
        self.streams: Places = {}
        self.functions: dict[str, tuple[Place, ...]] = {}
        self.prints: dict[str, PrintTensor] = {}
        self.end = aligned_size(begin)
        self._taken = taken
        self._numbers: dict[DataStream | PrintTensor, int] = {}

    def stream(self, stream: DataStream | PrintTensor) -> int:
        """Return the number of a stream, or of the stream that a printing program uses."""
        if stream not in self._numbers:
            self._numbers[stream] = len(self._numbers)
            name = self._name(stream)
            if isinstance(stream, DataStream):
                is_input = stream.type is DataStreamType.HOST_TO_DEVICE_FIFO
                place = self._placed(stream.element_type, (stream.num_elements,), is_input)
            else:
                self.prints[name] = stream
                place = self._placed(stream.tensor.element_type, stream.tensor.shape, False)
            self.streams[name] = place
        return self._numbers[stream]

    def function(self, function: HostFunction) -> int:
        """Return the number of a function of the host."""
        if function.handle not in self.functions:
            self.functions[function.handle] = tuple(
                self._placed(element, (count,), is_input)
                for side, is_input in ((function.inputs, False), (function.outputs, True))
                for element, count in side
            )
        return list(self.functions).index(function.handle)

    def _placed(
        self, element: type[ElementType[Any]], shape: tuple[int, ...], is_input: bool
    ) -> Place:
        place = Place(self.end, element, shape, is_input)
        self.end += aligned_size(place.size_bytes)
        return place

    def columns(self, texts: Texts) -> Mapping[str, list[int]]:
        """Return the columns of all streams and functions."""
        arguments = [place for each in self.functions.values() for place in each]
        ends = list(accumulate(map(len, self.functions.values())))
        return {
            "stream.name": [texts.number(name) for name in self.streams],
            **_columns("stream", self.streams.values()),
            "called.name": [texts.number(name) for name in self.functions],
            "called.end": ends,
            **_columns("argument", arguments),
        }

    def _name(self, stream: DataStream | PrintTensor) -> str:
        if isinstance(stream, DataStream):
            return stream.handle
        number = len(self.prints)
        while f"print:{number}" in {*self._taken, *self.streams}:
            number += 1
        return f"print:{number}"


def _columns(table: str, places: Collection[Place]) -> dict[str, list[int]]:
    return {
        f"{table}.type": [type_number(each.element_type) for each in places],
        f"{table}.count": [each.num_elements for each in places],
        f"{table}.offset": [each.offset for each in places],
        f"{table}.input": [int(each.is_input) for each in places],
    }
