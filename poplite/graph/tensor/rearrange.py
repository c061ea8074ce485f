"""Tensors in a different memory order: clones, and tensors rearranged to have few regions.

A clone is a new variable for the elements of a view, in the memory order of a method::

    t = x.T[::2]                            elements of x, in some order, possibly repeated
    graph.clone(t)                          new elements, in the memory order of x
    graph.clone(t, method=CREATE_NEW_ORDER) new elements, in the order of t

It has the shape and the tiles of its source, but not its contents. Its variable contains only the
elements that the source reads, without the gaps between them::

    memory of x    a . b . c d        t reads  d a b
    memory of t's clone      a b d

Elementwise operations may use any order that is the same for all tensors. So the written tensor is
put in its memory order, and the others are rearranged in the same way::

    out = x.T                       x.T reads    0 3 1 4 2 5    six regions
    out, a = graph.reorder_to_simplify(out, [a])
    out                             now reads    0 1 2 3 4 5    one region
    a                               now reads its former elements  0 2 4 1 3 5

The dimensions of strided tensors are sorted by stride, which takes microseconds at any size; the
pieces of concatenations are then put in memory order one by one.

Semantics: Poplar API reference, `Graph::clone`, `TensorCloneMethod`,
`TensorCloneDuplicationMethod`, `Graph::reorderToSimplify`, `Graph::findUnbroadcastTensor`,
`TensorRearranger`; how intervals are rearranged: PopART, `CollectiveBalancedReorder`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, overload

import numpy as np

from poplite.arrays.intervals import Int64, merge, overlay
from poplite.arrays.series import Digit, Dim, coalesce, digits_of, pack
from poplite.errors import (
    ElementTypeError,
    Enumeration,
    TensorCreationError,
    checked_truth,
    made_by,
)
from poplite.graph.tensor.arguments import described, is_sequence, no_tensor
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tensor.tensor_mapping import pieces_of, pieces_of_runs
from poplite.text import amount, clipped
from poplite.types import unmasked
from poplite.view import (
    Cat,
    Intervals,
    Storage,
    View,
    all_of,
    concat,
    concat_slices,
    contains_aliases,
    empty,
    runs,
    same_elements,
)
from poplite.view.address_sets import in_memory_order
from poplite.view.memory_order import simplification, walk
from poplite.view.view import NOWHERE


class TensorCloneMethod(Enumeration):
    """Order of a clone's elements in memory."""

    PRESERVE_ORDER_AND_ALIASES = "preserve order and aliases"
    """As in the source, with its aliases."""

    PRESERVE_ORDER_UNLESS_ALIASES = "preserve order unless aliases"
    """As in the source; if that has aliases, row-major with an element for each occurrence."""

    CREATE_NEW_ORDER = "create new order"
    """Row-major, with an element for each occurrence."""

    GATHER_AND_PRESERVE_TILE_ORDER_AND_ALIASES = "gather and preserve tile order and aliases"
    """Grouped by tile; within a tile as in the source."""


class TensorCloneDuplicationMethod(Enumeration):
    """Arrangement of the copies that `clone_n` creates."""

    DUPLICATE_BY_OUTER_DIMENSION = "duplicate by outer dimension"
    """One after the other, like n clones."""

    DUPLICATE_BY_TILE_CONTIGUOUS_REGION = "duplicate by tile contiguous region"
    """Adjacent copies of each contiguous range of memory on one tile."""


def check_keeps_order(source: Tensor, method: TensorCloneMethod) -> None:
    """Refuse copies by tile with a method that does not preserve the order."""
    if method is TensorCloneMethod.CREATE_NEW_ORDER:
        reason = "creates a new order"
    elif method is TensorCloneMethod.PRESERVE_ORDER_UNLESS_ALIASES and source.contains_aliases():
        reason = f"creates a new order, since '{source.name}' contains elements twice"
    else:
        return
    raise TensorCreationError(
        f"clone_n: copies by tile keep the order of '{source.name}', but {method.name} {reason}",
        found=f"{source!r}",
        fix="method=pl.TensorCloneMethod.PRESERVE_ORDER_AND_ALIASES, or "
        "duplication=pl.TensorCloneDuplicationMethod.DUPLICATE_BY_OUTER_DIMENSION",
    )


class CloneLayout(NamedTuple):
    """The positions of a clone's elements in its variable.

    Attributes:
        size: number of elements of the variable.
        view: creates the clone's view from the 1-D view of the entire variable.
        tile: int64[n], tiles of the variable's elements in memory order, piece by piece.
        length: int64[n], number of elements of each piece; neighbours are on different tiles.
    """

    size: int
    view: Callable[[View], View]
    tile: Int64
    length: Int64


