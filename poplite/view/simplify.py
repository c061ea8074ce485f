"""The order of a view's elements in which it has the fewest regions, as steps to it and back.

Over one variable, a step reads the view by its digits and shuffles them by falling stride::

    (3, 2) with strides (1, 3)        0 3 1 4 2 5      shape (3, 2), order (1, 0)
    afterwards                        0 1 2 3 4 5

A view that reads all of a `Cat` is first put in the order of the Cat in the same way.  The
pieces of the Cat are then taken in the order of memory, as segments of positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.view.concat import concat
from poplite.view.contiguous.regions import num_runs
from poplite.view.memory_order import MemoryOrder, memory_order
from poplite.view.slices import concat_slices
from poplite.view.view import NOWHERE, Cat, Storage, View, all_of


class Shuffle(NamedTuple):
    """Read as a shape, reverse some dimensions, shuffle.

    Attributes:
        backwards: the dimensions that are reversed.
        order: dimension k of the result is dimension `order[k]`.
    """

    shape: tuple[int, ...]
    backwards: tuple[int, ...]
    order: tuple[int, ...]

    def walk(self, view: View, *, forward: bool) -> View:
        """Take the step, or undo it."""
        order = self.order
        if forward:
            view = view.reshape(self.shape)
            for dim in self.backwards:
                view = view.reverse(dim)
            return view.dim_shuffle(order)
        view = view.reshape(tuple([self.shape[dim] for dim in order]))
        view = view.dim_shuffle(sorted(range(len(order)), key=order.__getitem__))
        for dim in self.backwards:
            view = view.reverse(dim)
        return view


class TakeIntervals(NamedTuple):
    """Take intervals of positions one after the other.

    Attributes:
        begin: int64[n], first positions.
        length: int64[n], element counts.
    """

    begin: Int64
    length: Int64

    def walk(self, view: View, *, forward: bool) -> View:
        """Take the step, or undo it."""
        begin, length = self
        if not forward:
            by_begin = np.argsort(begin)
            begin = (np.cumsum(length) - length)[by_begin]
            length = length[by_begin]
        return concat_slices(view, begin, begin + length, 0, 0)


def simplification(view: View, *, segments: bool) -> tuple[list[Shuffle | TakeIntervals], View]:
    """Find the order in which a view has the fewest regions, and the one-dimensional view in it.

    There are no steps if they would gain nothing.  `segments`: whether to sort the pieces of
    concatenations too.

    >>> matrix = all_of(Storage(0, 0, 6), (2, 3))
    >>> steps, simple = simplification(matrix.dim_shuffle((1, 0)), segments=True)
    >>> steps, simple == matrix.reshape((6,))
    ([Shuffle(shape=(3, 2), backwards=(), order=(1, 0))], True)
    """
    now = flat = view.reshape((view.num_elements,))
    steps: list[Shuffle | TakeIntervals] = []
    while now.space is not NOWHERE and (step := _shuffle(now, segments=segments)) is not None:
        steps.append(step)
        now = walk(now, [step], forward=True)
    if segments and isinstance(now.space, Cat):
        order = memory_order([(now, 0)])
        if (order.begin[1:] < order.begin[:-1]).any():
            steps.append(TakeIntervals(order.begin, order.length))
            now = _over_variables(now.space.storages, order)
    return (steps, now) if steps and num_runs(now) < num_runs(view) else ([], flat)


def walk(view: View, steps: Sequence[Shuffle | TakeIntervals], *, forward: bool) -> View:
    """Take a view through steps, or, not `forward`, undo them; the result has one dimension.

    The view has as many elements as the one for which the steps were found.
    """
    flat = (view.num_elements,)
    view = view.reshape(flat)
    for step in steps if forward else reversed(steps):
        view = step.walk(view, forward=forward).reshape(flat)
    return view


def _over_variables(owners: Sequence[Storage], order: MemoryOrder) -> View:
    """Return the view that takes groups, one after the other, as ranges of variables."""
    owners = sorted(owners, key=lambda storage: storage.base)
    bases = np.array([storage.base for storage in owners])
    owner = np.searchsorted(bases, order.address, side="right") - 1
    first = order.address - bases[owner]
    last = first + np.add.reduceat(order.length, order.ptr[:-1])
    cuts = [0, *(np.flatnonzero(np.diff(owner)) + 1).tolist(), len(owner)]
    parts = []
    for a, b in pairwise(cuts):
        variable = owners[owner[a]]
        flat = all_of(variable, (variable.num_elements,))
        parts.append(concat_slices(flat, first[a:b], last[a:b], 0, 0))
    return concat(parts, 0)


def _shuffle(view: View, *, segments: bool) -> Shuffle | None:
    """Return the step to the order of a view's space, or None where it is in order already.

    Digits of stride 0 come first, to repeat everything else; at equal strides, the longest digit is
    innermost.
    """
    digits = view.flat_digits()
    order = sorted(
        range(len(digits)),
        key=lambda i: (digits[i][1] != 0, -abs(digits[i][1]), digits[i][0]),
    )
    step = Shuffle(
        tuple([extent for extent, _ in digits]),
        tuple([i for i, (_, stride) in enumerate(digits) if stride < 0]),
        tuple(order),
    )
    space = view.space
    after = step.walk(view, forward=True).reshape((view.num_elements,))
    if isinstance(space, Storage):
        return step if num_runs(after) < num_runs(view) else None
    # Whether that saves regions depends on the pieces: they are easiest to judge in their order.
    in_order = after.flat_digits() == [(space.num_elements, 1)]
    moved = in_order and digits != [(space.num_elements, 1)] and segments
    return step if moved or after.space is not space else None
