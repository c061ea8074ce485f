"""Tensors: every member with known answers, rearrangement, regions in memory."""

from __future__ import annotations

import inspect
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.depth import deep
from poplite import FLOAT, INT, Graph, Target, Tensor
from poplite.graph.partitioners import detect_innermost_grouping
from poplite.view import addresses

# -- members ---------------------------------------------------------------------------------------


@pytest.fixture
def graph() -> Graph:
    return Graph(Target(tiles=4))


@pytest.fixture
def t(graph: Graph) -> Tensor:
    """Shape (4, 6); element (i, j) is number 6 * i + j of the variable."""
    return graph.add_variable(FLOAT, (4, 6), "t")


def numbers(tensor: Tensor) -> Any:
    """Which elements of the graph's first variable a tensor shows."""
    first = tensor.graph.variables[0].storage
    return (addresses(tensor.view) - first.base).tolist()


ARRAY = np.arange(24).reshape(4, 6)

SELECTIONS: list[tuple[str, Callable[[Tensor], Tensor], Any]] = [
    ("slice of dimension 0", lambda t: t.slice(1, 3), ARRAY[1:3]),
    ("slice of a dimension", lambda t: t.slice(1, 3, 1), ARRAY[:, 1:3]),
    ("slice, dimension by name", lambda t: t.slice(1, 3, dim=1), ARRAY[:, 1:3]),
    ("slice by interval", lambda t: t.slice((1, 3)), ARRAY[1:3]),
    ("slice by interval of a dimension", lambda t: t.slice((1, 3), 1), ARRAY[:, 1:3]),
    ("slice by pl.Interval", lambda t: t.slice(pl.Interval(1, 3), dim=1), ARRAY[:, 1:3]),
    ("interval in brackets", lambda t: t[pl.Interval(1, 3)], ARRAY[1:3]),
    ("slice of leading dimensions", lambda t: t.slice([1, 1], [2, 4]), ARRAY[1:2, 1:4]),
    ("slice of some leading dimensions", lambda t: t.slice([1], [4]), ARRAY[1:4]),
    ("slice of nothing", lambda t: t.slice(2, 2), ARRAY[2:2]),
    ("index", lambda t: t.index([3, 2]), ARRAY[3, 2]),
    ("flatten", lambda t: t.T.flatten(), ARRAY.T.reshape(-1)),
    ("flatten of some", lambda t: t.expand([1]).flatten(0, 2), ARRAY),
    ("reshape", lambda t: t.reshape((8, 3)), ARRAY.reshape(8, 3)),
    ("reshape to rank 1", lambda t: t.reshape(24), ARRAY.reshape(24)),
    ("reshape across digits", lambda t: t.T.reshape((8, 3)), ARRAY.T.reshape(8, 3)),
    ("reshape_partial", lambda t: t.reshape_partial(1, 2, [2, 3]), ARRAY.reshape(4, 2, 3)),
    ("reshape_partial inserts", lambda t: t.reshape_partial(1, 1, [1]), ARRAY.reshape(4, 1, 6)),
    ("dim_shuffle", lambda t: t.dim_shuffle([1, 0]), ARRAY.T),
    ("transpose", lambda t: t.transpose(), ARRAY.T),
    ("T", lambda t: t.reshape((2, 2, 6)).T, ARRAY.reshape(2, 2, 6).T),
    ("dim_roll", lambda t: t.expand([0]).dim_roll(2), ARRAY.T.reshape(6, 1, 4)),
    ("dim_roll to", lambda t: t.dim_roll(0, 1), ARRAY.T),
    ("expand", lambda t: t.expand([0, 2, 2]), ARRAY.reshape(1, 4, 6, 1, 1)),
    ("squeeze", lambda t: t.expand([0, 2]).squeeze([3, 0]), ARRAY),
    ("sub_sample", lambda t: t.sub_sample(4, 1), ARRAY[:, ::4]),
    ("sub_sample beyond", lambda t: t.sub_sample(99, 0), ARRAY[:1]),
    ("upsample", lambda t: t.upsample(2, 1), ARRAY.repeat(2, 1)),
    ("upsample by 0", lambda t: t.upsample(0, 1), ARRAY[:, :0]),
    ("broadcast", lambda t: t.broadcast(2, 0), np.tile(ARRAY, (2, 1))),
    ("broadcast by 0", lambda t: t.broadcast(0, 0), ARRAY[:0]),
    ("reverse", lambda t: t.reverse(1), ARRAY[:, ::-1]),
    ("concat", lambda t: pl.concat([t, t.reverse(0)], 1), np.hstack([ARRAY, ARRAY[::-1]])),
    ("concat of two", lambda t: pl.concat(t, t), np.vstack([ARRAY, ARRAY])),
    ("append", lambda t: pl.append(t, t[1]), np.vstack([ARRAY, ARRAY[1]])),
    ("append along", lambda t: pl.append(t, t[:, 0], 1), np.hstack([ARRAY, ARRAY[:, :1]])),
]


