"""Which elements each step of a program reads and writes, as pieces of variables.

A variable is cut wherever what some step touches begins or ends, so that every step touches whole
pieces, and sets of them are the bits of a number::

    variable            x  0        8        16           y  0        4
    Copy(x[8:12], y)                -reads-               -- writes ---
    pieces                 |---0----|--1--|-2-|              |----4----|

    reads of the Copy  0b00010,  writes  0b10000         (piece 3 is the gap between variables)

Vertices are taken to read all that their Inputs and InOuts are connected to, and to write all
that their Outputs and InOuts are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from poplite.cost.touched import NONE, Intervals, Touched, joined, of_edges, of_views
from poplite.intervals import Int64
from poplite.program import Execute, Program, WriteUndef

if TYPE_CHECKING:
    from poplite.compile.edges import EdgeTable
    from poplite.compute_set import ComputeSet
    from poplite.variable import Variable

MOST_PIECES = 1024
"""Pieces that a variable is cut into; one that would need more is not cut."""

FEW = 8
"""So many intervals become bits one by one."""


@dataclass(frozen=True, slots=True)
class Access:
    """What a step does with pieces; a set of them is the bits of a number.

    Attributes:
        reads: pieces that it reads.
        writes: pieces that it writes, wholly or in part.
        ends: pieces of which it leaves nothing as it was.
        is_undefining: whether what it writes is undefined from then on.
    """

    reads: int
    writes: int
    ends: int
    is_undefining: bool = False

    @property
    def touched(self) -> int:
        """Pieces whose values it needs, or makes."""
        return self.reads | (0 if self.is_undefining else self.writes)


class Pieces:
    """What the steps of programs do with the variables of a graph.

    Args:
        variables: those of the graph, by rising address.
        leaves: the steps.
        edges_of: returns the edges of a compute set.

    Attributes:
        access: of each step.
        variable: int64[pieces], the number of each piece's variable; a gap between variables
            counts as a piece of the one before it.
    """

    def __init__(
        self,
        variables: Sequence[Variable],
        leaves: Iterable[Program],
        edges_of: Callable[[ComputeSet], EdgeTable],
    ) -> None:
        self._bases = np.array([v.storage.base for v in variables], np.int64)
        self._ends = self._bases + np.array([v.num_elements for v in variables], np.int64)
        of_sets: dict[ComputeSet, tuple[Touched, Touched]] = {}
        touched: dict[Program, tuple[Touched, Touched]] = {}
        for leaf in leaves:
            reads, writes = (of_views(t.view for t in side) for side in (leaf.reads, leaf.writes))
            if isinstance(leaf, Execute):
                if leaf.compute_set not in of_sets:
                    of_sets[leaf.compute_set] = of_edges(edges_of(leaf.compute_set))
                in_set = of_sets[leaf.compute_set]
                reads, writes = joined([reads, in_set[0]]), joined([writes, in_set[1]])
            touched[leaf] = reads, writes
        self._cuts = self._cut([each.some for both in touched.values() for each in both])
        self.variable: Int64 = np.searchsorted(self._bases, self._cuts[:-1], side="right") - 1
        bounds = [np.searchsorted(self._cuts, side) for side in (self._bases, self._ends)]
        self._range: list[tuple[int, int]] = np.stack(bounds, axis=1).tolist()
        read = self._held_in([reads.some for reads, _ in touched.values()])
        written = self._held_in([writes.some for _, writes in touched.values()])
        whole = self._whole_in([writes.all for _, writes in touched.values()])
        self.access: Mapping[Program, Access] = {
            leaf: Access(*sets, isinstance(leaf, WriteUndef))
            for leaf, sets in zip(touched, zip(read, written, whole, strict=True), strict=True)
        }

    def used_by(self, leaves: Iterable[Program]) -> int:
        """Return the pieces that steps read, or give values."""
        return reduce(or_, [self.access[leaf].touched for leaf in leaves], 0)

    def of_variable(self, number: int) -> int:
        """Return the pieces of a variable.

        Args:
            number: its number.
        """
        first, last = self._range[number]
        return ((1 << (last - first)) - 1) << first

    def variables_of(self, bits: int) -> list[int]:
        """Return the numbers of the variables that pieces belong to, rising."""
        return sorted(set(self.variable[places(bits)].tolist()))

    def of_scalar(self, program: Program) -> int:
        """Return the piece of the scalar that decides what of a program runs next."""
        scalar = of_views(tensor.view for tensor in program.reads)
        return self._held_in([scalar.some])[0]

    def _cut(self, touched: Sequence[Intervals]) -> Int64:
        """Return the addresses at which variables are cut, rising."""
        points = _rising([NONE.begin, *(side for each in touched for side in each)])
        owner = np.searchsorted(self._bases, points, side="right") - 1
        fine = np.bincount(owner, minlength=len(self._bases)) <= MOST_PIECES
        return _rising([self._bases, self._ends, points[fine[owner]]])

    def _held_in(self, many: Sequence[Intervals]) -> list[int]:
        """Return the pieces that have elements in intervals, for each list of them."""
        begin, end = (np.concatenate([NONE.begin, *side]) for side in _sides(many))
        first = np.searchsorted(self._cuts, begin, side="right") - 1
        return self._bits(first, np.searchsorted(self._cuts, end, side="left"), many)

    def _whole_in(self, many: Sequence[Intervals]) -> list[int]:
        """Return the pieces that have all their elements in intervals, in the same way."""
        begin, end = (np.concatenate([NONE.begin, *side]) for side in _sides(many))
        first = np.searchsorted(self._cuts, begin, side="left")
        return self._bits(first, np.searchsorted(self._cuts, end, side="right") - 1, many)

    def _bits(self, first: Int64, last: Int64, many: Sequence[Intervals]) -> list[int]:
        """Return the pieces from `first` up to `last`, for each list of intervals."""
        found, stop = [], 0
        firsts, lasts = first.tolist(), last.tolist()
        for intervals in many:
            start, stop = stop, stop + len(intervals.begin)
            if stop - start > FEW:
                marks = np.zeros(len(self._cuts) + 1, np.int64)
                some = start + np.flatnonzero(first[start:stop] < last[start:stop])
                np.add.at(marks, first[some], 1)
                np.add.at(marks, last[some], -1)
                found.append(bits_of(np.cumsum(marks) > 0))
                continue
            bits = 0
            for low, high in zip(firsts[start:stop], lasts[start:stop], strict=True):
                if low < high:
                    bits |= ((1 << (high - low)) - 1) << low
            found.append(bits)
        return found


def _sides(many: Sequence[Intervals]) -> tuple[list[Int64], list[Int64]]:
    return [each.begin for each in many], [each.end for each in many]


def _rising(numbers: Sequence[Int64]) -> Int64:
    """Return sorted numbers, each once."""
    found = np.sort(np.concatenate(numbers))
    return found[np.flatnonzero(np.diff(found, prepend=-1))]


def bits_of(mask: npt.NDArray[np.bool_]) -> int:
    """Return the number whose bits are given, the lowest first.

    >>> bits_of(np.array([True, False, True]))
    5
    """
    return int.from_bytes(np.packbits(mask, bitorder="little").tobytes(), "little")


def places(bits: int) -> Int64:
    """Return int64[n], which bits of a number are set, rising.

    >>> places(0b101001).tolist()
    [0, 3, 5]
    """
    if not bits & (bits - 1):  # one, or none
        return np.arange(max(0, bits.bit_length() - 1), bits.bit_length())
    data = bits.to_bytes((bits.bit_length() >> 3) + 1, "little")
    return np.flatnonzero(np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little"))
