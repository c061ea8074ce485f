"""Reductions as expressions: what NumPy computes, and the same bits on any number of threads."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import deep, examples, interpreted, thinned, values_only
from helpers.running import words_of
from poplite import ops
from poplite.ops.fuse.pricing import Remembered
from poplite.ops.reductions.plan import (
    Levels,
    RemainingPartials,
    cheapest_levels,
    cycles_of,
    levels_to_try,
)
from poplite.testing import assert_vertex
from poplite.vertices import reduce

Dims = int | list[int] | None


def computed(expr: pl.Expr, graph: pl.Graph) -> Any:
    program = pl.Sequence()
    result = ops.map(expr, program=program)
    engine = pl.Engine(graph, program, **interpreted())
    engine.run()
    return engine.read(result)


@pytest.mark.parametrize("dims", thinned([None, -1, [0, 2], []], keep=[-1, [0, 2]]))
def test_as_numpy(dims: Dims) -> None:
    graph = pl.Graph(pl.Target(tiles=3))
    values = np.random.default_rng(0).integers(-3, 4, (4, 5, 8))
    x = graph.add_variable(pl.FLOAT, values.shape, "x", mapping="linear", initial_value=values)
    axes = tuple(dims) if isinstance(dims, list) else dims
    made = []
    with graph.steps() as step:
        for name in ("sum", "mean", "prod", "min", "max", "all", "any"):
            is_logical = name in ("all", "any")
            operand, array = (x > 1, values > 1) if is_logical else (x + 1, values + np.float32(1))
            for keepdims in (False, True):
                expr = getattr(ops, name)(operand, dims, keepdims=keepdims)
                expected = getattr(np, name)(array, axis=axes, keepdims=keepdims)
                made.append((name, ops.map(expr), expected))
    engine = pl.Engine(graph, step, **interpreted())
    engine.run()
    for name, result, expected in made:
        found = engine.read(result)
        np.testing.assert_array_equal(found, np.asarray(expected, found.dtype), name)


def test_means_of_half_are_made_in_float() -> None:
    graph = pl.Graph(pl.Target(tiles=3))
    x = graph.add_variable(pl.HALF, (3, 4000), "x", mapping="linear", initial_value=100)
    mean = ops.mean(x, 1)
    assert mean.element_type is pl.HALF
    assert computed(mean, graph).tolist() == [100] * 3
    assert computed(ops.mean(x - x), graph) == 0
    none = graph.add_variable(pl.FLOAT, (2, 0), "none", mapping="linear")
    assert np.isnan(computed(ops.mean(none, 1), graph)).all()
    i = graph.add_variable(pl.INT, (3,), "i", mapping=0)
    with pytest.raises(pl.ElementTypeError, match=r"ops.mean: the operand is INT"):
        ops.mean(i)
    with pytest.raises(pl.TensorIndexError, match="ops.mean: dimension 2 of"):
        ops.mean(x, 2)


@deep
def test_bits_are_the_same_on_any_number_of_threads(tmp_path: Path) -> None:
    script = """
import hashlib
import numpy as np
import poplite as pl
from poplite import ops
from poplite.testing import assert_vertex
from poplite.vertices import reduce

graph = pl.Graph(pl.Target(tiles=400))
rng = np.random.default_rng(0)
values = rng.standard_normal((1000, 500)) * 10.0 ** rng.integers(-6, 7, (1000, 500))
x = graph.add_variable(pl.FLOAT, values.shape, "x", mapping="linear", initial_value=values)
with graph.steps() as step:
    found = [ops.map(ops.sum(x)), ops.map(ops.mean(abs(x), 1))]
    found += ops.reduce_many([ops.variance(x, 0), ("log_add", x, 0)])
engine = pl.Engine(graph, step, options={"debug.instrument": False})
for _ in range(2):
    engine.run()
    print(hashlib.sha256(b"".join(engine.read(each).tobytes() for each in found)).hexdigest())
