"""Clones of random tensors, beside the order of memory that each method promises."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from poplite.arrays.intervals import Int64
from poplite.testing import AddressedTensor, check_tensor, tensors, tiles_of
from poplite.view import addresses

Method = pl.TensorCloneMethod

KEEPS_ALIASES = (
    Method.PRESERVE_ORDER_AND_ALIASES,
    Method.GATHER_AND_PRESERVE_TILE_ORDER_AND_ALIASES,
)
BY_TILE = pl.TensorCloneDuplicationMethod.DUPLICATE_BY_TILE_CONTIGUOUS_REGION


def ranks(numbers: Int64) -> Int64:
    """The place of each number among the different numbers."""
    return np.unique(numbers, return_inverse=True)[1].reshape(numbers.shape)


def expected_order(t: AddressedTensor, method: pl.TensorCloneMethod) -> Int64:
    """Where, in the clone's variable, each element of a tensor lies."""
    flat = t.addresses.reshape(-1)
    aliased = len(np.unique(flat)) < len(flat)
    if method is Method.CREATE_NEW_ORDER or (
        method is Method.PRESERVE_ORDER_UNLESS_ALIASES and aliased
    ):
        return np.arange(len(flat))
    if method is Method.GATHER_AND_PRESERVE_TILE_ORDER_AND_ALIASES:
        tile = tiles_of(t.tensor.graph)[flat]
        return ranks(np.where(tile < 0, 1 << 20, tile) * (1 << 20) + flat)
    return ranks(flat)


def tiles(tensor: pl.Tensor) -> Int64:
    """The tile of each element, through the public answer."""
    found = np.full(tensor.num_elements, -1)
    for tile, held in enumerate(tensor.graph.tile_mapping(tensor, require_complete=False)):
        for begin, end in held:
            found[begin:end] = tile
    return found


@given(tensors(), st.sampled_from(Method))
def test_a_clone_is_new_has_no_gaps_and_keeps_shape_tiles_and_order(
    t: AddressedTensor, method: pl.TensorCloneMethod
) -> None:
    graph, source = t.tensor.graph, t.tensor
    order = expected_order(t, method)
    clone = graph.clone(source, method=method)
    variable = graph.variables[-1]
    assert variable.num_elements == len(np.unique(order))
    assert clone.shape == source.shape
    assert not clone.contains_constant()
    assert not clone.intersects_with(source)
    check_tensor(clone, variable.storage.base + order.reshape(source.shape))
    assert tiles(clone).tolist() == tiles(source).tolist()


@given(tensors(max_steps=5), st.integers(0, 3), st.sampled_from(Method))
def test_clones_by_outer_dimension_are_clones_one_after_the_other(
    t: AddressedTensor, n: int, method: pl.TensorCloneMethod
) -> None:
    graph, before = t.tensor.graph, len(t.tensor.graph.variables)
    clones = graph.clone_n(t.tensor, n, method=method)
    bases = [variable.storage.base for variable in graph.variables[before:]]
    assert len(bases) == n
    order = expected_order(t, method).reshape(t.tensor.shape)
    expected = np.array([base + order for base in bases], np.int64)
    check_tensor(clones, expected.reshape(n, *order.shape))
    assert tiles(clones).tolist() == tiles(t.tensor).tolist() * n


@given(tensors(max_steps=5), st.integers(0, 3), st.sampled_from(KEEPS_ALIASES))
def test_clones_by_region_lie_side_by_side_for_each_range_on_one_tile(
    t: AddressedTensor, n: int, method: pl.TensorCloneMethod
) -> None:
    graph = t.tensor.graph
    clones = graph.clone_n(t.tensor, n, method=method, duplication=BY_TILE)
    base = graph.variables[-1].storage.base
    order = expected_order(t, method)
    size = len(np.unique(order))
    tile = np.full(size, -1)
    tile[order] = tiles(t.tensor)
    first = np.flatnonzero(np.append(True, np.diff(tile) != 0)[:size])
    length = np.diff(first, append=size)
    region = np.searchsorted(first, order, side="right") - 1
    begin = n * first[region] + order - first[region]
    expected = base + begin + np.arange(n)[:, None] * length[region]
    check_tensor(clones, expected.reshape(n, *t.tensor.shape))
    assert tiles(clones).tolist() == tiles(t.tensor).tolist() * n


@given(tensors(), st.sampled_from([Method.CREATE_NEW_ORDER, Method.PRESERVE_ORDER_UNLESS_ALIASES]))
def test_copies_by_region_are_refused_where_a_clone_would_have_a_new_order(
    t: AddressedTensor, method: pl.TensorCloneMethod
) -> None:
    graph, before = t.tensor.graph, len(t.tensor.graph.variables)
    if method is Method.PRESERVE_ORDER_UNLESS_ALIASES and not t.tensor.contains_aliases():
        kept = graph.clone_n(t.tensor, 2, method=method, duplication=BY_TILE)
        same = graph.clone_n(t.tensor, 2, method=KEEPS_ALIASES[0], duplication=BY_TILE)
        offset = graph.variables[-1].storage.base - graph.variables[-2].storage.base
        assert (addresses(kept.view) + offset == addresses(same.view)).all()
        return
    with pytest.raises(pl.TensorCreationError, match=f"but {method.name} makes a new order"):
        graph.clone_n(t.tensor, 2, method=method, duplication=BY_TILE)
    assert len(graph.variables) == before
