"""Every operation as the oracle has it, and its derivatives by central differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import poplite as pl
import poplite.named as ng
from helpers.depth import thinned, values_only
from helpers.named_oracle import axes_of, evaluate, slope
from poplite.named.op import Op
from poplite.named.tensors import TensorOp

B, H, K, N, W = axes_of("B2 H3 K5 N4 W6")
X = ng.placeholder([N, H, W], name="x")
Y = ng.placeholder([W, H], name="y")
Z = ng.placeholder([W, N, B], name="z")
V = ng.placeholder([K, H, B], name="v")
P = ng.placeholder([N, H, W], name="p")
I = ng.placeholder([N], pl.INT, name="i")  # noqa: E741

Array = npt.NDArray[Any]

Make = Callable[[], Op]

SMOOTH: dict[str, Make] = {
    "add": lambda: X + Y,
    "subtract, other order": lambda: Y - X,
    "multiply by number": lambda: 2.5 * X * Y,
    "divide": lambda: Y / P,
    "power of number": lambda: X**3 + P**0.5 + P**-1,
    "power of tensor": lambda: P**Y,
    "number to a power": lambda: 2.0**Y,
    "negative": lambda: -X,
    "square, sqrt": lambda: ng.square(X) + ng.sqrt(P),
    "reciprocal": lambda: ng.reciprocal(P),
    "exp, log": lambda: ng.exp(Y) * ng.log(P),
    "sin, cos": lambda: ng.sin(X) * ng.cos(Y),
    "tanh, sigmoid": lambda: ng.tanh(X) + ng.sigmoid(Y),
    "safelog": lambda: ng.safelog(P),
    "sum": lambda: ng.sum(X * Y, [H, N]),
    "sum of all": lambda: ng.sum(X, ...),
    "sum, out axes": lambda: ng.sum(X, out_axes=[W, N]),
    "sum beside its operand": lambda: Y - ng.sum(Y, [H]) * ng.sum(Y, [W]),
    "mean": lambda: ng.mean(X, [W]),
    "variance": lambda: ng.variance(X, [N, W]),
    "prod": lambda: ng.prod(Y, [W]),
    "squared_L2": lambda: ng.squared_L2(X, [H]),
    "L2_norm": lambda: ng.L2_norm(X, [H, W]),
    "dot": lambda: ng.dot(X, Y),
    "dot, matrices": lambda: ng.dot(Y, V),
    "dot, batches": lambda: ng.dot(Z, X, axes=[W]),
    "dot of two batches": lambda: ng.dot(ng.dot(X, V, axes=[H]), Z, axes=[W]),
    "dot, in place of a sum": lambda: ng.dot(X, X),
    "dot, row by row": lambda: ng.dot(X, Z, axes=[W]),
    "dot, out axes": lambda: ng.dot(Y, V, out_axes=[B, ..., K]),
    "dot of nothing shared": lambda: ng.dot(Z, ng.sum(V, [B])),
    "dot by number": lambda: ng.dot(X, 3),
    "dot, nothing summed": lambda: ng.dot(X, Z, axes=[]),
    "dot of what is computed": lambda: ng.dot(ng.tanh(Y), V * V) + 1,
    "matrix by vector": lambda: ng.dot(V, ng.sum(X, [N, W])),
    "broadcast": lambda: ng.broadcast(Y, [N, W, H]) * X,
    "axes_with_order": lambda: ng.axes_with_order(X * Y, [W, ...]),
    "cast_axes": lambda: ng.cast_axes(X[N, 0], [W.resized(3), H.resized(6)]) * 2,
    "cast_axes and its own": lambda: Y + ng.cast_axes(Y, [ng.make_axis(6, "A"), H]),
    "expand_dims": lambda: ng.expand_dims(Y, B, 1),
    "flatten": lambda: ng.flatten(X) * 2,
    "flatten of what is computed": lambda: ng.flatten(X + Y, [H, W]) * ng.sum(X, [H, W]),
    "flatten of a sum": lambda: ng.flatten(ng.sum(X, [H])),
    "unflatten": lambda: ng.unflatten(ng.flatten(X) * 2),
    "unflatten beside a slice": lambda: _unflattened(lambda x, axis: x * x[axis, ::-1]),
    "unflatten of a slice beside it": lambda: _unflattened(
        lambda x, axis: x + x[axis, ::-1] * x[axis, ::-1]
    ),
    "index": lambda: X[H, 1] * Y[H, 2],
    "index beside the axis": lambda: Y * Y[H, 0],
    "slices": lambda: X[{N: slice(1, None), W: slice(None, None, -2)}],
    "slice of slice": lambda: (X * Y)[W, 1:6][W, ::-2][W, 1:],
    "slices of one tensor": lambda: Y[W, 1:] * Y[W, :-1],
    "slice of a sum": lambda: ng.sum(X, [N])[H, ::-1][W, 2:5],
    "slice of a dot": lambda: ng.dot(Y, V)[K, 1:3][W, -1],
    "no elements": lambda: X[W, 3:3] + Y[W, 2:2],
    "sum of no elements": lambda: ng.sum(X[W, 3:3], [W]) + 1.0,
    "dot of no elements": lambda: ng.dot(Y[H, 1:1], V[H, 1:1]) + 2.0,
    "concat": lambda: ng.concat([X, X[N, 1:] * 2, X[N, :0]], N),
    "concat in another order": lambda: ng.concat([Y, ng.axes_with_order(Y + 1, [H, W])], H),
    "concat, sliced": lambda: ng.concat([Y, Y * 2], W)[W, 4:9:2],
    "stack": lambda: ng.stack([Y, Y * 2], B, 1),
    "pad": lambda: ng.pad(Y, {W: (1, 2), H: 1}, 0.5),
    "pad by nothing": lambda: ng.pad(Y, {W: 0}) + Y,
    "softmax": lambda: ng.softmax(X, [W]),
    "log_softmax": lambda: ng.log_softmax(X, [W, H]),
    "cross_entropy_multi": lambda: ng.cross_entropy_multi(ng.softmax(Y, [W]), X, [W]),
    "cross entropy of numbers": lambda: ng.cross_entropy_multi(P, Y, out_axes=[N]),
    "cross_entropy_binary": lambda: ng.cross_entropy_binary(ng.sigmoid(X), Y),
    "binary of numbers": lambda: ng.cross_entropy_binary(P / 4, Y),
    "keep": lambda: ng.keep(X + Y) * 2,
    "place": lambda: ng.place(X + Y, 1) * 2,
    "a bias": lambda: (X - ng.mean(X, [N])) * ng.constant([1.0, 2.0, 3.0], [H]),
    "numbers alone": lambda: ng.sqrt(4.0) * 2 + ng.constant(3.0),
}
"""What has a derivative everywhere."""


def _unflattened(made: Callable[[Op, ng.Axis], Op]) -> Op:
    """What is made of a flattened tensor and its axis, of which slices are not flattened."""
    flat = ng.flatten(Y)
    return ng.unflatten(made(flat, flat.axes[0]))


KINKED: dict[str, Make] = {
    "absolute, sign": lambda: abs(X) + ng.sign(Y),
    "relu": lambda: ng.relu(X),
    "maximum, minimum": lambda: ng.maximum(X, Y) - ng.minimum(X, 0.25),
    "where": lambda: ng.where(X > Y, X, Y * 2),
    "max": lambda: ng.max(X, [H]),
    "min of two": lambda: ng.min(X, [N, W]),
    "L1_norm": lambda: ng.L1_norm(X, [W]),
    "mod": lambda: X % 0.7,
    "floordivide": lambda: X // 0.3,
}

FLAT: dict[str, Make] = {
    "comparisons": lambda: ng.logical_and(X < Y, ng.logical_not(X >= 0.1)),
    "equal": lambda: ng.logical_or(ng.equal(X, X), ng.not_equal(X, Y)),
    "all, any": lambda: ng.logical_or(ng.all(X > 0, [W]), ng.any(X > 1, [W])),
    "greater": lambda: ng.logical_and(ng.greater(X, Y), ng.less_equal(X, 1)),
    "safelog of 0": lambda: ng.safelog(ng.relu(X)),
    "argmax": lambda: ng.argmax(X, [H]),
    "argmin": lambda: ng.argmin(Y, out_axes=[H]),
    "one_hot": lambda: ng.one_hot(I, K),
    "one_hot, sliced": lambda: ng.one_hot(I, K)[K, 1:5:2] * 2.0,
    "cast": lambda: ng.cast(ng.cast(X * 9, pl.INT), pl.FLOAT),
    "integers": lambda: I // 2 + I % 3 - abs(I),
    "dot of integers": lambda: ng.dot(I, I) + ng.sum(I, [N]),
}

ALL = {**SMOOTH, **KINKED, **FLAT}

random = np.random.default_rng(5)
VALUES: dict[TensorOp, Any] = {
    **{each: random.standard_normal(each.shape).astype(np.float32) for each in (X, Y, Z, V)},
    P: random.uniform(0.5, 2, P.shape).astype(np.float32),
    I: np.array([4, 0, 7, -2]),
}


def computed(roots: list[Op], *, interpret: bool = False, **options: Any) -> list[Any]:
    """What operations come to on four tiles."""
    device = ng.make_transformer(tiles=4, **options)
    params = dict.fromkeys(each for root in roots for each in root.placeholders())
    work = device.computation(roots, *params)
    if not interpret:
        return list(work(*[VALUES[each] for each in params]))
    engine = pl.Engine(device.graph, work.program, interpret=True, options=values_only())
    for each in params:
        engine.write(work.tensor(each), np.asarray(VALUES[each], each.element_type.dtype))
    engine.run()
    return [engine.read(work.tensor(root)) for root in roots]


FORMS: list[dict[str, Any]] = [
    {"interpret": True},
    {},
    {"fuse": "none"},
    {"checks": "strict"},
    {"map": {N: "tiles"}},
    {"map": {H: 2, W: 2}},
]
"""How all operations run: the first by default, the others at full depth."""


@pytest.mark.parametrize("options", thinned(FORMS, keep=1), ids=str)
def test_as_the_oracle_has_it(options: dict[str, Any]) -> None:
    """All in one computation, each as if it were alone: they read the same tensors."""
    roots = [make() for make in ALL.values()]
    for name, root, found, expected in zip(
        ALL, roots, computed(roots, **options), evaluate(roots, VALUES), strict=True
    ):
        assert found.shape == tuple(axis.length for axis in root.axes), name
        assert found.dtype == root.element_type.dtype, name
        if found.dtype.kind == "f":
            np.testing.assert_allclose(found, expected, 3e-5, 3e-6, err_msg=name)
        else:
            np.testing.assert_array_equal(found, expected, name)


@pytest.mark.parametrize("name", [*SMOOTH, *KINKED])
def test_derivatives_are_those_of_central_differences(name: str) -> None:
    """The derivative as an expression, evaluated by the oracle in double."""
    y = ALL[name]()
    doubles = {each: np.asarray(value, float) for each, value in VALUES.items()}
    error = ng.placeholder(y.axes, name="error") if y.axes.items else None
    if error is not None:
        doubles[error] = random.standard_normal(y.shape)
    for x in y.placeholders():
        gradient = ng.deriv(y, x, error)
        assert gradient.axes == x.axes
        (found,) = evaluate([gradient], doubles)
        expected = slope(y, x, doubles, None if error is None else doubles[error])
        np.testing.assert_allclose(
            found, expected, 1e-6, 3e-8 + 1e-6 * abs(expected).max(initial=0)
        )


@pytest.mark.parametrize(
    "norm",
    [
        lambda x: ng.L2_norm(x, [B]),
        lambda x: ng.sqrt(ng.dot(x, x, axes=[B])),
        lambda x: ng.sqrt(ng.sum(x**2, [B])),
    ],
    ids=["L2_norm", "dot", "power"],
)
def test_the_derivative_of_a_norm_that_is_0_is_0(norm: Any) -> None:
    """One of its subgradients; what is not a number stays that."""
    x = ng.variable([H, B], [[0, 0], [3, 4], [np.nan, 0]], name="x")
    gradient = ng.deriv(ng.sum(norm(x), ...), x)
    expected: Any = [[0, 0], [0.6, 0.8], [np.nan, np.nan]]
    np.testing.assert_allclose(evaluate([gradient], {})[0], expected)
    found = ng.make_transformer(tiles=2).computation(gradient)()
    np.testing.assert_allclose(found, expected, 1e-6)


def shares(x: Array, dims: tuple[int, ...]) -> Array:
    """The softmax of an array."""
    powers = np.exp(x)
    return np.asarray(powers / powers.sum(dims, keepdims=True))


def binary(p: Array, t: Array) -> Array:
    """The cross entropy of two classes, of arrays."""
    return np.asarray(-t * np.log(p) - (1 - t) * np.log(1 - p))


CLOSED: dict[str, Callable[[Array, Array, Array, Array], Any]] = {
    "reciprocal": lambda x, y, p, i: p**-1.0,
    "safelog": lambda x, y, p, i: np.log(p),
    "safelog of 0": lambda x, y, p, i: np.where(x > 0, np.log(np.where(x > 0, x, 1)), -50.0),
    "mean": lambda x, y, p, i: x.mean(2),
    "variance": lambda x, y, p, i: x.var((0, 2)),
    "squared_L2": lambda x, y, p, i: np.einsum("nhw,nhw->nw", x, x),
    "L2_norm": lambda x, y, p, i: np.linalg.norm(x.reshape(4, -1), axis=1),
    "L1_norm": lambda x, y, p, i: np.linalg.norm(x, 1, axis=2),
    "dot": lambda x, y, p, i: np.einsum("nhw,wh->n", x, y),
    "stack": lambda x, y, p, i: np.stack([y, 2 * y], 1),
    "pad": lambda x, y, p, i: np.pad(y, [(1, 2), (1, 1)], constant_values=0.5),
    "softmax": lambda x, y, p, i: shares(x, (2,)),
    "log_softmax": lambda x, y, p, i: np.log(shares(x, (1, 2))),
    "cross_entropy_multi": lambda x, y, p, i: -np.einsum("nhw,wh->nh", x, np.log(shares(y, (0,)))),
    "cross entropy of numbers": lambda x, y, p, i: -np.einsum("wh,nhw->n", y, np.log(p)),
    "cross_entropy_binary": lambda x, y, p, i: binary(1 / (1 + np.exp(-x)), y.T),
    "binary of numbers": lambda x, y, p, i: binary(p / 4, y.T),
    "relu": lambda x, y, p, i: np.clip(x, 0, None),
    "one_hot": lambda x, y, p, i: np.array([i == k for k in range(5)]),
}
"""What NumPy has in place of operations that are made of others, which the oracle takes apart."""


@pytest.mark.parametrize("name", CLOSED)
def test_an_operation_made_of_others_has_its_closed_form(name: str) -> None:
    doubles = {each: np.asarray(value, float) for each, value in VALUES.items()}
    root = ALL[name]()
    (found,) = evaluate([root], doubles)
    expected = CLOSED[name](doubles[X], doubles[Y], doubles[P], VALUES[I])
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, 1e-12, 1e-12)


ON_TILES = ["dot, batches", "softmax", "slices", "concat", "max", "variance", "prod", "pad"]


@pytest.mark.parametrize("number", thinned([5, len(ON_TILES)], keep=1))
def test_derivatives_on_tiles_are_those_of_the_oracle(number: int) -> None:
    roots = []
    for name in ON_TILES[:number]:
        y = ALL[name]()
        roots += ng.deriv(ng.sum(y * y, ...), y.placeholders())
    for root, found, expected in zip(roots, computed(roots), evaluate(roots, VALUES), strict=True):
        assert found.shape == root.shape
        np.testing.assert_allclose(found, expected, 2e-4, 2e-5 * abs(expected).max())