def layout(source: Tensor, method: TensorCloneMethod) -> CloneLayout:
    """Return the layout of a clone of a tensor."""
    view = source.view
    if not view.num_elements:
        return _nothing(view.shape)
    if method is TensorCloneMethod.CREATE_NEW_ORDER or (
        method is TensorCloneMethod.PRESERVE_ORDER_UNLESS_ALIASES and contains_aliases(view)
    ):
        memory: _Memory = view
        made = _reshaped(view.shape)
    else:
        memory, made = _kept(view)
    tile, length = _tiles(source, memory)
    place = CloneLayout(int(length.sum()), made, tile, length)
    gathered = method is TensorCloneMethod.GATHER_AND_PRESERVE_TILE_ORDER_AND_ALIASES
    return _by_tile(place) if gathered else place


def interleaved(source: Tensor, single: CloneLayout, copies: int) -> CloneLayout:
    """Return the layout of copies of a clone, adjacent for each range of memory on one tile.

    Its view has a new first dimension.
    """
    if not single.size or not copies:
        return _nothing((copies, *source.shape))
    length = single.length
    first = copies * (np.cumsum(length) - length)

    def made(memory: View) -> View:
        begins = [first + copy * length for copy in range(copies)]
        own = [concat_slices(memory, begin, begin + length, 0, 0) for begin in begins]
        return concat([single.view(part).expand([0]) for part in own], 0)

    return CloneLayout(copies * single.size, made, single.tile, copies * length)


def _nothing(shape: tuple[int, ...]) -> CloneLayout:
    return CloneLayout(0, lambda memory: empty(shape), np.empty(0, np.int64), np.empty(0, np.int64))


def _tiles(source: Tensor, memory: _Memory) -> tuple[Int64, Int64]:
    """Return `(tile, length)` of the pieces of memory; neighbours differ in tile."""
    space = source.graph.space
    if isinstance(memory, View):
        return pieces_of(space, memory)
    return pieces_of_runs(space, source.view, *memory)


def _by_tile(place: CloneLayout) -> CloneLayout:
    """Sort the pieces of a layout by tile, those without a tile last."""
    order = np.argsort(place.tile.astype(np.uint64), kind="stable")
    end = np.cumsum(place.length[order])
    begin = np.empty_like(end)
    begin[order] = end - place.length[order]
    low, high, tile = merge(begin[order], end, place.tile[order])

    def made(memory: View) -> View:
        return place.view(concat_slices(memory, begin, begin + place.length, 0, 0))

    return CloneLayout(place.size, made, tile, high - low)


_Memory = View | tuple[Int64, Int64]
"""The source's elements in the order of the clone's memory: a view, or `(begin, length)` of ranges
of addresses."""

_Made = Callable[[View], View]
"""A function like `CloneLayout.view`."""


def _reshaped(shape: tuple[int, ...]) -> _Made:
    return lambda memory: memory.reshape(shape)


def _kept(view: View) -> tuple[_Memory, _Made]:
    """Return the memory order of the source, with gaps closed."""
    space = view.space
    if isinstance(space, Storage):
        return _closed_up(view) or _listed(view)
    if not _covers(view, space.num_elements):
        return _listed(view)
    # Clone the space; the view reads the clone as it reads the space.
    ranges, below = (
        _kept(space.kids[0])
        if len(space.kids) == 1
        else _listed(View((space.num_elements,), (1,), 0, space))
    )
    return ranges, lambda memory: _on(below(memory), view.shape, view.dims, view.off)


def _digits(shape: tuple[int, ...], dims: tuple[Dim, ...]) -> list[Digit]:
    return [digit for n, dim in zip(shape, dims, strict=True) for digit in digits_of(n, dim)]


def _covers(view: View, size: int) -> bool:
    """Return whether the strides show that a view reads all positions of a space."""
    reach = 0
    for stride, extent in sorted([(abs(s), e) for e, s in _digits(view.shape, view.dims)]):
        if stride > reach + 1:
            return False
        reach += (extent - 1) * stride
    return reach + 1 == size


def _on(below: View, shape: tuple[int, ...], dims: tuple[Dim, ...], off: int) -> View:
    """Return a view whose positions are those of another view."""
    size = below.num_elements
    if isinstance(below.space, Storage) and below.flat_digits() in ([], [(size, 1)]):
        return View(shape, dims, off + below.off, below.space)
    return View(shape, dims, off, Cat((below.reshape((1, size)),), 1))