@pytest.mark.parametrize(("operation", "expected"), [s[1:] for s in SELECTIONS],
                         ids=[s[0] for s in SELECTIONS])  # fmt: skip
def test_an_operation_shows_the_elements_numpy_shows(
    t: Tensor, operation: Callable[[Tensor], Tensor], expected: Any
) -> None:
    result = operation(t)
    assert result.shape == expected.shape
    assert numbers(result) == expected.tolist()
    assert result.element_type is FLOAT


def test_upsample_repeats_in_place_and_broadcast_repeats_the_whole(graph: Graph) -> None:
    row = graph.add_variable(INT, (2, 3))
    assert numbers(row.upsample(2, 1, pl.UpsampleMethod.REPEAT)) == [
        [0, 0, 1, 1, 2, 2], [3, 3, 4, 4, 5, 5],
    ]  # fmt: skip
    assert numbers(row[0].broadcast(2, 0)) == [0, 1, 2, 0, 1, 2]


def test_dim_shuffle_maps_dimensions_of_the_result_to_those_of_the_source(graph: Graph) -> None:
    t = graph.add_variable(FLOAT, (2, 3, 4))
    assert t.dim_shuffle([2, 0, 1])[3][1][2] == t[1][2][3]
    assert t.dim_shuffle_partial([0], [2]).shape == (3, 4, 2)
    assert t.dim_shuffle_partial([2, 0], [0, 1]) == t.dim_shuffle([2, 0, 1])


def test_slices_returns_one_tensor_for_each_item(t: Tensor) -> None:
    assert [s.shape for s in t.slices([(0, 2), (1, 4)])] == [(2, 6), (3, 6)]
    assert t.slices([1, 5], 1) == [t[:, 1:2], t[:, 5:6]]
    joined = t.slices([[(0, 1), (2, 4)], [(4, 6)], []], dim=1)
    assert numbers(joined[0]) == ARRAY[:, [0, 2, 3]].tolist()
    assert joined[1] == t[:, 4:]
    assert joined[2].shape == (4, 0)


def test_scalars_have_rank_0_and_one_element(graph: Graph) -> None:
    scalar = graph.add_variable(FLOAT, (), "s")
    assert (scalar.shape, scalar.rank, scalar.num_elements) == ((), 0, 1)
    assert scalar.flatten().shape == (1,)
    assert scalar[()] == scalar
    assert scalar[None].shape == (1,)
    assert scalar.expand([0, 0]).shape == (1, 1)
    assert scalar.is_contiguous()
    assert scalar.contiguous_regions() == [(0, 1)]


