"""Products of matrices, dense and sparse, against NumPy; plans against the cost model."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import deep, examples, forms, interpreted, thinned, values_only
from helpers.running import words_of
from poplite import ops
from poplite.ops.planning import cycles_of_graph
from poplite.ops.products.matmul import MatMulPlan, planned, ranked
from poplite.ops.products.matmul_layout import (
    Multiplication,
    ProductLayout,
    ProductRequest,
    left_of,
    product_of,
    right_of,
)
from poplite.ops.products.matmul_plan import cheapest_ways, exact_cycles, least_cycles
from poplite.program.recording import Recorder

# -- dense products --------------------------------------------------------------------------------


HOW = ("planned", "linear", "transposed", "scattered", "part")
EPSILON = {pl.FLOAT: 2.0**-23, pl.HALF: 2.0**-10}
TYPES = ((pl.FLOAT, pl.FLOAT), (pl.HALF, pl.HALF), (pl.HALF, pl.FLOAT))


def operand(
    plan: pl.ops.MatMulPlan, side: str, shape: tuple[int, ...], how: str, rng: np.random.Generator
) -> pl.Tensor:
    """Make matrices that lie on tiles in one of several ways."""
    graph, element = plan.graph, plan.layout.request.element_type
    if how == "planned":
        return plan.create_left("a") if side == "a" else plan.create_right("b")
    if how == "transposed":
        turned = (*shape[:-2], shape[-1], shape[-2])
        dims = (*range(len(shape) - 2), len(shape) - 1, len(shape) - 2)
        return graph.add_variable(element, turned, side, mapping="linear").dim_shuffle(dims)
    if how == "part":
        larger = (*shape[:-1], shape[-1] + 3)
        wide = graph.add_variable(element, larger, side, mapping="linear")
        return wide.slice(2, 2 + shape[-1], len(shape) - 1)
    tensor = graph.add_variable(element, shape, side, mapping="linear")
    if how == "scattered":
        flat, begin = tensor.flatten(), 0
        while begin < tensor.num_elements:
            end = min(begin + int(rng.integers(1, 60)), tensor.num_elements)
            graph.set_tile_mapping(flat[begin:end], int(rng.integers(graph.target.tiles)))
            begin = end
    return tensor


@examples(60)
@given(
    shape=st.tuples(*3 * [st.integers(0, 60)]),
    groups=st.sampled_from([None, None, 0, 1, 2, 7]),
    types=st.sampled_from(TYPES),
    tiles=st.integers(1, 30),
    memory=st.sampled_from([0.02, 0.1, 0.6]),
    how=st.tuples(*2 * [st.sampled_from(HOW)]),
    tail=st.sampled_from(["none", "bias", "out"]),
    interpret=st.sampled_from([*forms()[:1] * 2, *forms()]),
    seed=st.integers(0, 2**32 - 1),
)
def test_products_are_numpys(
    shape: tuple[int, int, int],
    groups: int | None,
    types: tuple[type[pl.ElementType[float]], type[pl.ElementType[float]]],
    tiles: int,
    memory: float,
    how: tuple[str, str],
    tail: str,
    interpret: bool,
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    if interpret:
        shape = shape[0] % 20, shape[1] % 40, shape[2] % 20
    element, partials = types
    m, k, n = shape
    target = pl.Target(tiles=tiles, tile_memory_bytes=600_000)
    graph = pl.Graph(target)
    plan = ops.plan_matmul(
        *(graph,), m=m, k=k, n=n, groups=1 if groups is None else groups,
        type=element, partials=partials, memory=memory,
    )  # fmt: skip
    before = () if groups in (None, 1) else (groups,)
    x, y = (rng.normal(size=(*before, *size)).astype(element.dtype) for size in ((m, k), (k, n)))
    a, b = (
        operand(plan, side, array.shape, of, rng)
        for side, array, of in zip("ab", (x, y), how, strict=True)
    )
    bias = graph.add_variable(element, (n,), "bias", mapping="linear")
    out = graph.add_variable(element, (*before, m, n), "out", mapping="linear")
    z = rng.normal(size=n).astype(element.dtype)
    with graph.steps() as step:
        product = ops.matmul(a, b, plan)
        if tail == "out":
            made = ops.assign(out, product)
        else:
            made = ops.map(product + bias if tail == "bias" else product)
    assert made.shape == (*before, m, n)
    engine = pl.Engine(graph, step, interpret=interpret, options=values_only())
    for tensor, array in ((a, x), (b, y), (bias, z)):
        engine.write(tensor, array)
    engine.run()
    left, right = x.astype(np.float64), y.astype(np.float64)
    expected = left @ right + (z if tail == "bias" else 0.0)
    # A rounding for every product, one of partials for every 16, and those of their addition.
    steps = k * 2.0**-24 + (k / 16 + plan.grid[1] + 1) * EPSILON[partials]
    most = np.abs(left) @ np.abs(right) * (steps + EPSILON[element])
    most += 2 * EPSILON[element] * (np.abs(expected) + np.abs(z))
    assert (np.abs(engine.read(made) - expected) <= most + 1e-6).all()


@examples(40)
@given(
    one=st.lists(st.sampled_from([1, 2, 3]), max_size=4),
    other=st.lists(st.sampled_from([1, 2, 3]), max_size=4),
)
def test_shapes_are_numpys(one: list[int], other: list[int]) -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    x = np.arange(np.prod(one, dtype=int)).reshape(one).astype(np.float32)
    y = np.arange(np.prod(other, dtype=int)).reshape(other).astype(np.float32)
    a, b = (
        graph.add_variable(pl.FLOAT, each.shape, name, mapping="linear", initial_value=each)
        for name, each in (("a", x), ("b", y))
    )
    try:
        expected = x @ y
    except ValueError:
        with pytest.raises(pl.TensorCreationError):
            _ = a @ b
        return
    with graph.steps() as step:
        made = ops.map(a @ b)
    engine = pl.Engine(graph, step, **interpreted())
    engine.run()
    assert made.shape == expected.shape
    assert np.array_equal(engine.read(made), expected)


@given(
    shape=st.tuples(*3 * [st.integers(1, 300)]),
    groups=st.integers(1, 9),
    types=st.sampled_from(TYPES),
    tiles=st.integers(1, 100),
    memory=st.sampled_from([0.05, 0.6]),
)
def test_a_plan_makes_every_block_once(
    shape: tuple[int, int, int],
    groups: int,
    types: tuple[type[pl.ElementType[float]], type[pl.ElementType[float]]],
    tiles: int,
    memory: float,
) -> None:
    target = pl.Target(tiles=tiles, tile_memory_bytes=600_000)
    request = ProductRequest(groups, *shape, types[0], *types, memory, ())
    try:
        layout = cheapest_ways(target, request)[0]
    except pl.GraphMemoryAllocationError as error:
        needed, most = re.findall(r"at least ([\d,]+) B of ([\d,]+) B", str(error))[0]
        assert int(needed.replace(",", "")) > int(most.replace(",", "")) == 600_000 * memory
        return
    assert layout.tiles <= tiles
    assert layout.left.across == layout.grid[1] == layout.right.down
    assert layout.product.down <= layout.grid[0] * layout.passes[0]
    assert layout.product.across <= layout.grid[2] * layout.passes[1]
    assert layout.slots * layout.sets >= groups
    for top in range(0, layout.product.down, layout.grid[0]):
        for first in range(0, layout.product.across, layout.grid[2]):
            i, j, l = (  # noqa: E741
                numbers.ravel()
                for numbers in np.meshgrid(
                    np.arange(top, min(top + layout.grid[0], layout.product.down)),
                    np.arange(layout.grid[1]),
                    np.arange(first, min(first + layout.grid[2], layout.product.across)),
                )
            )
            used = layout.tile(np.zeros_like(i), i, j, l)
            assert len(np.unique(used)) == len(used)
            assert used.max() < layout.tiles


# -- prices ----------------------------------------------------------------------------------------
# Those of the cost model, above their bounds; plans are the cheapest ways.


def drawn(random: Random) -> tuple[pl.Target, ProductRequest]:
    """Return a machine of few tiles, and a product."""
    tiles = random.choice([1, 2, 3, 7, 16, 41, 100])
    target = pl.Target(tiles=tiles, architecture=random.choice(["gc2", "gc200", "bow"]))
    m, k, n = (random.choice([random.randint(1, 64), random.randint(1, 300)]) for _ in range(3))
    element = random.choice([pl.FLOAT, pl.HALF])
    result = random.choice([element, pl.FLOAT])
    partials = random.choice([pl.FLOAT, result])
    groups = random.choice([1, random.randint(1, min(20, 2 * tiles))])
    return target, ProductRequest(groups, m, k, n, element, result, partials, 0.6, ())


def cycles_of_steps(target: pl.Target, layout: ProductLayout) -> int:
    """Return the cycles of the steps of a layout of one pass, made on a graph and priced there."""
    graph = pl.Graph(target)
    recorder = Recorder(graph)
    operands = left_of(graph, layout, "left"), right_of(graph, layout, "right")
    work = Multiplication(graph, recorder, layout, *operands)
    work.products(product_of(graph, layout, "product"))
    return cycles_of_graph(graph, [])


@examples(150, quick=8)
@given(random=st.randoms(use_true_random=False))
def test_exact_cycles_are_those_of_the_steps_and_no_fewer_than_the_least(random: Random) -> None:
    target, request = drawn(random)
    for way in cheapest_ways(target, request):
        exact = exact_cycles(target, way)
        assert least_cycles(target, way) <= exact
        if way.num_passes == 1:
            assert exact == cycles_of_steps(target, way)


@pytest.mark.parametrize("sizes", [(1, 1000, 700, 900), (1, 1, 3000, 4000), (30, 100, 60, 8)])
@pytest.mark.parametrize("element", [pl.FLOAT, pytest.param(pl.HALF, marks=deep)])
def test_exact_cycles_of_all_tiles_are_those_of_the_steps(
    element: type[pl.ElementType[Any]], sizes: tuple[int, int, int, int]
) -> None:
    target = pl.Target()
    request = ProductRequest(*sizes, element, element, pl.FLOAT, 0.6, ())
    for way in cheapest_ways(target, request)[:3]:
        if way.num_passes == 1:
            assert exact_cycles(target, way) == cycles_of_steps(target, way)


@examples(50)
@given(random=st.randoms(use_true_random=False))
def test_the_plan_is_the_first_of_all_that_are_priced(random: Random) -> None:
    target, request = drawn(random)
    found = planned(target, request)
    first = ranked(target, request)[0]
    assert found in (first, replace(first, exact=None))
    assert MatMulPlan(pl.Graph(target), first).cycles == exact_cycles(target, found)


@pytest.mark.parametrize("element", [pl.FLOAT, pytest.param(pl.HALF, marks=deep)])
def test_of_eight_ways_few_are_priced(
    element: type[pl.ElementType[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[ProductLayout] = []

    def counted(target: pl.Target, way: ProductLayout) -> int:
        asked.append(way)
        return exact_cycles(target, way)

    monkeypatch.setattr(sys.modules[planned.__module__], "exact_cycles", counted)
    planned.cache_clear()
    counts = []
    for k in (496, 512, 464):
        planned(pl.Target(), ProductRequest(1, 512, k, k, element, element, pl.FLOAT, 0.6, ()))
        counts.append(len(asked))
    assert counts[0] == 1
    assert counts[-1] <= 9


@pytest.mark.parametrize("sizes", [(1, 8, 70, 248), (1, 194, 8, 8)])
def test_an_estimated_plan_is_not_priced_and_costs_little_more(
    sizes: tuple[int, int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    request = ProductRequest(*sizes, pl.FLOAT, pl.FLOAT, pl.FLOAT, 0.6, ())
    target = pl.Target()
    with monkeypatch.context() as patch:
        patch.setattr(sys.modules[planned.__module__], "exact_cycles", None)
        way = planned(target, request, is_estimated=True)
    best = ranked(target, request)[0]
    assert exact_cycles(target, way) <= 1.03 * best.total_cycles


# -- sparse products -------------------------------------------------------------------------------


def drawn_pattern(rng: np.random.Generator, m: int, k: int, density: float) -> Any:
    """Return a pattern, and its matrix of booleans; one row in some is full, others are empty."""
    is_there = rng.random((m, k)) < density
    if m and rng.random() < 0.3:
        is_there[rng.integers(0, m)] = True
    starts = np.r_[0, np.cumsum(is_there.sum(1))]
    return ops.SparsePattern((m, k), starts, np.nonzero(is_there)[1]), is_there


@examples(30, quick=6)
@given(
    sizes=st.tuples(*[st.integers(0, 12)] * 2, st.sampled_from([None, 0, 1, 3, 20, 70])),
    density=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    dtype=st.sampled_from([np.float32, np.float16]),
    tiles=st.sampled_from([1, 5, 40]),
    interpret=st.sampled_from([*forms()[:1] * 2, *forms()]),
    seed=st.integers(0, 2**32 - 1),
)
def test_products_and_gradients_are_numpys(
    sizes: tuple[int, int, int | None],
    density: float,
    dtype: type[np.floating[Any]],
    tiles: int,
    interpret: bool,
    seed: int,
) -> None:
    m, k, n = sizes
    rng = np.random.default_rng(seed)
    pattern, is_there = drawn_pattern(rng, m, k, density)
    graph, rest = pl.Graph(pl.Target(tiles=tiles)), () if n is None else (n,)
    mapping = rng.choice(["linear", "first"])

    def variable(name: str, *shape: int) -> tuple[pl.Tensor, npt.NDArray[np.float64]]:
        # Whole numbers, whose sums are exact in float32, and in HALF up to 2048.
        values = rng.integers(-4, 5, shape).astype(dtype)
        where: Any = "linear" if mapping == "linear" else tiles - 1
        made = graph.add_variable(dtype, shape, name, mapping=where, initial_value=values)
        return made, values.astype(float)

    a, numbers = variable("a", pattern.count)
    x, dense = variable("x", k, *rest)
    g, gradient = variable("g", m, *rest)
    with graph.steps() as step:
        y = ops.sparse_matmul(pattern, a, x)
        by_x = ops.sparse_matmul(pattern, 1 * a, g, transpose=True)
        by_values = ops.sparse_matmul_gradient(pattern, g, x)
    options = values_only() if interpret else {}
    engine = pl.Engine(graph, step, interpret=interpret, options=options)
    engine.run()
    matrix = np.zeros((m, k))
    matrix[is_there] = numbers
    columns = 1 if n is None else n
    slopes = gradient.reshape(m, columns) @ dense.reshape(k, columns).T
    for got, expected in (
        (y, matrix @ dense),
        (by_x, matrix.T @ gradient),
        (by_values, slopes[is_there]),
    ):
        assert np.array_equal(engine.read(got), expected.astype(dtype))


def test_a_plan_puts_values_where_they_are_used() -> None:
    rng = np.random.default_rng(2)
    is_there = rng.random((300, 200)) < 0.05
    starts = np.r_[0, np.cumsum(is_there.sum(1))]
    pattern = ops.SparsePattern((300, 200), starts, np.nonzero(is_there)[1])
    graph = pl.Graph(pl.Target(tiles=16))
    plan = ops.plan_sparse_matmul(graph, pattern, columns=16)
    numbers = rng.standard_normal(pattern.count).astype(np.float32)
    values = plan.create_values("values", initial_value=numbers)
    x = graph.add_variable(pl.FLOAT, (200, 16), "x", mapping="linear")
    with graph.steps() as step:
        y = ops.sparse_matmul(pattern, values, x)
    engine = pl.Engine(graph, step, interpret=True)
    dense = rng.standard_normal((200, 16)).astype(np.float32)
    engine.write(x, dense)
    engine.run()
    # In the order of the non-zeros, from 0 on: bits, not only values.
    expected = np.zeros((300, 16), np.float32)
    for row, column, value in zip(*np.nonzero(is_there), numbers, strict=True):
        expected[row] += value * dense[column]
    assert engine.read(y).tobytes() == expected.tobytes()
    assert plan.tiles == 16
    assert (graph.tile_mapping(values).elements_per_tile > 0).sum() * plan.layout.parts == 16
    # The formula of the plan is near what the model comes to.
    assert engine.report().cycles == pytest.approx(plan.cycles, rel=0.15)
    # Rows are shared by what they take: no worker has twice the mean.
    blocks = 16 // plan.layout.parts
    assert plan.layout.busiest.max() < 2 * pattern.count / (6 * blocks)


def test_equal_columns_of_a_row_are_added_and_any_order_is_kept() -> None:
    graph, program = pl.Graph(pl.Target(tiles=3)), pl.Sequence()
    pattern = ops.SparsePattern((2, 3), [0, 3, 4], [2, 0, 2, 1])
    a = graph.add_constant(pl.FLOAT, (4,), [1, 2, 3, 4], "a", mapping=0)
    x = graph.add_constant(pl.FLOAT, (3,), [10, 100, 1000], "x", mapping=1)
    y = ops.sparse_matmul(pattern, a, x, program=program)
    engine = pl.Engine(graph, program, interpret=True)
    engine.run()
    assert engine.read(y).tolist() == [4020, 400]


PATTERN = ops.SparsePattern((2, 3), [0, 1, 2], [0, 2])


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda a, x: ops.sparse_matmul(None, a, x), pl.ElementTypeError, "pattern"),  # type: ignore[arg-type]
        (lambda a, x: ops.sparse_matmul(PATTERN, a, a), pl.TensorCreationError, r"\(3,\)"),
        (lambda a, x: ops.sparse_matmul(PATTERN, x, x), pl.TensorCreationError, r"\(2,\)"),
        (
            lambda a, x: ops.sparse_matmul(PATTERN, a, x, transpose=True),
            pl.TensorCreationError,
            r"\(2,\)",
        ),
        (
            lambda a, x: ops.sparse_matmul(PATTERN, a, ops.cast(x, pl.INT)),
            pl.ElementTypeError,
            "INT",
        ),
        (
            lambda a, x: ops.sparse_matmul(PATTERN, a, ops.cast(x, pl.HALF)),
            pl.ElementTypeError,
            "HALF",
        ),
        (lambda a, x: ops.sparse_matmul_gradient(PATTERN, x, x), pl.TensorCreationError, r"\(2,\)"),
        (lambda a, x: ops.SparsePattern((2, 3), [0, 1], [0]), pl.TensorCreationError, "2 numbers"),
        (
            lambda a, x: ops.SparsePattern((1, 3), [0, 2], [0]),
            pl.TensorCreationError,
            "to 2, but len",
        ),
        (lambda a, x: ops.SparsePattern((2, 3), [0, 2, 1], [0]), pl.TensorCreationError, "row 1"),
        (lambda a, x: ops.SparsePattern((1, 3), [0, 1], [3]), pl.TensorCreationError, "column 3"),
        (lambda a, x: ops.SparsePattern((1, 3), [0, 1], [0.5]), pl.TensorCreationError, "whole"),
        (
            lambda a, x: ops.SparsePattern((1, 3), [0, 1], [[0], [1, 2]]),
            pl.TensorCreationError,
            "columns is not a list",
        ),
        (lambda a, x: ops.SparsePattern((True, 3), [0, 1], [0]), pl.InvalidOption, "rows is True"),
        (
            lambda a, x: ops.SparsePattern((1, 3), [0, 1], np.array([2**64 - 1], np.uint64)),
            pl.TensorCreationError,
            r"columns\[0\] is 18,446,744,073,709,551,615",
        ),
        (
            lambda a, x: ops.sparse_matmul(PATTERN, a, x, transpose="no"),  # type: ignore[arg-type]
            pl.ElementTypeError,
            "transpose is 'no'",
        ),
        (lambda a, x: ops.SparsePattern((3,), [0], []), pl.TensorCreationError, "matrix"),  # type: ignore[arg-type]
        (lambda a, x: ops.SparsePattern.of(np.eye(2)), pl.TensorCreationError, "tocsr"),
        (
            lambda a, x: ops.plan_sparse_matmul(a.graph, PATTERN, 1, pl.INT),
            pl.ElementTypeError,
            "sparse products support FLOAT and HALF",
        ),
    ],
)
def test_what_is_refused(call: Any, error: type[Exception], text: str) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    a = graph.add_variable(pl.FLOAT, (2,), "a", mapping=0)
    x = graph.add_variable(pl.FLOAT, (3,), "x", mapping=0)
    with pytest.raises(error, match=text), graph.steps() as step:
        call(a, x)
    assert step.num_steps == 0
    assert not graph._parts.compute_sets


@deep
def test_bits_do_not_depend_on_threads(tmp_path: Path) -> None:
    script = """
