"""Edges of slices are the same whether they are made, or moved from those of another variable."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import examples
from poplite.graph.connect.bulk_inputs import edges_of_slices, made_edges
from poplite.graph.tensor.slices import slices_of


def view(kind: int, x: pl.Tensor) -> pl.Tensor:
    """Return elements of a tensor of (4, 6) in one of many orders, as a vector or rows."""
    flat = x.flatten()
    found: list[pl.Tensor] = [
        flat,
        flat[::-1],
        x.T.flatten(),
        pl.concat(flat[10:], flat[:5]),
        pl.concat(x[:, 1:3], x[:, 4:], 1).flatten(),
        pl.concat([x[k] for k in (2, 0, 3, 1)]).flatten(),
        flat[2:20:3],
        x.T[1:4, ::2].flatten(),
        flat[4:],
    ]
    return found[kind]


@given(data=st.data())
@examples(300)
def test_moved_edges_are_those_that_are_made(data: st.DataObject) -> None:
    graph = pl.Graph()
    kind = data.draw(st.integers(0, 8))
    tensors = []
    for _ in range(2):
        graph.add_variable(pl.FLOAT, (data.draw(st.integers(0, 9)),))
        tensors.append(view(kind, graph.add_variable(pl.FLOAT, (4, 6))))
    size = tensors[0].num_elements
    ends = st.tuples(st.integers(0, size), st.integers(0, size)).map(sorted).map(tuple)
    bounds = data.draw(st.lists(ends, min_size=1, max_size=6))
    depth = data.draw(st.sampled_from([1, 2]))
    first = np.array(sorted({0, len(bounds), data.draw(st.integers(0, len(bounds)))}))
    values = [slices_of(each, bounds, 0) for each in tensors]
    lists = first if depth == 2 else None
    one, moved = (edges_of_slices(graph, each.tensor.view, each, lists, depth) for each in values)
    made = made_edges(values[1].tensor.view, values[1], lists, depth)
    assert (one is None) == (moved is None) == (made is None)
    if moved is None or made is None:
        return
    assert moved.rows.array().tolist() == made.rows.array().tolist()
    assert moved.length.array().tolist() == made.length.array().tolist()
    assert (moved.start is None) == (made.start is None)
    if moved.start is not None and made.start is not None:
        assert type(moved.start) is type(made.start)
        assert moved.start.array().tolist() == made.start.array().tolist()
    assert (moved.pairs is None) == (made.pairs is None)
    for mine, other in zip(moved.runs(), made.runs(), strict=True):
        assert mine.tolist() == other.tolist()
    if moved.num_elements:
        assert moved.spread() == made.spread()