def test_a_tensor_without_elements_answers_everything(graph: Graph) -> None:
    nothing = graph.add_variable(FLOAT, (3, 0), "nothing")
    assert nothing.num_elements == 0
    assert nothing.is_contiguous()
    assert nothing.is_parallel_writeable()
    assert not nothing.contains_aliases()
    assert not nothing.contains_constant()
    assert not nothing.intersects_with(nothing)
    assert nothing.contiguous_regions() == []
    assert nothing.var_regions() == []
    assert nothing.constant_value() is None
    assert nothing[1].shape == (0,)
    assert nothing.reshape((0, 7)).shape == (0, 7)
    assert nothing.broadcast(2, 0).T.reverse(0).shape == (0, 6)
    assert nothing.var_str() == "VAR:"
    assert (nothing.T.name, graph.tensor("nothing").name) == ("nothing", "nothing")
    assert repr(nothing) == "<Tensor 'nothing' float32[3, 0], no elements>"


def test_storage_questions(graph: Graph, t: Tensor) -> None:
    c = graph.add_constant(FLOAT, (4, 1), [1, 2, 3, 4], "c")
    assert t.is_contiguous()
    assert not t[:, 1:].is_contiguous()
    assert t.is_parallel_writeable()
    assert t.broadcast(2, 0).contains_aliases()
    assert not t.broadcast(2, 0).is_parallel_writeable()
    both = pl.concat(t, c, 1)
    assert both.contains_constant()
    assert not both[:, :6].contains_constant()
    assert not both.is_parallel_writeable()
    assert both[:, :6] == t
    assert t[0].intersects_with(t[:, 3])
    assert not t[0].intersects_with(t[1:])
    assert both.intersects_with(c[2:])
    assert not both[:, :6].intersects_with(c)


def test_regions_say_where_the_view_breaks_and_what_it_touches(graph: Graph, t: Tensor) -> None:
    u = graph.add_variable(FLOAT, (4, 2), "u")
    both = pl.concat(t, u, 1)
    assert both.contiguous_regions() == [
        (0, 6), (6, 8), (8, 14), (14, 16), (16, 22), (22, 24), (24, 30), (30, 32),
    ]  # fmt: skip
    assert [(v.name, a, b) for v, a, b in both[1:3].var_regions()] == [
        ("t", 6, 12), ("u", 2, 4), ("t", 12, 18), ("u", 4, 6),
    ]  # fmt: skip
    assert [(v.name, a, b) for v, a, b in t[0].upsample(2, 0)[:3].var_regions()] == [
        ("t", 0, 1), ("t", 0, 2),
    ]  # fmt: skip


def test_constant_value_reads_one_element_of_a_constant(graph: Graph, t: Tensor) -> None:
    c = graph.add_constant(FLOAT, (2, 2), [[1.0, 2.0], [3.0, 4.5]], "c")
    assert c[1, 1].constant_value() == np.float32(4.5)
    assert c.T[0, 1].constant_value() == np.float32(3)
    assert c.constant_value() is None
    assert t[0, 0].constant_value() is None
    assert c[0, 0].reinterpret(INT).constant_value() == np.float32(1).view(np.int32)


def test_reinterpret_changes_the_type_alone(t: Tensor) -> None:
    as_int = t.reinterpret(np.int32)
    assert as_int.element_type is INT
    assert as_int.view == t.view
    assert as_int != t
    assert as_int.reinterpret(FLOAT) == t


def test_equality_is_of_elements_and_not_of_how_they_were_joined(graph: Graph) -> None:
    a = graph.add_variable(FLOAT, (2,), "a")
    one, other = pl.concat([a.reverse(0), a]), pl.concat([a[1:2], a[0:1], a])
    assert one == other
    assert hash(one) == hash(other)
    assert len({one, other, one.reshape((2, 2))}) == 2
    assert one != other.reinterpret(INT)
    assert one != pl.concat([a[1:2], a[1:2], a])
    assert one[:0] == other[4:] == a[1:1]
    assert one[:0] != other.reshape((2, 2))[:, :0]
    assert one[:0] != other.reinterpret(INT)[:0]


