"""Lists of edges: which of them are evenly spaced, and tables of pairs for the others.

start 0, 64, 128  length 16        even: start 0, rows 3, stride 64, length 16
start 0, 70, 500  length 16        pairs (0, 16) (70, 16) (500, 16)
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.arrays.series import (
    MOST_NARROW,
    NARROW,
    Listed,
    Series,
    Steps,
    compact,
    constant,
    counting,
)
from poplite.compile.places.gathered_edges import PlacedEdges
from poplite.executable.descriptor import RowForm

Mask = npt.NDArray[np.bool_]


class RowLists:
    """The rows of one list field of a family.

    Attributes:
        even: which vertices have evenly spaced rows of one length; one answer where all are alike.
    """

    def __init__(self, placed: PlacedEdges) -> None:
        self._placed = placed
        self.rows = placed.field.edges.rows
        self._columns = self._regular()
        self.even: bool | Mask = True
        if self._columns is None:
            self._columns, even = self._listed()
            self.even = bool(even[0]) if (even == even[0]).all() else even

    def columns(self, even: bool) -> dict[str, Series]:
        """Return the columns of one form."""
        assert self._columns is not None
        if even:
            return self._columns
        return {
            "base": constant(self._base, self.rows.count),
            "first": self._first,
            "rows": self.rows,
        }

    def _regular(self) -> dict[str, Series] | None:
        """Return the columns where all lists are alike and evenly spaced, without listing any."""
        rows, length = self.rows.only, self._placed.field.edges.length.only
        start, count = self._placed.start, self.rows.count
        if rows is None or length is None or not isinstance(start, Steps):
            return None
        parts = start.split(count)
        if parts is None or len(parts[1]) > 1:
            return None
        return {
            "start": Steps(start.first, parts[0] or ((count, 0),)),
            "rows": self.rows,
            "stride": constant(parts[1][0][1] if parts[1] else 0, count),
            "length": constant(length, count),
        }

    def _listed(self) -> tuple[dict[str, Series], Mask]:
        start, length = self._placed.start.array(), self._placed.field.edges.length.array()
        rows = self.rows.array()
        offset = np.cumsum(rows) - rows
        some, several = np.flatnonzero(rows > 0), np.flatnonzero(rows > 1)
        first, first_length, stride = (np.zeros(len(rows), np.int64) for _ in range(3))
        first[some], first_length[some] = start[offset[some]], length[offset[some]]
        stride[several] = start[offset[several] + 1] - first[several]
        vertex = np.repeat(np.arange(len(rows)), rows)
        row = np.arange(len(start)) - offset[vertex]
        uneven = (start != first[vertex] + row * stride[vertex]) | (length != first_length[vertex])
        even = np.ones(len(rows), np.bool_)
        even[vertex[uneven]] = False
        columns = {"start": compact(first), "rows": self.rows}
        columns |= {"stride": compact(stride), "length": compact(first_length)}
        return columns, even

    # -- the table ---------------------------------------------------------------------------

    @cached_property
    def _first(self) -> Series:
        """The first pair of each vertex."""
        if self.rows.only is not None:
            return counting(0, self.rows.count).times(self.rows.only)
        rows = self.rows.array()
        return compact(np.cumsum(rows) - rows)

    @property
    def form(self) -> RowForm:
        """How the pairs are kept."""
        start, length = self._placed.start, self._placed.field.edges.length
        if self._shared is not None or max(start.high - start.low, length.high) < MOST_NARROW:
            return "pairs"
        return "wide"

    @property
    def _base(self) -> int:
        """What the starts of pairs count from."""
        start = self._placed.start
        return start.base if self._shared is not None and isinstance(start, Listed) else start.low

    @property
    def _shared(self) -> npt.NDArray[np.uint32] | None:
        """The graph's own pairs, where the arena moves them all by the same distance."""
        pairs, start = self._placed.field.edges.pairs, self._placed.start
        if pairs is None or not isinstance(start, Listed) or start.offset.base is not pairs:
            return None
        return pairs

    @cached_property
    def table(self) -> npt.NDArray[Any]:
        """The pairs of all vertices."""
        if self._shared is not None:
            return self._shared
        kind = NARROW if self.form == "pairs" else np.dtype(np.int64)
        start = self._placed.start.array() - self._base
        length = self._placed.field.edges.length.array()
        return np.stack([start, length], axis=1).astype(kind)
