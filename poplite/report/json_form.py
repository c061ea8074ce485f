"""The JSON format of reports.

    {"poplite": "report", "version": 6, "compilation": {...}, "execution": {...}, ...}

Every dataclass is an object with the names of its fields (`poplite.codec`), without those that have
their default value.  The user's lines are given as indices into `lines`. Programs are a list of
nodes in which children precede their parents, so that a function occurs once.

Per-tile numbers, also those in files of executables, are ranges of tiles with their values, or one
value if all are equal::

    {"tiles": [[0, 3], [9, 9]], "values": [5, 5, 5, 5, 7]}
    {"tiles": [[0, 1471]], "values": 5}
    {"of": 64, "tiles": 3, "values": ["uint16", 0, [9]]}

Where that would be many numbers, they refer to a part of the file's arrays, in reports one long
array of each type in base 64 in `tables`.  Tiles of more than a few ranges are listed once in
`tile_sets`, which `tiles` names by number: as ranges, or as an array of the distances from each
tile to the next, which are small and often equal.  Numbers for pairs of blocks, and for pieces,
give their count in `of`.

A file has thousands of these, so they are written together at the end, and all those of one field
are read and checked together.
"""

from __future__ import annotations

import math
from base64 import b64decode, b64encode
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, chain, compress, islice, pairwise, repeat
from marshal import dumps
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.arrays.series import (
    MOST_NARROW,
    NARROW,
    Listed,
    Rising,
    Runs,
    Series,
    Steps,
    constant,
    counting,
)
from poplite.codec.archive import ELEMENT_DTYPES, ArrayReader
from poplite.codec.codec import (
    Codec,
    Coder,
    Json,
    Reader,
    ScalarCoder,
    Writer,
    as_list,
    decoded,
    lines_of,
    objects_by_names,
)
from poplite.codec.file_formats import REPORTS, Malformed, add_room, at, check_room, parsed_json
from poplite.jit.build import no_collection
from poplite.machine.target import MOST_TILES
from poplite.report.per_tile import BYTES_A_PAIR, PerPair, PerPiece, PerTile, TilePerPiece
from poplite.report.program_tree import Programs, nodes_of, tree_of
from poplite.report.validate import check_report
from poplite.text import clipped

# -- numbers of tiles ------------------------------------------------------------------------------

FEW = 16
"""Maximum number of ranges of tiles, and of different numbers, that are written as lists."""

PLAIN = 4
"""Maximum number of ranges of tiles that are written where they are used, not in `tile_sets`."""

MOST = 2**63
"""Integers are less than this, also in arrays."""

PACKED = {"uint8": 0xFF, "uint16": 0xFFFF, "uint32": 0xFFFFFFFF, "int64": MOST - 1}
"""Types of array elements, little-endian, and the greatest number of each."""

_MOST_PACKED = np.array(list(PACKED.values()))

LOOKS_A_CHARACTER = 256
"""Maximum number of array elements that are read for each character of a file: more than any file
needs, as equal arrays of up to 16,384 bytes are written once (`poplite.codec.archive`)."""