def test_equal_views_are_equal_tensors(graph: Graph, t: Tensor) -> None:
    assert t[1:3][:, 2] == t[:, 2][1:3]
    assert len({t[0], t[0], t[1]}) == 2
    assert t == t.T.T
    assert t != graph.add_variable(FLOAT, (4, 6))
    assert t != "t"  # type: ignore[comparison-overlap]  # what people may write
    assert t[0:0] == t[1:1]
    assert t[0:0] != Graph().add_variable(FLOAT, (0, 6))


def test_len_and_iteration_run_over_dimension_0(t: Tensor) -> None:
    assert len(t) == 4
    assert [numbers(row) for row in t] == ARRAY.tolist()
    assert [x.shape for x in t[0]] == [()] * 6


def test_names_and_reprs(graph: Graph, t: Tensor) -> None:
    names = [graph.add_variable(FLOAT, (4, 6), name) for name in "uvw"]
    many = pl.concat([t, *names])
    assert t[0].name == "t"
    assert many.name == "concat(t, u, v, 1 more)"
    assert t.shape_to_string() == "{4,6}"
    assert repr(t) == "<Tensor 't' float32[4, 6] on no tile, 96 B>"
    graph.set_tile_mapping(t[0], 2)
    assert repr(t) == "<Tensor 't' float32[4, 6] on tile 2, 96 B, 18 elements unmapped>"
    assert repr(t[0]) == "<Tensor 't'[0] float32[6] on tile 2, 24 B>"
    for tile in (0, 1, 3):
        graph.set_tile_mapping(t[tile], tile)
    graph.set_tile_mapping(t[2], 3)
    assert repr(t) == "<Tensor 't' float32[4, 6] on 3 tiles (0-1, 3), 96 B>"
    assert repr(t[0, 0]) == "<Tensor 't'[0, 0] float32[] on tile 0, 4 B>"


def test_an_element_that_occurs_twice_is_unmapped_once(graph: Graph, t: Tensor) -> None:
    graph.set_tile_mapping(t[0], 2)
    twice = pl.concat([t, t])
    assert repr(twice) == (
        "<Tensor 't'.broadcast(2, 0) float32[8, 6] on tile 2, 24 distinct elements, 96 B, "
        "18 elements unmapped>"
    )
    assert repr(t.broadcast(3, 0)).endswith(
        "on tile 2, 24 distinct elements, 96 B, 18 elements unmapped>"
    )
    graph.set_tile_mapping(t.flatten()[1:], 1)
    graph.set_tile_mapping(t[0, :1], 0)
    assert repr(twice).endswith("on 2 tiles (0-1), 24 distinct elements, 96 B>")


def test_the_repr_of_a_permuted_large_variable_finds_its_tiles() -> None:
    graph = Graph(Target(tiles=4))
    big = graph.add_variable(FLOAT, (1000, 1000), "big", mapping="linear")
    assert repr(big.T) == "<Tensor 'big'.T float32[1000, 1000] on 4 tiles (0-3), 4,000,000 B>"


def test_diagnostic_strings_name_the_first_variable(graph: Graph, t: Tensor) -> None:
    u = graph.add_variable(FLOAT, (4, 6), "u")
    assert t.var_str() == "VAR:0"
    assert t.debug_str() == "VAR:t"
    assert pl.concat(u, t).debug_str() == "VAR:u INTERLEAVE[2]"
    assert t.T.broadcast(3, 1).debug_str() == "VAR:t BROADCAST[3] DIMSHUFFLE(1,0)"
    assert t.reshape((2, 2, 6)).dim_shuffle([2, 0, 1]).var_str() == "VAR:0 DIMSHUFFLE(2,0,1)"


