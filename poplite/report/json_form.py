"""Reports as JSON, and back.

    {"poplite": "report", "version": 5, "compilation": {...}, "execution": {...}, ...}

Every dataclass is an object with the names of its fields (`poplite.codec`); keys are sorted, and
fields that have their default are left out.  Numbers per tile are written as ranges of tiles with
their values, or one value if all are equal.  Where that would be many numbers, they name a part of
`tables`, one long array of each type in base 64: of tiles the distances from each to the next.
The user's lines are numbers of those in `lines`.  Programs are a list of nodes in which children
stand before their parents, so that a function stands there once.
"""

from __future__ import annotations

import math
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.arrays.series import Listed, Rising, Runs, Series, Steps, compact, constant, counting
from poplite.codec.archive import ELEMENT_DTYPES, ArrayReader
from poplite.codec.codec import Codec, lines_of
from poplite.codec.coders import Coder, Json, Reader, ScalarCoder, Writer
from poplite.codec.loading import Format, Malformed, add_room, check_room, parsed_json
from poplite.jit.garbage import no_collection
from poplite.report.per_tile import BYTES_A_PAIR, PerPair, PerPiece, PerTile, TilePerPiece
from poplite.report.program_tree import Programs, nodes_of, tree_of
from poplite.report.validate import check_report
from poplite.text import clipped

REPORTS = Format("report", (5,), "no report", "report.save(path)", ("poplite", "version"))
"""The version increases when the meaning of a field changes."""

TABLES, LINES = "tables", "lines"

FEW = 64
"""Most ranges of tiles, and most different numbers, that are written out as lists."""

MOST = 2**63
"""Whole numbers are below it, as those of arrays, and not below 0."""

PACKED = {"uint8": 0xFF, "uint16": 0xFFFF, "uint32": 0xFFFFFFFF, "int64": MOST - 1}
"""Types of numbers of tables, little-endian, and the most of each."""


LOOKS_A_CHARACTER = 256
"""Numbers of tables that are looked at for each character of a file, at most: more than any report
needs, where equal ones of up to 16,384 bytes are written once (`poplite.codec.archive`)."""

T = TypeVar("T")


@no_collection()  # all that is made stays
def to_json(report: Any) -> str:
    """Return a report, a dataclass, as JSON."""
    to = _Writer()
    outer = _REPORTS.coder_of(type(report)).encode(report, to)
    outer[LINES] = list(to.lines)
    outer[TABLES] = {
        name: b64encode(np.concatenate(parts).tobytes()).decode()
        for name, parts in to.arrays.parts().items()
    }
    return REPORTS.text(outer, "report") + "\n"


def from_json(cls: type[T], text: str | bytes, source: str = "this") -> T:
    """Return the report of JSON; raise FileLoadError, which names the source, for all else."""
    with REPORTS.loading(source):
        add_room(len(text))
        return _loaded(cls, parsed_json(text), LOOKS_A_CHARACTER * len(text))


def _loaded(cls: type[T], data: Json, looks: int) -> T:
    parts = REPORTS.parts(data)
    tables, lines = _tables(parts.pop(TABLES, None)), lines_of(parts.pop(LINES, None))
    loaded: T = _REPORTS.coder_of(cls).decode(parts, _Reader(tables, (), (), lines, looks))
    check_report(loaded)
    return loaded


def _tables(data: Json) -> ArrayReader:
    if not isinstance(data, dict):
        raise Malformed(f"{clipped(data)} are no tables of numbers")
    for name in data:
        if name not in PACKED:
            raise Malformed(f"{clipped(name)} is no type of numbers")
    return ArrayReader(
        {
            name: np.frombuffer(b64decode(text, validate=True), ELEMENT_DTYPES[name])
            for name, text in data.items()
        }
    )


class _Writer(Writer):
    """What is collected while a report is written; `tiles` has what was written of some by id."""

    def __init__(self) -> None:
        super().__init__()
        self.tiles: dict[int, tuple[object, Json]] = {}