class PerTileCoder(Coder):
    """A number per tile, or per item of any other sequence.

    What it writes lacks tiles and numbers until `written_tile_sets` adds those of all fields.

    Args:
        whole: the range of valid numbers.
        of_tiles: whether there is a number for each tile of the target, which precedes them in the
            file.
        of_pairs: whether there is a number for each pair of blocks of tiles.
    """

    whole: range
    of_tiles: bool
    of_pairs: bool

    name = "per-tile numbers"

    def __init__(self, whole: range, *, of_tiles: bool = False, of_pairs: bool = False) -> None:
        self.whole, self.of_tiles, self.of_pairs = whole, of_tiles, of_pairs
        self.keys = {"tiles", "values"} | (set() if of_tiles else {"of"})

    def fits(self, value: Any) -> bool:
        """Return whether this coder can encode a value."""
        return isinstance(value, PerTile)

    def encode_all(self, values: Sequence[Any], to: Writer) -> list[Json]:
        """Return many values as JSON; None means zero on every tile."""
        used = [value is not None and value.num_used > 0 for value in values]
        # Tiles that are not yet known differ from those of a field's default.
        found: list[Json] = [{"tiles": None if each else [], "values": 0} for each in used]
        if not self.of_tiles:
            for value, data in zip(values, found, strict=True):
                data["of"] = value.num_tiles
        to.unfinished += zip(compress(found, used), compress(values, used), strict=True)
        return found

    def decode_all(self, data: Sequence[Json], of: Reader) -> list[Any]:
        """Decode many JSON values, in an equally compact form; equal short ones as one object."""
        for each in objects_by_names(data, self._wrong):
            if each.keys() != self.keys:
                raise self._wrong(each)
        places = _first_places(data)
        distinct = dict.fromkeys(places)
        made = self._decoded_distinct([data[place] for place in distinct], of)
        return list(map(dict(zip(distinct, made, strict=True)).__getitem__, places))

    def _decoded_distinct(self, data: Sequence[Json], of: Reader) -> list[PerTile]:
        """Decode JSON values that are not known to be equal to one another."""
        sizes = self._sizes(data, of)
        tiles, counts = _decoded_tiles([each["tiles"] for each in data], sizes, of)
        numbers = self._decoded_numbers([each["values"] for each in data], counts, of)
        if self.of_pairs and (count := max(counts, default=0)):
            check_room(BYTES_A_PAIR * count, f"{count:,} pairs of tiles")
        return list(map(PerTile, sizes, tiles, numbers))

    def _wrong(self, data: Json) -> Malformed:
        keys = " and ".join(map(repr, sorted(self.keys)))
        return Malformed(f"{self.name} must have the keys {keys}; found {clipped(data)}")

    def _sizes(self, data: Sequence[Json], of: Reader) -> list[int]:
        """Return the number of tiles of each."""
        if self.of_tiles:
            return [int(of.lent["target"].tiles)] * len(data)
        for each in data:
            if type(each["of"]) is not int or not 0 <= each["of"] < MOST:
                raise Malformed(f"'of' must be a count of numbers; found {clipped(each['of'])}")
        return [each["of"] for each in data]

    def _decoded_numbers(
        self, values: Sequence[Json], counts: Sequence[int], of: Reader
    ) -> list[Series]:
        """Return numbers; a single one is repeated for all tiles."""
        refs, lists = _sorted_out(values)
        several = dict(zip(refs, _parts_of([values[row] for row in refs], of), strict=True))
        written = iter(_whole([values[row] for row in lists]))
        found: list[Series] = []
        for row, (value, count) in enumerate(zip(values, counts, strict=True)):
            if row in several:
                array = of.arrays.of_part(several[row])
                found.append(self._listed(several[row][0], array, count, value))
            elif type(value) is list:
                found.append(self._listed("int64", next(written), count, value))
            elif type(value) is int:
                found.append(constant(value, count))
                if value not in self.whole:
                    self._check(value, value, value)
            else:
                raise Malformed(f"{clipped(value)} is not a number or a list of numbers")
        return found

    def _listed(
        self, name: str, array: npt.NDArray[np.integer[Any]], count: int, data: Json
    ) -> Listed:
        if len(array) != count:
            raise Malformed(f"{count:,} numbers are needed; found {len(array):,}: {clipped(data)}")
        if count and (name == "int64" or self.whole.start > 0 or PACKED[name] >= self.whole.stop):
            self._check(int(array.min()), int(array.max()), data)
        return Listed(0, array)

    def _check(self, low: int, high: int, data: Json) -> None:
        """Reject numbers outside the valid range."""
        if low < self.whole.start:
            raise Malformed(f"{clipped(data)} has numbers below {self.whole.start}")
        if high >= self.whole.stop:
            raise Malformed(f"{clipped(data)} has numbers above {self.whole.stop - 1:,}")


def _first_places(data: Sequence[dict[str, Json]]) -> list[int]:
    """Return the place of the first equal one, for those with one number on one range of tiles.

    Most of 100,000 variables are such.  Others have their own places; each that refers to arrays
    counts for itself.
    """
    first: dict[bytes | int, int] = {}
    found = []
    for place, each in enumerate(data):
        values, tiles = each["values"], each["tiles"]
        is_short = type(values) is int and type(tiles) is list and len(tiles) == 1
        # Bytes tell True from 1, which are equal.
        key = dumps((values, tiles, each.get("of")), 2) if is_short else place
        found.append(first.setdefault(key, place))
    return found


# -- writing numbers -------------------------------------------------------------------------------


