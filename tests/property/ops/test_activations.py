"""Activations and their gradients against differences of NumPy in double, by types of popnn."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import deep, examples, values_only
from poplite import ops
from poplite.compat import popnn
from poplite.compat.popnn import NonLinearityType as Kind
from poplite.ops import nn

Doubles = npt.NDArray[np.float64]


def sigmoid(x: Doubles) -> Doubles:
    result: Doubles = 0.5 * (1 + np.tanh(x / 2))
    return result


def hard_sigmoid(x: Doubles) -> Doubles:
    result: Doubles = np.clip(0.2 * x + 0.5, 0, 1)
    return result


def gelu(x: Doubles) -> Doubles:
    result: Doubles = 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return result


def gelu_erf(x: Doubles) -> Doubles:
    result: Doubles = x * (1 + np.vectorize(math.erf, otypes=[float])(x / math.sqrt(2))) / 2
    return result


def softmax(x: Doubles) -> Doubles:
    powers = np.exp(x - x.max(-1, keepdims=True))
    result: Doubles = powers / powers.sum(-1, keepdims=True)
    return result


EXACT: dict[Kind, Callable[[Doubles], Doubles]] = {
    Kind.SIGMOID: sigmoid,
    Kind.HARD_SIGMOID: hard_sigmoid,
    Kind.RELU: lambda x: np.maximum(x, 0),
    Kind.TANH: np.tanh,
    Kind.GELU: gelu,
    Kind.GELU_ERF: gelu_erf,
    Kind.SWISH: lambda x: x * sigmoid(x),
    Kind.SOFTMAX: softmax,
    Kind.SOFTMAX_STABLE: softmax,
    Kind.SOFTMAX_SCALED: lambda x: softmax(x) * popnn.SOFTMAX_SCALING,
}
OF_INPUT = (Kind.HARD_SIGMOID, Kind.GELU, Kind.GELU_ERF, Kind.SWISH)
"""Those whose gradient is computed of what they were given."""


def slope(function: Callable[[Doubles], Doubles], x: Doubles, weights: Doubles) -> Doubles:
    """The gradient of the sum of results times weights, by differences in double."""
    found, step = np.empty_like(x), 1e-5
    for place in np.ndindex(x.shape):
        moved = np.zeros_like(x)
        moved[place] = step
        change = function(x + moved) - function(x - moved)
        found[place] = (change * weights).sum() / (2 * step)
    return found


@deep
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_compiled_gradients_have_the_same_bits(dtype: str) -> None:
    """All of one expression, so that one vertex class is compiled."""
    values, g = np.random.default_rng(8).standard_normal((2, 40)).astype(dtype)
    found = []
    for interpret in (True, False):
        graph, prog = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
        x, by_y = (
            graph.add_variable(dtype, (40,), name, mapping="linear", initial_value=each)
            for name, each in (("x", values), ("g", g))
        )
        total: Any = nn.hard_sigmoid(x)
        for each in (*OF_INPUT, Kind.SIGMOID, Kind.TANH, Kind.RELU):
            total = total + getattr(nn, f"{each.value}_gradient")(x, by_y)
        made = ops.map(total, program=prog)
        engine = pl.Engine(graph, prog, interpret=interpret, options=values_only())
        engine.run()
        found.append(engine.read(made))
    np.testing.assert_array_equal(found[0], found[1])


@examples(8, quick=1)
@given(
    shape=st.sampled_from([(2, 5), (1, 1), (0, 3)]),
    dtype=st.sampled_from(["float32", "float16"]),
    mapping=st.sampled_from(["linear", 1]),
    seed=st.integers(0, 2**32 - 1),
)
def test_all_types_of_popnn(shape: tuple[int, ...], dtype: str, mapping: Any, seed: int) -> None:
    random = np.random.default_rng(seed)
    values, g = (3 * random.standard_normal((2, *shape))).astype(dtype)
    values[abs(abs(values) - 2.5) < 1e-2] = 0.25  # where the hard one has two slopes
    graph, prog = pl.Graph(pl.Target(tiles=3)), pl.Sequence()
    x, by_y = (
        graph.add_variable(dtype, shape, name, mapping=mapping, initial_value=each)
        for name, each in (("x", values), ("g", g))
    )
    made = {}
    for kind in Kind:
        y = popnn.nonLinearity(graph, kind, x, prog, kind.name)
        act = x if kind in OF_INPUT else y
        made[kind] = y, popnn.nonLinearityInputGradient(graph, kind, act, by_y, prog)
    popnn.nonLinearityInPlace(graph, Kind.SWISH, x, prog)
    # Values alone count, at any depth: some sixty vertex classes would be priced.
    engine = pl.Engine(graph, prog, interpret=True, options={"debug.instrument": False})
    engine.run()
    swish = engine.read(made[Kind.SWISH][0])
    np.testing.assert_array_equal(engine.read(x), swish)
    wide, weights = values.astype(float), g.astype(float)
    step = {"float32": 2e-6, "float16": 2e-3}[dtype]
    for kind, (y, by_x) in made.items():
        scale = popnn.SOFTMAX_SCALING if kind is Kind.SOFTMAX_SCALED else 1.0
        found = engine.read(y)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, EXACT[kind](wide), step, step * scale, err_msg=kind.name)
        found, exact = engine.read(by_x), slope(EXACT[kind], wide, weights)
        assert found.dtype == dtype
        most = float(np.finfo(dtype).max)  # which those scaled come near, and go beyond
        found, exact = (np.clip(each.astype(float), -most, most) for each in (found, exact))
        near = 20 * step * scale
        np.testing.assert_allclose(found, exact, 20 * step, near, err_msg=kind.name)


def test_gradients_far_out_are_limits() -> None:
    far = np.array([-np.inf, -1e30, -120, 120, 1e30, np.inf, np.nan], np.float32)
    graph, prog = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    x = graph.add_variable(pl.FLOAT, far.shape, "x", mapping="linear", initial_value=far)
    one = graph.add_constant(pl.FLOAT, far.shape, 1.0, "one", mapping="linear")
    functions = nn.gelu_gradient, nn.gelu_erf_gradient, nn.swish_gradient
    made = [ops.map(function(x, one), program=prog) for function in functions]
    pair = nn.relu_gradient, nn.hard_sigmoid_gradient
    flat = [ops.map(function(x, one), program=prog) for function in pair]
    engine = pl.Engine(graph, prog, interpret=True, options=values_only())
    engine.run()
    for each in made:
        np.testing.assert_array_equal(engine.read(each), [0, 0, 0, 1, 1, 1, np.nan])
    # PopLibs' have no gradient of NaN.
    for each, expected in zip(flat, ([0, 0, 0, 1, 1, 1, 0], [0] * 7), strict=True):
        np.testing.assert_array_equal(engine.read(each), expected)


def test_what_popnn_names_one_by_one() -> None:
    values = np.array([[-1.0, 0.5, 2.0]], np.float32)
    graph, prog = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    x, z = (
        graph.add_variable(pl.FLOAT, (1, 3), name, mapping=0, initial_value=values) for name in "xz"
    )
    names = "sigmoid", "relu", "tanh", "gelu", "geluErf", "swish", "softmax", "softmaxStable"
    kinds = (
        *(Kind.SIGMOID, Kind.RELU, Kind.TANH, Kind.GELU, Kind.GELU_ERF, Kind.SWISH, Kind.SOFTMAX),
        Kind.SOFTMAX_STABLE,
    )
    made = [getattr(popnn, name)(graph, x, prog) for name in names]
    scaled, scale = popnn.scaledSoftmaxStable(graph, x, prog)
    logarithm = popnn.logSoftmax(graph, x, prog)
    popnn.logSoftmaxInPlace(graph, x, prog)
    popnn.geluInPlace(graph, z, prog)
    engine = pl.Engine(graph, prog, interpret=True, options=values_only())
    engine.run()
    for each, kind in zip(made, kinds, strict=True):
        np.testing.assert_allclose(engine.read(each), EXACT[kind](values.astype(float)), 1e-5)
    np.testing.assert_allclose(engine.read(scaled), softmax(values.astype(float)) * scale, 1e-5)
    np.testing.assert_allclose(engine.read(x), np.log(softmax(values.astype(float))), 1e-5)
    np.testing.assert_array_equal(engine.read(x), engine.read(logarithm))
    np.testing.assert_array_equal(engine.read(z), engine.read(made[3]))


def hidden(value: object) -> Any:
    """A value of a type that is refused."""
    return value


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda g, x, i, p: nn.hard_sigmoid(i), "ops.nn.hard_sigmoid: its operand is INT"),
        (lambda g, x, i, p: nn.tanh_gradient(x, x[0]), "FLOAT [3] for FLOAT [4, 3]"),
        (lambda g, x, i, p: popnn.nonLinearity(g, Kind.SWISH, i, p), "ops.swish: 'i' is INT"),
    ],
)
def test_refusals(call: Callable[..., Any], text: str) -> None:
    graph, prog = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    x = graph.add_variable(pl.FLOAT, (4, 3), "x", mapping="linear")
    i = graph.add_variable(pl.INT, (4, 3), "i", mapping="linear")
    with pytest.raises(pl.PopliteError) as raised:
        call(graph, x, i, prog)
    assert text in str(raised.value)
    assert raised.value.at is not None