def test_the_expression_and_the_regions_are_written_to_a_stream(
    graph: Graph, t: Tensor, capsys: pytest.CaptureFixture[str]
) -> None:
    u = graph.add_variable(FLOAT, (4, 2), "u")
    stream = io.StringIO()
    both = pl.concat(t[:, 4:], u, 1)[:2]
    assert both.output(stream) is stream
    assert stream.getvalue() == (
        "float32[2, 4]: 4 x [t from 4, extent:stride (4:6) (2:1); "
        "u from 0, extent:stride (4:2) (2:1)] from 0, extent:stride (2:4) (4:1)\n"
    )
    both.dump_regions()
    assert capsys.readouterr().out == "t[4, 6)\nu[0, 2)\nt[10, 12)\nu[2, 4)\n"
    graph.add_variable(FLOAT, (8, 12), "v").T.dump_regions()
    assert capsys.readouterr().out == "v[0, 1) 8 times every 12, 12 times every 1\n"
    t[0:0].dump()
    assert capsys.readouterr().out == "float32[0, 6]: no elements\n"


ALIASES = {
    "subSample": "sub_sample", "dimShuffle": "dim_shuffle", "dimRoll": "dim_roll",
    "dimShufflePartial": "dim_shuffle_partial", "reshapePartial": "reshape_partial",
    "hasMetadata": "has_metadata", "isContiguous": "is_contiguous",
    "containsAliases": "contains_aliases",
    "containsConstant": "contains_constant", "isParallelWriteable": "is_parallel_writeable",
    "intersectsWith": "intersects_with", "getContiguousRegions": "contiguous_regions",
    "getVarRegions": "var_regions",
    "shapeToString": "shape_to_string", "getVarStr": "var_str", "getDebugStr": "debug_str",
    "outputRegions": "output_regions", "dumpRegions": "dump_regions",
}  # fmt: skip


def test_every_c_plus_plus_spelling_is_the_python_member(t: Tensor) -> None:
    for alias, member in ALIASES.items():
        assert inspect.unwrap(getattr(Tensor, alias)) is getattr(Tensor, member)
    assert t.elementType() is FLOAT
    assert t.numElements() == 24
    assert t.dim(1) == 6
    camel = {name for name in dir(Tensor) if any(c.isupper() for c in name) and name != "T"}
    assert camel == {*ALIASES, "elementType", "getConstantValue", "getMetadata", "numElements"}


# -- rearrangement ---------------------------------------------------------------------------------


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


# -- regions ---------------------------------------------------------------------------------------


def test_a_transposed_matrix_is_one_group_in_the_order_of_memory(graph: pl.Graph) -> None:
    x = graph.add_variable(pl.FLOAT, (2, 3), "x")
    groups = graph.sorted_contiguous_regions(x.T)
    assert groups == [[(0, 1), (2, 3), (4, 5), (1, 2), (3, 4), (5, 6)]]
    assert pl.concat(x.T.flatten().slices(groups.intervals)) == x.flatten()
    assert (len(groups), groups.num_elements) == (1, 6)


def test_columns_put_together_are_groups_of_their_rows(graph: pl.Graph) -> None:
    x = graph.add_variable(pl.FLOAT, (2, 6), "x")
    t = pl.concat([x[:, 4:], x[:, :2], x[:, 2:3]], 1)
    assert graph.sorted_contiguous_regions(t) == [[(2, 5)], [(0, 2), (7, 10)], [(5, 7)]]


def test_variables_never_share_a_group(graph: pl.Graph) -> None:
    x, y = (graph.add_variable(pl.FLOAT, (4,)) for _ in range(2))
    assert graph.sorted_contiguous_regions(pl.concat([y, x])) == [[(4, 8)], [(0, 4)]]


def test_intervals_may_come_in_any_order_and_touch(graph: pl.Graph) -> None:
    x = graph.add_variable(pl.FLOAT, (10,), "x")
    for intervals in ([(4, 6), (0, 2), (2, 4), (3, 3)], np.array([[4, 6], [0, 2], [2, 4]])):
        assert graph.sorted_contiguous_regions(x, intervals) == [[(0, 6)]]
    assert graph.sorted_contiguous_regions(x, []) == []


