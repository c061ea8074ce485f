"""Numbers of tiles in files: as ranges of tiles with their values, or one value if all are equal.

    {"tiles": [[0, 3], [9, 9]], "values": [5, 5, 5, 5, 7]}
    {"tiles": [[0, 1471]], "values": 5}
    {"of": 64, "tiles": ["uint8", 120, [9]], "values": ["uint16", 0, [9]]}

Where that would be many numbers, they name a part of the file's arrays: of tiles the distances
from each to the next, which are small and often the same.  Numbers of pairs of blocks, and of
pieces, say of how many they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.arrays.series import (
    Listed,
    Rising,
    Runs,
    Series,
    Steps,
    compact,
    constant,
    counting,
    limits,
)
from poplite.codec.coders import Coder, Json, Reader, Writer, as_list
from poplite.codec.loading import Malformed, check_room
from poplite.report.per_tile import BYTES_A_PAIR, PerTile
from poplite.text import clipped

FEW = 64
"""Most ranges of tiles, and most different numbers, that are written out as lists."""

MOST = 2**63
"""Whole numbers are below it, as those of arrays."""

PACKED = {"uint8": 0xFF, "uint16": 0xFFFF, "uint32": 0xFFFFFFFF, "int64": MOST - 1}
"""Types of numbers of arrays, little-endian, and the most of each."""

LOOKS_A_CHARACTER = 256
"""Numbers of arrays that are looked at for each character of a file, at most: more than any needs,
where equal ones of up to 16,384 bytes are written once (`poplite.codec.archive`)."""


class PerTileCoder(Coder):
    """Numbers of tiles, or of what there may be any number of.

    Args:
        whole: the numbers that there may be.
        of_tiles: whether they are of the tiles of the target, which the file says before.
        of_pairs: whether they are of pairs of blocks of tiles.
    """

    name = "numbers of tiles"

    def __init__(self, whole: range, *, of_tiles: bool = False, of_pairs: bool = False) -> None:
        self.whole, self.of_tiles, self.of_pairs = whole, of_tiles, of_pairs
        self.keys = {"tiles", "values"} | (set() if of_tiles else {"of"})

    def fits(self, value: Any) -> bool:
        """Return whether a value is one of these."""
        return isinstance(value, PerTile)

    def encode(self, value: Any, to: Writer) -> Json:
        """Return a value as JSON; None means zero on every tile."""
        if value is None or self.of_tiles and not value.num_used:
            return {"tiles": [], "values": 0}
        if id(value.tiles) not in to.written:
            to.written[id(value.tiles)] = value.tiles, _encoded_tiles(value.tiles, to)
        _, where = to.written[id(value.tiles)]
        count, values = value.tiles.count, value.values
        written: Json = values.only if count else 0
        if written is None:
            numbers = values.array()
            signed = self.whole.start < 0 and values.low < 0
            written = numbers.tolist() if count <= FEW else _packed(numbers, to, signed=signed)
        found = {"tiles": where, "values": written}
        return found if self.of_tiles else {"of": value.num_tiles, **found}

    def decode(self, data: Json, of: Reader) -> Any:
        """Return the value of JSON: numbers of ranges stay as short as they are written."""
        if type(data) is not dict or data.keys() != self.keys:
            raise Malformed(f"{clipped(data)} are not valid {self.name}")
        where, values = data["tiles"], data["values"]
        size = int(of.lent["target"].tiles) if self.of_tiles else data["of"]
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
            raise Malformed(f"{clipped(data)} is not a valid number for each tile")
        low, high = limits(numbers)
        if low < self.whole.start:
            raise Malformed(f"{clipped(data)} has numbers below {self.whole.start}")
        if high >= self.whole.stop and numbers.high >= self.whole.stop:  # the limit may be above
            raise Malformed(f"{clipped(data)} has numbers above {self.whole.stop - 1:,}")
        if self.of_pairs:
            check_room(BYTES_A_PAIR * tiles.count, f"{tiles.count:,} pairs of tiles")
        return PerTile(size, tiles, numbers)


# -- writing numbers -------------------------------------------------------------------------------


def _encoded_tiles(series: Series | Runs | Rising, to: Writer) -> Json:
    if isinstance(series, Steps) and (series.count == 1 or series.step == 1):
        return [[series.first, series.first + series.count - 1]]
    if not series.count:
        return []
    distances = _distances(series)
    is_apart = distances[1:] != 1
    if np.count_nonzero(is_apart) >= FEW:
        return _packed(distances, to)
    tiles, ends = series.array(), np.flatnonzero(is_apart)
    first, last = tiles[np.append(0, ends + 1)], tiles[np.append(ends, len(tiles) - 1)]
    found: Json = np.stack([first, last], axis=1).tolist()
    return found


def _distances(series: Series | Runs | Rising) -> npt.NDArray[np.integer[Any]]:
    if isinstance(series, Rising):
        return series.distances
    tiles = series.array()
    distances = tiles.copy()
    distances[1:] -= tiles[:-1]
    return distances


def _packed(numbers: npt.NDArray[np.integer[Any]], to: Writer, *, signed: bool = False) -> Json:
    """Return where many whole numbers are in the arrays; `signed` where some may be -1."""
    high = int(numbers.max())
    narrow = next(name for name, most in PACKED.items() if high <= most)
    return to.arrays.add(numbers.astype("int64" if signed else narrow))


# -- reading numbers -------------------------------------------------------------------------------


def _is_ref(data: Json) -> bool:
    return type(data) is list and bool(data) and type(data[0]) is str


def _taken(ref: Json, of: Reader) -> npt.NDArray[np.integer[Any]]:
    """Return numbers of the tables."""
    found = of.arrays.take(ref)
    if found.ndim != 1 or len(ref) != 3:
        raise Malformed(f"{clipped(ref)} names no numbers of the tables")
    of.looks -= len(found)
    if of.looks < 0:
        raise Malformed("it names the same numbers more often than a file of its length")
    return found


def _of_steps(ref: Json, size: int, of: Reader) -> Rising:
    """Return the tiles of the distances from each to the next."""
    steps = _taken(ref, of)
    key = ref[0], ref[1], len(steps), size
    known: Rising | None = of.found.get(key)
    if known is None:
        wide = steps.dtype == np.int64
        if np.count_nonzero(steps[1:]) < len(steps) - 1 or (wide and steps.min(initial=0) < 0):
            raise Malformed(f"{clipped(ref)}: tiles do not rise")
        last = int(steps.sum(dtype=np.float64 if wide else np.int64))  # which do not wrap around
        if last >= size:
            raise Malformed(f"tile {last:,} of {size:,}")
        known = of.found[key] = Rising(steps)
    return known


def _whole(data: Json) -> Int64:
    """Return a list of whole numbers, or of lists of as many."""
    numbers = np.array(as_list(data))
    if numbers.size and numbers.dtype != np.int64:
        raise Malformed(f"{clipped(data)} is not a list of whole numbers")
    return numbers.astype(np.int64)


def _of_ranges(ranges: Json, size: int) -> Series | Runs:
    """Return the tiles of ranges, which may be many more than their numbers."""
    before = -1
    for each in as_list(ranges):
        if type(each) is not list or list(map(type, each)) != [int, int]:
            raise Malformed(f"{clipped(each)} is not a valid range of tiles")
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
