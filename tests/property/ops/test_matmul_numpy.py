"""poplite.ops.matmul against NumPy: sizes, types, mappings, views, plans, both forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import examples

Array = npt.NDArray[Any]

HOW = ("planned", "linear", "transposed", "scattered", "part")
EPSILON = {pl.FLOAT: 2.0**-23, pl.HALF: 2.0**-10}
TYPES = ((pl.FLOAT, pl.FLOAT), (pl.HALF, pl.HALF), (pl.HALF, pl.FLOAT))


def operand(
    graph: pl.Graph,
    plan: pl.ops.MatMulPlan,
    side: str,
    shape: tuple[int, int],
    how: str,
    rng: np.random.Generator,
) -> pl.Tensor:
    """Make a matrix that lies on tiles in one of several ways."""
    if how == "planned":
        make = {"a": pl.ops.create_matmul_input_lhs, "b": pl.ops.create_matmul_input_rhs}[side]
        return make(graph, plan, side)
    if how == "transposed":
        return graph.add_variable(plan.element_type, shape[::-1], side, mapping="linear").T
    if how == "part":
        wide = graph.add_variable(
            plan.element_type, (shape[0], shape[1] + 3), side, mapping="linear"
        )
        return wide[:, 2 : 2 + shape[1]]
    tensor = graph.add_variable(plan.element_type, shape, side, mapping="linear")
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
    types=st.sampled_from(TYPES),
    tiles=st.integers(1, 30),
    memory=st.sampled_from([2_000, 10_000, 600_000]),
    how=st.tuples(*2 * [st.sampled_from(HOW)]),
    interpret=st.sampled_from([False, False, False, True]),
    seed=st.integers(0, 2**32 - 1),
)
def test_products_are_numpys(
    shape: tuple[int, int, int],
    types: tuple[type[pl.ElementType[float]], type[pl.ElementType[float]]],
    tiles: int,
    memory: int,
    how: tuple[str, str],
    interpret: bool,
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    if interpret:
        shape = shape[0] % 20, shape[1] % 40, shape[2] % 20
    element, partials = types
    rows, depth, columns = shape
    graph, program = pl.Graph(pl.Target(tiles=tiles, tile_memory_bytes=memory)), pl.Sequence()
    plan = pl.ops.plan_matmul(graph.target, element, *shape, partials=partials)
    values = [
        rng.normal(size=size).astype(element.dtype) for size in ((rows, depth), (depth, columns))
    ]
    a, b = (
        operand(graph, plan, side, array.shape, of, rng)
        for side, array, of in zip("ab", values, how, strict=True)
    )
    product = pl.ops.matmul(graph, a, b, program, plan=plan)
    assert product.shape == (rows, columns)
    options = {"debug.allowOutOfMemory": True}  # small tiles are for plans of many passes
    engine = pl.Engine(graph, program, interpret=interpret, options=options)
    for tensor, array in zip((a, b), values, strict=True):
        engine.write(tensor, array)
    engine.run()
    left, right = (array.astype(np.float64) for array in values)
    # A rounding for every product, one of partials for every 16, and those of their addition.
    steps = depth * 2.0**-24 + (depth / 16 + plan.grid[1] + 1) * EPSILON[partials]
    most = np.abs(left) @ np.abs(right) * (steps + EPSILON[element])
    assert (np.abs(engine.read(product) - left @ right) <= most + 1e-6).all()


@given(
    shape=st.tuples(*3 * [st.integers(1, 300)]),
    types=st.sampled_from(TYPES),
    tiles=st.integers(1, 100),
    memory=st.sampled_from([20_000, 600_000]),
)
def test_a_plan_makes_every_block_once(
    shape: tuple[int, int, int],
    types: tuple[type[pl.ElementType[float]], type[pl.ElementType[float]]],
    tiles: int,
    memory: int,
) -> None:
    target = pl.Target(tiles=tiles, tile_memory_bytes=memory)
    plan = pl.ops.plan_matmul(target, types[0], *shape, partials=types[1])
    assert plan.tiles <= tiles
    assert plan.left.across == plan.grid[1] == plan.right.down
    assert plan.product.down <= plan.grid[0] * plan.passes[0]
    assert plan.product.across <= plan.grid[2] * plan.passes[1]
    for top in range(0, plan.product.down, plan.grid[0]):
        for first in range(0, plan.product.across, plan.grid[2]):
            i, j, k = (
                numbers.ravel()
                for numbers in np.meshgrid(
                    np.arange(top, min(top + plan.grid[0], plan.product.down)),
                    np.arange(plan.grid[1]),
                    np.arange(first, min(first + plan.grid[2], plan.product.across)),
                )
            )
            used = plan.tile(i, j, k)
            assert len(np.unique(used)) == len(used)
            assert used.max() < plan.tiles