@dataclass(slots=True, eq=False)
class _Reader(Reader):
    """What is looked up while a report is read.

    Attributes:
        looks: how many numbers of the tables may still be looked at.
        tiles: those whose distances were looked at already.
    """

    looks: int
    tiles: dict[tuple[Any, ...], Rising] = field(default_factory=dict)


class _SecondsCoder(ScalarCoder):
    """Numbers, finite and none of them below 0, as JSON has them."""

    def encode(self, value: Any, to: Writer) -> Json:
        """Return a value as JSON."""
        return float(value)

    def decode(self, data: Json, of: Reader) -> Any:
        """Return the value of JSON."""
        if type(data) not in (int, float):
            raise Malformed(f"{clipped(data)} is not of type float")
        if not 0 <= data < math.inf:
            raise Malformed(f"{clipped(data)} is not a finite number from 0 on")
        return float(data)


class _ProgramsCoder(Coder):
    """Programs by name, each as nodes."""

    name = "programs"

    def fits(self, value: Any) -> bool:
        """Tell whether a value is one of these."""
        return isinstance(value, Programs)

    def encode(self, value: Any, to: Writer) -> Json:
        """Return a value as JSON."""
        return {name: nodes_of(tree) for name, tree in value.items()}

    def decode(self, data: Json, of: Reader) -> Any:
        """Return the value of JSON."""
        trees = {name: tree_of(_list(nodes)) for name, nodes in _object(data).items()}
        return Programs(lambda: trees)


class _PerTileCoder(Coder):
    """Numbers of tiles, or of what there may be any number of; none is below `least`."""

    name = "numbers of tiles"

    def __init__(self, least: int = 0, *, of_tiles: bool = False, of_pairs: bool = False) -> None:
        self.least, self.of_tiles, self.of_pairs = least, of_tiles, of_pairs
        self.keys = {"tiles", "values"} | (set() if of_tiles else {"of"})

    def fits(self, value: Any) -> bool:
        """Tell whether a value is one of these."""
        return isinstance(value, PerTile)

    def encode(self, value: Any, to: Any) -> Json:
        """Return a value as JSON."""
        if id(value.tiles) not in to.tiles:
            to.tiles[id(value.tiles)] = value.tiles, _encoded_tiles(value.tiles, to)
        _, where = to.tiles[id(value.tiles)]
        count, values = value.tiles.count, value.values
        written: Json = values.only if count else 0
        if written is None:
            numbers = values.array()
            written = numbers.tolist() if count <= FEW else _packed(numbers, values.low, to)
        found = {"tiles": where, "values": written}
        return found if self.of_tiles else {"of": value.num_tiles, **found}

    def decode(self, data: Json, of: Any) -> Any:
        """Return the value of JSON: what is written about ranges stays as short."""
        saved = _object(data)
        if saved.keys() != self.keys:
            raise Malformed(f"{clipped(data)} are no {self.name}")
        where, values = saved["tiles"], saved["values"]
        size = int(of.lent["target"].tiles) if self.of_tiles else saved.get("of")
        if type(size) is not int or not 0 <= size < MOST:
            raise Malformed(f"{clipped(data)} does not say of how many tiles it is")
        tiles = _of_steps(where, size, of) if _is_ref(where) else _of_ranges(where, size)
        if type(values) is int and abs(values) < MOST:
            numbers: Series = constant(values, tiles.count)
        elif _is_ref(values):
            numbers = Listed(0, _taken(values, of))
        else:
            numbers = compact(_whole(values))
        if numbers.count != tiles.count:
            raise Malformed(f"{clipped(data)} is no number for each tile")
        if numbers.count and numbers.low < self.least:
            raise Malformed(f"{clipped(data)} has numbers below {self.least}")
        if self.of_pairs:
            check_room(BYTES_A_PAIR * tiles.count, f"{tiles.count:,} pairs of tiles")
        return PerTile(size, tiles, numbers)


# -- writing numbers ---------------------------------------------------------------------------


