"""Which tile holds which elements of a reduction: arrays, no graph.

A tensor that is reduced is read in the order `[outer, reduced, inner]`, in which `inner` elements
side by side belong to different outputs, and the next `inner` elements to the same ones again::

    outer 2, reduced 3, inner 4         output of each element, as memory has them
    0 1 2 3  0 1 2 3  0 1 2 3           outer 0
    4 5 6 7  4 5 6 7  4 5 6 7           outer 1

What a tile holds of it is cut into *pieces*: a range of outputs `[low, high)`, and `rows` ranges of
as many elements, the first at `begin`, each `inner` elements behind the one before::

    tile 0 holds elements 2 to 8        0 1[2 3  0 1 2 3  0]1 2 3
    pieces                              [2, 4) one row, [0, 4) one row, [0, 1) one row
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poplite.arrays.intervals import Int64, distinct, overlay


class OutputPieces(NamedTuple):
    """Elements by the outputs they belong to, all int64[pieces].

    Attributes:
        tile: where they are.
        low: the first output.
        high: one past the last output.
        begin: where the first row begins in the flattened tensor.
        rows: how many rows there are, `inner` elements apart.
    """

    tile: Int64
    low: Int64
    high: Int64
    begin: Int64
    rows: Int64

    def take(self, chosen: Int64) -> OutputPieces:
        """Return some of them, by number or by a mask."""
        return OutputPieces(*(column[chosen] for column in self))

    def cut(self, breaks: Int64) -> tuple[OutputPieces, Int64]:
        """Cut them wherever an output in `breaks`, rising, begins within a range of outputs.

        Returns:
            The parts, and for each the number of the piece it was cut from.

        >>> one = OutputPieces(*(np.array([k]) for k in (7, 2, 6, 10, 1)))
        >>> [column.tolist() for column in one.cut(np.array([4]))[0]]
        [[7, 7], [2, 4], [4, 6], [10, 12], [1, 1]]
        """
        far = np.iinfo(np.int64)
        source, _, low, high = overlay(self.low, self.high, np.r_[far.min, breaks, far.max])
        begin = self.begin[source] + low - self.low[source]
        return OutputPieces(self.tile[source], low, high, begin, self.rows[source]), source

    def merged(self) -> OutputPieces:
        """Join single rows of a tile that follow each other, in outputs and in elements.

        >>> two = OutputPieces(*(np.array(k) for k in ([3, 3], [0, 4], [4, 5], [7, 11], [1, 1])))
        >>> [column.tolist() for column in two.merged()]
        [[3], [0], [5], [7], [1]]
        """
        follows = (
            (self.tile[1:] == self.tile[:-1])
            & (self.low[1:] == self.high[:-1])
            & (self.begin[1:] == self.begin[:-1] + (self.high - self.low)[:-1])
        )
        heads = np.flatnonzero(np.append(True, ~follows)[: len(self.tile)])
        last = np.append(heads[1:], len(self.tile))[: len(heads)] - 1
        return self.take(heads)._replace(high=self.high[last])

    def elements_by_output(self) -> tuple[Int64, Int64]:
        """Return where the number of elements of an output changes, and to which number.

        >>> two = OutputPieces(*(np.array(k) for k in ([0, 1], [0, 2], [4, 4], [0, 4], [3, 1])))
        >>> [column.tolist() for column in two.elements_by_output()]
        [[0, 2, 4], [3, 4, 0]]
        """
        ends = np.concatenate([self.low, self.high])
        at = distinct(ends)
        change = np.bincount(
            np.searchsorted(at, ends), np.concatenate([self.rows, -self.rows]), len(at)
        )
        return at, np.cumsum(change).astype(np.int64)


def joined(parts: list[OutputPieces]) -> OutputPieces:
    """Return the pieces of several lists as one."""
    return OutputPieces(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def repeated(count: Int64) -> tuple[Int64, Int64]:
    """Return for `count[k]` copies of each number k: which k it is, and which copy.

    >>> [a.tolist() for a in repeated(np.array([2, 0, 3]))]
    [[0, 0, 2, 2, 2], [0, 1, 0, 1, 2]]
    """
    number = np.arange(len(count))
    if (count == 1).all():
        return number, np.zeros_like(number)
    source = np.repeat(number, count)
    return source, np.arange(len(source)) - (np.cumsum(count) - count)[source]


def pieces_of(tile: Int64, begin: Int64, end: Int64, reduced: int, inner: int) -> OutputPieces:
    """Cut what tiles hold of a flattened tensor into pieces.

    Args:
        tile: int64[n], the tile of each interval.
        begin: int64[n], first elements.
        end: int64[n], one past the last elements, above `begin`.
        reduced: elements of each output.
        inner: outputs whose elements lie side by side.

    >>> held = [np.array([k]) for k in (0, 2, 9)]
    >>> [column.tolist() for column in pieces_of(*held, reduced=3, inner=4)]
    [[0, 0, 0], [2, 0, 0], [4, 4, 1], [2, 4, 8], [1, 1, 1]]
    """
    size = reduced * inner
    first = begin // size
    source, copy = repeated((end - 1) // size - first + 1)
    outer = first[source] + copy
    low = np.maximum(begin[source] - outer * size, 0)  # counted from the outer element
    high = np.minimum(end[source] - outer * size, size)
    parts = []
    whole, top = -(-low // inner), high // inner  # rows that are held from end to end
    within = whole > top  # less than a row, and the row is cut at both ends
    for chosen, start, stop, rows in (
        (within | (low < whole * inner), low, np.where(within, high, whole * inner), 1),
        (whole < top, whole * inner, (whole + 1) * inner, top - whole),
        (~within & (top * inner < high), top * inner, high, 1),
    ):
        some = np.flatnonzero(chosen)
        origin = (outer * inner + start % inner)[some]
        parts.append(
            OutputPieces(
                tile[source[some]],
                origin,
                origin + (stop - start)[some],
                (outer * size + start)[some],
                np.broadcast_to(rows, outer.shape)[some],
            )
        )
    return joined(parts)
