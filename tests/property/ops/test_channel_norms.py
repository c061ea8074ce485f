"""Batch, group and instance normalisation against NumPy in double, and their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import examples, forms, values_only
from poplite import ops
from poplite.ops import nn

Doubles = npt.NDArray[np.float64]


def run(function: Callable[..., Any], arrays: list[Any], interpret: bool) -> list[Any]:
    """What expressions of tensors come to."""
    graph, program = pl.Graph(pl.Target(tiles=5)), pl.Sequence()
    tensors = [
        graph.add_variable(x.dtype, x.shape, f"x{n}", mapping="linear", initial_value=x)
        for n, x in enumerate(arrays)
    ]
    made = [ops.map(each, program=program) for each in function(*tensors)]
    engine = pl.Engine(graph, program, interpret=interpret, options=values_only())
    engine.run()
    return [engine.read(each) for each in made]


def normalised(x: Doubles, groups: int | None, gain: Doubles, bias: Doubles) -> Doubles:
    """Channels with mean 0 and variance 1: of a batch where groups is None."""
    parted = x[None] if groups is None else x.reshape((len(x), groups, -1, *x.shape[2:]))
    dims = tuple(d for d in range(1, parted.ndim) if groups is not None or d != 2)
    if groups is not None:
        dims = dims[1:]
    less = parted - parted.mean(dims, keepdims=True)
    made = (less / np.sqrt(parted.var(dims, keepdims=True) + 1e-5)).reshape(x.shape)
    shape = (-1, *[1] * (x.ndim - 2))
    result: Doubles = made * gain.reshape(shape) + bias.reshape(shape)
    return result


def slope(function: Callable[[Doubles], Doubles], x: Doubles, weights: Doubles) -> Doubles:
    """The gradient of the sum of results times weights, by differences in double."""
    found, step = np.empty_like(x), 1e-5
    for place in np.ndindex(x.shape):
        moved = np.zeros_like(x)
        moved[place] = step
        change = function(x + moved) - function(x - moved)
        found[place] = (change * weights).sum() / (2 * step)
    return found


@examples(20, quick=2)
@given(
    kind=st.sampled_from(["batch", "group", "instance"]),
    field=st.sampled_from([(5,), (3, 4), (2, 2, 2)]),
    dtype=st.sampled_from(["float32", "float16"]),
    interpret=st.sampled_from(forms()),
    seed=st.integers(0, 2**32 - 1),
)
def test_norms_and_gradients_are_numpys(
    kind: str, field: tuple[int, ...], dtype: str, interpret: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    x, g = (rng.standard_normal((3, 4, *field)).astype(dtype) for _ in "xg")
    gain, bias = (rng.standard_normal(4).astype(dtype) for _ in "ab")
    x += dtype == "float32"
    groups = {"batch": None, "group": 2, "instance": 4}[kind]
    more = (2,) if kind == "group" else ()
    norm = getattr(nn, f"{kind}_norm")
    gradient = getattr(nn, f"{kind}_norm_gradient")
    found = run(
        lambda x, g, gain, bias: (
            norm(x, *more, gain, bias),
            *gradient(x, g, *more, gain),
        ),
        [x, g, gain, bias],
        interpret,
    )
    wide, weights, a, b = (each.astype(float) for each in (x, g, gain, bias))
    expected = (
        normalised(wide, groups, a, b),
        slope(lambda x: normalised(x, groups, a, b), wide, weights),
        slope(lambda a: normalised(wide, groups, a, b), a, weights),
        slope(lambda b: normalised(wide, groups, a, b), b, weights),
    )
    step = {"float32": 1e-4, "float16": 1e-2}[dtype]
    for each, exact in zip(found, expected, strict=True):
        assert each.dtype == dtype
        np.testing.assert_allclose(each, exact, rtol=step, atol=step)


def test_running_statistics_and_inference() -> None:
    rng = np.random.default_rng(2)
    batches = rng.normal(2, 3, (4, 6, 3, 5)).astype(np.float32)
    graph = pl.Graph(pl.Target(tiles=3))
    x = graph.add_variable(pl.FLOAT, batches.shape[1:], "x", mapping="linear")
    mean, variance = (
        graph.add_variable(pl.FLOAT, (3,), name, mapping="linear", initial_value=begin)
        for name, begin in (("mean", 0), ("variance", 1))
    )
    with graph.steps() as step:
        nn.running_statistics(x, mean, variance, momentum=0.25)
        statistics = [ops.map(each) for each in nn.batch_statistics(x)]
    with graph.steps() as inference:
        y = ops.map(nn.batch_norm_inference(x, mean, variance, 2.0, 1.0))
    engine = pl.Engine(graph, [step, inference], interpret=True, options=values_only())
    m, v = np.zeros(3), np.ones(3)
    for batch in batches:
        engine.write(x, batch)
        engine.run(0)
        m += 0.25 * (batch.mean((0, 2)) - m)
        v += 0.25 * (batch.var((0, 2), ddof=1) - v)
    engine.run(1)
    np.testing.assert_allclose(engine.read(mean), m, rtol=1e-5)
    np.testing.assert_allclose(engine.read(variance), v, rtol=1e-5)
    np.testing.assert_allclose(engine.read(statistics[1]), batches[-1].var((0, 2)), rtol=1e-5)
    exact = (batches[-1] - m[:, None]) / np.sqrt(v[:, None] + 1e-5) * 2 + 1
    np.testing.assert_allclose(engine.read(y), exact, rtol=1e-4, atol=1e-5)


def hidden(value: object) -> Any:
    """A value of a type that is refused."""
    return value


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x, i: nn.batch_norm(i), "ops.nn.batch_norm: its operand is INT"),
        (lambda x, i: nn.batch_norm(x[0, 0]), "x has shape (3,)"),
        (lambda x, i: nn.group_norm(x, 3), "groups=3 of 4 channels"),
        (lambda x, i: nn.group_norm(x, 0), "groups=0 of 4 channels"),
        (lambda x, i: nn.group_norm(x, hidden(None)), "ops.nn.group_norm: groups is None"),
        (lambda x, i: nn.softmax(x, hidden(None)), "ops.nn.softmax: dim=None is not a dimension"),
        (lambda x, i: nn.batch_norm(x, x[0, 0]), "has shape (3,), x (2, 4, 3)"),
        (lambda x, i: nn.batch_norm_gradient(x, x[0]), "FLOAT [4, 3] for FLOAT [2, 4, 3]"),
        (lambda x, i: nn.running_statistics(x, x[0, :, 0], hidden(1)), "variance"),
        (
            lambda x, i: nn.running_statistics(ops.cast(i, pl.FLOAT), x[0, :, 0], x[0, :, 0]),
            "mean 'x' and variance 'x' share elements",
        ),
        (
            lambda x, i: nn.running_statistics(2 * x[:, :, :2], x[0, :, 0], x[0, :, 2]),
            "x 'x' and mean 'x' share elements",
        ),
        (
            lambda x, i: nn.running_statistics(x[:, :, :2], x[0, :, 2], x[0, :, 0]),
            "x 'x' and variance 'x' share elements",
        ),
        (
            lambda x, i: nn.running_statistics(x[:1, :, 0], x[0, :, 0], x[1, :, 0]),
            "a channel has 1 values",
        ),
    ],
)
def test_refusals(function: Callable[..., Any], text: str) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (2, 4, 3), "x", mapping="linear")
    i = graph.add_variable(pl.INT, (2, 4, 3), "i", mapping="linear")
    with graph.steps(), pytest.raises(pl.PopliteError) as raised:
        function(x, i)
    assert text in str(raised.value)
