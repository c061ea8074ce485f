"""Cloning: a new variable for the elements of a view, in the memory order of a method.

    t = x.T[::2]                            elements of x, in some order, perhaps repeated
    graph.clone(t)                          new elements, in the order that x has them in memory
    graph.clone(t, method=CREATE_NEW_ORDER) new elements, in the order of t

A clone has the shape and the tiles of its source, but not its contents. It holds only the
elements that the source reads, without the gaps between them::

    memory of x    a . b . c d        t reads  d a b
    memory of t's clone      a b d

Source: Poplar API reference, "Graph::clone", "TensorCloneMethod",
"TensorCloneDuplicationMethod".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from poplite.arrays.digits import Digit, Dim, coalesce, digits_of, pack
from poplite.arrays.intervals import Int64, merge
from poplite.errors import Enumeration, TensorCreationError
from poplite.graph.tensor.placement import pieces_of, pieces_of_runs
from poplite.view import (
    Cat,
    Storage,
    View,
    concat,
    concat_slices,
    contains_aliases,
    empty,
    runs,
)
from poplite.view.address_sets import in_memory_order

if TYPE_CHECKING:
    from poplite.graph.tensor.tensor import Tensor


class TensorCloneMethod(Enumeration):
    """Order of a clone's elements in memory."""

    PRESERVE_ORDER_AND_ALIASES = "preserve order and aliases"
    """As in the source; aliases stay."""

    PRESERVE_ORDER_UNLESS_ALIASES = "preserve order unless aliases"
    """As in the source; if that has aliases, row-major with an element for each occurrence."""

    CREATE_NEW_ORDER = "create new order"
    """Row-major, with an element for each occurrence."""

    GATHER_AND_PRESERVE_TILE_ORDER_AND_ALIASES = "gather and preserve tile order and aliases"
    """All elements of a tile side by side, on each tile as in the source."""


class TensorCloneDuplicationMethod(Enumeration):
    """Arrangement of the copies that `clone_n` makes."""

    DUPLICATE_BY_OUTER_DIMENSION = "duplicate by outer dimension"
    """One after the other, like n clones."""

    DUPLICATE_BY_TILE_CONTIGUOUS_REGION = "duplicate by tile contiguous region"
    """Side by side for each contiguous range of memory on one tile."""


def check_keeps_order(source: Tensor, method: TensorCloneMethod) -> None:
    """Refuse copies by tile with a method that makes a new order."""
    if method is TensorCloneMethod.CREATE_NEW_ORDER:
        reason = "makes a new order"
    elif method is TensorCloneMethod.PRESERVE_ORDER_UNLESS_ALIASES and source.contains_aliases():
        reason = f"makes a new order, as '{source.name}' holds elements twice"
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
        view: makes the clone's view from the 1-D view of the entire variable.
        tile: int64[n], tiles of the variable's elements in memory order, piece by piece.
        length: int64[n], elements of each piece; neighbours are on different tiles.
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
    """Return the layout of copies of a clone, side by side for each range of memory on one tile.

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
    """Return the order of the source, without gaps."""
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
    """Return the order of a view whose digits nest, with the gaps closed; None for others."""
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
    """Return the order of any view from its runs; overlapping or adjacent runs are one range."""
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
