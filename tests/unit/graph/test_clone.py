"""Clones: one example of each promise, and what is refused."""

from __future__ import annotations

import re

import numpy as np
import pytest

import poplite as pl
from poplite.testing import check_tensor
from poplite.view import Storage, addresses

Method = pl.TensorCloneMethod
BY_TILE = pl.TensorCloneDuplicationMethod.DUPLICATE_BY_TILE_CONTIGUOUS_REGION


def graph_of(tiles: int = 4) -> pl.Graph:
    return pl.Graph(pl.Target(tiles=tiles))


def order(graph: pl.Graph, clone: pl.Tensor) -> list[int]:
    """Where in the last variable the clone's elements lie."""
    flat = addresses(clone.view).reshape(-1) - graph.variables[-1].storage.base
    return [int(i) for i in flat]


def test_a_clone_of_a_transposed_tensor_keeps_the_order_of_memory() -> None:
    graph = graph_of()
    x = graph.add_variable(pl.FLOAT, (2, 3), "x", mapping="linear")
    clone = graph.clone(x.T)
    assert (clone.shape, clone.name, clone.element_type) == ((3, 2), "x_1", pl.FLOAT)
    assert order(graph, clone) == [0, 3, 1, 4, 2, 5]
    assert graph.tile_mapping(clone) == graph.tile_mapping(x.T)
    assert order(graph, graph.clone(x.T, method=Method.CREATE_NEW_ORDER)) == [0, 1, 2, 3, 4, 5]


def test_gaps_close_and_reversed_elements_stay_reversed() -> None:
    graph = graph_of()
    x = graph.add_variable(pl.FLOAT, (12,), "x")
    assert order(graph, graph.clone(x[10:1:-3])) == [2, 1, 0]
    assert graph.variables[-1].num_elements == 3
    joined = pl.concat([x[8:10], x[1:3], x[4:5]])
    assert order(graph, graph.clone(joined)) == [3, 4, 0, 1, 2]
    assert graph.variables[-1].num_elements == 5


def test_aliases_are_kept_or_resolved_as_the_method_says() -> None:
    graph = graph_of()
    x = graph.add_variable(pl.FLOAT, (5,), "x", mapping="linear")
    windows = pl.concat([x[i : i + 3].expand([0]) for i in range(3)])
    assert order(graph, graph.clone(windows)) == list(range(9))
    kept = graph.clone(windows, method=Method.PRESERVE_ORDER_AND_ALIASES)
    assert order(graph, kept) == [0, 1, 2, 1, 2, 3, 2, 3, 4]
    assert graph.variables[-1].num_elements == 5
    repeated = graph.clone(x[:2].broadcast(3, 0), method=Method.PRESERVE_ORDER_AND_ALIASES)
    assert order(graph, repeated) == [0, 1] * 3


def test_gathering_puts_the_elements_of_a_tile_side_by_side_unmapped_ones_last() -> None:
    graph = graph_of()
    x = graph.add_variable(pl.FLOAT, (8,), "x")
    for begin, tile in ((0, 1), (2, 0), (6, 1)):
        graph.set_tile_mapping(x[begin : begin + 2], tile)
    method = Method.GATHER_AND_PRESERVE_TILE_ORDER_AND_ALIASES
    clone = graph.clone(x[::-1], method=method)
    #  memory of the clone: elements 2 3 of tile 0, 0 1 6 7 of tile 1, then 4 5
    assert order(graph, clone) == [5, 4, 7, 6, 1, 0, 3, 2]
    mapping = graph.variable_tile_mapping(clone)
    assert mapping == [[(0, 2)], [(2, 6)], [], []]
    assert mapping.unmapped == [(6, 8)]


def test_copies_lie_side_by_side_for_each_range_of_memory_on_one_tile() -> None:
    graph = graph_of()
    x = graph.add_variable(pl.FLOAT, (5,), "x", mapping=[[(0, 2)], [(2, 5)]])
    clones = graph.clone_n(x, 2, duplication=BY_TILE)
    assert clones.shape == (2, 5)
    assert order(graph, clones) == [0, 1, 4, 5, 6, 2, 3, 7, 8, 9]
    assert graph.variable_tile_mapping(clones) == [[(0, 4)], [(4, 10)]]
    outer = graph.clone_n(x, 2, "copy")
    assert [variable.name for variable in graph.variables[-2:]] == ["copy", "copy_1"]
    assert outer[0].is_contiguous()
    assert not outer.contains_aliases()


@pytest.mark.parametrize("method", Method)
@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1, 1)])
def test_small_shapes(method: pl.TensorCloneMethod, shape: tuple[int, ...]) -> None:
    graph = graph_of()
    x = graph.add_variable(pl.FLOAT, shape, "x", mapping="linear")
    clone = graph.clone(x, method=method)
    size = int(np.prod(shape))
    first = graph.variables[-1].storage.base
    check_tensor(clone, np.arange(first, first + size).reshape(shape))
    assert graph.clone_n(x, 3, method=method).shape == (3, *shape)
    assert graph.clone_n(x, 0, method=method).shape == (0, *shape)
    if method is not Method.CREATE_NEW_ORDER:
        assert graph.clone_n(x, 2, method=method, duplication=BY_TILE).shape == (2, *shape)