import numpy as np, zlib, poplite as pl
rng = np.random.default_rng(0)
there = rng.random((900, 800)) < 0.03
pattern = pl.ops.SparsePattern((900, 800), np.r_[0, np.cumsum(there.sum(1))], np.nonzero(there)[1])
graph, program = pl.Graph(pl.Target(tiles=64)), pl.Sequence()
a = graph.add_variable(pl.FLOAT, (pattern.count,), "a", mapping="linear")
x = graph.add_variable(pl.FLOAT, (800, 70), "x", mapping="linear")
y = pl.ops.sparse_matmul(pattern, a, x, program=program)
g = pl.ops.sparse_matmul_gradient(pattern, y, x, program=program)
engine = pl.Engine(graph, program, checks="fast")
engine.write(a, rng.standard_normal(a.shape, np.float32))
engine.write(x, rng.standard_normal(x.shape, np.float32))
engine.run()
print(zlib.crc32(engine.read(y).tobytes()), zlib.crc32(engine.read(g).tobytes()))
"""
    found = [words_of(tmp_path, script, NUMBA_NUM_THREADS=threads) for threads in ("1", "3")]
    assert found[0] == found[1]


# -- products within larger expressions ------------------------------------------------------------


Array = npt.NDArray[Any]
Made = dict[str, tuple[pl.Tensor, Callable[[dict[str, Array]], Any]]]
"""Tensors by name, each with what it holds afterwards, of what the variables held before."""

CUT = {"pk": 2}


class Bench:
    """A graph, and the values of its variables, which are small whole numbers."""

    def __init__(self) -> None:
        self.graph = pl.Graph(pl.Target(tiles=12))
        self.values: dict[str, Array] = {}
        self._rng = np.random.default_rng(0)

    def variable(self, name: str, *shape: int) -> pl.Tensor:
        self.values[name] = self._rng.integers(-3, 4, shape).astype(np.float32)
        return self.graph.add_variable(
            pl.FLOAT, shape, name, mapping="linear", initial_value=self.values[name]
        )


def passes(bench: Bench) -> Made:
    a, b, c = (bench.variable(name, 64, 64) for name in "abc")
    product = ops.matmul(a, b, memory=0.02, constraints={"split_m": 2, "pk": 2})
    return {"sum": (ops.map(product + c), lambda v: v["a"] @ v["b"] + v["c"])}


def two_products(bench: Bench) -> Made:
    a, b = bench.variable("a", 20, 40), bench.variable("b", 40, 16)
    c, d = bench.variable("c", 20, 30), bench.variable("d", 30, 16)
    return {
        "sum": (
            ops.map(ops.relu(a @ b + c @ d)),
            lambda v: np.maximum(v["a"] @ v["b"] + v["c"] @ v["d"], 0),
        )
    }


def one_product_twice(bench: Bench) -> Made:
    a, b = bench.variable("a", 20, 40), bench.variable("b", 40, 16)
    made = ops.map((a @ b) * (a @ b) + a @ b)
    assert len([each for each in bench.graph.compute_sets if "products" in each.name]) == 1
    return {"made": (made, lambda v: (v["a"] @ v["b"]) ** 2 + v["a"] @ v["b"])}


def at_once(bench: Bench) -> Made:
    a, b, c = bench.variable("a", 20, 40), bench.variable("b", 40, 16), bench.variable("c", 16)
    with ops.together():
        one = ops.map(ops.matmul(a, b, constraints=CUT) + c)
        other = ops.map(ops.relu(b.T @ a.T))
        total = ops.map(ops.sum(a, 0))
    return {
        "one": (one, lambda v: v["a"] @ v["b"] + v["c"]),
        "other": (other, lambda v: np.maximum(v["a"] @ v["b"], 0).T),
        "total": (total, lambda v: v["a"].sum(0)),
    }


def reduced(bench: Bench) -> Made:
    a, b = bench.variable("a", 20, 40), bench.variable("b", 40, 16)
    return {
        "squares": (ops.map(ops.sum((a @ b) ** 2)), lambda v: ((v["a"] @ v["b"]) ** 2).sum()),
        "largest": (ops.map(ops.argmax(a @ b, 1)), lambda v: (v["a"] @ v["b"]).argmax(1)),
        "means": (ops.map(ops.mean(a @ b + 1, 0)), lambda v: (v["a"] @ v["b"] + 1).mean(0)),
    }


def of_a_larger_shape(bench: Bench) -> Made:
    a, b = bench.variable("a", 5, 16), bench.variable("b", 16, 4)
    out, row = bench.variable("out", 3, 5, 4), bench.variable("row", 16)
    ops.assign(out, ops.matmul(a, b, constraints=CUT) + 1)
    return {
        "out": (out, lambda v: np.broadcast_to(v["a"] @ v["b"] + 1, (3, 5, 4))),
        "wide": (ops.map(a @ b[:, :1] + row), lambda v: v["a"] @ v["b"][:, :1] + v["row"]),
    }


def of_nothing(bench: Bench) -> Made:
    a, b = bench.variable("a", 5, 0), bench.variable("b", 0, 4)
    c, d = bench.variable("c", 0, 3), bench.variable("d", 3, 4)
    return {
        "ones": (ops.map(a @ b + 1), lambda _: np.ones((5, 4))),
        "none": (ops.map(c @ d + 1), lambda _: np.ones((0, 4))),
    }


def on_some_tiles(bench: Bench) -> Made:
    some = bench.graph.create_virtual_graph([1, 4, 5, 7])
    a, b, c = bench.variable("a", 20, 40), bench.variable("b", 40, 16), bench.variable("c", 16)
    plan = ops.plan_matmul(some, m=20, k=40, n=16, constraints=CUT)
    made = ops.map(ops.matmul(a, b, plan) + c)
    assert set(bench.graph.tile_mapping(made).tiles.tolist()) <= {1, 4, 5, 7}
    return {"made": (made, lambda v: v["a"] @ v["b"] + v["c"])}


def in_functions(bench: Bench) -> Made:
    @pl.graph_function
    def layer(x: pl.Tensor, w: pl.Tensor, bias: pl.Tensor) -> pl.Tensor:
        return ops.map(ops.relu(x @ w + bias))

    x, w, bias = (bench.variable(name, 16, 16) for name in ("x", "w", "bias"))
    once = layer(x, w, bias)
    return {
        "once": (once, lambda v: np.maximum(v["x"] @ v["w"] + v["bias"], 0)),
        "twice": (
            layer(once, w, bias),
            lambda v: np.maximum(
                np.maximum(v["x"] @ v["w"] + v["bias"], 0) @ v["w"] + v["bias"], 0
            ),
        ),
    }


PROGRAMS = [
    *[passes, at_once, on_some_tiles, in_functions],
    *[two_products, one_product_twice, reduced, of_a_larger_shape, of_nothing],
]


@pytest.mark.parametrize("make", thinned(PROGRAMS, keep=[passes, two_products, of_nothing]))
def test_programs(make: Callable[[Bench], Made]) -> None:
    bench = Bench()
    with bench.graph.steps() as steps:
        made = make(bench)
    bits: list[dict[str, bytes]] = []
    forms: list[dict[str, Any]] = [
        {"checks": "fast"},
        {"checks": "fast", "faster": False},
        {"checks": "strict"},
        {"interpret": True},
    ]
    for options in forms:
        engine = pl.Engine(bench.graph, steps, **options)
        engine.run()
        bits.append({name: engine.read(tensor).tobytes() for name, (tensor, _) in made.items()})
        for name, (tensor, expected) in made.items():
            assert np.allclose(engine.read(tensor), expected(bench.values)), name
    assert all(each == bits[0] for each in bits)


def test_a_step_of_training() -> None:
    bench = Bench()
    x, w, t = (
        bench.variable(n, *s) for n, s in (("x", (32, 20)), ("w", (20, 10)), ("t", (32, 10)))
    )
    with bench.graph.steps() as steps:
        error = ops.map(x @ w - t, name="error")
        ops.assign(w, w - 0.125 * (x.T @ error))
    engine = pl.Engine(bench.graph, steps, **interpreted())
    engine.run()
    v = bench.values
    assert np.array_equal(engine.read(w), v["w"] - 0.125 * (v["x"].T @ (v["x"] @ v["w"] - v["t"])))


@deep
def test_bits_are_the_same_on_any_number_of_threads_and_without_vectors(tmp_path: Path) -> None:
    script = """
