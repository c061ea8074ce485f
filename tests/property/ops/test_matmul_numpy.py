"""poplite.ops.matmul against NumPy: sizes, types, mappings, views, plans, both forms."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import examples, forms, interpreted, values_only
from poplite import ops
from poplite.ops.products.layout import ProductRequest
from poplite.ops.products.search import cheapest_ways

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
