"""Pooling and its gradients against NumPy in double, over drawn shapes and windows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import examples, forms, values_only
from poplite.ops import nn

Doubles = npt.NDArray[np.float64]


def windows(x: Doubles, window: list[int], how: dict[str, Any], around: float) -> Doubles:
    """What windows have, [batch, channels, field ..., window ...]."""
    sides = [(max(0, a), max(0, b)) for a, b in how["padding"]]
    kept = tuple(
        slice(max(0, -a), n - max(0, -b))
        for (a, b), n in zip(how["padding"], x.shape[2:], strict=True)
    )
    x = np.pad(
        x[(slice(None), slice(None), *kept)], [(0, 0), (0, 0), *sides], constant_values=around
    )
    seen = np.lib.stride_tricks.sliding_window_view(x, window, tuple(range(2, x.ndim)))
    return seen[(slice(None), slice(None), *(slice(None, None, s) for s in how["stride"]))]


def backward(shares: Doubles, shape: tuple[int, ...], window: list[int], how: Any) -> Doubles:
    """Add what windows give each of their places, shaped as `windows`, to the elements there."""
    size = int(np.prod(shape))
    numbers = windows(np.arange(1, size + 1).reshape(shape).astype(float), window, how, 0)
    found = np.zeros(size + 1)
    np.add.at(found, numbers.astype(int).ravel(), shares.ravel())
    return found[1:].reshape(shape)


@st.composite
def cases(draw: st.DrawFn) -> tuple[tuple[int, ...], list[int], dict[str, Any]]:
    """A shape, a window and parameters that fit it; every window has elements."""
    rank = draw(st.integers(1, 3))
    field, window = [], []
    how: dict[str, Any] = {"stride": [], "padding": []}
    for _ in range(rank):
        size = draw(st.integers(1, (14, 8, 5)[rank - 1]))
        own = draw(st.one_of(st.integers(1, 3), st.integers(1, size), st.just(size)))
        low, high = draw(st.integers(-1, own - 1)), draw(st.integers(-1, own - 1))
        if size + min(low, 0) + min(high, 0) < 1 or size + low + high < own:
            low, high = 0, max(0, own - size)
        field.append(size)
        window.append(own)
        how["stride"].append(draw(st.one_of(st.integers(1, 4), st.just(own))))
        how["padding"].append((low, high))
    return (draw(st.integers(0, 3)), draw(st.sampled_from([1, 3, 8])), *field), window, how


@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
@examples(60, quick=5)
@given(
    case=cases(),
    dtype=st.sampled_from([np.float32, np.float16]),
    tiles=st.sampled_from([1, 5, 40]),
    interpret=st.sampled_from([*forms()[:1] * 2, *forms()]),
    seed=st.integers(0, 2**32 - 1),
)
def test_pooling_and_gradients_are_numpys(
    case: tuple[tuple[int, ...], list[int], dict[str, Any]],
    dtype: type[np.floating[Any]],
    tiles: int,
    interpret: bool,
    seed: int,
) -> None:
    shape, window, how = case
    rng = np.random.default_rng(seed)
    graph = pl.Graph(pl.Target(tiles=tiles))
    x = graph.add_variable(dtype, shape, "x", mapping="linear")
    with graph.steps() as step:
        greatest = nn.max_pool(x, window, **how)
        gradient = graph.add_variable(dtype, greatest.shape, "gradient", mapping="linear")
        made = (
            greatest,
            nn.sum_pool(x, window, **how),
            nn.average_pool(x, window, **how),
            nn.max_pool_gradient(gradient, x, greatest, window, **how),
            nn.sum_pool_gradient(gradient, shape[2:], window, **how),
            nn.average_pool_gradient(gradient, shape[2:], window, **how),
        )
    engine = pl.Engine(graph, step, interpret=interpret, options=values_only())
    values = rng.integers(-9, 10, shape).astype(dtype)  # some of them are equal
    by = rng.normal(size=gradient.shape).astype(dtype)
    engine.write(x, values)
    engine.write(gradient, by)
    engine.run()
    inside = windows(np.ones(shape), window, how, 0)
    places = tuple(range(len(shape), 2 * len(shape) - 2))
    counts = inside.sum(places)
    most = windows(values.astype(float), window, how, -np.inf)
    totals = windows(values.astype(float), window, how, 0).sum(places)
    own = by.astype(float).reshape((*by.shape, *[1] * len(window)))
    count = counts.reshape(own.shape)
    expected = (
        most.max(places),
        totals,
        totals / counts,
        backward(own * (most == most.max(places, keepdims=True)), shape, window, how),
        backward(np.broadcast_to(own, inside.shape), shape, window, how),
        backward(np.broadcast_to(own / count, inside.shape), shape, window, how),
    )
    roundings = 2.0**-22 if dtype is np.float32 else 2.0**-9
    for one, exact in zip(made, expected, strict=True):
        found = engine.read(one)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, exact, rtol=roundings, atol=20 * roundings)


def test_nan_wins_and_padding_is_no_element() -> None:
    graph, program = pl.Graph(pl.Target(tiles=3)), pl.Sequence()
    values = np.array([[[-3, np.nan, -2, -1]]], np.float32)
    x = graph.add_variable(pl.FLOAT, (1, 1, 4), "x", mapping="linear", initial_value=values)
    how: dict[str, Any] = {"stride": 2, "padding": 1, "program": program}
    greatest, mean = nn.max_pool(x, 2, **how), nn.average_pool(x, 2, **how)
    engine = pl.Engine(graph, program, interpret=True, options=values_only())
    engine.run()
    assert np.array_equal(engine.read(greatest), [[[-3, np.nan, -1]]], equal_nan=True)
    assert np.array_equal(engine.read(mean), [[[-3, np.nan, -1]]], equal_nan=True)


def test_the_gradient_of_an_average_is_rounded_once() -> None:
    graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    values = np.array([[[4.25, 3.125, 2.5, 1.375]]], np.float16)
    gradient = graph.add_constant(pl.HALF, (1, 1, 4), values, mapping=0)
    how: dict[str, Any] = {"stride": 1, "padding": 1, "program": program}
    made = nn.average_pool_gradient(gradient, (4,), 3, **how)
    engine = pl.Engine(graph, program, interpret=True, options=values_only())
    engine.run()
    shares = np.pad(values[0, 0] / np.array([2, 3, 3, 2], np.float32), 1)
    expected = (shares[:-2] + shares[1:-1]) + shares[2:]
    assert engine.read(made).tolist() == [[expected.astype(np.float16).tolist()]]
