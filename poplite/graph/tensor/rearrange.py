"""Rearranging tensors in the same way, so that one of them has few contiguous regions.

Elementwise work may be done in any order that is the same for all tensors. So the written tensor is
put in the order of its memory, and the others follow::

    out = x.T                       x.T reads    0 3 1 4 2 5    six regions
    out, a = graph.reorder_to_simplify(out, [a])
    out                             now reads    0 1 2 3 4 5    one region
    a                               now reads its former elements  0 2 4 1 3 5

The dimensions of strided tensors are sorted by stride, which takes microseconds at any size; the
pieces of concatenations are then put in the order of memory one by one.

Semantics: Poplar API reference, `Graph::reorderToSimplify`, `Graph::findUnbroadcastTensor`,
`TensorRearranger`; how intervals are rearranged: PopART, `CollectiveBalancedReorder`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, overload

import numpy as np

from poplite.arrays.digits import digits_of
from poplite.arrays.intervals import Int64, overlay
from poplite.errors import ElementTypeError, TensorCreationError, checked_truth, made_by
from poplite.graph.tensor.arguments import described, is_sequence, no_tensor
from poplite.graph.tensor.tensor import Tensor
from poplite.text import amount, clipped
from poplite.types import unmasked
from poplite.view import Intervals, Storage, View, all_of, runs, same_elements
from poplite.view.regions import simplification, walk
from poplite.view.view import NOWHERE


@made_by("graph.simplifying_rearranger(tensor)")
class TensorRearranger:
    """A new order for tensors of equal size, and its inverse.

    Made by `Graph.simplifying_rearranger`.

    Args:
        view: the view to simplify.
        segments: whether to sort the pieces of concatenations too.

    Attributes:
        num_elements: number of elements of the tensors that it rearranges.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> t = graph.add_variable(pl.FLOAT, (2, 3), "x").T
    >>> rearranger = graph.simplifying_rearranger(t)
    >>> rearranger.rearrange(t).is_contiguous()
    True
    >>> rearranger.undo(rearranger.rearrange(t)).reshape(t.shape) == t
    <same elements: True (not ops.equal)>
    """

    __slots__ = ("_simple", "_steps", "_view", "num_elements")

    def __init__(self, view: View, *, segments: bool = True) -> None:
        self.num_elements = view.num_elements
        self._view = view
        self._steps, self._simple = simplification(view, segments=segments)

    @overload
    def rearrange(self, what: Tensor) -> Tensor: ...
    @overload
    def rearrange(self, what: Sequence[tuple[int, int]]) -> Intervals: ...

    def rearrange(self, what: Tensor | Sequence[tuple[int, int]]) -> Tensor | Intervals:
        """Put a tensor, or a list of intervals, in the simple order.

        Args:
            what: a tensor of `num_elements`, of any shape; or intervals with as many elements
                in total, in the order in which their slices would be concatenated.

        Returns:
            A 1-D tensor; or intervals whose slices, concatenated, are the rearranged
            concatenation of the original slices. Each is within one original interval.

        Raises:
            TensorCreationError: for another number of elements, or another kind of argument.

        >>> import poplite as pl
        >>> graph = pl.Graph()
        >>> t = graph.add_variable(pl.FLOAT, (2, 2), "x").T
        >>> graph.simplifying_rearranger(t).rearrange([(10, 13), (20, 21)])
        <4 intervals: [10, 11); [12, 13); [11, 12); [20, 21)>
        """
        return self._through(what, "rearrange")

    @overload
    def undo(self, what: Tensor) -> Tensor: ...
    @overload
    def undo(self, what: Sequence[tuple[int, int]]) -> Intervals: ...

    def undo(self, what: Tensor | Sequence[tuple[int, int]]) -> Tensor | Intervals:
        """Put a tensor, or a list of intervals, back in the order before `rearrange`.

        Args:
            what: as in `rearrange`.

        Returns:
            As in `rearrange`.

        Raises:
            TensorCreationError: for another number of elements, or another kind of argument.

        >>> import poplite as pl
        >>> graph = pl.Graph()
        >>> t = graph.add_variable(pl.FLOAT, (2, 3), "x").T
        >>> graph.simplifying_rearranger(t).undo([(0, 6)])[:2]
        [Interval(begin=0, end=1), Interval(begin=3, end=4)]
        """
        return self._through(what, "undo")

    undoRearrangement = undo

    def valid(self) -> bool:
        """Return true: in C++ a rearranger that nothing was assigned to is invalid."""
        return True

    def _through(self, what: object, name: str) -> Tensor | Intervals:
        forward = name == "rearrange"
        if isinstance(what, Tensor):
            if what.num_elements != self.num_elements:
                raise _wrong_size(
                    f"{name}: {described(what)}", what.num_elements, self.num_elements
                )
            if forward and same_elements(what.view, self._view):
                return what._of(self._simple)
            return what._of(walk(what.view, self._steps, forward=forward))
        bounds = _bounds(what, name)
        breaks = np.append(0, np.cumsum(bounds[:, 1] - bounds[:, 0]))
        if breaks[-1] != self.num_elements:
            raise _wrong_size(
                f"{name}: {amount(len(bounds), 'interval')}", int(breaks[-1]), self.num_elements
            )
        # Walk the positions of elements, as a view of a storage of their own.
        numbers = all_of(Storage(-1, 0, self.num_elements), (self.num_elements,))
        begin, length = runs(walk(numbers, self._steps, forward=forward))
        _, source, begin, end = overlay(begin, begin + length, breaks)
        moved = bounds[:, 0][source] - breaks[source]
        return Intervals(begin + moved, end + moved)

    def __repr__(self) -> str:
        return f"<TensorRearranger {amount(self.num_elements, 'element')}>"


def checked_others(others: Sequence[Tensor], call: str) -> Sequence[Tensor]:
    """Return the tensors that are rearranged with another one, or refuse anything but a list."""
    if is_sequence(others):
        return others
    raise ElementTypeError(
        f"reorder_to_simplify: others is {clipped(others)}, not a list of tensors",
        fix=call,
    )


def reordered(
    tensor: Tensor, others: Sequence[Tensor], require_simplest_order: bool
) -> tuple[Tensor, ...]:
    """Rearrange tensors in the same way; see `Graph.reorder_to_simplify`."""
    for other in others:
        if other.num_elements != tensor.num_elements:
            raise _wrong_size(
                f"reorder_to_simplify: {described(other)}", other.num_elements, tensor.num_elements
            )
    segments = checked_truth(require_simplest_order, "reorder_to_simplify: require_simplest_order")
    rearranger = TensorRearranger(tensor.view, segments=segments)
    return tuple([rearranger.rearrange(t) for t in (tensor, *others)])


def unbroadcast(tensor: Tensor) -> Tensor | None:
    """Return the tensor that is broadcast along the dimensions of another; None if none is."""
    view = tensor.view
    if view.space is NOWHERE:
        return None
    for dim, (size, steps) in enumerate(zip(view.shape, view.dims, strict=True)):
        digits = digits_of(size, steps)
        if digits and digits[0][1] == 0:
            view = view.slice(0, size // digits[0][0], dim)
    return None if view is tensor.view else tensor._of(view)


def _bounds(what: object, name: str) -> Int64:
    """Return begins and ends of the non-empty intervals of a list, int64[n, 2]."""
    unmasked(what, name)
    try:
        array = np.asarray(what)
        casting: Literal["same_kind", "unsafe"] = "same_kind" if array.size else "unsafe"
        bounds = array.reshape(-1, 2).astype(np.int64, casting=casting)
    except (TypeError, ValueError, OverflowError):
        array = np.array("none")
    if array.size and (array.dtype.kind not in "iu" or array.shape[1:] != (2,)):
        raise no_tensor(name, what, "a tensor, or a list of intervals: [(0, 4), (6, 8)]")
    wrong = np.flatnonzero((bounds[:, 0] < 0) | (bounds[:, 1] < bounds[:, 0]))
    if len(wrong):
        begin, end = bounds[wrong[0]].tolist()
        raise TensorCreationError(
            f"{name}: [{begin}, {end}) is not an interval",
            found=f"item {wrong[0]} of {amount(len(bounds), 'interval')}",
            fix="0 <= begin <= end",
        )
    return bounds[bounds[:, 0] < bounds[:, 1]]


def _wrong_size(what: str, found: int, needed: int) -> TensorCreationError:
    return TensorCreationError(
        f"{what} with {amount(found, 'element')}, but {needed:,} are rearranged",
        found="a rearranger takes tensors with the same number of elements",
        fix="t.broadcast(n, dim) and t.slice(begin, end) change how many they are",
    )
