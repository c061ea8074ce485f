"""Ranges of variables that a tensor reads: arrays that read as a list of `VariableInterval`.

    t of shape (2, 6)        t[:, 2:4] reads       t [2, 4)  t [8, 10)
                             as arrays             number 0 0, begin 2 8, end 4 10

A tensor may read millions of ranges, and most programs use only the arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import TYPE_CHECKING, NamedTuple, overload

import numpy as np

from poplite.arrays.intervals import Int64, StridedIntervals, strided, strided_text
from poplite.errors import NONE, TensorIndexError, made_by
from poplite.text import amount, clipped, fitted, integer_or_none
from poplite.view import Interval, View, chunks, runs, storages

if TYPE_CHECKING:
    from poplite.graph.storage.space import Space, Variable

SHOWN = 6
"""Ranges, or parts that are ranges of one variable, that a repr lists."""


class _Elements(NamedTuple):
    variable: Variable
    begin: int
    end: int


class VariableInterval(_Elements):
    """The elements [begin, end) of a flattened variable.

    Args:
        variable: the variable.
        begin: the first element; or, as in Poplar, the interval.
        end: one past the last element.

    Raises:
        TensorIndexError: for numbers that are none.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (6,), "x").var_regions()[0].variable
    >>> VariableInterval(x, pl.Interval(2, 4))
    <VariableInterval 'x' [2, 4)>
    """

    __slots__ = ()

    def __new__(
        cls, variable: Variable = NONE, begin: int | Interval = NONE, end: int | None = None
    ) -> VariableInterval:
        """Return the elements of a variable."""
        first, last = (begin, end) if end is not None or not isinstance(begin, Interval) else begin
        if integer_or_none(first) is None or integer_or_none(last) is None:
            raise TensorIndexError(
                f"VariableInterval: [{clipped(first)}, {clipped(last)}) has no whole numbers",
                found=f"of {clipped(variable, 60)}",
                fix="VariableInterval(variable, Interval(0, 4))",
            )
        return super().__new__(cls, variable, first, last)  # type: ignore[arg-type]  # checked

    @property
    def var(self) -> Variable:
        """C++ spelling of `variable`."""
        return self.variable

    @property
    def interval(self) -> Interval:
        """The elements as an interval."""
        return Interval(self.begin, self.end)

    def __repr__(self) -> str:
        return fitted(f"<VariableInterval '{{}}' [{self.begin}, {self.end})>", self.variable.name)


@made_by("tensor.var_regions()")
class VarRegions(Sequence[VariableInterval]):
    """Ranges of variables, in the order of a tensor; reads and compares as a list.

    Attributes:
        variables: the variables read, by ascending address.
        number: int64[n], position in `variables` of each range's variable.
        begin: int64[n], first elements.
        end: int64[n], one past the last elements.

    >>> import poplite as pl
    >>> t = pl.Graph().add_variable(pl.FLOAT, (2, 6), "t")
    >>> t[:, 2:4].var_regions().end.tolist()
    [4, 10]
    """

    __slots__ = ("begin", "end", "number", "variables")
    __hash__ = None  # type: ignore[assignment]  # equal to lists, which are not hashable

    def __init__(
        self, variables: tuple[Variable, ...], number: Int64, begin: Int64, end: Int64
    ) -> None:
        self.variables = variables
        self.number = number
        self.begin = begin
        self.end = end

    def __len__(self) -> int:
        return len(self.begin)

    @overload
    def __getitem__(self, key: int) -> VariableInterval: ...
    @overload
    def __getitem__(self, key: slice) -> VarRegions: ...

    def __getitem__(self, key: int | slice) -> VariableInterval | VarRegions:
        if isinstance(key, slice):
            return VarRegions(self.variables, self.number[key], self.begin[key], self.end[key])
        variable = self.variables[self.number[key]]
        return VariableInterval(variable, int(self.begin[key]), int(self.end[key]))

    def __iter__(self) -> Iterator[VariableInterval]:
        owners = map(self.variables.__getitem__, self.number.tolist())
        ranges = zip(owners, self.begin.tolist(), self.end.tolist(), strict=True)
        return map(VariableInterval._make, ranges)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, VarRegions) and self.variables == other.variables:
            return all(
                np.array_equal(getattr(self, name), getattr(other, name))
                for name in ("number", "begin", "end")
            )
        if not isinstance(other, VarRegions | list | tuple):
            return NotImplemented
        return len(self) == len(other) and list(self) == list(other)

    def strided(self) -> list[tuple[Variable, StridedIntervals]]:
        """Return the same ranges, in the same order, as few groups at regular distances.

        >>> import poplite as pl
        >>> columns = pl.Graph().add_variable(pl.FLOAT, (8, 12)).T
        >>> columns.var_regions().strided()[0][1]
        StridedIntervals(begin=0, size=1, digits=((12, 1), (8, 12)))
        """
        return [
            (self.variables[part.number[0]], group)
            for part in self._of_one_variable()
            for group in strided(part.begin, part.end)
        ]

    def _of_one_variable(self) -> Iterator[VarRegions]:
        """Yield the longest parts that are ranges of one variable."""
        ends = [*(np.flatnonzero(np.diff(self.number)) + 1).tolist(), len(self)]
        return (self[a:b] for a, b in pairwise([0, *ends]) if a < b)

    def text(self) -> str:
        """Return the first groups of ranges as text, with the names of their variables."""
        parts = list(islice(self._of_one_variable(), SHOWN))
        shown = [
            f"'{part.variables[part.number[0]].name}' {strided_text(part.begin, part.end)}"
            for part in parts
        ]
        rest = len(self) - sum(map(len, parts))
        return "; ".join([*shown, f"{rest:,} more"] if rest else shown)

    def __repr__(self) -> str:
        if len(self) <= SHOWN // 2:
            return repr(list(self))
        return f"<VarRegions {amount(len(self), 'range')}: {self.text()}>"


class _Owners:
    """The variables below a view, which convert addresses to their elements."""

    def __init__(self, space: Space, view: View) -> None:
        below = sorted(storages(view), key=lambda storage: storage.base)
        self.variables = tuple([space.variable_of(storage) for storage in below])
        self.bases = [storage.base for storage in below]

    def regions(self, begin: Int64, length: Int64) -> VarRegions:
        """Return runs of addresses as ranges of variables."""
        if len(self.bases) == 1:
            first, number = begin - self.bases[0], np.zeros(len(begin), np.int64)
        else:
            bases = np.array(self.bases, np.int64)
            number = np.searchsorted(bases, begin, side="right") - 1
            first = begin - bases[number]
        return VarRegions(self.variables, number, first, first + length)


def var_regions(space: Space, view: View) -> VarRegions:
    """Return the ranges of variables that a view reads."""
    return _Owners(space, view).regions(*runs(view))


def region_chunks(space: Space, view: View, most: int) -> Iterator[VarRegions]:
    """Yield the same in parts of at most `most` ranges."""
    owners = _Owners(space, view)
    return (owners.regions(begin, length) for begin, length in chunks(view, most))
