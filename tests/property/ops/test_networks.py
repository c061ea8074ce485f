"""Softmax, losses, normalisation and optimizers against NumPy in double, and their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import examples, forms, values_only
from helpers.running import interpreted_sooner
from poplite import ops
from poplite.ops import nn

Array = npt.NDArray[Any]
Doubles = npt.NDArray[np.float64]
Inputs = tuple[Array, ...]

SOONER = forms()[0]
"""The form that is tried where a test names none: by default the interpreted one."""


def run(function: Callable[..., Any], arrays: Inputs, interpret: bool = SOONER) -> list[Array]:
    """What expressions of tensors come to."""
    graph, program = pl.Graph(pl.Target(tiles=5)), pl.Sequence()
    tensors = [
        graph.add_variable(x.dtype, x.shape, f"x{n}", mapping="linear", initial_value=x)
        for n, x in enumerate(arrays)
    ]
    made = function(*tensors)
    made = made if isinstance(made, tuple) else (made,)
    results = [ops.map(each, program=program) for each in made]
    engine = pl.Engine(graph, program, interpret=interpret, options=values_only())
    engine.run()
    return [engine.read(each) for each in results]


def slope(function: Callable[[Doubles], Doubles], x: Array, weights: Doubles) -> Doubles:
    """The gradient of the sum of results times weights, by differences in double."""
    x = x.astype(np.float64)
    found, step = np.empty_like(x), 1e-5
    for place in np.ndindex(x.shape):
        moved = np.zeros_like(x)
        moved[place] = step
        change = function(x + moved) - function(x - moved)
        found[place] = (change * weights).sum() / (2 * step)
    return found


def softmax(x: Doubles, dim: int = -1) -> Doubles:
    powers = np.exp(x - x.max(dim, keepdims=True))
    result: Doubles = powers / powers.sum(dim, keepdims=True)
    return result


def log_softmax(x: Doubles, dim: int = -1) -> Doubles:
    less = x - x.max(dim, keepdims=True)
    result: Doubles = less - np.log(np.exp(less).sum(dim, keepdims=True))
    return result


def layer_norm(x: Doubles, gain: Any = 1.0, bias: Any = 0.0, epsilon: float = 1e-5) -> Doubles:
    centred = x - x.mean(-1, keepdims=True)
    result: Doubles = centred / np.sqrt(x.var(-1, keepdims=True) + epsilon) * gain + bias
    return result


SHAPES = st.sampled_from([(1, 1), (7, 3), (3, 40), (2, 3, 5)])
DTYPES = st.sampled_from(["float32", "float16"])


def close(found: Array, expected: Doubles, scale: float = 1.0) -> None:
    """Compare with a tolerance of some 8 roundings of the type."""
    step = {"float32": 1e-6, "float16": 5e-3}[found.dtype.name]
    np.testing.assert_allclose(found.astype(float), expected, rtol=step * 3, atol=step * scale)


@interpreted_sooner
@examples(10, quick=1)
@given(shape=SHAPES, dtype=DTYPES, seed=st.integers(0, 2**32 - 1), spread=st.sampled_from([1, 30]))
def test_softmax(
    interpret: bool, shape: tuple[int, ...], dtype: str, seed: int, spread: int
) -> None:
    random = np.random.default_rng(seed)
    dim = int(random.integers(-len(shape), len(shape)))
    x = (spread * random.standard_normal(shape)).astype(dtype)
    g = random.standard_normal(shape).astype(dtype)
    y, logarithm = run(lambda x: (nn.softmax(x, dim), nn.log_softmax(x, dim)), (x,), interpret)
    close(y, softmax(x.astype(float), dim))
    close(logarithm, log_softmax(x.astype(float), dim), spread)
    by_softmax, by_logarithm = run(
        lambda y, z, g: (nn.softmax_gradient(y, g, dim), nn.log_softmax_gradient(z, g, dim)),
        (y, logarithm, g),
        interpret,
    )
    close(by_softmax, slope(lambda x: softmax(x, dim), x, g.astype(float)), 20)
    close(by_logarithm, slope(lambda x: log_softmax(x, dim), x, g.astype(float)), 100)


@interpreted_sooner
@examples(10, quick=1)
@given(
    shape=st.sampled_from([(1,), (6,), (2, 5)]),
    classes=st.sampled_from([1, 4, 11]),
    dtype=DTYPES,
    label=st.sampled_from(["int32", "uint8", "uint32"]),
    is_ignored=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_cross_entropy(
    interpret: bool,
    shape: tuple[int, ...],
    classes: int,
    dtype: str,
    label: str,
    is_ignored: bool,
    seed: int,
) -> None:
    random = np.random.default_rng(seed)
    x = (5 * random.standard_normal((*shape, classes))).astype(dtype)
    labels = random.integers(0, classes, shape).astype(label)
    ignored = int(np.iinfo(label).max) if is_ignored else None
    kept = random.random(shape) < (0.6 if is_ignored else 1)
    shown = np.where(kept, labels, labels.dtype.type(np.iinfo(label).max))
    loss, gradient = run(
        lambda x, y: (
            nn.cross_entropy(x, y, ignored=ignored),
            nn.cross_entropy_gradient(x, y, ignored=ignored),
        ),
        (x, shown),
        interpret,
    )

    def exact(x: Doubles) -> Doubles:
        chosen = np.take_along_axis(log_softmax(x), labels[..., None].astype(int), -1)[..., 0]
        result: Doubles = -np.where(kept, chosen, 0)
        return result

    assert loss.dtype == np.float32
    close(loss, exact(x.astype(float)), 20)
    assert gradient.dtype == dtype
    close(gradient, slope(exact, x, np.ones(shape)), 100)


def test_a_class_that_is_not_there_shows_at_once() -> None:
    x, labels = np.zeros((4, 3), np.float32), np.array([0, 3, -1, 2], np.int32)
    loss, gradient = run(
        lambda x, y: (nn.cross_entropy(x, y), nn.cross_entropy_gradient(x, y)), (x, labels)
    )
    assert np.isinf(loss).tolist() == [False, True, True, False]
    assert np.isnan(gradient).all(1).tolist() == [False, True, True, False]
    assert np.isnan(gradient).any(1).tolist() == [False, True, True, False]


@interpreted_sooner
@examples(20, quick=2)
@given(dtype=DTYPES, seed=st.integers(0, 2**32 - 1))
def test_other_losses(interpret: bool, dtype: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    x = np.r_[20 * random.standard_normal(8), 200, -200].astype(dtype)
    t = np.r_[random.random(8), 1, 0].astype(dtype)
    found = run(
        lambda x, t: (
            nn.binary_cross_entropy(x, t),
            nn.binary_cross_entropy_gradient(x, t),
            nn.squared_error(x, t),
            nn.squared_error_gradient(x, t),
        ),
        (x, t),
        interpret,
    )
    wide, target = x.astype(float), t.astype(float)
    exact = (
        np.logaddexp(0, wide) - wide * target,
        1 / (1 + np.exp(-wide)) - target,
        (wide - target) ** 2 / 2,
        wide - target,
    )
    for each, expected in zip(found, exact, strict=True):
        close(each, expected, 200)
    assert [each.dtype for each in found] == ["float32", dtype, "float32", dtype]


@interpreted_sooner
@examples(10, quick=1)
@given(shape=st.sampled_from([(1, 3), (7, 12), (2, 3, 5)]), seed=st.integers(0, 2**32 - 1))
def test_layer_norm(interpret: bool, shape: tuple[int, ...], seed: int) -> None:
    random = np.random.default_rng(seed)
    x, g = (random.standard_normal(shape).astype(np.float32) for _ in "xg")
    gain, bias = (random.standard_normal(shape[-1:]).astype(np.float32) for _ in "ab")
    x += 3
    (y,) = run(nn.layer_norm, (x, gain, bias), interpret)
    close(y, layer_norm(x.astype(float), gain, bias), 50)
    by_x, by_gain, by_bias = run(nn.layer_norm_gradient, (x, g, gain), interpret)
    weights = g.astype(float)
    close(by_x, slope(lambda x: layer_norm(x, gain.astype(float), bias), x, weights), 200)
    wide = x.astype(float)
    close(by_gain, slope(lambda gain: layer_norm(wide, gain, bias), gain, weights), 100)
    close(by_bias, slope(lambda bias: layer_norm(wide, gain, bias), bias, weights), 100)


def test_layer_norm_of_half_is_rounded_once() -> None:
    x = np.random.default_rng(1).standard_normal((9, 64)).astype(np.float16)
    (y,) = run(lambda x: nn.layer_norm(x, 1.5, 0.25), (x,))
    exact = layer_norm(x.astype(float), 1.5, 0.25)
    assert y.dtype == np.float16
    assert (abs(y - exact) <= np.spacing(abs(y).astype(np.float16)) * 0.51).all()


def steps(
    record: Callable[..., Any], dtype: str, count: int, interpret: bool
) -> tuple[Array, Array]:
    """A parameter after some updates, of the gradient of (w - goal)^2, and as it began."""
    random = np.random.default_rng(3)
    begin, goal = random.standard_normal((2, 6, 5)).astype(dtype)
    graph = pl.Graph(pl.Target(tiles=4))
    w = graph.add_variable(dtype, (6, 5), "w", mapping="linear", initial_value=begin)
    target = graph.add_constant(dtype, (6, 5), goal, "goal", mapping=1)
    with graph.steps() as program, ops.repeat(count):
        record(graph, w, 2 * (w - target))
    engine = pl.Engine(graph, program, interpret=interpret, options=values_only())
    engine.run()
    return engine.read(w), np.stack([begin, goal]).astype(float)


@interpreted_sooner
@pytest.mark.parametrize("momentum", [None, 0.9])
def test_sgd(interpret: bool, momentum: float | None) -> None:
    def record(graph: pl.Graph, w: pl.Tensor, gradient: pl.Expr) -> None:
        velocity = None
        if momentum is not None:
            velocity = graph.add_variable(pl.FLOAT, w.shape, "v", mapping="linear", initial_value=0)
        rate = graph.add_constant(pl.FLOAT, (), 0.05, "rate", mapping=0)
        nn.sgd(w, gradient, rate, velocity=velocity, momentum=momentum or 0, decay=0.01)

    found, (w, goal) = steps(record, "float32", 7, interpret)
    v = np.zeros_like(w)
    for _ in range(7):
        v = (momentum or 0) * v + 2 * (w - goal) + 0.01 * w
        w = w - 0.05 * v
    np.testing.assert_allclose(found, w, rtol=1e-5, atol=1e-6)


@interpreted_sooner
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_adam(interpret: bool, dtype: str, decay: float) -> None:
    def record(graph: pl.Graph, w: pl.Tensor, gradient: pl.Expr) -> None:
        nn.adam(w, gradient, nn.adam_state(w), 0.1, decay=decay)

    found, (w, goal) = steps(record, dtype, 9, interpret)
    m, v = np.zeros_like(w), np.zeros_like(w)
    for step in range(1, 10):
        g = 2 * (w - goal)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        change = m / (1 - 0.9**step) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
        w = w - 0.1 * (change + decay * w)
    tolerance = 2e-2 if dtype == "float16" else 1e-5
    np.testing.assert_allclose(found, w, rtol=tolerance, atol=tolerance)


def hidden(value: object) -> Any:
    """A value of a type that is refused."""
    return value


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x, i: nn.softmax(i), "ops.nn.softmax: its operand is INT"),
        (lambda x, i: nn.softmax(x, 2), "2"),
        (lambda x, i: nn.softmax_gradient(x, x[0]), "FLOAT [3] for FLOAT [4, 3]"),
        (lambda x, i: nn.softmax_gradient(x[0], x), "FLOAT [4, 3] for FLOAT [3]"),
        (lambda x, i: nn.softmax_gradient(x, i), "ops.nn.softmax_gradient: its operand is INT"),
        (lambda x, i: nn.log_softmax_gradient(x, x[:, :1]), "FLOAT [4, 1] for FLOAT [4, 3]"),
        (
            lambda x, i: nn.log_softmax_gradient(x, pl.ops.cast(x, pl.HALF)),
            "HALF [4, 3] for FLOAT [4, 3]",
        ),
        (lambda x, i: nn.layer_norm_gradient(x, x[0]), "FLOAT [3] for FLOAT [4, 3]"),
        (lambda x, i: nn.layer_norm(x, x[:, :1]), "a gain of shape (4, 1) for x of (4, 3)"),
        (lambda x, i: nn.layer_norm(x, 1.0, x.expand([0])), "a bias of shape (1, 4, 3)"),
        (lambda x, i: nn.layer_norm_gradient(x, x, x), "a gain of shape (4, 3) for x of (4, 3)"),
        (lambda x, i: nn.cross_entropy(x, i), r"labels of shape (4, 3) for logits of shape (4, 3)"),
        (lambda x, i: nn.cross_entropy(x, x[0]), "labels 'x' are FLOAT"),
        (lambda x, i: nn.cross_entropy(x, hidden(i[0] + 1)), "store it first"),
        (lambda x, i: nn.sgd(hidden(x * 2), x, 0.1), "parameter"),
        (lambda x, i: nn.sgd(i, i, 0.1), "parameter 'i' is INT"),
        (lambda x, i: nn.sgd(x, x[0], 0.1), "a gradient of shape (3,) for 'x' of shape (4, 3)"),
        (lambda x, i: nn.sgd(x, x, 0.1, velocity=x[0]), "velocity 'x' is float32[3]"),
        (
            lambda x, i: nn.adam(x, x, nn.AdamState(x, i, x[0])),
            "state.second 'i' is int32[4, 3]",
        ),
    ],
)
def test_refusals(function: Callable[..., Any], text: str) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (4, 3), "x", mapping="linear")
    i = graph.add_variable(pl.INT, (4, 3), "i", mapping="linear")
    with graph.steps(), pytest.raises(pl.PopliteError) as raised:
        function(x, i)
    assert text in str(raised.value)
    assert raised.value.at is not None
    assert raised.value.at.file.endswith("test_networks.py")
