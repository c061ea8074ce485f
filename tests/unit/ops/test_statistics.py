"""Variances, norms, positions of extremes, and several reductions at once, beside NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import examples
from poplite import ops

Array = npt.NDArray[Any]


def run(x: Array, element: type[pl.ElementType[Any]], *exprs: Any) -> list[Array]:
    """Store expressions of a tensor with these elements, and return them."""
    graph = pl.Graph(pl.Target(tiles=5))
    tensor = graph.add_variable(element, x.shape, "x", mapping="linear", initial_value=x)
    with graph.steps() as steps:
        results = [ops.map(expr(tensor)) for expr in exprs]
    engine = pl.Engine(graph, steps)
    engine.run()
    return [engine.read(result) for result in results]


@examples(20)
@given(
    shape=st.sampled_from([(1,), (90,), (7, 70), (3, 5, 40)]),
    seed=st.integers(0, 2**32 - 1),
    keepdims=st.booleans(),
    is_half=st.booleans(),
)
def test_variances_and_norms(
    shape: tuple[int, ...], seed: int, keepdims: bool, is_half: bool
) -> None:
    rng = np.random.default_rng(seed)
    dims = [None, 0, -1, tuple(range(len(shape)))][int(rng.integers(4))]
    element = pl.HALF if is_half else pl.FLOAT
    x = (rng.standard_normal(shape) * 3 + 5).astype(element.dtype)
    found = run(
        x,
        element,
        lambda t: ops.variance(t, dims, keepdims=keepdims),
        lambda t: ops.norm(t, dims, ord=1, keepdims=keepdims),
        lambda t: ops.norm(t, dims, keepdims=keepdims),
        lambda t: ops.norm(t, dims, ord=math.inf, keepdims=keepdims),
    )
    exact: Any = x.astype(np.float64)
    options: Any = {"axis": dims, "keepdims": keepdims}
    expected = [
        exact.var(**options),
        abs(exact).sum(**options),
        np.sqrt((exact**2).sum(**options)),
        abs(exact).max(**options),
    ]
    for one, other in zip(found, expected, strict=True):
        assert (one.shape, one.dtype) == (np.shape(other), element.dtype)
        np.testing.assert_allclose(one, other, rtol=1e-3 if is_half else 1e-5, atol=1e-10)


def test_a_variance_is_divided_by_fewer() -> None:
    x = np.array([[1, 2, 4], [3, 3, 9]], np.float32)
    (found,) = run(x, pl.FLOAT, lambda t: ops.variance(t, 1, ddof=1))
    np.testing.assert_allclose(found, x.var(1, ddof=1), rtol=1e-6)
    with pytest.raises(pl.TensorCreationError, match="of 3 elements with ddof=3"):
        run(x, pl.FLOAT, lambda t: ops.variance(t, 1, ddof=3))


@examples(40)
@given(
    shape=st.sampled_from([(1,), (90,), (7, 70), (3, 5, 40)]),
    dtype=st.sampled_from(["float32", "float16", "int32", "uint8", "uint64"]),
    seed=st.integers(0, 2**32 - 1),
    keepdims=st.booleans(),
)
def test_positions_are_those_of_numpy(
    shape: tuple[int, ...], dtype: str, seed: int, keepdims: bool
) -> None:
    rng = np.random.default_rng(seed)
    x: Any = rng.integers(0, 5, shape).astype(dtype)  # equal ones, of which the first counts
    if dtype.startswith("float"):
        x[rng.random(shape) < rng.choice([0, 0.1])] = np.nan
        x[rng.random(shape) < 0.1] = rng.choice([-np.inf, np.inf, -0.0])
    dim = [None, 0, -1][int(rng.integers(3))]
    element: Any = pl.Graph().add_variable(dtype, (), "like").element_type
    least, greatest = run(
        x,
        element,
        lambda t: ops.argmin(t, dim, keepdims=keepdims),
        lambda t: ops.argmax(t, dim, keepdims=keepdims),
    )
    assert least.dtype == greatest.dtype == np.uint32
    assert np.array_equal(least, x.argmin(dim, keepdims=keepdims))
    assert np.array_equal(greatest, x.argmax(dim, keepdims=keepdims))


def test_nothing_of_the_size_of_the_operand_is_stored() -> None:
    graph = pl.Graph(pl.Target(tiles=8))
    x, y = (graph.add_variable(pl.FLOAT, (64, 100), n, mapping="linear") for n in "xy")
    with graph.steps():
        for expr in (
            ops.variance(x - y, 1),
            ops.norm(x * y, 0),
            ops.argmax(x + y, 1),
            ops.argmin(x - y),
            ops.log_sum_exp(x - y, 1),
        ):
            ops.map(expr)
    assert max(v.num_elements for v in graph.variables if v.name not in "xy") <= 1000


def test_what_has_no_position_or_norm_is_refused() -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (3, 0), "x", mapping=0)
    n = graph.add_variable(pl.INT, (3,), "n", mapping=0)
    with pytest.raises(pl.TensorCreationError, match="of no elements"):
        ops.argmax(x, 1)
    with pytest.raises(pl.TensorIndexError, match="dimension 2"):
        ops.argmin(x, 2)
    with pytest.raises(pl.ElementTypeError, match="ops.variance: its operand is INT"):
        ops.variance(n)
    with pytest.raises(pl.TensorCreationError, match="ops.norm: ord is 3"):
        ops.norm(x, 0, ord=3)
    with pytest.raises(pl.ElementTypeError, match="ops.argmax of an expression with arguments"):
        ops.argmax(ops.arg(0))


# Several at once


def test_several_reductions_share_compute_sets() -> None:
    graph, program = pl.Graph(pl.Target(tiles=16)), pl.Sequence()
    values = np.arange(3000).reshape(30, 100)
    x = graph.add_variable(pl.INT, (30, 100), "x", mapping="linear", initial_value=values)
    y = graph.add_variable(pl.FLOAT, (500,), "y", mapping="linear", initial_value=np.arange(500))
    entries: list[Any] = [("min", x, 0), ("add", x, [0, 1]), ops.max(y * 2)]
    low, total, high = ops.reduce_many(entries, name="three", program=program)
    at_once = len(graph.compute_sets)
    engine = pl.Engine(graph, program)
    engine.run()
    assert engine.read(low).tolist() == values.min(0).tolist()
    assert int(engine.read(total)) == values.sum()
    assert float(engine.read(high)) == 998
    assert [low.name, total.name, high.name] == ["three0", "three1", "three2"]
    longest = 0
    for entry in entries:
        alone = pl.Graph(pl.Target(tiles=16))
        own = alone.add_variable(pl.INT, (30, 100), "x", mapping="linear")
        other = alone.add_variable(pl.FLOAT, (500,), "y", mapping="linear")
        with alone.steps():
            one = (
                ops.reduce(own, entry[2], entry[0])
                if isinstance(entry, tuple)
                else (ops.max(other * 2))
            )
            ops.map(one)
        longest = max(longest, len(alone.compute_sets))
    assert at_once == longest


def test_several_reductions_take_outputs_and_open_blocks() -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.INT, (6,), "x", mapping="linear", initial_value=range(6))
    outs = [graph.add_variable(pl.INT, (), f"out{k}", mapping=1) for k in range(2)]
    with graph.steps() as steps:
        found = ops.reduce_many([("add", x, 0), ("max", x, 0)], outputs=outs)
    assert found == outs
    engine = pl.Engine(graph, steps)
    engine.run()
    assert [int(engine.read(out)) for out in outs] == [15, 5]
    assert ops.reduce_many([]) == []


def test_what_is_no_reduction_is_refused() -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.INT, (6,), "x", mapping="linear")
    with pytest.raises(pl.TensorCreationError, match="1 outputs for 2 reductions"):
        ops.reduce_many([ops.sum(x), ops.max(x)], outputs=[x], program=pl.Sequence())
    with pytest.raises(pl.ElementTypeError, match="'sum' is no reduction"):
        ops.reduce_many(["sum"], program=pl.Sequence())  # type: ignore[list-item]
    with pytest.raises(pl.ControlProgramError, match="no block"):
        ops.reduce_many([ops.sum(x)])
    out = graph.add_variable(pl.INT, (), "out", mapping=0)
    with pytest.raises(pl.GraphCycleError):
        ops.reduce_many([ops.sum(x), ops.max(x)], outputs=[out, out], program=pl.Sequence())
