"""The cycles of gathering data that vertices read from several places of their tile.

Elements are copied row by row and priced as in `poplite.cost.moved_data`. Repeated elements are
also copied, once for each vertex that reads different elements::

    two columns of rows of five              0 1 | 5 6 | 10 11         rows of two
    a column next to a matrix of 2 columns   0 | 0 1 | 1 2 | 2         rows of two
    next to a matrix of 4 columns            0 | 0 | 0 | 0 1 | 1 | 1   rows of 1 and 2 alternately
    a matrix, transposed                     0 | 5 | 10 | 1 | 6 | 11   single elements at distances
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from poplite.arrays.intervals import Int64, Mask, overlay, repeated
from poplite.arrays.series import Digit
from poplite.graph.tile_mapping import TileMapping
from poplite.machine.target import Target
from poplite.ops.planning import received_cycles
from poplite.vertices.reduction_cycles import Slots


class HeldShare(NamedTuple):
    """The fraction of a tensor that is on the tiles that read it.

    Attributes:
        share: the largest fraction of the tensor on one tile.
        tiles: the tiles that hold elements of it; None if each tile holds the elements it reads.
        read: the largest fraction of the tensor that a tile reads, if tiles read different parts.
        mapping: the mapping of the tensor; None if each tile holds the elements it reads.
    """

    share: float
    tiles: tuple[int, ...] | None = None
    read: float = 1
    mapping: TileMapping | None = None

    def of(self, digits: Sequence[Digit], size_bytes: int, *, is_in_order: bool) -> ReadOperand:
        """Return the elements that vertices read from the tensor, flattened to the given digits.

        `is_in_order` means that these are all elements of the tensor, in their own order.
        """
        is_read_by_all = len(digits) > 0 and digits[0][1] == 0
        share = self.share if is_read_by_all else min(1, self.share / self.read)
        mapping = self.mapping if is_in_order else None
        return ReadOperand(tuple(digits), size_bytes, share, self.tiles, mapping)


def held_elements(mapping: TileMapping, tile: Int64, begin: Int64, end: Int64) -> Int64:
    """Return how many elements of each interval of a tensor are on the given tile.

    >>> mapping = TileMapping(2, np.array([0, 1, 0]), np.array([2, 3, 4]))
    >>> held_elements(mapping, np.array([0, 0, 1]), np.array([0, 1, 2]), np.array([2, 6, 4]))
    array([2, 2, 2])
    """
    room = mapping.num_elements + 1  # the elements of a tile follow those of the tile before
    owner = room * np.repeat(np.arange(len(mapping)), np.diff(mapping.ptr))
    first, last = owner + mapping.begin, owner + mapping.end
    before = np.append(0, np.cumsum(last - first))

    def up_to(element: Int64) -> Int64:
        k = np.searchsorted(first, element, "right")
        beyond = np.where(k > 0, last[k - 1] - element, 0)
        return before[k] - np.maximum(beyond, 0)

    held: Int64 = up_to(room * tile + end) - up_to(room * tile + begin)
    return held


def exchange_cycles(
    target: Target, received: Slots | float, pieces: Slots | float, sent: Slots | float = 0
) -> float:
    """Return the cycles of an exchange, given the bytes of a tile and the pieces that it receives.

    For each piece, a tile must change the sender.

    >>> start = Target().cost("sync_cycles") + Target().cost("latency_cycles")
    >>> [exchange_cycles(Target(), 400, pieces) - start for pieces in (1, 100)]
    [100.0, 200.0]
    """
    turned = np.multiply(pieces, target.cost("receive_controls") * target.exchange_bytes_per_cycle)
    most = np.maximum(np.maximum(received, sent), turned).max()
    return float(received_cycles(target, most))


class MovedElements(NamedTuple):
    """The elements exchanged between tiles, by tile.

    Attributes:
        sent: elements for other tiles.
        received: elements from other tiles.
        pieces: the number of contiguous pieces received.
    """

    sent: Slots
    received: Slots
    pieces: Slots


def moves_of(
    tiles: int, owner: Int64, begin: Int64, end: Int64, breaks: Int64, tile: Int64
) -> MovedElements:
    """Return the traffic from the owners of intervals to the tiles of the ranges between breaks.

    >>> breaks = np.array([0, 2, 4])
    >>> moves_of(2, np.array([0]), np.array([1]), np.array([4]), breaks, np.arange(2)).received
    array([0., 2.])
    """
    source, segment, begin, end = overlay(begin, end, breaks)
    moves = owner[source] != tile[segment]
    elements, to = (end - begin)[moves], tile[segment][moves]
    one = np.ones(len(to))
    return MovedElements(
        *[
            np.bincount(at, weights, tiles).astype(np.float64)
            for at, weights in ((owner[source][moves], elements), (to, elements), (to, one))
        ]
    )


def common_share(one: TileMapping, other: TileMapping) -> float:
    """Return the fraction of elements that two tensors of the same shape have on the same tile.

    >>> one, other = (TileMapping(3, np.array([0, k]), np.array([2, 2])) for k in (1, 2))
    >>> common_share(one, other)
    0.5
    """
    begin, end, tile = one.in_order()
    low, high, its = other.in_order()
    source, segment, begin, end = overlay(begin, end, np.append(low, high[-1]))
    return float((end - begin)[tile[source] == its[segment]].sum()) / one.num_elements


class ReadOperand(NamedTuple):
    """The elements that vertices read from a tensor, flattened in the order of reading.

    Attributes:
        digits: extent and stride of each digit, the outermost first.
        size_bytes: size of an element.
        share: the fraction of the elements that a tile holds itself; others are received in place.
        tiles: the tiles that hold elements of the tensor; None for all tiles.
        mapping: the mapping of the elements; None if `share` is enough.
    """

    digits: tuple[Digit, ...]
    size_bytes: int
    share: float = 1
    tiles: tuple[int, ...] | None = None
    mapping: TileMapping | None = None


class VectorReads(NamedTuple):
    """The elements of vectors that vertices read, in a flattened tensor.

    Attributes:
        tile: int64[n], the tile of each vector.
        ptr: int64[n + 1]; vector `v` has the intervals from `ptr[v]` to `ptr[v + 1]`, exclusive.
        begin: int64[m], first elements of the intervals.
        end: int64[m], one past the last.
    """

    tile: Int64
    ptr: Int64
    begin: Int64
    end: Int64

    def held(self, mapping: TileMapping) -> tuple[VectorReads, Slots]:
        """Return the vectors with elements on their tiles, and the fraction of each that is there.

        >>> zero, two = np.zeros(2, np.int64), np.full(2, 2)
        >>> reads = VectorReads(np.arange(2), np.arange(3), zero, two + 2)
        >>> mapping = TileMapping(3, np.array([0, 2]), two)
        >>> [each.tolist() for each in (reads.held(mapping)[0].tile, reads.held(mapping)[1])]
        [[0], [0.5]]
        """
        vector, count = repeated(np.diff(self.ptr))[0], len(self.tile)
        own = held_elements(mapping, self.tile[vector], self.begin, self.end)
        share = _totals(vector, own, count) / _totals(vector, self.end - self.begin, count)
        return self.take(share > 0), share[share > 0]

    def take(self, vectors: Mask) -> VectorReads:
        """Return the vectors selected by a mask."""
        count = np.diff(self.ptr)
        some = np.repeat(vectors, count)
        ptr = np.append(0, np.cumsum(count[vectors]))
        return VectorReads(self.tile[vectors], ptr, self.begin[some], self.end[some])

    def in_memory(self, mapping: TileMapping) -> VectorReads:
        """Return the reads as positions in the memory of each tile, as if it held nothing else.

        >>> zeros, every = np.zeros(3, np.int64), np.arange(0, 6, 2)
        >>> columns = TileMapping(2, np.array([0, 1] * 3), np.ones(6, np.int64))
        >>> VectorReads(zeros, np.arange(4), every, every + 1).in_memory(columns).begin.tolist()
        [0, 1, 2]
        """
        before = np.cumsum(mapping.end - mapping.begin) - (mapping.end - mapping.begin)
        owner = np.repeat(np.arange(len(mapping)), np.diff(mapping.ptr))
        tile, total = np.repeat(self.tile, np.diff(self.ptr)), mapping.num_elements
        held = np.searchsorted(owner * total + mapping.begin, tile * total + self.begin, "right")
        moved = before[held - 1] - mapping.begin[held - 1]
        return self._replace(begin=self.begin + moved, end=self.end + moved)


def gathering_cycles(target: Target, operands: Sequence[tuple[VectorReads, ReadOperand]]) -> float:
    """Return the maximum number of cycles in which a tile gathers the elements its vertices read.

    >>> one, three = np.zeros(1, np.int64), np.array([3])
    >>> column = VectorReads(one, np.array([0, 1]), one, three), ReadOperand(((3, 100),), 4)
    >>> gathering_cycles(Target(), [column]) - Target().cost("worker_call")  # 10 + 2 + 2
    14.0
    """
    cycles = np.zeros(target.tiles)
    for reads, operand in operands:
        cycles += _of_operand(target, reads, operand)
    return float(target.cost("worker_call") + cycles.max()) if cycles.any() else 0


def _of_operand(target: Target, reads: VectorReads, operand: ReadOperand) -> Slots:
    """Return float64[tiles], the cycles of copying the elements of an operand that vertices read.

    Vertices of a tile that read the same elements share one copy.
    """
    share: Slots | float = operand.share
    if operand.tiles is not None:
        reads = reads.take(np.isin(reads.tile, operand.tiles))
    if operand.mapping is not None:
        reads, share = reads.held(operand.mapping)
        is_whole = (share == 1)[repeated(np.diff(reads.ptr))[0]]
        placed = reads.in_memory(operand.mapping)
        begin, end = np.where(is_whole, [placed.begin, placed.end], [reads.begin, reads.end])
        reads = reads._replace(begin=begin, end=end)
    count = len(reads.tile)
    if not count:
        return np.zeros(target.tiles)
    vector, _ = repeated(np.diff(reads.ptr))
    begin, end = reads.begin, reads.end
    length, stride = operand.digits[-1] if operand.digits else (1, 0)
    runs = (end - 1) // length - begin // length + 1
    runs[1:] -= (vector[1:] == vector[:-1]) & (begin[1:] == end[:-1]) & (begin[1:] % length > 0)
    pieces, elements = (_totals(vector, each, count) for each in (runs, end - begin))
    taken = copied_cycles(target, pieces, elements, operand)
    taken *= share  # local elements are copied into place, adjacent to those that arrive
    taken[(elements == 1) | (share == 1) & (pieces == 1) & (stride == 1)] = 0
    first = np.arange(count)
    if any(each == 0 for _, each in operand.digits):
        first = _distinct(reads, operand.digits, pieces <= np.diff(reads.ptr))
    return _totals(reads.tile[first], taken[first], target.tiles)


def _totals(of: Int64, values: Slots | Int64, count: int) -> Slots:
    """Return float64[count], the sum of the values for each index in `of`."""
    return np.bincount(of, values, count).astype(np.float64)


def copied_cycles(target: Target, runs: Slots, elements: Slots, operand: ReadOperand) -> Slots:
    """Return the cycles of copying vectors, given the runs and the elements of each."""
    cost = target.cost
    word = cost("data_path_bytes") / cost("strided_copy_bytes_per_cycle")
    new = cost("copy_piece_cycles") + 1 - word  # for a row at a different distance
    strides = [each for _, each in operand.digits] or [0]
    if strides[-1] == 1:
        size = np.ceil(elements / runs * operand.size_bytes / cost("data_path_bytes"))
        rows = runs * (cost("copy_piece_cycles") + size)
        return np.where(size > 1, rows, runs * word + new)
    if strides[-1] == 0 and strides[-2:-1] in ([], [1]):  # rows of one, and of two between runs
        of_two = np.where(elements == runs, new, (runs + 1) * word + 3 * new)
        mixed = elements * word + runs * (2 * new - word)
        several = np.where(elements <= 2 * runs, of_two, mixed)
        return np.where(runs > 1, several, elements * word + new)
    return elements * word + np.minimum(2 * runs - 1, elements) * new


def _distinct(reads: VectorReads, digits: Sequence[Digit], is_within: Mask) -> Int64:
    """Return one vector for each set of vectors on a tile that read the same elements.

    `is_within` marks the vectors all of whose intervals are within runs.
    """
    period = _period(digits)
    length, stride = digits[-1]
    begin = reads.begin[reads.ptr[:-1]] % period
    begin = np.where(is_within & (stride == 0), begin // length * length, begin)
    read = np.add.reduceat(reads.end - reads.begin, reads.ptr[:-1])
    keys = reads.tile, begin, read, np.diff(reads.ptr)
    order = np.lexsort(keys)
    is_new = np.ones(len(order), np.bool_)
    is_new[1:] = np.any([np.diff(key[order]) != 0 for key in keys], axis=0)
    return order[is_new]


def _period(digits: Sequence[Digit]) -> int:
    """Return the number of elements after which an operand repeats.

    >>> _period([(5, 0), (3, 2), (2, 0)])
    6
    """
    extents = [extent for extent, _ in digits]
    outer = next((k for k, (_, stride) in enumerate(digits) if stride), len(digits) - 1)
    return int(np.prod(extents[outer:]))
