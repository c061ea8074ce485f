"""Variances, norms and positions of extremes against NumPy, on any tiles, in both forms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import deep, examples, forms, values_only
from helpers.running import interpreted_sooner
from poplite import ops

Array = npt.NDArray[Any]

SPECIAL = (0.0, -0.0, 1.0, 1.0, -1.0, math.inf, -math.inf, math.nan)


SOONER = forms()[0]
"""The form that is tried where a test names none: by default the interpreted one."""


def computed(expr: pl.Expr, interpret: bool = SOONER) -> Array:
    program = pl.Sequence()
    result = ops.map(expr, program=program)
    assert isinstance(result, pl.Tensor)
    engine = pl.Engine(result.graph, program, interpret=interpret, options=values_only())
    engine.run()
    found: Array = engine.read(result)
    return found


def tensor_of(values: Array, tiles: int = 5, transposed: bool = False) -> pl.Tensor:
    graph = pl.Graph(pl.Target(tiles=tiles))
    stored = values.T if transposed else values
    x = graph.add_variable(values.dtype, stored.shape, "x", mapping="linear", initial_value=stored)
    return x.T if transposed else x


@interpreted_sooner
@examples(40, quick=2)
@given(
    dtype=st.sampled_from(["float32", "float16", "int32", "uint8", "int64"]),
    shape=st.lists(st.integers(1, 6), max_size=3).map(tuple),
    name=st.sampled_from(["argmin", "argmax"]),
    keepdims=st.booleans(),
    is_expression=st.booleans(),
    transposed=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_positions_of_extremes(
    interpret: bool,
    dtype: str,
    shape: tuple[int, ...],
    name: str,
    keepdims: bool,
    is_expression: bool,
    transposed: bool,
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        some = rng.choice(SPECIAL, int(rng.integers(1, len(SPECIAL) + 1)))
        values = np.asarray(rng.choice(some, shape), dtype)
    else:
        values = np.asarray(rng.integers(0, 3, shape), dtype)
    dim = None if not shape or rng.random() < 0.3 else int(rng.integers(-len(shape), len(shape)))
    x = tensor_of(values, transposed=transposed)
    operand: Any = abs(x) if is_expression else x
    array = np.abs(values) if is_expression else values
    found = computed(getattr(ops, name)(operand, dim, keepdims=keepdims), interpret)
    assert found.dtype == np.uint32
    np.testing.assert_array_equal(found, getattr(np, name)(array, dim, keepdims=keepdims))


@deep
@examples(12)
@given(
    shape=st.sampled_from([(5000,), (3, 4001), (4001, 3), (700, 11), (2, 257, 5)]),
    tiles=st.sampled_from([1, 7, 100]),
    seed=st.integers(0, 2**32 - 1),
)
def test_positions_among_many(shape: tuple[int, ...], tiles: int, seed: int) -> None:
    values = np.random.default_rng(seed).integers(0, 2000, shape).astype(np.float32)
    for dim in (None, *range(len(shape))):
        x = tensor_of(values, tiles)
        np.testing.assert_array_equal(computed(ops.argmax(x, dim)), values.argmax(dim))
        held = [v for v in x.graph.variables if v.name != "x" and "partials" not in v.name]
        large = [v.num_elements for v in held if v.num_elements >= values.size]
        assert large in ([], [values.size])  # the positions, stored where that is cheaper


@examples(25, quick=2)
@given(
    dtype=st.sampled_from(["float32", "float16"]),
    shape=st.sampled_from([(7,), (40, 30), (3, 200, 2)]),
    dims=st.sampled_from([None, 0, -1, [0, -1]]),
    keepdims=st.booleans(),
    ddof=st.sampled_from([0, 1, 1.5]),
    offset=st.sampled_from([0, 300]),
    seed=st.integers(0, 2**32 - 1),
)
def test_variances_and_norms(
    dtype: str,
    shape: tuple[int, ...],
    dims: int | list[int] | None,
    keepdims: bool,
    ddof: float,
    offset: int,
    seed: int,
) -> None:
    values = np.random.default_rng(seed).normal(offset, 2, shape).astype(dtype)
    x, exact = tensor_of(values), values.astype(np.float64)
    if isinstance(dims, list) and len(shape) == 1:
        dims = None
    axes = tuple(dims) if isinstance(dims, list) else dims
    rest: dict[str, Any] = {"keepdims": keepdims}
    steps = 1e-3 if dtype == "float16" else 3e-5
    small = (2.0**-23 * np.abs(exact).max()) ** 2  # of two nearly equal numbers; means are rounded
    with np.errstate(over="ignore"):
        for found, expected in (
            (
                ops.variance(x, dims, ddof=ddof, keepdims=keepdims),
                exact.var(axes, ddof=ddof, **rest),
            ),
            (ops.norm(x, dims, keepdims=keepdims), np.sqrt((exact**2).sum(axes, **rest))),
            (ops.norm(x, dims, ord=1, keepdims=keepdims), np.abs(exact).sum(axes, **rest)),
            (ops.norm(x, dims, ord=math.inf, keepdims=keepdims), np.abs(exact).max(axes, **rest)),
        ):
            got = computed(found)
            assert got.dtype == dtype
            assert got.shape == np.shape(expected)
            np.testing.assert_allclose(got, np.asarray(expected).astype(dtype), steps, small)
