"""Many slices of one tensor, as arrays: a list of tensors, each made on access.

    t.slices([(0, 4), (2, 3)])[1]         the slice [2, 3)
    t.slices(intervals)                   intervals: int64[N, 2]
    pl.concat(t.slices(intervals))        never makes a tensor for each

A list of intervals becomes one tensor, the concatenation of its slices.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64, place
from poplite.arrays.series import LikeList, OnAccess
from poplite.graph.tensor import arguments
from poplite.text import fitted
from poplite.types import type_text, unmasked
from poplite.view import Interval, Intervals, concat_slices

if TYPE_CHECKING:
    from poplite.graph.tensor.tensor import Tensor


class Slices(LikeList["Tensor"]):
    """The slices of a tensor along one dimension; equal to a list of them.

    Attributes:
        begin: int64[P], first indices.
        end: int64[P], one past the last.
        first: int64[N + 1], position of each item's first interval in `begin` and `end`; None
            where every item is one interval.

    >>> import poplite as pl
    >>> t = pl.Graph().add_variable(pl.FLOAT, (6,), "t")
    >>> t.slices([(0, 4), (2, 3)])
    <2 Slices of 't' float32[6] along dimension 0>
    """

    __slots__ = ("begin", "dim", "end", "first", "tensor")

    def __init__(
        self, tensor: Tensor, dim: int, begin: Int64, end: Int64, first: Int64 | None = None
    ) -> None:
        self.tensor = tensor
        self.dim = dim
        self.begin = begin
        self.end = end
        self.first = first

    def __len__(self) -> int:
        return len(self.begin if self.first is None else self.first[1:])

    def _item(self, key: int) -> Tensor:
        k = place(key, len(self), "slice")
        view, low, high = self.tensor.view, k, k + 1
        if self.first is not None:
            low, high = self.first[k : k + 2].tolist()
        if high - low == 1:
            part = view.slice(int(self.begin[low]), int(self.end[low]), self.dim)
        else:
            part = concat_slices(view, self.begin[low:high], self.end[low:high], self.dim, self.dim)
        return self.tensor._of(part)

    def __repr__(self) -> str:
        tensor = self.tensor
        sliced = f"'{{}}' {type_text(tensor.element_type)}{list(tensor.shape)}"
        return fitted(f"<{len(self):,} Slices of {sliced} along dimension {self.dim}>", tensor.name)

    def sizes(self) -> Int64:
        """Return the size of each item along `dim`, int64[N]."""
        size = self.end - self.begin
        if self.first is None:
            return size
        total = np.zeros(len(size) + 1, np.int64)
        np.cumsum(size, out=total[1:])
        return np.diff(total[self.first])


class SliceLists(OnAccess[list["Tensor"]]):
    """Lists of slices of a vector, as arrays: what many vertices get for a list of vectors.

    Attributes:
        slices: all of them, one interval each.
        first: int64[N + 1], position of each list's first slice.

    >>> import poplite as pl
    >>> t = pl.Graph().add_variable(pl.FLOAT, (6,), "t")
    >>> rows = SliceLists(t.slices([(0, 4), (2, 3), (1, 2)]), np.array([0, 2, 3]))
    >>> len(rows), len(rows[0]), rows[1][0] == t[1:2]
    (2, 2, <same elements: True (not ops.equal)>)
    """

    __slots__ = ("first", "slices")
    __hash__ = None  # type: ignore[assignment]  # like a list

    def __init__(self, slices: Slices, first: Int64) -> None:
        self.slices, self.first = slices, first

    def __len__(self) -> int:
        return len(self.first) - 1

    def _item(self, key: int) -> list[Tensor]:
        k = place(key, len(self), "list")
        return self.slices[int(self.first[k]) : int(self.first[k + 1])]


def slices_of(tensor: Tensor, items: Sequence[Any] | npt.NDArray[Any], dim: int) -> Slices:
    """Return the slices that a list asks for; see `Tensor.slices`.

    >>> import poplite as pl
    >>> t = pl.Graph().add_variable(pl.FLOAT, (6,))
    >>> slices_of(t, [3, (0, 2), [(0, 1), (4, 6)]], 0).sizes().tolist()
    [1, 2, 3]
    """
    size = tensor.view.shape[dim]
    plain = _plain(items)
    if plain is not None:
        begin, end = plain
        if ((begin >= 0) & (begin <= end) & (end <= size)).all():
            return Slices(tensor, dim, begin, end)
    if isinstance(items, np.ndarray) and items.ndim == 2:
        items = [tuple(item) for item in items.tolist()]
    found = [_pairs(item, tensor, dim) for item in items]
    bounds = np.array(list(chain.from_iterable(found)), np.int64).reshape(-1, 2)
    first = np.array(list(accumulate(map(len, found), initial=0)), np.int64)
    one_each = len(first) > len(bounds) and bool((np.diff(first) == 1).all())
    return Slices(tensor, dim, bounds[:, 0], bounds[:, 1], None if one_each else first)


def _plain(items: Sequence[Any] | npt.NDArray[Any]) -> tuple[Int64, Int64] | None:
    """Return unchecked begins and ends where all items are intervals, or all are indices."""
    if isinstance(items, Intervals):
        return items.begin, items.end
    if isinstance(items, np.ndarray):
        unmasked(items, "slices")
        if items.dtype.kind not in "iu" or items.dtype == np.uint64:
            return None
        values = items.astype(np.int64)
        pairs = values.ndim == 2 and values.shape[1] == 2
    else:
        pairs = set(map(type, items)) <= {tuple, Interval} and set(map(len, items)) <= {2}
        numbers = list(chain.from_iterable(items)) if pairs else items
        if set(map(type, numbers)) != {int}:
            return None
        try:
            values = np.fromiter(numbers, np.int64, len(numbers))
        except OverflowError:
            return None
        values = values.reshape(-1, 2) if pairs else values
    if pairs:
        return values[:, 0], values[:, 1]
    return (values, values + 1) if values.ndim == 1 else None


def _pairs(item: object, tensor: Tensor, dim: int) -> list[tuple[int, int]]:
    """Return the checked intervals of one item."""
    if arguments.is_interval(item):
        return [arguments.span(item[0], item[1], dim, tensor)]
    if arguments.is_sequence(item):
        for part in item:
            if not arguments.is_interval(part):
                raise arguments.no_interval(part, tensor)
        pairs = [arguments.span(begin, end, dim, tensor) for begin, end in item]
        others = tensor.num_elements // max(tensor.view.shape[dim], 1)
        size = sum([end - begin for begin, end in pairs]) * others
        arguments.check_size(size, tensor, "fewer intervals")
        return pairs
    i = arguments.index(item, tensor.view.shape[dim], tensor, dim)
    return [(i, i + 1)]