def test_what_was_constant_is_variable_without_a_value() -> None:
    graph = graph_of()
    taps = graph.add_constant(pl.INT, (3,), [1, 2, 3], "taps", mapping=2)
    clone = graph.clone(taps)
    assert not graph.variables[-1].constant
    assert graph.variables[-1].initial_value is None
    assert clone.is_parallel_writeable()
    assert graph.tile_mapping(clone)[2] == [(0, 3)]


def test_another_element_type_and_name_within_the_scope() -> None:
    graph = graph_of()
    with graph.scope("layer"):
        x = graph.add_variable(pl.HALF, (4,), "x")
        clone = graph.clone(x, "sum", element_type=pl.FLOAT)
        same = graph.clone(x)
    assert (clone.name, clone.element_type) == ("layer/sum", pl.FLOAT)
    assert (same.name, same.element_type) == ("layer/x_1", pl.HALF)


def test_the_metadata_of_quarter_is_kept_replaced_or_asked_for() -> None:
    graph = graph_of()
    metadata = pl.QuarterMetadata("F143", scale=-2)
    x = graph.add_variable(pl.QUARTER, (4,), "x", metadata=metadata)
    assert graph.clone(x).metadata == x.metadata
    other = graph.clone(x, metadata=pl.QuarterMetadata("F152")).metadata
    assert other is not None
    assert other != x.metadata
    assert graph.clone(x, element_type=pl.HALF).metadata is None
    assert graph.clone_n(x, 2).metadata == x.metadata
    before = graph.variables
    plain = graph.add_variable(pl.UNSIGNED_CHAR, (4,), "plain")
    with pytest.raises(pl.TensorMetadataError, match="plain"):
        graph.clone(plain, element_type=pl.QUARTER)
    assert graph.variables == (*before, graph.variables[-1])


def test_huge_transposed_tensors_are_cloned_as_strides() -> None:
    graph = graph_of(1472)
    x = graph.add_variable(pl.FLOAT, (1 << 20, 1 << 20), "x", mapping="linear")
    for method in set(Method) - {Method.CREATE_NEW_ORDER}:
        clone = graph.clone(x.T, method=method)
        assert isinstance(clone.view.space, Storage)
        assert clone[1, 2].var_regions() == [(graph.variables[-1], (2 << 20) + 1, (2 << 20) + 2)]
    half = graph.clone(x.T[:, ::2])
    assert graph.variables[-1].num_elements == 1 << 39
    assert half[7, 5].var_regions()[0].begin == (5 << 20) + 7


def test_a_reshape_that_fits_no_strides_is_cloned_without_listing_elements() -> None:
    graph = graph_of()
    x = graph.add_variable(pl.FLOAT, (3 << 20, 1 << 20), "x", mapping=0)
    clone = graph.clone(x.T.reshape((1 << 21, 3 << 19)).T)
    assert graph.variables[-1].num_elements == 3 << 40
    #  element 1 of row-major x.T is x[1, 0]
    assert clone[1, 0].var_regions()[0].begin == 1 << 20


def test_wrong_arguments_are_refused_with_what_was_given() -> None:
    graph = graph_of()
    x = graph.add_variable(pl.FLOAT, (4,), "x")
    with pytest.raises(pl.ElementTypeError, match="'new' is not in TensorCloneMethod") as raised:
        graph.clone(x, method="new")  # type: ignore[call-overload]
    assert "try: TensorCloneMethod.PRESERVE_ORDER_AND_ALIASES" in str(raised.value)
    with pytest.raises(
        pl.ElementTypeError, match="duplication: 2 is not in TensorCloneDuplication"
    ):
        graph.clone_n(x, 2, duplication=2)  # type: ignore[arg-type]
    with pytest.raises(pl.TensorIndexError, match="-1"):
        graph.clone_n(x, -1)
    with pytest.raises(pl.ElementTypeError, match="list is not a tensor"):
        graph.clone([1.0])  # type: ignore[call-overload]
    with pytest.raises(pl.GraphConnectionError, match="'x' belongs to another graph"):
        graph_of().clone(x)
    assert len(graph.variables) == 1


def test_copies_by_tile_are_refused_where_the_order_is_new() -> None:
    graph = graph_of()
    x = graph.add_variable(pl.FLOAT, (4,), "x")
    told = "keep the order of 'x', but CREATE_NEW_ORDER makes a new order"
    with pytest.raises(pl.TensorCreationError, match=told) as raised:
        graph.clone_n(x, 2, method=Method.CREATE_NEW_ORDER, duplication=BY_TILE)
    assert re.search(r"\(.*test_clone\.py:\d+ in test_copies", str(raised.value))
    assert "or duplication=pl.TensorCloneDuplicationMethod.DUPLICATE_BY_OUTER" in raised.value.fix
    with pytest.raises(pl.TensorCreationError, match="as 'x' holds elements twice"):
        graph.clone_n(x.broadcast(2, 0), 2, duplication=BY_TILE)


def test_a_billion_elements_in_a_new_order_keep_their_tiles() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.FLOAT, (2**15, 2**15), "x", mapping="linear")
    new = graph.clone(x.T, method=pl.TensorCloneMethod.CREATE_NEW_ORDER)
    assert new.is_contiguous()
    assert graph.tile_mapping(new) == graph.tile_mapping(x.T)
    half = graph.clone(x[:, ::2])
    assert graph.variables[-1].num_elements == 2**29
    assert graph.tile_mapping(half) == graph.tile_mapping(x[:, ::2])