def test_many_intervals_of_a_matrix(graph: pl.Graph) -> None:
    x = graph.add_variable(pl.FLOAT, (200, 200), "x")
    rows = [(200 * i, 200 * i + 100) for i in range(200)]
    groups = graph.sorted_contiguous_regions(x.T, rows)
    assert (len(groups), groups.num_elements) == (1, 20_000)
    assert groups[0][:2] == [(0, 1), (200, 201)]
    others = graph.sorted_contiguous_regions(x.T, rows[::2])
    assert (len(others), others.num_elements) == (10_000, 10_000)
    assert others[:2] == [[(0, 1)], [(400, 401)]]


def test_repeated_memory_is_listed_each_time_or_once(graph: pl.Graph) -> None:
    row = graph.add_variable(pl.FLOAT, (8,), "row")
    twice = row.broadcast(2, 0)
    assert graph.sorted_contiguous_regions(twice) == [[(0, 8)], [(8, 16)]]
    assert graph.sorted_contiguous_regions(twice, remove_aliased=True) == [[(0, 8)]]
    windows = pl.concat([row[0:4], row[2:6]])
    assert graph.sorted_contiguous_regions(windows) == [[(0, 4)], [(4, 8)]]
    assert graph.sorted_contiguous_regions(windows, remove_aliased=True) == [[(0, 4), (6, 8)]]


def test_aliases_cut_intervals_until_they_are_equal_or_apart(graph: pl.Graph) -> None:
    row = graph.add_variable(pl.FLOAT, (8,), "row")
    windows = pl.concat([row[0:4], row[2:6]])
    groups = graph.sorted_contiguous_regions(windows, report_aliases=True)
    assert groups.aliases is not None
    cells = dict(zip(map(tuple, groups.intervals.tolist()), groups.aliases.tolist(), strict=True))
    assert cells == {(0, 2): 0, (2, 4): 2, (4, 6): 2, (6, 8): 6}
    assert graph.sorted_contiguous_regions(windows).aliases is None


def test_a_list_for_aliases_is_filled_as_in_poplar(graph: pl.Graph) -> None:
    row = graph.add_variable(pl.FLOAT, (8,), "row")
    windows = pl.concat([row[0:4], row[2:6]])
    aliases = [7]
    groups = graph.getSortedContiguousRegions(windows, [(0, 8)], False, aliases)
    cells = list(zip([tuple(i) for group in groups for i in group], aliases, strict=True))
    assert sorted(cells) == [((0, 2), 0), ((2, 4), 2), ((4, 6), 2), ((6, 8), 6)]
    once = graph.getSortedContiguousRegions(windows, [(0, 8)], True, aliases)
    assert aliases == [begin for group in once for begin, _ in group] == [0, 6]
    assert graph.sorted_contiguous_regions(row, [], False, aliases) == aliases == []


def test_an_interval_given_twice_repeats_its_memory(graph: pl.Graph) -> None:
    x = graph.add_variable(pl.FLOAT, (4,), "x")
    assert graph.sorted_contiguous_regions(x, [(0, 3), (1, 2)]) == [[(0, 3)], [(1, 2)]]
    assert graph.sorted_contiguous_regions(x, [(0, 3), (1, 2)], True) == [[(0, 3)]]


@pytest.mark.parametrize("shape", [(0,), (3, 0)])
def test_a_tensor_without_elements_has_no_groups(graph: pl.Graph, shape: tuple[int, ...]) -> None:
    t = graph.add_variable(pl.FLOAT, shape)
    for report in (False, True):
        assert graph.sorted_contiguous_regions(t, report_aliases=report) == []
    assert list(graph.sorted_contiguous_regions_by_tile(t)) == [[]] * 4


