"""Rearranging tensors alike, unbroadcasting, grouping."""

from __future__ import annotations

import pytest

import poplite as pl
from poplite.graph.partition import detect_innermost_grouping


@pytest.fixture
def graph() -> pl.Graph:
    return pl.Graph(pl.Target(tiles=4))


def test_a_shuffled_tensor_becomes_its_variable(graph: pl.Graph) -> None:
    x = graph.add_variable(pl.FLOAT, (3, 4, 5), "x")
    y = graph.add_variable(pl.FLOAT, (5, 3, 4), "y")
    out, other = graph.reorder_to_simplify(x.dim_shuffle((2, 0, 1)).reverse(1), [y])
    assert out == x.flatten()
    assert other == y.reverse(1).dim_shuffle((1, 2, 0)).flatten()


def test_a_billion_elements_are_reordered_by_strides(graph: pl.Graph) -> None:
    x = graph.add_variable(pl.FLOAT, (2**10, 2**10, 2**10), "x")
    (out,) = graph.reorder_to_simplify(x.dim_shuffle((2, 0, 1)))
    assert out == x.flatten()


def test_the_pieces_of_a_concatenation_are_put_in_order(graph: pl.Graph) -> None:
    x, y = (graph.add_variable(pl.FLOAT, (4, 6), name) for name in "xy")
    t = pl.concat([y[2:], x[:, 3:].reshape((2, 6)), y[:2]]).T
    (out,) = graph.reorder_to_simplify(t)
    assert out == pl.concat([x[:, 3:].flatten(), y.flatten()])
    (kept,) = graph.reorder_to_simplify(t, require_simplest_order=False)
    assert kept == t.flatten()


def test_slices_of_one_variable_are_that_variable_again(graph: pl.Graph) -> None:
    x = graph.add_variable(pl.FLOAT, (1000, 8), "x")
    numbers = [i * 377 % 1000 for i in range(1000)]
    shuffled, alike = pl.concat(x.slices(numbers)), graph.add_variable(pl.FLOAT, (1000, 8), "y")
    out, other = graph.reorder_to_simplify(shuffled, [alike])
    assert out == x.flatten()
    assert other.reshape((1000, 8))[377] == alike[1]
    rearranger = graph.simplifying_rearranger(shuffled)
    assert rearranger.undo(out).reshape((1000, 8))[1] == x[377]


def test_a_simple_tensor_stays_as_it_is(graph: pl.Graph) -> None:
    x = graph.add_variable(pl.FLOAT, (4, 6), "x")
    for t in (x, x.broadcast(3, 0), x[:0], pl.concat([x, graph.add_variable(pl.FLOAT, (1, 6))])):
        assert graph.reorder_to_simplify(t) == (t.flatten(),)


def test_repeats_move_outside(graph: pl.Graph) -> None:
    x = graph.add_variable(pl.FLOAT, (6,), "x")
    (out,) = graph.reorder_to_simplify(x.upsample(3, 0))
    assert out == x.broadcast(3, 0)


def test_intervals_are_rearranged_as_a_tensor_of_their_slices(graph: pl.Graph) -> None:
    x = graph.add_variable(pl.FLOAT, (2, 3), "x")
    rearranger = graph.simplifying_rearranger(x.T)
    assert rearranger.rearrange([(0, 6)]) == [(0, 1), (2, 3), (4, 5), (1, 2), (3, 4), (5, 6)]
    assert rearranger.undo([(0, 3), (3, 6)]) == [(0, 1), (3, 4), (1, 2), (4, 5), (2, 3), (5, 6)]
    simple = graph.simplifying_rearranger(x)
    assert simple.rearrange([(0, 3), (3, 6)]) == [(0, 3), (3, 6)]
    assert simple.rearrange([(4, 7), (9, 9), (0, 3)]) == [(4, 7), (0, 3)]
    assert graph.simplifying_rearranger(x[:0]).undo([]) == []
    assert repr(simple) == "<TensorRearranger 6 elements>"


