"""Edges in another variable: they start elsewhere, and are the same otherwise.

x[0:4], x[4:8], x[8:12]     of variable x, at 0          start 0, step 4      length 4
y[0:4], y[4:8], y[8:12]     of variable y, at 1001       start 1001, step 4   length 4
"""

from __future__ import annotations

from collections.abc import Hashable

from poplite.arrays.series import NARROW, Listed
from poplite.graph.compute_sets.edges import EdgeRuns, Edges
from poplite.view import Cat, Storage, View
from poplite.view.slices import SlicedViews


def form_of_view(view: View) -> Hashable:
    """Return what the elements of a view are within its one variable.

    >>> from poplite.view import all_of
    >>> x, y = (all_of(Storage(number, 100 * number, 6), (2, 3)) for number in range(2))
    >>> form_of_view(x.dim_shuffle((1, 0))) == form_of_view(y.dim_shuffle((1, 0)))
    True
    """
    space = view.space
    if isinstance(space, Storage):
        return view.shape, view.dims, view.off
    kids = space.kids
    if isinstance(kids, tuple):
        below: Hashable = tuple([form_of_view(kid) for kid in kids])
    else:
        below = form_of_view(kids.template), kids.extent.tobytes(), kids.off.tobytes()
    return view.shape, view.dims, view.off, space.outer, below


def moved_view(view: View, storage: Storage) -> View:
    """Return a view of one variable as one of another."""
    space: Storage | Cat = storage
    if not isinstance(view.space, Storage):
        kids = view.space.kids
        if isinstance(kids, tuple):
            parts: tuple[View, ...] | SlicedViews = tuple(
                [moved_view(kid, storage) for kid in kids]
            )
        else:
            parts = SlicedViews(moved_view(kids.template, storage), kids.extent, kids.off)
        space = Cat(parts, view.space.outer)
    return View(view.shape, view.dims, view.off, space)


def may_move(edges: Edges) -> bool:
    """Tell whether edges that are moved are kept as those that are made in their place."""
    return not isinstance(edges.start, Listed) or edges.start.offset.dtype == NARROW


def moved_edges(edges: Edges, distance: int, storage: Storage) -> Edges:
    """Return edges of one variable as those of another, which begins at a distance."""
    start, pieces = edges.start, edges.pieces
    if start is not None and edges.num_elements:
        start = start.moved(distance)
    if isinstance(pieces, EdgeRuns):
        pieces = pieces._replace(begin=pieces.begin + distance)
    elif pieces is not None:
        pieces = moved_view(pieces, storage)
    return Edges(edges.rows, edges.length, start, pieces, edges.pairs)
