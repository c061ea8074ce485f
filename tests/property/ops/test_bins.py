"""Positions among sorted numbers, and counts by bin, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import examples, thinned, values_only
from helpers.running import both_forms
from poplite import ops

Array = npt.NDArray[Any]

TYPES = ["float32", "float16", "int32", "uint8"]


def computed(
    record: Callable[..., pl.Tensor],
    *values: Array,
    interpret: bool = True,
    target: pl.Target | None = None,
) -> Array:
    """Return what steps on tensors compute."""
    graph = pl.Graph(target or pl.Target(tiles=5, workers=3))
    given = [
        graph.add_variable(each.dtype, each.shape, f"x{k}", mapping="linear", initial_value=each)
        for k, each in enumerate(values)
    ]
    with graph.steps() as steps:
        result = record(*given)
    engine = pl.Engine(graph, steps, interpret=interpret, options=values_only())
    engine.run()
    return engine.read(result)


def drawn(seed: int, size: int, dtype: str) -> Array:
    """Draw elements with ties, floats with zeros of both signs, NaNs and infinities."""
    rng, kind = np.random.default_rng(seed), np.dtype(dtype)
    few = [0.0, -0.0, np.nan, np.inf, -np.inf, 1, 2, -7] if kind.kind == "f" else [0, 1, 2, 7, 9]
    return rng.choice(np.array(few, kind), size)


@examples(60)
@given(
    dtype=st.sampled_from(TYPES),
    size=st.integers(0, 40),
    count=st.integers(0, 40),
    seed=st.integers(0, 99),
    side=st.sampled_from(["left", "right"]),
)
def test_positions_are_those_of_numpy(
    dtype: str, size: int, count: int, seed: int, side: Any
) -> None:
    x, v = np.sort(drawn(seed, size, dtype)), drawn(seed + 1, count, dtype)
    found = computed(lambda a, b: ops.searchsorted(a, b, side), x, v)
    assert found.tolist() == np.searchsorted(x, v, side).tolist()


@both_forms
def test_positions_among_more_numbers_than_a_tile_holds(interpret: bool) -> None:
    target = pl.Target(tiles=8, workers=2, tile_memory_bytes=8192)
    rng = np.random.default_rng(0)
    x = np.sort(rng.normal(size=3000)).astype(np.float32)
    v = rng.normal(size=(9, 7)).astype(np.float32)
    found = computed(ops.searchsorted, x, v, interpret=interpret, target=target)
    assert np.array_equal(found, np.searchsorted(x, v))


@examples(60)
@given(
    length=st.integers(0, 12),
    size=st.integers(0, 60),
    seed=st.integers(0, 99),
    dtype=st.sampled_from([None, *TYPES]),
    signed=st.booleans(),
)
def test_counts_are_those_of_numpy(
    length: int, size: int, seed: int, dtype: str | None, signed: bool
) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(-2 if signed else 0, length + 2, size).astype("i4" if signed else "u4")
    kept = (x >= 0) & (x < length)
    if dtype is None:
        found = computed(lambda a: ops.bincount(a, length, out_of_range="popops"), x)
        expected = np.bincount(x[kept], minlength=length)
    else:
        weights = rng.integers(0, 4, size).astype(dtype)
        found = computed(lambda a, w: ops.bincount(a, length, w, out_of_range="popops"), x, weights)
        expected = np.bincount(x[kept], weights[kept], minlength=length)
    assert found.dtype == (dtype or "uint32")
    assert np.array_equal(found, expected[:length])


@both_forms
@pytest.mark.parametrize("length", thinned([4, 3000], keep=[4]))
def test_both_forms_add_in_one_order(interpret: bool, length: int) -> None:
    rng = np.random.default_rng(1)
    x, weights = rng.integers(0, length, (20, 50)), rng.normal(size=(20, 50)).astype(np.float32)
    made = [
        computed(
            lambda a, w: ops.bincount(a, length, w), x.astype(np.int32), weights, interpret=each
        )
        for each in (interpret, True)
    ]
    assert made[0].tobytes() == made[1].tobytes()
    expected = np.bincount(x.ravel(), weights.ravel(), minlength=length)
    np.testing.assert_allclose(made[0], expected, rtol=1e-4, atol=1e-4)


def test_an_element_that_is_no_bin_stops_the_run() -> None:
    with pytest.raises(pl.ApplicationRuntimeError, match="index 4 of 4"):
        computed(lambda a: ops.bincount(a, 4), np.array([1, 4], np.int32))


@examples(60)
@given(
    dtype=st.sampled_from(TYPES),
    size=st.integers(0, 50),
    seed=st.integers(0, 99),
    edges=st.lists(st.integers(0, 9), min_size=2, max_size=6).map(sorted),
    how=st.sampled_from(["numbers", "tensor"]),
)
def test_histograms_are_those_of_numpy(
    dtype: str, size: int, seed: int, edges: list[int], how: str
) -> None:
    x = drawn(seed, size, dtype)
    expected = np.histogram(x, edges)[0]
    if how == "tensor":
        found = computed(ops.histogram, x, np.array(edges, dtype))
    else:
        found = computed(lambda a: ops.histogram(a, edges), x)
    assert found.tolist() == expected.tolist()


def test_bins_of_equal_width_and_infinite_edges() -> None:
    x = np.array([-0.5, 0, 0.3, 0.5, 0.99, 1, 1.5, np.inf, np.nan], np.float32)
    found = computed(lambda a: ops.histogram(a, 4, (0, 1)), x)
    assert found.tolist() == np.histogram(x[:-2], 4, (0, 1))[0].tolist()
    found = computed(lambda a: ops.histogram(a * 2, [-np.inf, 0, np.inf]), x)
    assert found.tolist() == [1, 7]


GRAPH = pl.Graph(pl.Target(tiles=2))
X = GRAPH.add_variable(pl.FLOAT, (6,), "x", mapping=0)
K = GRAPH.add_variable(pl.INT, (6,), "k", mapping=0)
TWO = GRAPH.add_variable(pl.FLOAT, (2, 3), "two", mapping=0)
TRUE = GRAPH.add_variable(pl.BOOL, (6,), "true", mapping=0)

REFUSED: dict[str, tuple[Callable[[Any], object], type[pl.PopliteError], str]] = {
    "rank": (lambda p: ops.searchsorted(TWO, X, program=p), pl.TensorCreationError, "x 'two' is"),
    "types": (lambda p: ops.searchsorted(X, K, program=p), pl.ElementTypeError, "'k' is INT"),
    "bool": (lambda p: ops.searchsorted(TRUE, X, program=p), pl.ElementTypeError, "is BOOL"),
    "side": (lambda p: ops.searchsorted(X, X, "up", program=p), pl.InvalidOption, "side is 'up'"),
    "floats": (lambda p: ops.bincount(X, 3, program=p), pl.ElementTypeError, "'x' is FLOAT"),
    "length": (lambda p: ops.bincount(K, -3, program=p), pl.SizeOverflowError, "length is -3"),
    "weights": (
        lambda p: ops.bincount(K, 3, TWO, program=p),
        pl.TensorCreationError,
        "weights 'two' is",
    ),
    "range": (lambda p: ops.histogram(X, 3, program=p), pl.InvalidOption, "range is None"),
    "edges": (lambda p: ops.histogram(X, [2, 1], program=p), pl.InvalidOption, r"bins is \[2, 1\]"),
    "one edge": (lambda p: ops.histogram(X, [2], program=p), pl.InvalidOption, r"bins is \[2\]"),
    "no bins": (
        lambda p: ops.histogram(X, 0, (0, 1), program=p),
        pl.SizeOverflowError,
        "bins is 0",
    ),
    "edge": (lambda p: ops.histogram(K, [0, 1.5], program=p), pl.ElementTypeError, "1.5 cannot"),
    "tensor": (lambda p: ops.histogram(X, K, program=p), pl.TensorCreationError, "bins 'k' is"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_calls_that_do_not_fit_are_refused(case: str) -> None:
    call, error, text = REFUSED[case]
    program = pl.Sequence()
    variables = len(GRAPH.variables)
    with pytest.raises(error, match=text):
        call(program)
    assert len(GRAPH.variables) == variables
    assert program.is_empty