def test_groups_by_tile_follow_the_tiles_not_the_view(graph: pl.Graph) -> None:
    x = graph.add_variable(pl.FLOAT, (2, 4), "x", mapping=3)
    graph.set_tile_mapping(x[:, :2], 0)
    by_tile = graph.sorted_contiguous_regions_by_tile(x.T)
    assert by_tile[0] == [[(0, 1), (2, 3)], [(1, 2), (3, 4)]]
    assert by_tile[-1] == [[(4, 5), (6, 7)], [(5, 6), (7, 8)]]
    assert by_tile.tiles.tolist() == [0, 3]
    intervals = "8 intervals: [0, 1) 2 times every 2, 2 times every 1, 2 times every 4"
    assert repr(by_tile) == f"<TileRegions 8 elements, 2 tiles, 4 groups, {intervals}>"


def test_repeated_memory_by_tile(graph: pl.Graph) -> None:
    x = graph.add_variable(pl.FLOAT, (4,), "x", mapping="linear")
    twice = graph.sorted_contiguous_regions_by_tile(x.broadcast(2, 0), report_aliases=True)
    assert twice[1] == [[(1, 2)], [(5, 6)]]
    assert twice[1].aliases is not None
    assert twice[1].aliases.tolist() == [1, 1]
    once = graph.sorted_contiguous_regions_by_tile(x.broadcast(2, 0), remove_aliased=True)
    assert once[1] == [[(1, 2)]]


def test_a_billion_elements_are_asked_for_in_parts(graph: pl.Graph) -> None:
    x = graph.add_variable(pl.FLOAT, (2**15, 2**15), "x")
    assert graph.sorted_contiguous_regions(x) == [[(0, 2**30)]]
    assert len(graph.sorted_contiguous_regions(x.T, [(0, 2**15)])) == 2**15
    with pytest.raises(pl.SizeOverflowError, match="1,073,741,824 runs .* at most 134,217,728"):
        graph.sorted_contiguous_regions(x.T)


def test_an_interval_beyond_the_tensor_is_refused(graph: pl.Graph) -> None:
    x = graph.add_variable(pl.FLOAT, (2, 3), "x")
    with pytest.raises(pl.TensorIndexError, match=r"7.*6"):
        graph.sorted_contiguous_regions(x, [(0, 2), (4, 7)])


def test_elements_without_a_tile_are_refused_by_tile(graph: pl.Graph) -> None:
    x = graph.add_variable(pl.FLOAT, (8,), "x")
    graph.set_tile_mapping(x[:6], 0)
    with pytest.raises(pl.InvalidTileMapping, match=r"'x': elements \[6, 8\) of 8 have no tile"):
        graph.sorted_contiguous_regions_by_tile(x)


def test_a_tensor_of_another_graph_is_refused(graph: pl.Graph) -> None:
    other = pl.Graph().add_variable(pl.FLOAT, (4,), "y")
    for ask in (graph.sorted_contiguous_regions, graph.sorted_contiguous_regions_by_tile):
        with pytest.raises(pl.GraphConnectionError, match="'y' belongs to another graph"):
            ask(other)


def two_variables() -> tuple[pl.Tensor, pl.Tensor]:
    graph = pl.Graph()
    return graph.add_variable(pl.INT, (4, 6), "a"), graph.add_variable(pl.INT, (3,), "b")


def test_regions_read_as_lists_and_as_arrays() -> None:
    a, b = two_variables()
    both = pl.concat([b, a[:, 5], b[1:]])
    cuts = [(0, 3), (3, 4), (4, 5), (5, 6), (6, 7), (7, 9)]
    assert both.contiguous_regions() == cuts
    assert both.contiguous_regions()[-2:] == cuts[-2:]
    assert both.contiguous_regions() != cuts[:-1]
    regions = both.var_regions()
    assert [(v.name, begin, end) for v, begin, end in regions] == [
        ("b", 0, 3), ("a", 5, 6), ("a", 11, 12), ("a", 17, 18), ("a", 23, 24), ("b", 1, 3),
    ]  # fmt: skip
    assert [v.name for v in regions.variables] == ["a", "b"]
    assert regions.number.tolist() == [1, 0, 0, 0, 0, 1]
    assert regions[1:] == list(regions)[1:] != regions[:-1]
    assert repr(regions[:2]) == ("[<VariableInterval 'b' [0, 3)>, <VariableInterval 'a' [5, 6)>]")