def _closed_up(view: View) -> tuple[_Memory, _Made] | None:
    """Return the memory order of a view with nested digits, with gaps closed; None for others."""
    nested = sorted([(abs(s), e) for e, s in _digits(view.shape, view.dims) if s])
    steps, size, reach = {0: 0}, 1, 0
    for stride, extent in nested:
        if stride <= reach:
            return None
        steps[stride], steps[-stride] = size, -size
        size *= extent
        reach += (extent - 1) * stride

    def moved(size: int, dim: Dim) -> Dim:
        return pack(coalesce([(e, steps[s]) for e, s in digits_of(size, dim)]))

    dims = tuple([moved(n, dim) for n, dim in zip(view.shape, view.dims, strict=True)])
    off = -sum((e - 1) * s for e, s in _digits(view.shape, dims) if s < 0)
    return in_memory_order(view), lambda memory: _on(memory, view.shape, dims, off)


def _listed(view: View) -> tuple[_Memory, _Made]:
    """Return the memory order of any view from its runs; runs that overlap or touch are joined."""
    begin, length = runs(view)
    order = np.argsort(begin, kind="stable")
    low, seen = begin[order], np.maximum.accumulate((begin + length)[order])
    first = np.flatnonzero(np.append(True, low[1:] > seen[:-1]))
    low = low[first]
    size = np.append(seen[first[1:] - 1], seen[-1]) - low
    part = np.searchsorted(low, begin, side="right") - 1
    start = (np.cumsum(size) - size - low)[part] + begin

    def made(memory: View) -> View:
        return concat_slices(memory, start, start + length, 0, 0).reshape(view.shape)

    return (low, size), made


# -- rearranging -----------------------------------------------------------------------------------


@made_by("graph.simplifying_rearranger(tensor)")
class TensorRearranger:
    """A new order for tensors of equal size, and its inverse.

    Created by `Graph.simplifying_rearranger`.

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
        self.num_elements: int = view.num_elements
        self._view = view
        self._steps, self._simple = simplification(view, segments=segments)

    @overload
    def rearrange(self, what: Tensor) -> Tensor: ...
    @overload
    def rearrange(self, what: Sequence[tuple[int, int]]) -> Intervals: ...

    def rearrange(self, what: Tensor | Sequence[tuple[int, int]]) -> Tensor | Intervals:
        """Put a tensor, or a list of intervals, in the simple order.

        Args:
            what: a tensor with `num_elements` elements, of any shape; or intervals with this
                number of elements in total, in the order in which their slices would be
                concatenated.

        Returns:
            A 1-D tensor; or intervals whose slices, concatenated, are the rearranged
            concatenation of the original slices. Each is within one original interval.

        Raises:
            TensorCreationError: for a wrong number of elements, or any other kind of argument.

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
            TensorCreationError: for a wrong number of elements, or any other kind of argument.

        >>> import poplite as pl
        >>> graph = pl.Graph()
        >>> t = graph.add_variable(pl.FLOAT, (2, 3), "x").T
        >>> graph.simplifying_rearranger(t).undo([(0, 6)])[:2]
        [Interval(begin=0, end=1), Interval(begin=3, end=4)]
        """
        return self._through(what, "undo")

    undoRearrangement = undo

    def valid(self) -> bool:
        """Return True: in C++, a rearranger without an assigned value is invalid."""
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
        # Rearrange the positions of elements, as a view of a separate storage.
        numbers = all_of(Storage(-1, 0, self.num_elements), (self.num_elements,))
        begin, length = runs(walk(numbers, self._steps, forward=forward))
        _, source, begin, end = overlay(begin, begin + length, breaks)
        moved = bounds[:, 0][source] - breaks[source]
        return Intervals(begin + moved, end + moved)

    def __repr__(self) -> str:
        return f"<TensorRearranger {amount(self.num_elements, 'element')}>"


def checked_others(others: Sequence[Tensor], call: str) -> Sequence[Tensor]:
    """Return the tensors to rearrange with another, or refuse anything but a list."""
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
    """Return the tensor that a tensor was broadcast from; None if nothing is broadcast."""
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
        raise no_tensor(name, what, "pass a tensor, or a list of intervals: [(0, 4), (6, 8)]")
    wrong = np.flatnonzero((bounds[:, 0] < 0) | (bounds[:, 1] < bounds[:, 0]))
    if len(wrong):
        begin, end = bounds[wrong[0]].tolist()
        raise TensorCreationError(
            f"{name}: [{begin}, {end}) is not an interval",
            found=f"item {wrong[0]} of {amount(len(bounds), 'interval')}",
            fix="use 0 <= begin <= end",
        )
    return bounds[bounds[:, 0] < bounds[:, 1]]


def _wrong_size(what: str, found: int, needed: int) -> TensorCreationError:
    return TensorCreationError(
        f"{what} with {amount(found, 'element')}, but {needed:,} are rearranged",
        found="a rearranger takes tensors with the same number of elements",
        fix="change the number with t.broadcast(n, dim) or t.slice(begin, end)",
    )