"""
    found = [words_of(tmp_path, script, NUMBA_NUM_THREADS=threads) for threads in ("1", "3")]
    assert len({word for words in found for word in words}) == 1


@pytest.mark.parametrize("shape", [(900,), (450, 40), (450, 3)])
def test_bits_over_two_levels_are_those_of_the_interpreted_form(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    values = rng.standard_normal(shape) * 10.0 ** rng.integers(-6, 7, shape)
    bits = set()
    for interpret in (False, True, False):
        graph, program = pl.Graph(pl.Target(tiles=450)), pl.Sequence()
        x = graph.add_variable(pl.FLOAT, shape, "x", mapping="linear", initial_value=values)
        total = ops.map(ops.sum(x, 0), program=program)
        names = [compute_set.name for compute_set in graph.compute_sets]
        assert {"sum/groups", "sum/final"} <= {*names}
        engine = pl.Engine(graph, program, interpret=interpret, options=values_only())
        engine.run()
        bits.add(engine.read(total).tobytes())
    assert len(bits) == 1


# -- logarithms of sums ----------------------------------------------------------------------------


def test_log_sum_exp_at_the_edges() -> None:
    inf, nan = np.inf, np.nan
    values = np.array(
        [
            [-inf, -inf, -inf],
            [-inf, 2.5, -inf],
            [inf, 0, -inf],
            [inf, inf, 1],
            [nan, 1, 2],
            [nan, inf, -inf],
            [1e30, -1e30, 1e30],
            [-1e30, -1e30, -3e38],
            [88, 89, 90],
            [-0.0, 0, 0],
        ],
        np.float32,
    )
    graph = pl.Graph(pl.Target(tiles=3))
    x = graph.add_variable(pl.FLOAT, values.shape, "x", mapping="linear", initial_value=values)
    with graph.steps() as step:
        found = [
            ops.map(ops.log_sum_exp(x, 1)),
            ops.map(ops.reduce(x, 1, "log_add")),
            ops.map(ops.log_sum_exp(x, 1, keepdims=True)),
        ]
        both = ops.map(ops.reduce(x, 1, "log_add", scale=1.5, update=x[:, 0]))
    engine = pl.Engine(graph, step, **interpreted())
    engine.run()
    with np.errstate(invalid="ignore"):
        expected = np.logaddexp.reduce(values.astype(np.float64), 1)
        joined = np.logaddexp(expected + 1.5, values[:, 0])
    for each in found:
        np.testing.assert_allclose(engine.read(each).ravel(), expected, rtol=2e-7)
    np.testing.assert_allclose(engine.read(both), joined, rtol=2e-7)


@pytest.mark.parametrize(
    ("spread", "length"),
    thinned(product([0.1, 3, 40, 1000], [1, 7, 500]), [(0.1, 7), (40, 1)]),
)
def test_the_error_of_log_sum_exp(spread: float, length: int) -> None:
    values = np.random.default_rng(length).normal(0, spread, (200, length)).astype(np.float32)
    graph = pl.Graph(pl.Target(tiles=16))
    x = graph.add_variable(pl.FLOAT, values.shape, "x", mapping="linear", initial_value=values)
    found = computed(ops.log_sum_exp(x, 1), graph)
    expected = np.logaddexp.reduce(values.astype(np.float64), 1)
    size = np.maximum(np.abs(expected), np.abs(values).max(1)).astype(np.float32)
    assert (np.abs(found - expected) <= 2 * np.spacing(np.maximum(size, 1))).all()


def test_log_sum_exp_of_half_is_made_in_float() -> None:
    values = np.full((2, 3000), -3, np.float16)
    graph = pl.Graph(pl.Target(tiles=3))
    x = graph.add_variable(pl.HALF, values.shape, "x", mapping="linear", initial_value=values)
    assert computed(ops.log_sum_exp(x, 1), graph).tolist() == [np.float16(np.log(3000) - 3)] * 2


def test_log_sum_exp_stores_nothing_of_the_size_of_its_operand_and_one_greatest() -> None:
    graph = pl.Graph(pl.Target(tiles=3))
    x = graph.add_variable(pl.FLOAT, (30, 40), "x", mapping="linear")
    with graph.steps():
        ops.map(ops.log_sum_exp(x * 2), name="y")
    assert max(v.num_elements for v in graph.variables if v.name != "x") < 200
    assert sum(cs.name == "y/max/tiles" for cs in graph.compute_sets) == 1
    assert not [cs.name for cs in graph.compute_sets if "max_1" in cs.name]


# -- variances, norms, positions -------------------------------------------------------------------


def test_nothing_of_the_size_of_an_operand_is_stored() -> None:
    graph = pl.Graph(pl.Target(tiles=6))
    x, y = (graph.add_variable(pl.FLOAT, (120, 70), n, mapping="linear") for n in "xy")
    with graph.steps():
        for operand in (x, x - y):
            for expr in (
                ops.variance(operand),
                ops.norm(operand, 0),
                ops.norm(operand, ord=math.inf),
                ops.argmax(operand),
                ops.argmax(operand.reshape((8400,)) if isinstance(operand, pl.Tensor) else operand),
            ):
                ops.map(expr)
    held = {v.name: v.num_elements for v in graph.variables if v.name not in ("x", "y")}
    assert max(held.values()) < 8400 / 4, held


EXTREMES = [
    ((10_000,), 1, None, 30_500),
    ((2_000,), 13, 0, 2_500),
    ((30, 101), 13, 1, 2_500),
    ((3, 5, 40), 5, None, 2_000),
    ((7, 3), 4, -1, 1_500),
]


@pytest.mark.parametrize("element", [pl.FLOAT, pl.HALF])
@pytest.mark.parametrize(("shape", "tiles", "dim", "most"), EXTREMES)
def test_rows_of_floats_are_read_once_for_the_place_of_an_extreme(
    shape: tuple[int, ...],
    tiles: int,
    dim: int | None,
    most: int,
    element: type[pl.ElementType[Any]],
) -> None:
    rng = np.random.default_rng(5)
    some = np.array([-3, -0.0, 0, 2, np.inf], np.float32)
    values = rng.choice(some, shape, p=[0.3, 0.2, 0.2, 0.2, 0.1])
    for value in (values, np.where(rng.random(shape) < 4 / values.size, np.nan, values)):
        graph = pl.Graph(pl.Target(tiles=tiles))
        lies = rng.integers(0, tiles, values.size).tolist()
        x = graph.add_variable(element, shape, "x", mapping="linear", initial_value=value)
        y = graph.add_variable(element, shape, "y", initial_value=value)
        for place, tile in enumerate(lies):
            graph.set_tile_mapping(y.flatten()[place], tile)
        out = graph.add_variable(pl.UNSIGNED_INT, ops.argmin(x, dim).shape, "out", mapping=0)
        with graph.steps() as greatest:
            made = ops.map(ops.argmax(x, dim))
        with graph.steps() as least:
            ops.assign(out, ops.argmin(y, dim))
        engine = pl.Engine(graph, [greatest, least], **interpreted())
        engine.run(0)
        assert (engine.report().cycles or 0) <= most
        engine.run(1)
        np.testing.assert_array_equal(engine.read(made), value.argmax(dim))
        np.testing.assert_array_equal(engine.read(out), value.argmin(dim))
    assert {cs.name.partition("/")[2] for cs in graph.compute_sets} <= {
        "tiles",
        "workers",
        "groups",
        "final",
    }


@pytest.mark.parametrize(
    ("shape", "tiles", "dim", "most", "is_spread"),
    [
        ((10_000,), 64, None, 12_900, True),
        ((1000, 100), 1472, 1, 101_600, True),
        ((1000,), 64, None, 3_300, True),
        ((30, 30), 64, 1, 2_400, True),
        ((500,), 64, None, 1_950, False),
        ((10, 3), 64, 1, 1_000, False),
    ],
)
def test_extremes_of_a_tensor_on_one_tile_are_found_by_all_where_that_is_cheaper(
    shape: tuple[int, ...], tiles: int, dim: int | None, most: int, is_spread: bool
) -> None:
    value = np.random.default_rng(6).integers(-99, 99, shape).astype(np.float32)
    graph = pl.Graph(pl.Target(tiles=tiles))
    x = graph.add_variable(pl.FLOAT, shape, "x", mapping=3, initial_value=value)
    with graph.steps() as steps:
        made = ops.map(ops.argmax(x, dim))
        fewest = ops.map(ops.argmin(x, dim))
    engine = pl.Engine(graph, steps, **interpreted())
    engine.run()
    assert (engine.report().cycles or 0) <= 2 * most
    np.testing.assert_array_equal(engine.read(made), value.argmax(dim))
    np.testing.assert_array_equal(engine.read(fewest), value.argmin(dim))
    used = {vertex.tile for each in graph.compute_sets for vertex in each.vertices}
    assert (len(used) > 1) == is_spread


@pytest.mark.parametrize("element", [pl.FLOAT, pl.HALF])
def test_vertices_that_find_extremes(element: type[pl.ElementType[Any]]) -> None:
    values = np.array([1, 3, 3, 2, np.nan, 5, np.nan, 0, -0.0, 0, 0, 1], element.dtype)
    places = np.array([7, 2, 9, 1, 30, 31, 8, 0, 3, 4, 5, 6], np.uint32)
    rows: Any
    for rows in (reduce.FirstGreatestRows, reduce.FirstLeastRows):
        for size in (1, 3, 12):
            assert_vertex(
                rows[element], {"x": values, "first": 40}, partial(rows.reference, size=size)
            )
    found: Any
    for found in (reduce.FirstGreatest, reduce.FirstLeast):
        for begin in (0, 7, 11):
            inputs = {"values": values[begin:], "positions": places[begin:]}
            assert_vertex(found[element], inputs, found.reference)


def test_positions_that_are_too_many_are_refused_by_name() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (), "x").reshape((1, 1)).broadcast(2**16, 0)
    with pytest.raises(pl.SizeOverflowError, match="ops.argmin: 4,294,967,296"):
        ops.argmin(x.broadcast(2**16, 1))


def test_positions_by_themselves_are_reduced() -> None:
    graph = pl.Graph(pl.Target(tiles=3))
    x = graph.add_variable(pl.INT, (), "x", mapping=0, initial_value=0)
    last = 2**64 - 1
    assert computed(ops.sum(ops.iota(1000, start=5)) + x, graph) == sum(range(5, 1005))
    far = ops.iota((20, 20), pl.UNSIGNED_LONGLONG, start=last - 399)
    y = graph.add_variable(pl.UNSIGNED_LONGLONG, (), "y", mapping=0, initial_value=0)
    assert computed(ops.max(far) + y, graph) == last


def test_rows_between_those_of_a_worker_are_not_copied_of_operands_elsewhere() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (2, 60), "x", mapping="linear")
    row = graph.add_variable(pl.FLOAT, (60,), "row", mapping="linear")
    with graph.steps():
        ops.map(ops.sum(ops.acos(x) * row, 0), name="y")  # not stored, as it has no price
    (tiles,) = (cs for cs in graph.compute_sets if cs.name == "y/tiles")
    for name in ("x0", "x1"):
        fields = [vertex.connections[name] for vertex in tiles.vertices]
        assert sum(f.num_elements for f in fields if isinstance(f, pl.Tensor)) == 2 * 60


def test_a_variance_of_less_than_its_ddof_is_nan() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (1, 2), "x", mapping="linear", initial_value=3)
    assert np.isnan(computed(ops.variance(x, 0, ddof=1), graph)).all()


@pytest.mark.parametrize("element", [pl.FLOAT, pl.HALF])
@pytest.mark.parametrize("values", [[], [1, 2], [1, np.inf], [np.nan, 2], [-np.inf, np.nan]])
def test_a_nan_or_an_infinity_is_found(element: Any, values: list[float]) -> None:
    graph = pl.Graph(pl.Target(tiles=3))
    x = graph.add_variable(element, (len(values),), "x", mapping="linear", initial_value=values)
    assert computed(ops.has_nan(x), graph) == np.isnan(values).any()
    assert computed(ops.has_nan_or_inf(x * 2), graph) == (not np.isfinite(values).all())
    with pytest.raises(pl.ElementTypeError, match="ops.has_nan: the operand is BOOL"):
        ops.has_nan(x > 0)


def test_what_positions_variances_and_norms_refuse() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    i = graph.add_variable(pl.INT, (3,), "i", mapping=0)
    none = graph.add_variable(pl.FLOAT, (2, 0), "none", mapping=0)
    flags = graph.add_variable(pl.BOOL, (3,), "flags", mapping=0)
    with pytest.raises(pl.ElementTypeError, match=r"ops.variance: the operand is INT"):
        ops.variance(i)
    with pytest.raises(pl.ElementTypeError, match="ops.variance: ddof is 'one'"):
        ops.variance(none, ddof="one")  # type: ignore[arg-type]
    with pytest.raises(pl.ElementTypeError, match="ops.norm: the operand is INT"):
        ops.norm(i)
    with pytest.raises(pl.TensorCreationError, match="ops.norm: ord is 3"):
        ops.norm(none, ord=3)
    with pytest.raises(pl.TensorCreationError, match="ops.argmax of no elements"):
        ops.argmax(none, 1)
    with pytest.raises(pl.TensorIndexError, match=r"ops.argmin: \[0\] is not a dimension"):
        ops.argmin(i, [0])  # type: ignore[arg-type]
    with pytest.raises(pl.TensorIndexError, match="ops.argmin: dimension 1 of 'i'"):
        ops.argmin(i, 1)
    with pytest.raises(pl.ElementTypeError, match="ops.argmax: 'flags' is BOOL"):
        ops.argmax(flags)


# -- elements are read once ------------------------------------------------------------------------


Made = Callable[[pl.Tensor], Any]


def stored(x: pl.Tensor, expr: Made) -> tuple[Any, int]:
    """Return the value of an expression of a tensor, and the elements of all that is stored."""
    graph = x.graph
    with graph.steps() as steps:
        result = ops.map(expr(x))
    engine = pl.Engine(graph, steps, **interpreted())
    engine.run()
    return engine.read(result), sum(each.num_elements for each in graph.variables)


def tensor(element: type[pl.ElementType[Any]], values: Any) -> pl.Tensor:
    given = np.asarray(values, element.dtype)
    graph = pl.Graph(pl.Target(tiles=4))
    return graph.add_variable(element, given.shape, "x", mapping="linear", initial_value=given)


N = 2**26
"""As often is repeated: the elements would take 256 MiB."""

OF_MANY: list[tuple[Made, Any]] = [
    (lambda x: ops.sum(x.broadcast(N, 0)), 6 * N),
    (lambda x: ops.mean(x.broadcast(N, 0)), 2),
    (lambda x: ops.max(x.broadcast(N, 0)), 3),
    (lambda x: ops.min(x.broadcast(N, 0)), 1),
    (lambda x: ops.any(x.broadcast(N, 0) > 2), True),
    (lambda x: ops.all(x.broadcast(N, 0) > 2), False),
    (lambda x: ops.sum(x.broadcast(N, 0) * 2 + 1), 15 * N),
    (lambda x: ops.sum(x.upsample(N, 0)), 6 * N),
    (lambda x: ops.sum(x.reshape((1, 3)).broadcast(N, 0), 0), [N, 2 * N, 3 * N]),
    (lambda x: ops.prod(x.reshape((1, 3)).broadcast(N + 1, 0) - 2, 0), [-1, 0, 1]),
    (lambda x: ops.norm(x.broadcast(N, 0)), np.sqrt(14.0 * N)),
    (lambda x: ops.variance(x.broadcast(N, 0)), 2 / 3),
    (lambda x: ops.argmax(x.broadcast(N, 0)), 2),
    (lambda x: ops.argmax(x.upsample(N, 0)), 2 * N),
    (lambda x: ops.argmin(x.broadcast(N, 0) + 1, 0), 0),
]


@pytest.mark.parametrize("number", thinned(range(len(OF_MANY)), keep=[0, 2, 5, 6, 9, 12]))
def test_time_and_memory_do_not_grow_with_what_is_repeated(number: int) -> None:
    expr, expected = OF_MANY[number]
    found, held = stored(tensor(pl.FLOAT, [1, 2, 3]), expr)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert held < 100


@pytest.mark.parametrize("element", [pl.HALF, pl.INT, pl.UNSIGNED_CHAR])
@pytest.mark.parametrize("how", ["add", "mul", "max"])
@pytest.mark.parametrize("view", ["broadcast", "upsample"])
def test_values_are_those_of_what_is_repeated(
    element: type[pl.ElementType[Any]], how: str, view: str
) -> None:
    values = np.array([[3, 1, 2], [1, 5, 1]], element.dtype)
    x = tensor(element, values)
    found, _ = stored(x, lambda x: ops.reduce(getattr(x, view)(3, 1), 1, how))
    again = np.concatenate([values] * 3, 1)
    joined = {"add": np.add, "mul": np.multiply, "max": np.maximum}[how]
    np.testing.assert_array_equal(found, joined.reduce(again, 1, dtype=element.dtype))


def test_a_sum_of_half_is_multiplied_before_it_is_rounded() -> None:
    third = np.float16(1 / 3)
    found, _ = stored(tensor(pl.HALF, [third, third]), lambda x: ops.sum(x.broadcast(5001, 0)))
    assert found == np.float16(np.float32(third) * 2 * 5001)


def test_what_is_repeated_beside_what_is_not_is_read_each_time() -> None:
    x = tensor(pl.FLOAT, [[1, 2, 3]])
    y = x.graph.add_variable(pl.FLOAT, (4, 3), "y", mapping="linear", initial_value=np.eye(4, 3))
    found, _ = stored(x, lambda x: ops.sum(x.broadcast(4, 0) * y, 0))
    assert found.tolist() == [1, 2, 3]
    mixed, _ = stored(
        x, lambda x: ops.sum(x.flatten().broadcast(2, 0) * x.flatten().upsample(2, 0))
    )
    assert mixed == np.dot([1, 2, 3, 1, 2, 3], [1, 1, 2, 2, 3, 3])


def test_part_of_a_dimension_is_repeated() -> None:
    x = tensor(pl.FLOAT, np.arange(12).reshape(2, 6))
    found, _ = stored(x, lambda x: ops.sum(x.broadcast(3, 1) * 2, 1))
    assert found.tolist() == [90, 306]


REPEATED: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "rows": (lambda x: x.broadcast(5, 0), lambda v: np.tile(v, (5, 1))),
    "columns": (lambda x: x.broadcast(5, 1), lambda v: np.tile(v, (1, 5))),
    "each column": (lambda x: x.upsample(5, 1), lambda v: np.repeat(v, 5, 1)),
    "each row, computed": (lambda x: x.upsample(5, 0) * 2 + 1, lambda v: np.repeat(v, 5, 0)),
    "flat": (lambda x: x.broadcast(5, 1).flatten(), lambda v: np.tile(v, (1, 5)).ravel()),
    "both": (
        lambda x: x.upsample(5, 1).broadcast(3, 0),
        lambda v: np.tile(np.repeat(v, 5, 1), (3, 1)),
    ),
    "with another": (
        lambda x: x[1].reshape((1, 4)).broadcast(3, 0) + x,
        lambda v: v + v[1],
    ),
}
"""Views of a matrix that repeat its elements, as poplite and as NumPy make them."""


@pytest.mark.parametrize("how", thinned(REPEATED, keep=["columns", "flat", "both"]))
@pytest.mark.parametrize("dim", [None, 0, 1])
def test_the_first_of_what_is_repeated_is_the_largest(how: str, dim: int | None) -> None:
    values = np.array([[2, 3, 0, 3], [1, 3, 0, 0], [2, 0, 3, np.nan if dim else 1]])
    view, expected = REPEATED[how]
    again = expected(values)
    along = dim if dim is None or dim < again.ndim else 0
    for find, numpy in ((ops.argmax, np.argmax), (ops.argmin, np.argmin)):
        found, _ = stored(tensor(pl.FLOAT, values), partial(_found, find, view, along))
        np.testing.assert_array_equal(found, numpy(again, axis=along))


def _found(find: Any, view: Any, dim: int | None, x: pl.Tensor) -> Any:
    return find(view(x), dim)


def test_positions_by_themselves_are_made_on_their_tiles() -> None:
    x = tensor(pl.INT, [7])
    found, held = stored(x, lambda x: ops.sum(ops.iota(5000)) + x)
    assert found == sum(range(5000)) + 7
    assert not any("positions" in each.name for each in x.graph.variables)
    assert held < 5100
    assert not any(each.constant for each in x.graph.variables)


# -- levels across tiles ---------------------------------------------------------------------------


PLAN = importlib.import_module("poplite.ops.reductions.plan")


@examples(60)
@given(
    element=st.sampled_from([pl.FLOAT, pl.HALF, pl.INT, pl.BOOL]),
    rows=st.integers(2, 3000),
    outputs=st.integers(1, 3000),
    tiles=st.integers(2, 3000),
    wanted=st.integers(0, 3),
    sync=st.sampled_from([0, 90, 5000]),
)
def test_the_cheapest_of_those_tried(
    element: type[pl.ElementType[int]], rows: int, outputs: int, tiles: int, wanted: int, sync: int
) -> None:
    target = pl.Target(tiles=4000, costs={"sync_cycles": sync})
    spread = RemainingPartials(element, rows, rows * outputs, tiles, wanted)
    found, tried = cheapest_levels(target, spread), levels_to_try(spread)
    assert found in tried
    assert cycles_of(target, spread, found) == min(cycles_of(target, spread, w) for w in tried)
    cheapest_levels.cache_clear()
    assert cheapest_levels(target, spread) == found


def test_ways_have_fewer_groups_in_each_level() -> None:
    tried = levels_to_try(RemainingPartials(pl.FLOAT, 1472, 1472, 1472))
    assert len({*tried}) == len(tried)
    assert {len(way) for way in tried} == {0, 1, 2}
    assert all(2 <= b <= a // 2 for a, b in (way for way in tried if len(way) == 2))
    assert levels_to_try(RemainingPartials(pl.FLOAT, 3, 3000, 1472)) == [()]


def test_dear_synchronisation_makes_fewer_levels() -> None:
    spread = RemainingPartials(pl.FLOAT, 500, 500, 500)
    assert len(cheapest_levels(pl.Target(), spread)) == 1
    assert cheapest_levels(pl.Target(costs={"sync_cycles": 10**5}), spread) == ()
    free = pl.Target(costs={"sync_cycles": 0, "latency_cycles": 0, "reduce_one_entry": 0})
    assert len(cheapest_levels(free, spread)) == 2


def former_rule(target: pl.Target, spread: RemainingPartials) -> Levels:
    """As many groups as the root of the number of rows, where there are more than 64."""
    return () if spread.rows <= 64 else (math.isqrt(spread.rows - 1) + 1,)


def cycles(shape: tuple[int, ...], dims: list[int]) -> int:
    """Return what a sum over some dimensions takes."""
    graph, program = pl.Graph(pl.Target(tiles=1472)), pl.Sequence()
    x = graph.add_variable(pl.FLOAT, shape, "x", mapping="linear", initial_value=0)
    pl.ops.map(pl.ops.sum(x, dims), program=program)
    engine = pl.Engine(graph, program)
    engine.run()
    found = engine.report().cycles
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("shape", "dim"),
    thinned(
        [
            ((10_000, 1000), 1),
            ((1472, 64), 0),
            ((500,), 0),
            ((10_000_000,), 0),
            ((10_000, 1000), 0),
            ((1_000_000, 10), 0),
        ],
        keep=3,
    ),
)
def test_no_more_cycles_than_by_a_fixed_number_of_groups(
    shape: tuple[int, ...], dim: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = cycles(shape, [dim])
    monkeypatch.setattr(PLAN, "_PLANS", Remembered[Any](most=1))
    monkeypatch.setattr(PLAN, "cheapest_levels", former_rule)
    assert planned <= cycles(shape, [dim])


def test_partials_that_are_apart_are_few_in_a_group() -> None:
    # Of 208 partials in a row, 97 groups of 16 tiles have 16 each; spread over all tiles, three.
    in_a_row = RemainingPartials(pl.FLOAT, rows=208, elements=53_160, tiles=1_457)
    apart = in_a_row._replace(span=1_457)
    assert cheapest_levels(pl.Target(), in_a_row) == (97,)
    assert cheapest_levels(pl.Target(), apart) == (14,)


@pytest.mark.parametrize("shape", [(200, 300, 17), (64, 64, 64)])
def test_reductions_of_outer_dimensions_know_how_far_their_partials_are_apart(
    shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = cycles(shape, [0, 2])
    monkeypatch.setattr(PLAN, "_PLANS", Remembered[Any](most=1))
    monkeypatch.setattr(
        PLAN, "cheapest_levels", lambda t, spread: cheapest_levels(t, spread._replace(span=0))
    )
    assert planned < 0.98 * cycles(shape, [0, 2])  # 2,685 of 5,058; 1,921 of 1,982
