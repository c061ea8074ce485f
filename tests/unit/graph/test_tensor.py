"""Every member of a tensor, on small tensors with known answers."""

from __future__ import annotations

import inspect
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import poplite as pl
from poplite import FLOAT, INT, Graph, Target, Tensor
from poplite.view import addresses


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
