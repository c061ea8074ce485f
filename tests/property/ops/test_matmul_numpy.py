"""poplite.ops.matmul against NumPy, in both forms; plans against the cost model."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import deep, examples, forms, interpreted, values_only
from poplite import ops
from poplite.ops.planning import cycles_of_graph
from poplite.ops.products.layout import ProductLayout, ProductRequest
from poplite.ops.products.matmul import MatMulPlan, planned, ranked
from poplite.ops.products.matmul_steps import Multiplication, left_of, product_of, right_of
from poplite.ops.products.search import cheapest_ways, exact_cycles, least_cycles
from poplite.program.recording import Recorder

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