def test_regions_of_other_variables_differ() -> None:
    graph = pl.Graph()
    a, b = (graph.add_variable(pl.INT, (4,), name) for name in "ab")
    assert a[:2].var_regions() == a[:2].var_regions() != b[:2].var_regions()


@deep
def test_ten_million_regions_are_arrays() -> None:
    t = pl.Graph().add_variable(pl.FLOAT, (4000, 2500), "t").T
    assert t.num_regions() == len(t.contiguous_regions()) == len(t.var_regions()) == 10**7
    assert t.var_regions()[4001] == (t.graph.variables[0], 2501, 2502)
    assert repr(t.contiguous_regions()) == (
        "<10,000,000 intervals: [0, 1) 65,536 times every 1; 9,934,464 more>"
    )
    assert repr(t.var_regions()).startswith(
        "<VarRegions 10,000,000 ranges: 't' [0, 1) 4,000 times every 2,500, 16 times every 1; "
    )
    groups = t.graph.sorted_contiguous_regions(t)
    assert groups[0][-1] == (10**7 - 1, 10**7)
    moved = t.graph.simplifying_rearranger(t).rearrange([(0, 10**7)])
    assert (moved.begin == groups[0].begin).all()


def test_regions_are_sliced_and_rearranged_without_a_list() -> None:
    a, _ = two_variables()
    (group,) = a.graph.sorted_contiguous_regions(a.T)
    flat = a.T.flatten()
    assert pl.concat(flat.slices(group)) == a.flatten()
    rearranger = a.graph.simplifying_rearranger(a.T)
    assert rearranger.undo(rearranger.rearrange([(0, 24)])) == [(k, k + 1) for k in range(24)]
    assert np.asarray(group[:2]).tolist() == [[0, 1], [4, 5]]


@pytest.mark.parametrize("most", [1, 7, 2**20])
def test_chunks_are_the_regions_in_parts(most: int) -> None:
    a, b = two_variables()
    for tensor in (pl.concat([a.T.flatten(), b, a[1]]), a.T, b[1:1]):
        parts = list(tensor.region_chunks(most))
        assert [region for part in parts for region in part] == tensor.var_regions()
        assert all(0 < len(part) <= most for part in parts)


def test_chunks_stream_more_than_is_listed() -> None:
    huge = pl.Graph().add_variable(pl.FLOAT, (2**15, 2**15), "huge").T
    assert huge.num_regions() == 2**30
    part = next(huge.region_chunks(2**16))
    assert (part.begin[:3].tolist(), len(part)) == ([0, 2**15, 2**16], 2**16)
    with pytest.raises(pl.SizeOverflowError, match=r"1,073,741,824 runs[\s\S]*t.region_chunks\(\)"):
        huge.var_regions()
    with pytest.raises(pl.TensorIndexError, match="at most 0 regions, but the minimum is 1"):
        huge.region_chunks(0)


def test_a_place_outside_a_list_is_refused_with_its_length() -> None:
    a, _ = two_variables()
    a.graph.set_tile_mapping(a, 0)
    with pytest.raises(
        pl.TensorIndexError, match=r"group 1 does not exist; there are 1[\s\S]*from -1 to 0"
    ):
        a.graph.sorted_contiguous_regions(a)[1]
    with pytest.raises(pl.TensorIndexError, match=r"tile 1472 does not exist; there are 1,472"):
        a.graph.sorted_contiguous_regions_by_tile(a)[1472]
    with pytest.raises(pl.ElementTypeError, match="int is not a tensor"):
        detect_innermost_grouping(a.graph, 5)  # type: ignore[arg-type]
