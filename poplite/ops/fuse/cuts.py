"""Which elements each worker of each tile computes: arrays, no graph.

A tile's elements are cut evenly among its workers, at multiples of the grain, in the order in which
they lie. How they are cut depends on the mapping and the target alone::

    tile 0 holds [0, 20)       grain 2, 6 workers       [0, 4) [4, 8) [8, 12) [12, 16) [16, 20)
    tile 1 holds [20, 24) and [40, 44)                  [20, 22) [22, 24) [40, 42) [42, 44)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poplite.arrays.intervals import Int64, distinct


class Cuts(NamedTuple):
    """Ranges of elements, sorted by tile and worker; all int64[n].

    Attributes:
        tile: where they are.
        vertex: which vertex computes them, from 0, rising.
        begin: the first element.
        end: one past the last.
    """

    tile: Int64
    vertex: Int64
    begin: Int64
    end: Int64

    @property
    def first(self) -> Int64:
        """The number of the first range of each vertex."""
        return np.flatnonzero(np.diff(self.vertex, prepend=-1))


def cuts(tile: Int64, begin: Int64, end: Int64, workers: int, grain: int) -> Cuts:
    """Cut intervals of elements, sorted by tile, among the workers of their tiles.

    >>> held = [np.array(column) for column in ([0, 1, 1], [0, 20, 40], [20, 24, 44])]
    >>> [column.tolist() for column in cuts(*held, workers=2, grain=2)]
    [[0, 0, 1, 1], [0, 1, 2, 3], [0, 10, 20, 40], [10, 20, 24, 44]]
    """
    length = end - begin
    ends = np.cumsum(length)
    place = ends - length  # of each interval, when all are put behind each other
    is_new = np.ones(len(tile), np.bool_)
    is_new[1:] = tile[1:] != tile[:-1]
    new = np.flatnonzero(is_new)
    first = place[new]  # of each tile
    total = np.append(first[1:], ends[-1:]) - first
    share = -(-total // (workers * grain)) * grain
    count = -(-total // share)
    source = np.repeat(np.arange(len(new)), count)
    copy = np.arange(len(source)) - np.repeat(np.cumsum(count) - count, count)
    at = first[source] + copy * share[source]  # where each vertex begins
    breaks = distinct(np.concatenate([place, at]))
    owner = np.searchsorted(place, breaks, "right") - 1
    low = begin[owner] + breaks - place[owner]
    high = low + np.append(breaks[1:], ends[-1:]) - breaks
    return Cuts(tile[owner], np.searchsorted(at, breaks, "right") - 1, low, high)


class Rects(NamedTuple):
    """Ranges of rows and columns of matrices, of one vertex each; all int64[n].

    Attributes:
        tile: where they are.
        matrix: which matrix.
        top: the first row.
        bottom: one past the last row.
        left: the first column.
        right: one past the last column.
    """

    tile: Int64
    matrix: Int64
    top: Int64
    bottom: Int64
    left: Int64
    right: Int64


def rects(found: Cuts, rows: int, columns: int, workers: int) -> Rects:
    """Cut ranges of elements of matrices, one behind the other, into rectangles.

    A range becomes the end of a row, rows from end to end, and the begin of a row. Where a tile has
    more of them than workers, the largest come first: small ones then fill what is left of a time.

    >>> one = Cuts(*(np.array([k]) for k in (7, 0, 3, 14)))
    >>> [column.tolist() for column in rects(one, rows=4, columns=4, workers=6)]
    [[7, 7, 7], [0, 0, 0], [0, 1, 3], [1, 3, 4], [3, 0, 0], [4, 4, 2]]
    >>> [column.tolist() for column in rects(one, rows=4, columns=4, workers=2)]
    [[7, 7, 7], [0, 0, 0], [1, 3, 0], [3, 4, 1], [0, 0, 3], [4, 2, 4]]
    """
    size = rows * columns
    matrix = found.begin // size
    count = (found.end - 1) // size - matrix + 1
    source = np.repeat(np.arange(len(matrix)), count)
    matrix = matrix[source] + np.arange(len(source)) - np.repeat(np.cumsum(count) - count, count)
    low = np.maximum(found.begin[source] - matrix * size, 0)
    high = np.minimum(found.end[source] - matrix * size, size)
    whole, top = -(-low // columns), high // columns  # rows that are there from end to end
    is_within = whole > top  # a part of one row, cut at both ends
    tile, parts = found.tile[source], []
    for chosen, first, last, left, right in (
        (is_within, low // columns, low // columns + 1, low % columns, high - top * columns),
        (~is_within & (low % columns > 0), whole - 1, whole, low % columns, columns),
        (whole < top, whole, top, 0, columns),
        (~is_within & (high % columns > 0), top, top + 1, 0, high % columns),
    ):
        some = np.flatnonzero(chosen)
        columns_of = (tile, matrix, first, last, left, right)
        parts.append([np.broadcast_to(each, tile.shape)[some] for each in columns_of])
    joined = [np.concatenate(each) for each in zip(*parts, strict=True)]
    made = Rects(*joined)
    area = (made.bottom - made.top) * (made.right - made.left)
    first = np.where(np.bincount(made.tile)[made.tile] > workers, -area, 0)
    order = np.lexsort((made.left, made.top, made.matrix, first, made.tile))
    return Rects(*(each[order] for each in made))
