"""Every operation as the oracle has it, and its derivatives by central differences."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import poplite as pl
import poplite.named as ng
from helpers.depth import thinned, values_only
from helpers.named_oracle import axes_of, evaluate, slope
from poplite import ops
from poplite.errors import (
    AxisError,
    ElementTypeError,
    MissingAxisError,
    PopliteError,
    SizeOverflowError,
)
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


# -- element types ---------------------------------------------------------------------------------


W2 = ng.make_axis(2, "W")
TYPES = {each.__name__: each for each in (pl.FLOAT, pl.HALF, pl.INT, pl.UNSIGNED_INT, pl.BOOL)}

UNARY: list[Callable[..., Any]] = [
    ng.negative,
    ng.absolute,
    ng.sign,
    ng.square,
    ng.sqrt,
    ng.reciprocal,
    ng.exp,
    ng.log,
    ng.safelog,
    ng.sin,
    ng.cos,
    ng.tanh,
    ng.sigmoid,
    ng.relu,
    ng.logical_not,
]
BINARY: list[Callable[..., Any]] = [
    ng.add,
    ng.subtract,
    ng.multiply,
    ng.divide,
    ng.floordivide,
    ng.mod,
    ng.power,
    ng.maximum,
    ng.minimum,
    ng.equal,
    ng.not_equal,
    ng.less,
    ng.less_equal,
    ng.greater,
    ng.greater_equal,
    ng.logical_and,
    ng.logical_or,
    ng.dot,
]
REDUCTIONS: list[Callable[..., Any]] = [
    ng.sum,
    ng.prod,
    ng.max,
    ng.min,
    ng.all,
    ng.any,
    ng.argmax,
    ng.argmin,
    ng.mean,
    ng.variance,
    ng.squared_L2,
    ng.L1_norm,
    ng.L2_norm,
    ng.softmax,
]

INTERNAL = re.compile(
    r"\bops\.|`~`|\bselect\b|floor_divide|remainder|Weak|Applied|\b_[a-z]|const\d"
)
"""Words that only the inside of the package has."""


def operations(x: ng.Op, y: ng.Op) -> dict[str, Callable[[], ng.Op]]:
    """Return all operations on tensors of one type, and beside numbers."""
    calls: dict[str, Callable[[], ng.Op]] = {f.__name__: partial(f, x) for f in UNARY}
    calls |= {f.__name__: partial(f, x, [H]) for f in REDUCTIONS}
    for f in BINARY:
        calls[f.__name__] = partial(f, x, y)
        for number in (2, -1, 0.5, True, 70_000):
            calls[f"{f.__name__} {number}"] = partial(f, x, number)
            calls[f"{number} {f.__name__}"] = partial(f, number, x)
    calls["where"] = lambda: ng.where(ng.equal(x, y), x, y)
    calls["where 0"] = lambda: ng.where(ng.equal(x, y), x, 0)
    calls["deriv"] = lambda: ng.deriv(ng.sum(x * y, ...), x)
    calls["pad"] = lambda: ng.pad(x, {H: 1})
    calls["concat"] = lambda: ng.concat([x, y], H)
    return calls


@pytest.mark.parametrize("dtype", TYPES.values(), ids=TYPES)
def test_what_is_refused_is_refused_when_it_is_built(dtype: Any) -> None:
    x, y = ng.placeholder([H, W2], dtype, name="x"), ng.placeholder([W2, H], dtype, name="y")
    refused: dict[str, PopliteError] = {}
    made = []
    for name, call in operations(x, y).items():
        try:
            made.append(call())
        except PopliteError as error:
            refused[name] = error
    assert [name for name, error in refused.items() if not (error.found and error.fix)] == []
    assert [error for error in refused.values() if INTERNAL.search(str(error))] == []
    ng.make_transformer(tiles=2).computation(made, x, y).program  # noqa: B018  (nothing is left)
    assert ("divide" in refused) == (not dtype.is_floating_point)
    assert ("logical_not" in refused) == (dtype is not pl.BOOL)
    assert ("add True" in refused, "pad" in refused) == (True, False)


@pytest.mark.parametrize(
    ("call", "error", "what", "fix"),
    [
        (
            lambda x, i, p: i + 0.5,
            ElementTypeError,
            "add: cannot mix 0.5 and INT",
            "ng.cast(i, pl.FLOAT)",
        ),
        (
            lambda x, i, p: x * True,
            ElementTypeError,
            "multiply: cannot mix True and FLOAT",
            "1, or a comp",
        ),
        (
            lambda x, i, p: ng.dot(i, x),
            ElementTypeError,
            "dot: cannot mix INT and FLOAT",
            "ng.cast(i, pl",
        ),
        (
            lambda x, i, p: x % i,
            ElementTypeError,
            "mod: cannot mix FLOAT and INT",
            "ng.cast(i, pl.FL",
        ),
        (
            lambda x, i, p: i**-1,
            ElementTypeError,
            "power: INT cannot be raised to the power -1",
            "ng.cast(i, pl",
        ),
        (lambda x, i, p: i + 2**31, SizeOverflowError, "add: 2147483648 does not fit", "wider"),
        (
            lambda x, i, p: ng.where(x, x, 0),
            ElementTypeError,
            "where: the predicate is FL",
            "x > 0",
        ),
        (
            lambda x, i, p: -p,
            ElementTypeError,
            "negative: operands of BOOL are not supported",
            "ng.logical_not(p)",
        ),
        (
            lambda x, i, p: i / i,
            ElementTypeError,
            "divide: operands of INT are not supported",
            "i // i, which rounds down",
        ),
        (
            lambda x, i, p: ng.logical_and(x, p),
            ElementTypeError,
            "logical_and: cannot mix FLOAT and BOOL",
            "",
        ),
        (
            lambda x, i, p: ng.logical_not(1),
            ElementTypeError,
            "logical_not: all operands are numbers",
            "not",
        ),
        (
            lambda x, i, p: ng.pad(i, {H: 1}, 0.5),
            ElementTypeError,
            "pad: cannot mix 0.5 and INT",
            "whole",
        ),
        (lambda x, i, p: ng.pad(x, {H: 1}, x), ElementTypeError, "pad: value is", "a number"),
        (
            lambda x, i, p: ng.argmax(p, [H]),
            ElementTypeError,
            "argmax: operands of BOOL are not supported",
            "pl.INT",
        ),
        (
            lambda x, i, p: ng.deriv(ng.sum(x * x, ...), i),
            ElementTypeError,
            "deriv: operands of INT are not supported",
            "",
        ),
        (
            lambda x, i, p: ng.log_softmax(x, [W]),
            MissingAxisError,
            "log_softmax: no axis 'W' among (H:3)",
            "(H:3)",
        ),
        (
            lambda x, i, p: ng.cross_entropy_multi(x, x, [W]),
            MissingAxisError,
            "cross_entropy_multi: no axis 'W' among (H:3)",
            "(H:3)",
        ),
        (
            lambda x, i, p: ng.cross_entropy_multi(x, x),
            AxisError,
            "cross_entropy_multi: axes or out_axes is required",
            "ng.cross_entropy_multi(x, t, axes)",
        ),
        (
            lambda x, i, p: ng.cast(x, pl.QUARTER),
            ElementTypeError,
            "cast: named tensors cannot",
            "HALF",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(
    call: Any, error: type[PopliteError], what: str, fix: str
) -> None:
    x, i = ng.placeholder([H], name="x"), ng.placeholder([H], pl.INT, name="i")
    with pytest.raises(error) as caught:
        call(x, i, ng.placeholder([H], pl.BOOL, name="p"))
    assert caught.value.what.startswith(what)
    assert fix in caught.value.fix


def test_a_choice_between_two_numbers_has_their_type() -> None:
    p = ng.constant([True, False, True], [H])
    made = [ng.where(p, *pair) for pair in ((1, 0), (1.0, 0), (True, False))]
    assert [each.dtype for each in made] == [pl.INT, pl.FLOAT, pl.BOOL]
    found = ng.make_transformer(tiles=2).computation(made)()
    assert [each.tolist() for each in found] == [[1, 0, 1], [1.0, 0.0, 1.0], [True, False, True]]


@pytest.mark.parametrize("name", ["relu", "maximum", "minimum", "absolute"])
def test_a_single_number_has_derivatives_with_a_choice(name: str) -> None:
    s = ng.variable([], 1.5, name="s")
    y = getattr(ng, name)(s) if name in ("relu", "absolute") else getattr(ng, name)(s, 2 * s)
    expected = 2.0 if name == "maximum" else 1.0
    assert ng.make_transformer(tiles=1).computation(ng.deriv(y, s))() == expected


UNFIT_VALUES = [
    (pl.CHAR, 300, SizeOverflowError, "t (H:3): 300 does not fit CHAR"),
    (pl.UNSIGNED_INT, [-1, 0, 0], SizeOverflowError, "t (H:3): -1 does not fit UNSIGNED_INT"),
    (pl.HALF, [1e6, 0, 0], SizeOverflowError, "t (H:3): 1000000.0 does not fit HALF"),
    (pl.INT, [0.5, 0, 0], ElementTypeError, "t: a value of dtype float64 cannot become INT"),
    (pl.BOOL, [2, 0, 0], ElementTypeError, "t: a value of dtype int64 cannot become BOOL"),
    (pl.FLOAT, [[1], [2, 3], []], ElementTypeError, "t: [[1], [2, 3], []] is not an array"),
    (pl.FLOAT, ["a", "b", "c"], ElementTypeError, "t: values of dtype <U1"),
    (pl.FLOAT, [None, 1, 2], ElementTypeError, "t: values of dtype object"),
]


@pytest.mark.parametrize(("dtype", "value", "error", "what"), UNFIT_VALUES)
def test_values_that_a_type_cannot_hold_are_refused(
    dtype: Any, value: Any, error: type[PopliteError], what: str
) -> None:
    for make in (ng.variable, ng.persistent_tensor):
        with pytest.raises(error, match=re.escape(what)):
            make([H], value, dtype, name="t")
    t = ng.placeholder([H], dtype, name="t")
    work = ng.make_transformer(tiles=1).computation(t, t)
    with pytest.raises(error, match=re.escape(what)):
        work(value)


def test_constants_are_checked_where_they_are_made() -> None:
    for value, axes in ((2**31, []), ([2**31, 0, 0], [H])):
        with pytest.raises(SizeOverflowError, match="2147483648 does not fit INT"):
            ng.constant(value, axes)
    assert ng.constant(2**31, dtype=pl.LONGLONG).dtype is pl.LONGLONG


def test_values_that_a_type_holds_are_taken() -> None:
    cases = itertools.product((pl.FLOAT, pl.HALF, pl.INT), (3, [1, 2, 3], [True, False, True]))
    for dtype, value in cases:
        t = ng.variable([H], value, dtype)
        assert ng.make_transformer(tiles=1).computation(t)().tolist() == (
            np.broadcast_to(np.asarray(value, dtype.dtype), 3).tolist()
        )


def test_functions_of_numpy_name_ours() -> None:
    x, i = ng.placeholder([H], name="x"), ng.placeholder([H], name="i")
    calls: list[tuple[Callable[[], Any], str]] = [
        (lambda: np.exp(x), "ng.exp(x)"),
        (lambda: np.maximum(x, x + 1), "ng.maximum(x, y)"),
        (lambda: np.maximum(x, i), "ng.maximum(x, i)"),
        (lambda: np.sum(x), "ng.sum(x, reduction_axes=...)"),
        (lambda: np.sum(x, axis=0), "ng.sum(x, reduction_axes=...)"),
        (lambda: np.add.reduce(x), "ng.sum(x, reduction_axes=...)"),
        (lambda: np.where(x, x, x), "ng.where(p, x, y)"),
        (lambda: np.concatenate([x, x]), "ng.concat([x, y], axis)"),
        (lambda: np.arctan(x), "read its values with ng.make_transformer().computation(x)()"),
    ]
    for call, fix in calls:
        with pytest.raises(
            pl.AxisError, match="needs values, which a named tensor does not have"
        ) as caught:
            call()
        assert caught.value.fix == fix


# -- rows of a table by number ---------------------------------------------------------------------


V7, D, N5 = (ng.make_axis(n, name) for n, name in ((7, "V"), (4, "D"), (5, "N")))
TABLE = np.arange(28, dtype=np.float32).reshape(7, 4)
NUMBERS = np.array([[6, 0, 3, 3, 1], [2, 2, 2, 5, 6]], np.int32)


def computed_on_tiles(made: list[ng.Op], tiles: int = 3) -> Any:
    return ng.make_transformer(tiles=tiles).computation(made)()


def test_rows_are_taken_along_any_axis_of_tensors_and_expressions() -> None:
    table = ng.variable([V7, D], TABLE)
    turned = ng.variable([D, V7], TABLE.T)
    numbers = ng.variable([B, N5], NUMBERS, pl.INT)
    bare = ng.variable([N5], NUMBERS[0].astype(np.uint32), pl.UNSIGNED_INT)
    made = [
        ng.take(table, numbers, V7),
        ng.take(turned * 2, numbers + 0, V7) + 1,
        ng.take(table, bare, V7)[N5, 1:3],
        ng.take(table, bare[N5, 2], V7),
        ng.take(table[D, 1], numbers, V7),
        ng.sum(ng.take(table, numbers, V7), [N5]),
        ng.take(table, 6, V7),
        ng.nmap(lambda row: ng.take(table, row, V7), numbers, axes=[N5]),
    ]
    assert made[0].axes == ng.make_axes([B, N5, D])
    found = computed_on_tiles(made)
    rows = TABLE[NUMBERS]
    expected = [
        *(rows, 2 * rows + 1, rows[0, 1:3], TABLE[3], rows[..., 1], rows.sum(1), TABLE[6], rows),
    ]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_derivative_adds_to_the_rows_that_were_taken() -> None:
    table = ng.variable([V7, D], TABLE, map={D: "tiles"})
    numbers = ng.variable([B, N5], NUMBERS, pl.INT)
    weights = ng.constant(np.arange(10.0).reshape(2, 5), [B, N5])
    taken = ng.take(table, numbers, V7)
    slope = ng.deriv(ng.sum(weights * taken * taken, ...), table)
    unread = ng.deriv(ng.sum(ng.take(table, numbers, V7)[B, 0], ...), table)
    twice = ng.deriv(ng.sum(slope, ...), table)
    assert slope.axes == ng.make_axes([V7, D])
    w = np.arange(10.0).reshape(2, 5)
    first, second, count = np.zeros((7, 4)), np.zeros((7, 4)), np.zeros((7, 4))
    np.add.at(first, NUMBERS, 2 * w[..., None] * TABLE[NUMBERS])
    np.add.at(second, NUMBERS, 2 * w[..., None])
    np.add.at(count, NUMBERS[0], 1)
    found = computed_on_tiles([slope, twice, unread])
    for one, other in zip(found, [first, second, count], strict=True):
        np.testing.assert_allclose(one, other, 1e-6)


def test_a_table_is_trained_by_the_rows_of_each_call() -> None:
    table, numbers = ng.variable([V7, D], TABLE, name="table"), ng.placeholder([N5], pl.INT)
    loss = ng.sum(ng.take(table, numbers, V7) ** 2, ...)
    step = ng.sequential([loss, ng.assign(table, table - 0.25 * ng.deriv(loss, table)), loss])
    device = ng.make_transformer(tiles=2)
    train = device.computation(step, numbers)
    expected = TABLE.astype(float)
    for row in NUMBERS:
        train(row)
        change = np.zeros_like(expected)
        np.add.at(change, row, expected[row] / 2)
        expected = expected - change
    (found,) = device.computation([table + 0])()
    np.testing.assert_allclose(found, expected, 1e-6)


def test_rows_are_those_of_an_embedding() -> None:
    table, numbers = ng.variable([V7, D], TABLE, name="t"), ng.variable([N5], NUMBERS[0], pl.INT)
    device = ng.make_transformer(tiles=4)
    device.computation(ng.take(table, numbers, V7))()
    graph = pl.Graph(pl.Target(tiles=4))
    pair = []
    for op, values in ((table, TABLE), (numbers, NUMBERS[0])):
        like = device.tensor(op)
        made = graph.add_variable(like.element_type, like.shape, initial_value=values)
        graph.set_tile_mapping(made, like.graph.tile_mapping(like))
        pair.append(made)
    with graph.steps():
        ops.embedding(*pair)
    kinds = [
        sorted(v.vertex_class.__name__ for each in made.compute_sets for v in each.vertices)
        for made in (device.graph, graph)
    ]
    assert kinds[0] == kinds[1]


def test_numbers_that_the_axis_does_not_have_stop_the_run() -> None:
    table, numbers = ng.variable([V7, D], TABLE), ng.placeholder([N5], pl.INT)
    work = ng.make_transformer(tiles=2).computation(ng.take(table, numbers, V7), numbers)
    with pytest.raises(pl.ApplicationRuntimeError, match="index 7 of 7 rows") as caught:
        work([0, 1, 7, 2, 3])
    assert "'take V by N/check'" in str(caught.value)


def test_what_is_no_number_of_a_row_is_refused() -> None:
    table, numbers = ng.placeholder([V7, D]), ng.placeholder([N5], pl.INT)
    shared = ng.placeholder([D], pl.INT)
    with pytest.raises(
        pl.ElementTypeError, match="take: indices must be INT or UNSIGNED_INT; found FLOAT"
    ):
        ng.take(table, ng.placeholder([N5]), V7)
    with pytest.raises(
        pl.AxisError, match="take: the table and the indices both have axis 'D'"
    ) as caught:
        ng.take(table, shared, V7)
    assert "ng.sum(ng.one_hot(indices, V) * table, [V])" in caught.value.fix
    with pytest.raises(pl.MissingAxisError, match="take"):
        ng.take(table, numbers, N5)
    with pytest.raises(pl.TensorIndexError) as index:
        table[V7, numbers]
    assert "ng.take(x, i, V) for rows" in index.value.fix
    with pytest.raises(pl.AxisError, match="nmap: no derivative with respect to a table"):
        ng.nmap(
            lambda row: ng.deriv(ng.sum(ng.take(table, row, V7), ...), table),
            ng.placeholder([B, N5], pl.INT),
            axes=[N5],
        )