import numpy as np
import poplite as pl
from poplite import ops

graph = pl.Graph(pl.Target(tiles=64))
rng = np.random.default_rng(5)
a, b, c = (
    graph.add_variable(
        pl.FLOAT, s, n, mapping="linear", initial_value=rng.standard_normal(s).astype(np.float32)
    )
    for n, s in (("a", (200, 300)), ("b", (300, 150)), ("c", (150,)))
)
with graph.steps() as steps:
    made = [ops.map(a @ b), ops.map(ops.relu(ops.matmul(a, b, constraints={"pk": 4}) + c))]
    made += [ops.map(ops.sum(ops.exp(a) * a)), ops.map(ops.mean(b, 0)), ops.map(ops.sum(b, 1))]
for checks in ("fast", "strict"):
    engine = pl.Engine(graph, steps, checks=checks)
    engine.run()
    for tensor in made:
        print(hash(engine.read(tensor).tobytes()))
"""
    found = [
        words_of(tmp_path, script, PYTHONHASHSEED="0", **processor)
        for processor in (
            {"NUMBA_NUM_THREADS": "1"},
            {"NUMBA_NUM_THREADS": "3"},
            {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""},
        )
    ]
    assert found[0] == found[1] == found[2]
    assert found[0][:5] == found[0][5:]
