"""Windows that move over fields: convolutions, pooling and their gradients against NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import examples, forms, values_only
from poplite import ops
from poplite.ops import nn

# -- convolutions ----------------------------------------------------------------------------------


Doubles = npt.NDArray[np.float64]
Keywords = dict[str, Any]


def spread(x: Doubles, first: int, distances: Sequence[int]) -> Doubles:
    """Return an array with zeros between the elements of its dimensions from `first` on."""
    for d, distance in enumerate(distances):
        shape = list(x.shape)
        shape[first + d] = max(0, 1 + (shape[first + d] - 1) * distance)
        wider = np.zeros(shape)
        wider[(slice(None),) * (first + d) + (slice(None, None, distance),)] = x
        x = wider
    return x


def convolved(x: Doubles, weights: Doubles, how: Keywords) -> Doubles:
    """A convolution as PopLibs defines it: dilate, pad or cut, flip, multiply, take each n-th."""
    rank, groups = x.ndim - 2, how["groups"]
    x = spread(x, 2, how["input_dilation"])
    x = np.pad(x, [(0, 0), (0, 0), *[(max(0, a), max(0, b)) for a, b in how["padding"]]])
    kept = [slice(max(0, -a), n - max(0, -b)) for (a, b), n in zip(how["padding"], x.shape[2:])]  # noqa: B905
    x = x[(slice(None), slice(None), *kept)]
    weights = spread(weights, 2, how["dilation"])
    weights = np.flip(weights, tuple(2 + d for d in range(rank) if how["flip"][d]))
    seen = np.lib.stride_tricks.sliding_window_view(x, weights.shape[2:], tuple(range(2, x.ndim)))
    seen = seen[(slice(None), slice(None), *(slice(None, None, s) for s in how["stride"]))]
    seen = seen.reshape((x.shape[0], groups, x.shape[1] // groups, *seen.shape[2:]))
    weights = weights.reshape((groups, len(weights) // groups, *weights.shape[1:]))
    field, taps = "xyz"[:rank], "uvw"[:rank]
    out = np.einsum(f"bgi{field}{taps},goi{taps}->bgo{field}", seen, weights)
    result: Doubles = out.reshape((x.shape[0], groups * out.shape[2], *out.shape[3:]))
    return result


def by_input(gradient: Doubles, weights: Doubles, shape: tuple[int, ...], how: Keywords) -> Doubles:
    """The gradient by an input, from what the convolution makes of every unit input."""
    size = int(np.prod(shape[1:]))
    made = convolved(np.eye(size).reshape((size, *shape[1:])), weights, how)
    found: Doubles = gradient.reshape(len(gradient), made[0].size) @ made.reshape(size, -1).T
    return found.reshape(shape)


def by_weights(gradient: Doubles, x: Doubles, shape: tuple[int, ...], how: Keywords) -> Doubles:
    """The gradient by weights, from what the convolution makes of every unit kernel."""
    groups = how["groups"]
    size, places = int(np.prod(shape[1:])), int(np.prod(gradient.shape[2:]))
    units = np.tile(np.eye(size).reshape((size, *shape[1:])), (groups, *[1] * (len(shape) - 1)))
    seen = convolved(x, units, how).reshape((len(x), groups, size, places))
    own = gradient.reshape((len(x), groups, shape[0] // groups, places))
    found: Doubles = np.einsum("bgop,bgsp->gos", own, seen)
    return found.reshape(shape)


@st.composite
def convolution_cases(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...], Keywords]:
    """Shapes of an input and weights that fit each other, and the parameters."""
    rank = draw(st.integers(1, 3))
    largest = (12, 7, 4)[rank - 1]
    field, kernel = [], []
    names = ("stride", "padding", "dilation", "input_dilation", "flip")
    how: Keywords = {name: [] for name in names}
    for _ in range(rank):
        size, taps = draw(st.integers(1, largest)), draw(st.integers(1, 3))
        dilation, between = draw(st.sampled_from([1, 1, 2, 3])), draw(st.sampled_from([1, 1, 2]))
        low, high = draw(st.integers(-1, 2)), draw(st.integers(-1, 3))
        missing = 1 + (taps - 1) * dilation - (1 + (size - 1) * between + low + high)
        high += max(0, missing)
        if -min(0, low) - min(0, high) > 1 + (size - 1) * between:
            low, high = 0, max(0, high)
        field.append(size)
        kernel.append(taps)
        how["stride"].append(draw(st.sampled_from([1, 1, 2, 3])))
        how["padding"].append((low, high))
        how["dilation"].append(dilation)
        how["input_dilation"].append(between)
        how["flip"].append(draw(st.booleans()))
    how["groups"] = draw(st.sampled_from([1, 1, 2, 3]))
    inputs, outputs = draw(st.sampled_from([1, 2, 5, 17])), draw(st.sampled_from([1, 3, 6, 18]))
    batch = draw(st.sampled_from([0, 1, 1, 2, 3]))
    shape = batch, how["groups"] * inputs, *field
    return shape, (how["groups"] * outputs, inputs, *kernel), how


def close(found: npt.NDArray[Any], expected: Doubles, most: Doubles) -> None:
    """Compare with a tolerance for the roundings of sums, whose terms come to `most`."""
    epsilon = {"float32": 2.0**-23, "float16": 2.0**-10}[found.dtype.name]
    assert found.shape == expected.shape
    assert (abs(found - expected) <= 64 * 2.0**-23 * most + epsilon * abs(expected) + 1e-7).all()


@examples(80, quick=6)
@given(
    case=convolution_cases(),
    dtype=st.sampled_from([np.float32, np.float16]),
    tiles=st.sampled_from([1, 4, 30]),
    planned=st.booleans(),
    expand=st.sampled_from([None, 1, 2, 3]),
    interpret=st.sampled_from([*forms()[:1] * 2, *forms()]),
    seed=st.integers(0, 2**32 - 1),
)
def test_convolutions_and_gradients_are_numpys(
    case: tuple[tuple[int, ...], tuple[int, ...], Keywords],
    dtype: type[np.floating[Any]],
    tiles: int,
    planned: bool,
    expand: int | None,
    interpret: bool,
    seed: int,
) -> None:
    shape, kernel, how = case
    rng = np.random.default_rng(seed)
    if interpret:  # which takes long
        shape = (min(shape[0], 2), *shape[1:])
    if expand:
        expand = min(expand, len(shape) - 2) if max(how["input_dilation"]) == 1 else None
    graph = pl.Graph(pl.Target(tiles=tiles))
    plan = ops.plan_convolution(
        graph,
        batch=shape[0],
        field=shape[2:],
        inputs=shape[1],
        outputs=kernel[0],
        kernel=kernel[2:],
        type=dtype,
        expand=expand,
        **how,
    )
    if planned:
        x, weights = plan.create_input("x"), plan.create_weights("weights")
    else:
        x, weights = (
            graph.add_variable(dtype, size, name, mapping="linear")
            for size, name in ((shape, "x"), (kernel, "weights"))
        )
    assert (x.shape, weights.shape) == (shape, kernel)
    with graph.steps() as step:
        y = ops.convolution(x, weights, plan if planned else None, **how)
        gradient = graph.add_variable(dtype, y.shape, "gradient", mapping="linear")
        made = (
            y,
            ops.convolution_input_gradient(gradient, weights, shape[2:], **how),
            ops.convolution_weights_gradient(gradient, x, kernel[2:], **how),
        )
    engine = pl.Engine(graph, step, interpret=interpret, options=values_only())
    arrays = [rng.normal(size=each.shape).astype(dtype) for each in (x, weights, gradient)]
    for tensor, array in zip((x, weights, gradient), arrays, strict=True):
        engine.write(tensor, array)
    engine.run()
    found = [engine.read(each) for each in made]

    def exact(signs: Any) -> list[Doubles]:
        a, b, g = (signs(array.astype(float)) for array in arrays)
        return [
            convolved(a, b, how),
            by_input(g, b, shape, how),
            by_weights(g, a, kernel, how),
        ]

    for one, expected, most in zip(found, exact(np.positive), exact(np.abs), strict=True):
        close(one, expected, most)


# -- pooling ---------------------------------------------------------------------------------------


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
def pooling_cases(draw: st.DrawFn) -> tuple[tuple[int, ...], list[int], dict[str, Any]]:
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
    case=pooling_cases(),
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