def test_another_number_of_elements_is_refused(graph: pl.Graph) -> None:
    x, y = (graph.add_variable(pl.FLOAT, shape) for shape in ((2, 3), (7,)))
    rearranger = graph.simplifying_rearranger(x)
    with pytest.raises(pl.TensorCreationError, match="7 elements, but 6 are rearranged"):
        rearranger.rearrange(y)
    with pytest.raises(pl.TensorCreationError, match="2 intervals with 5 elements, but 6"):
        rearranger.undo([(0, 2), (4, 7)])
    with pytest.raises(pl.TensorCreationError, match=r"undo: \[4, 2\) is not an interval"):
        rearranger.undo([(0, 6), (4, 2)])
    with pytest.raises(pl.TensorCreationError, match="7 elements, but 6 are rearranged"):
        graph.reorder_to_simplify(x, [y])


def test_what_is_no_tensor_is_refused(graph: pl.Graph) -> None:
    x = graph.add_variable(pl.FLOAT, (2, 3), "x")
    for what in ("x", [(0.5, 6)], [1, 2, 3], [(0, 1), (2,)], None):
        with pytest.raises(
            pl.ElementTypeError, match=f"undo: {type(what).__name__} is not a tensor"
        ):
            graph.simplifying_rearranger(x).undo(what)  # type: ignore[arg-type]
    with pytest.raises(pl.ElementTypeError, match="others is <Tensor .*, not a list of tensors"):
        graph.reorder_to_simplify(x, x)  # type: ignore[arg-type]
    with pytest.raises(pl.GraphConnectionError, match="another graph"):
        graph.simplifying_rearranger(pl.Graph().add_variable(pl.FLOAT, (6,)))


def test_unbroadcast_undoes_every_dimension(graph: pl.Graph) -> None:
    x = graph.add_variable(pl.FLOAT, (2, 3), "x")
    assert graph.find_unbroadcast_tensor(x.broadcast(4, 0).broadcast(5, 1)) == x
    assert graph.find_unbroadcast_tensor(x) is None
    assert graph.find_unbroadcast_tensor(x[0, :1].broadcast(7, 0)) == x[0, :1]
    # Elements that are repeated in place are no broadcast of a smaller tensor.
    assert graph.find_unbroadcast_tensor(x.upsample(2, 1)) is None
    both = pl.concat([x, graph.add_variable(pl.FLOAT, (2, 3), "y")])
    assert graph.find_unbroadcast_tensor(both.broadcast(4, 1)) == both
    assert graph.find_unbroadcast_tensor(x[:0]) is None


def test_grouping_of_channels(graph: pl.Graph) -> None:
    x = graph.add_variable(pl.FLOAT, (4, 10, 16), "x", mapping=0)
    channels = x.dim_shuffle((1, 0, 2)).reshape((10, 64))
    assert detect_innermost_grouping(graph, channels) == 16
    graph.set_tile_mapping(x, [[(8 * i, 8 * i + 8) for i in range(k, 80, 4)] for k in range(4)])
    assert detect_innermost_grouping(graph, channels) == 8
    assert detect_innermost_grouping(graph, channels.T) == 1
    assert detect_innermost_grouping(graph, channels[:0]) == 1
    pieces = pl.concat([channels[:, :48], channels[:, 50:]], 1)
    assert detect_innermost_grouping(graph, pieces) == 1


def test_grouping_needs_a_dimension_and_tiles(graph: pl.Graph) -> None:
    x = graph.add_variable(pl.FLOAT, (4,), "x")
    with pytest.raises(pl.TensorCreationError, match="rank 0 has no innermost"):
        detect_innermost_grouping(graph, x[0])
    with pytest.raises(pl.InvalidTileMapping, match=r"elements \[0, 4\) of 4 have no tile"):
        detect_innermost_grouping(graph, x)