AT_ONCE = 1 << 16
"""Maximum number of numbers that are processed at a time, except those of one value: more would
need more memory and more time."""


def _at_once(counts: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield begin and end of each batch of values, given how many numbers each value has.

    >>> list(_at_once([AT_ONCE - 1, 1, 1, AT_ONCE]))
    [(0, 2), (2, 3), (3, 4)]
    """
    before, begin = list(accumulate(counts, initial=0)), 0
    while begin < len(counts):
        end = max(begin + 1, bisect_right(before, before[begin] + AT_ONCE) - 1)
        yield begin, end
        begin = end


class _Parts:
    """Concatenated arrays of numbers, none of them empty.

    Attributes:
        numbers: the numbers of all arrays.
        lengths: int64[parts], the length of each array.
        begin: int64[parts], the position in `numbers` at which each begins.
    """

    def __init__(self, arrays: Sequence[npt.NDArray[np.integer[Any]]]) -> None:
        self.numbers = np.concatenate(arrays)
        self.lengths = np.array(list(map(len, arrays)))
        self.begin = np.cumsum(self.lengths) - self.lengths

    def of(self, number: int) -> npt.NDArray[np.integer[Any]]:
        """Return the numbers of one array."""
        begin = self.begin[number]
        return self.numbers[begin : begin + self.lengths[number]]

    def least(self) -> Int64:
        """Return the least number of each array, int64[parts]."""
        return np.minimum.reduceat(self.numbers, self.begin).astype(np.int64)

    def most(self) -> Int64:
        """Return the greatest number of each array, int64[parts]."""
        return np.maximum.reduceat(self.numbers, self.begin).astype(np.int64)

    def count(self, which: npt.NDArray[np.bool_]) -> Int64:
        """Return the count of chosen numbers of each array, int64[parts]."""
        return np.add.reduceat(which, self.begin, dtype=np.int64)

    def packed(
        self, high: Int64, chosen: npt.NDArray[np.bool_], to: Writer
    ) -> Iterator[tuple[int, Json]]:
        """Yield the numbers of chosen arrays, each with the reference to its numbers in the file.

        They are in the narrowest types for numbers up to `high`, int64[parts].
        """
        own = chosen.nonzero()[0]
        narrow = _MOST_PACKED.searchsorted(high[own])
        for kind, name in enumerate(PACKED):
            if not len(rows := own[narrow == kind]):
                continue
            whole, size = self.numbers.astype(name).tobytes(), ELEMENT_DTYPES[name].itemsize
            counts, begin = self.lengths[rows].tolist(), (self.begin[rows] * size).tolist()
            contents = [whole[b : b + size * n] for b, n in zip(begin, counts, strict=True)]
            firsts = to.arrays.add_flat(name, contents, counts)
            yield from zip(rows.tolist(), zip(repeat(name), firsts, counts), strict=True)


def written_tile_sets(to: Writer) -> list[Json]:
    """Return the sets of tiles for a file, and finish what was written of numbers for them."""
    tiles = [spread.tiles for _, spread in to.unfinished]
    keys = list(map(id, tiles))
    sets = dict(zip(keys, tiles, strict=True))
    listed: dict[Json, int] = {}
    places: dict[int, Json] = {}
    for key, each in zip(sets, _encoded_tiles([*sets.values()], to), strict=True):
        is_plain = type(each) is list and len(each) <= PLAIN
        places[key] = each if is_plain else listed.setdefault(tuple(each), len(listed))
    values = _encoded_numbers([spread.values for _, spread in to.unfinished], to)
    for (data, _), key, numbers in zip(to.unfinished, keys, values, strict=True):
        data["tiles"], data["values"] = places[key], numbers
    return [(*each[:2], [each[2]]) if type(each[0]) is str else each for each in listed]


def _encoded_numbers(series: Sequence[Series], to: Writer) -> list[Json]:
    """Return one number if all are equal, else a list, or a reference to the arrays."""
    found: list[Json] = [each.only if isinstance(each, Steps) else None for each in series]
    rows = _missing(found)
    some = [_numbers_of(series[row]) for row in rows]
    for start, end in _at_once([each.count for each in some]):
        parts, own = _Parts([each.offset for each in some[start:end]]), rows[start:end]
        base = np.array([each.base for each in some[start:end]])
        if base.any():
            parts.numbers = parts.numbers + np.repeat(base, parts.lengths)
        low, high = parts.least(), parts.most()
        narrow = np.where(low < 0, MOST - 1, high)  # the last type is the only signed one
        for number, where in parts.packed(narrow, (parts.lengths > FEW) & (low < high), to):
            found[own[number]] = [*where[:2], [where[2]]]
        for number, (row, least, most) in enumerate(
            zip(own, low.tolist(), high.tolist(), strict=True)
        ):
            if found[row] is None:
                found[row] = most if least == most else parts.of(number).tolist()
    return found


def _numbers_of(series: Series | Runs | Rising) -> Listed:
    return series if isinstance(series, Listed) else Listed(0, series.array())


def _missing(found: Sequence[Json]) -> list[int]:
    return [row for row, where in enumerate(found) if where is None]


def _encoded_tiles(sets: Sequence[Any], to: Writer) -> list[Json]:
    """Return the ranges of each set, or a reference to the distances of many, as a tuple."""
    found: list[Json] = list(map(_few_ranges, sets))
    rows = _missing(found)
    for start, end in _at_once([sets[row].count for row in rows]):
        own = rows[start:end]
        parts = _distances([sets[row] for row in own])
        starts = parts.numbers != 1
        starts[parts.begin] = True
        few = parts.count(starts) <= FEW
        for number, where in parts.packed(parts.most(), ~few, to):
            found[own[number]] = where
        if few.any():
            short = list(compress(own, few))
            for row, ranges in zip(short, _ranges([sets[row] for row in short]), strict=True):
                found[row] = ranges
    return found


def _few_ranges(series: Series | Runs | Rising) -> Json:
    """Return the first and last tile of each range, if the form of a series shows few."""
    if isinstance(series, Steps) and (series.count == 1 or series.step == 1):
        return [(series.first, series.first + series.count - 1)]
    if isinstance(series, Runs) and len(series.begin) <= FEW:
        return list(zip(series.begin.tolist(), (series.end - 1).tolist(), strict=True))
    return None


def _ranges(sets: Sequence[Any]) -> Iterator[list[tuple[int, int]]]:
    """Return the first and last tile of each range, for each set."""
    parts = _Parts([each.array() for each in sets])
    starts = np.diff(parts.numbers, prepend=-1) != 1
    starts[parts.begin] = True
    first = starts.nonzero()[0]
    last = np.append(first[1:], len(starts)) - 1
    bounds = zip(parts.numbers[first].tolist(), parts.numbers[last].tolist(), strict=True)
    return (list(islice(bounds, count)) for count in parts.count(starts).tolist())


def _distances(sets: Sequence[Series | Runs | Rising]) -> _Parts:
    """Return the distances from each tile to the next; the first tile's is from 0."""
    some = [_numbers_of(each) for each in sets]
    parts = _Parts([each.offset for each in some])
    offsets, begin = parts.numbers, parts.begin
    first = offsets[begin] + np.array([each.base for each in some])
    is_narrow = offsets.dtype == NARROW and first.max() < MOST_NARROW
    parts.numbers = np.empty(len(offsets), NARROW if is_narrow else np.int64)
    np.subtract(offsets[1:], offsets[:-1], out=parts.numbers[1:], casting="unsafe")
    parts.numbers[begin] = first
    return parts


# -- reading numbers -------------------------------------------------------------------------------

FARTHEST = MOST_TILES**2
"""The greatest distance between two tiles, or two pairs of tiles."""

MOST_FAR = 1 << 18
"""Maximum number of distances whose sum fits in 64 bits."""


TileSet = tuple[Series | Runs | Rising, int, int]
"""A set of tiles, the number of them, and the last; -1 for none."""

_EMPTY: TileSet = (constant(0, 0), 0, -1)


def _sorted_out(values: Sequence[Json]) -> tuple[list[int], list[int]]:
    """Return the rows of references to arrays, and those of other lists."""
    refs: list[int] = []
    lists: list[int] = []
    for row, value in enumerate(values):
        if type(value) is list:
            (refs if value and type(value[0]) is str else lists).append(row)
    return refs, lists


def _parts_of(refs: Sequence[Json], of: Reader) -> list[tuple[str, int, int]]:
    """Return the type, first element and length of references to the tables."""
    if not refs:
        return []
    found = of.arrays.parts(refs, PACKED)
    of.looks -= sum([count for _, _, count in found])
    if of.looks < 0:
        raise Malformed("it refers to more array elements than a file of its length can need")
    return found


def read_tile_sets(data: Json, of: Reader) -> None:
    """Read the sets of tiles that a file lists once, to which numbers for each tile refer."""
    with at(".tile_sets"):
        of.tile_sets = _tile_sets(as_list(data), of)


def _tile_sets(places: Sequence[Json], of: Reader) -> list[TileSet]:
    """Return sets of tiles: numbers of those that the file lists, distances, or ranges."""
    found, refs = [], []
    for row, place in enumerate(places):
        if type(place) is int and 0 <= place < len(of.tile_sets):
            found.append(of.tile_sets[place])
            continue
        is_ref = type(place) is list and len(place) > 0 and type(place[0]) is str
        found.append(_EMPTY if is_ref else _of_ranges(place))
        if is_ref:
            refs.append(row)
    if refs:
        rising = _rising(_parts_of([places[row] for row in refs], of), of)
        for row, each in zip(refs, rising, strict=True):
            found[row] = each
    return found


def _decoded_tiles(
    places: Sequence[Json], sizes: Sequence[int], of: Reader
) -> tuple[list[Any], list[int]]:
    """Return sets of tiles, all below the given sizes, and the number of tiles in each."""
    sets = _tile_sets(places, of)
    for (_, _, last), size in zip(sets, sizes, strict=True):
        if last >= size:
            raise Malformed(f"tile numbers must be less than {size:,}; found {last:,}")
    return [tiles for tiles, _, _ in sets], [count for _, count, _ in sets]


def _rising(parts: Sequence[tuple[str, int, int]], of: Reader) -> list[TileSet]:
    """Return the tiles given by distances from each to the next, their counts, and the last."""
    found: list[Any] = [None] * len(parts)
    for name in dict.fromkeys([name for name, _, _ in parts]):
        rows = [row for row, part in enumerate(parts) if part[0] == name]
        for start, end in _at_once([parts[row][2] for row in rows]):
            own = rows[start:end]
            flat = of.arrays.flat[name]
            arrays = [
                flat[first : first + count] for _, first, count in map(parts.__getitem__, own)
            ]
            for row, array, last in zip(own, arrays, _last_tiles(arrays), strict=True):
                found[row] = Rising(array), len(array), last
    return found


def _last_tiles(distances: Sequence[npt.NDArray[np.integer[Any]]]) -> list[int]:
    """Return the last tile of each set; reject distances at which tiles do not ascend."""
    parts = _Parts(distances)
    if parts.numbers.dtype == np.int64 and (
        parts.numbers.max() > FARTHEST or parts.lengths.max() > MOST_FAR
    ):
        raise Malformed(
            f"at most {MOST_FAR:,} distances between tiles may be stored as int64, "
            f"none of them above {FARTHEST:,}"
        )
    is_wrong = parts.numbers < 1
    is_wrong[parts.begin] = parts.numbers[parts.begin] < 0
    for number in np.flatnonzero(parts.count(is_wrong))[:1].tolist():
        begin = clipped(distances[number][:9].tolist())
        raise Malformed(f"tiles must ascend; found the distances {begin}")
    last: list[int] = np.add.reduceat(parts.numbers, parts.begin, dtype=np.int64).tolist()
    return last


def _whole(lists: Sequence[list[Json]]) -> list[Int64]:
    """Return the integers of each of some lists."""
    numbers = list(chain.from_iterable(lists))
    if set(map(type, numbers)) <= {int}:
        try:
            array = np.array(numbers, np.int64)
        except OverflowError:
            pass
        else:
            ends = accumulate(map(len, lists), initial=0)
            return [array[begin:end] for begin, end in pairwise(ends)]
    raise Malformed(f"{clipped(lists[0])} is not a list of whole numbers")


def _of_ranges(ranges: Json) -> TileSet:
    """Return the tiles of ranges, which may be many more than their bounds."""
    before = -1
    for each in as_list(ranges):
        if type(each) is not list or list(map(type, each)) != [int, int]:
            raise Malformed(f"{clipped(each)} is not a valid range of tiles")
        first, last = each
        if not before < first <= last:
            raise Malformed(f"ranges of tiles must ascend; found {first:,} to {last:,}")
        before = last
    if len(ranges) == 1:
        return _of_range(first, last)
    if not ranges:
        return _EMPTY
    if before >= MOST:
        raise Malformed(f"tile numbers must be less than {MOST:,}; found {before:,}")
    runs = np.array(ranges, np.int64)
    tiles = Runs(runs[:, 0], runs[:, 1] + 1)
    return tiles, tiles.count, last


@lru_cache(maxsize=1 << 10)
def _of_range(first: int, last: int) -> TileSet:
    """Return the tiles of one range; those of 100,000 variables are few."""
    return counting(first, last - first + 1), last - first + 1, last


# -- reports ---------------------------------------------------------------------------------------

TABLES, LINES, TILE_SETS = "tables", "lines", "tile_sets"

T = TypeVar("T")


@no_collection()  # all objects that are created stay
def to_json(report: Any) -> str:
    """Return a report, a dataclass, as JSON."""
    to = Writer()
    outer = _REPORTS.coder_of(type(report)).encode(report, to)
    outer[TILE_SETS] = written_tile_sets(to)
    outer[LINES] = list(to.lines)
    outer[TABLES] = {
        name: b64encode(b"".join(parts)).decode()
        for name, parts in sorted(to.arrays.parts().items())
    }
    return REPORTS.text(outer, "report") + "\n"


def from_json(cls: type[T], text: str | bytes, source: str = "this") -> T:
    """Return the report in JSON; raise FileLoadError, which names the source, if it is invalid."""
    with REPORTS.loading(source):
        add_room(len(text))
        return _loaded(cls, parsed_json(text), LOOKS_A_CHARACTER * len(text))


def _loaded(cls: type[T], data: Json, looks: int) -> T:
    parts = REPORTS.parts(data)
    tables, lines = _tables(parts.pop(TABLES, None)), lines_of(parts.pop(LINES, None))
    of = Reader(tables, (), (), lines)
    of.looks = looks
    read_tile_sets(parts.pop(TILE_SETS, []), of)
    loaded: T = decoded(_REPORTS.coder_of(cls), parts, of)
    check_report(loaded)
    return loaded


def _tables(data: Json) -> ArrayReader:
    if not isinstance(data, dict):
        raise Malformed(f"{clipped(data)} is not a valid set of tables")
    for name in data:
        if name not in PACKED:
            raise Malformed(f"{clipped(name)} is not a valid type of numbers")
    return ArrayReader(
        {
            name: np.frombuffer(b64decode(text, validate=True), ELEMENT_DTYPES[name])
            for name, text in data.items()
        }
    )


class _SecondsCoder(ScalarCoder):
    """Finite, nonnegative numbers, as in JSON."""

    def encode(self, value: Any, to: Writer) -> Json:
        """Return a value as JSON."""
        return float(value)

    def decode(self, data: Json, of: Reader) -> Any:
        """Decode a JSON value."""
        if type(data) not in (int, float):
            raise Malformed(f"{clipped(data)} is not of type float")
        if not 0 <= data < math.inf:
            raise Malformed(f"{clipped(data)} is not a finite number of at least 0")
        return float(data)


class _ProgramsCoder(Coder):
    """Programs by name, each as nodes."""

    name = "programs"

    def fits(self, value: Any) -> bool:
        """Return whether this coder can encode a value."""
        return isinstance(value, Programs)

    def encode(self, value: Any, to: Writer) -> Json:
        """Return a value as JSON."""
        return {name: nodes_of(tree) for name, tree in value.items()}

    def decode(self, data: Json, of: Reader) -> Any:
        """Decode a JSON value."""
        if type(data) is not dict:
            raise Malformed(f"{clipped(data)} is not a valid object")
        trees = {name: tree_of(as_list(nodes)) for name, nodes in data.items()}
        return Programs(lambda: trees)


_REPORTS = Codec(
    {
        int: ScalarCoder(int, range(MOST), "is not a valid number in a report"),
        float: _SecondsCoder(float),
        Programs: _ProgramsCoder(),
        PerTile: PerTileCoder(range(MOST), of_tiles=True),
        PerPair: PerTileCoder(range(MOST), of_pairs=True),
        PerPiece: PerTileCoder(range(MOST)),
        TilePerPiece: PerTileCoder(range(-1, MOST)),
    }
)
