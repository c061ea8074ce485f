"""What a call of `add_vertices` gives to one edge field, and the edges that it makes.

a tensor             t.shape == (n, ...)         vertex k gets t[k]
slices of a tensor   t.slices(array)             vertex k gets slice k, and no tensor is made
a list               [t0, t1, ...]               vertex k gets item k; of a list field, a
                                                 2-D tensor or a list of 1-D tensors
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from poplite.arrays.series import Series, compact, constant
from poplite.graph.compute_sets.edges import (
    Edges,
    cut,
    listed,
    of_slices,
    of_view,
    of_views,
    paired,
)
from poplite.graph.tensor.slices import Slices
from poplite.graph.tensor.tensor import Tensor
from poplite.view import View, concat_slices, runs, storages

if TYPE_CHECKING:
    from poplite.vertex.fields import Field

Given = Tensor | Slices | Sequence[object]
"""What stands behind one field of many vertices; of a list, tensors or lists of tensors."""


def tensors_of(given: Given) -> Iterator[object]:
    """Yield the tensors that tell the element type; what is no tensor as it is.

    Args:
        given: what the user gave.
    """
    if isinstance(given, Tensor | Slices):
        yield given if isinstance(given, Tensor) else given.tensor
        return
    for item in given:
        if isinstance(item, Slices | list | tuple):
            yield from tensors_of(item)
        else:
            yield item


def item_of(given: Given, k: int) -> object:
    """Return what vertex `k` gets: a tensor, or a tuple of the rows of a list."""
    item = given[k]
    return tuple(item) if isinstance(item, Slices | list | tuple) else item


def has_constants(given: Tensor | Slices) -> bool:
    """Tell whether something given may belong to constants."""
    tensor = given if isinstance(given, Tensor) else given.tensor
    return any(storage.constant for storage in storages(tensor.view))


def edges_of(given: Given, field: Field) -> Edges:
    """Return the edges of a field, whose tensors have been checked.

    Args:
        given: what the user gave.
        field: the field.

    >>> import poplite as pl
    >>> t = pl.Graph().add_variable(pl.FLOAT, (8,))
    >>> from poplite.vertex.fields import Field
    >>> edges_of(t.slices([(0, 2), (2, 6)]), Field("x", "input", pl.FLOAT, 1)).length.array()
    array([2, 4])
    """
    edges: Edges | None = None
    if isinstance(given, Tensor):
        edges = of_view(given.view, field.depth)
    elif isinstance(given, Slices):
        edges = _of_slices(given, field.depth)
    if edges is None:
        edges = _of_list(list(given), field.depth)
    return paired(edges) if field.depth == 2 else edges


def _of_slices(slices: Slices, depth: int) -> Edges | None:
    """Return the edges of slices without making any of them, where that is possible."""
    view = slices.tensor.view
    if slices.dim or len(view.shape) != max(depth, 1):
        return None
    if slices.first is None:
        edges = of_slices(view, slices.begin, slices.end, depth)
        if edges is not None:
            return edges
    sizes = compact(slices.sizes())
    joined = concat_slices(view, slices.begin, slices.end, 0, 0)
    flat = joined.reshape((joined.num_elements,))
    if depth < 2:
        return _of_flat(flat, sizes, constant(1, len(slices)))
    return _of_flat(flat, constant(view.shape[1], sizes.total()), sizes)


def _of_flat(flat: View, length: Series, rows: Series) -> Edges:
    """Return edges whose elements stand one after the other in a view."""
    found = cut(*runs(flat), length)
    if (np.diff(found.first) > 1).any():
        return Edges(rows, length, None, flat)
    return listed(found.begin, length, rows)


def _of_list(items: Sequence[object], depth: int) -> Edges:
    views: list[View] = []
    counts: list[int] = []
    for item in items:
        before = len(views)
        if not isinstance(item, Tensor):
            assert isinstance(item, Slices | list | tuple)
            views += [row.view for row in item if isinstance(row, Tensor)]
        elif depth == 2:
            views += [item.view.index(row) for row in range(item.shape[0])]
        else:
            views.append(item.view)
        counts.append(len(views) - before)
    return of_views(views, compact(np.array(counts, np.int64)))