def _encoded_tiles(series: Series | Runs | Rising, to: Writer) -> Json:
    if isinstance(series, Steps) and series.step == 1:
        return [[series.first, series.first + series.count - 1]]
    if not series.count:
        return []
    distances = _distances(series)
    is_first = distances != 1
    is_first[0] = True
    begins = np.flatnonzero(is_first)
    if len(begins) > FEW:
        return _packed(distances, 0, to)
    tiles, ends = series.array(), np.append(begins[1:], series.count) - 1
    found: Json = np.stack([tiles[begins], tiles[ends]], axis=1).tolist()
    return found


def _distances(series: Series | Runs | Rising) -> npt.NDArray[np.integer[Any]]:
    if isinstance(series, Rising):
        return series.distances
    tiles = series.array()
    distances = tiles.copy()
    distances[1:] -= tiles[:-1]
    return distances


def _packed(numbers: npt.NDArray[np.integer[Any]], low: int, to: Writer) -> Json:
    """Return where many whole numbers, none of them below `low`, are in the tables."""
    high = int(numbers.max())
    narrow = next(name for name, most in PACKED.items() if high <= most)
    return to.arrays.add(numbers.astype("int64" if low < 0 else narrow))


# -- reading numbers ---------------------------------------------------------------------------


def _is_ref(data: Json) -> bool:
    return type(data) is list and bool(data) and type(data[0]) is str


def _taken(ref: Json, of: _Reader) -> npt.NDArray[np.integer[Any]]:
    """Return numbers of the tables."""
    found = of.arrays.take(ref)
    if found.ndim != 1 or len(ref) != 3:
        raise Malformed(f"{clipped(ref)} names no numbers of the tables")
    of.looks -= len(found)
    if of.looks < 0:
        raise Malformed("it names the same numbers more often than a report of its length")
    return found


def _of_steps(ref: Json, size: int, of: _Reader) -> Rising:
    """Return the tiles of the distances from each to the next."""
    steps = _taken(ref, of)
    key = ref[0], ref[1], len(steps), size
    if key not in of.tiles:
        wide = steps.dtype == np.int64
        if np.count_nonzero(steps[1:]) < len(steps) - 1 or (wide and steps.min(initial=0) < 0):
            raise Malformed(f"{clipped(ref)}: tiles do not rise")
        last = int(steps.sum(dtype=np.float64 if wide else np.int64))  # which do not wrap around
        if last >= size:
            raise Malformed(f"tile {last:,} of {size:,}")
        of.tiles[key] = Rising(steps)
    return of.tiles[key]


def _whole(data: Json) -> Int64:
    """Return a list of whole numbers, or of lists of as many."""
    numbers = np.array(_list(data))
    if numbers.size and numbers.dtype != np.int64:
        raise Malformed(f"{clipped(data)} are no whole numbers")
    return numbers.astype(np.int64)


def _of_ranges(ranges: Json, size: int) -> Series | Runs:
    """Return the tiles of ranges, which may be many more than their numbers."""
    before = -1
    for each in _list(ranges):
        if type(each) is not list or list(map(type, each)) != [int, int]:
            raise Malformed(f"{clipped(each)} is no range of tiles")
        first, last = each
        if not before < first <= last:
            raise Malformed(f"tiles {first:,} to {last:,} do not rise")
        if last >= size:
            raise Malformed(f"tile {last:,} of {size:,}")
        before = last
    if len(ranges) == 1:
        return counting(first, last - first + 1)
    if not ranges:
        return constant(0, 0)
    runs = np.array(ranges, np.int64)
    return Runs(runs[:, 0], runs[:, 1] + 1)


def _object(data: Json) -> Mapping[str, Any]:
    if not isinstance(data, dict):
        raise Malformed(f"{clipped(data)} is no object")
    return data


def _list(data: Json) -> list[Any]:
    if not isinstance(data, list):
        raise Malformed(f"{clipped(data)} is no list")
    return data


_REPORTS = Codec(
    {
        int: ScalarCoder(int, range(MOST), "is not among the numbers of a report"),
        float: _SecondsCoder(float),
        Programs: _ProgramsCoder(),
        PerTile: _PerTileCoder(of_tiles=True),
        PerPair: _PerTileCoder(of_pairs=True),
        PerPiece: _PerTileCoder(),
        TilePerPiece: _PerTileCoder(-1),
    }
)
