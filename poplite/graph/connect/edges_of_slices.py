"""The edges of slices of a tensor, as arrays, without a tensor for each.

Layers of a network cut their tensors alike: where view and slices are the same but for the
variable, edges are those of the earlier one, moved (`poplite.graph.compute_sets.moved_edges`).
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol
from weakref import WeakKeyDictionary

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.arrays.series import Series, compact, constant
from poplite.graph.compute_sets.edges import Edges, cut, listed, of_slices, paired
from poplite.graph.compute_sets.moved_edges import form_of_view, may_move, moved_edges
from poplite.view import View, concat_slices, num_runs, runs, storages

MOST_SLICES = 1 << 14
"""Slices beyond which edges are not remembered: tensors of so many are few."""

MOST_KNOWN = 256
"""Edges that are remembered of a graph."""

_known: WeakKeyDictionary[object, dict[Hashable, tuple[Edges, int]]] = WeakKeyDictionary()
"""By graph: edges, and where their variable begins."""


class SliceCuts(Protocol):
    """The intervals of `poplite.graph.tensor.slices.Slices`."""

    begin: Int64
    end: Int64
    dim: int
    first: Int64 | None

    def __len__(self) -> int: ...

    def sizes(self) -> Int64:
        """Return the sizes of the slices."""


def edges_of_slices(
    graph: object, view: View, cuts: SliceCuts, lists: Int64 | None, depth: int
) -> Edges | None:
    """Return the edges of slices of a tensor; None where that takes a tensor for each.

    `lists` are the first slices of each list, where vertices get lists of them.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> x, y = (graph.add_variable(pl.FLOAT, (8,)) for _ in "xy")
    >>> slices = x.slices([(0, 2), (2, 6), (1, 2)])
    >>> one, other = (edges_of_slices(graph, t.view, slices, None, 1) for t in (x, y))
    >>> other.start.array() - one.start.array(), other.length is one.length
    (array([9, 9, 9]), True)
    """
    below = storages(view)
    if len(below) != 1 or len(cuts.begin) > MOST_SLICES:
        return made_edges(view, cuts, lists, depth)
    (storage,) = below
    known = _known.setdefault(graph, {})
    arrays = cuts.begin, cuts.end, cuts.first, lists
    bits = [None if each is None else each.tobytes() for each in arrays]
    key = depth, cuts.dim, form_of_view(view), *bits
    if key in known:
        edges, base = known[key]
        return moved_edges(edges, storage.base - base, storage)
    made = made_edges(view, cuts, lists, depth)
    if made is not None and may_move(made):
        if len(known) >= MOST_KNOWN:
            known.clear()
        known[key] = made, storage.base
    return made


def made_edges(view: View, cuts: SliceCuts, lists: Int64 | None, depth: int) -> Edges | None:
    """Return edges that are made anew."""
    made = _of_slices(view, cuts, depth) if lists is None else _of_lists(view, cuts, lists)
    return paired(made) if made is not None and depth == 2 else made


def _of_slices(view: View, cuts: SliceCuts, depth: int) -> Edges | None:
    """Return the edges of slices without making a tensor of each; None where that is impossible."""
    if cuts.dim or len(view.shape) != max(depth, 1):
        return None
    if cuts.first is None:
        edges = of_slices(view, cuts.begin, cuts.end, depth)
        if edges is not None:
            return edges
    sizes = compact(cuts.sizes())
    joined = concat_slices(view, cuts.begin, cuts.end, 0, 0)
    flat = joined.reshape((joined.num_elements,))
    if depth < 2:
        return _of_flat(flat, sizes, constant(1, len(cuts)))
    return _of_flat(flat, constant(view.shape[1], sizes.total()), sizes)


def _of_lists(view: View, cuts: SliceCuts, lists: Int64) -> Edges:
    rows = compact(np.diff(lists))
    edges = of_slices(view, cuts.begin, cuts.end, 1)
    if edges is not None:
        return Edges(rows, edges.length, edges.start)
    joined = concat_slices(view, cuts.begin, cuts.end, 0, 0)
    return _of_flat(joined.reshape((joined.num_elements,)), compact(cuts.sizes()), rows)


def _of_flat(flat: View, length: Series, rows: Series) -> Edges:
    """Return edges whose elements follow one another in a view."""
    apart = Edges(rows, length, None, flat)
    # Edges are alike as a rule: the first tells that elements are not consecutive, and none are
    # listed; nor are runs cut at the edges, where there are more of them than edges.
    first = int(length.array()[0]) if length.count else 0
    if num_runs(flat.slice(0, first, 0)) > 1:
        return apart
    begin, count = runs(flat)
    if len(begin) > length.count:
        return apart
    found = cut(begin, count, length)
    return apart if (np.diff(found.first) > 1).any() else listed(found.begin, length, rows)
