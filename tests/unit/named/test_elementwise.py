"""Element types: what goes together is known when an operation is built, and refused there."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import poplite as pl
import poplite.named as ng
from poplite.errors import ElementTypeError, PopliteError, SizeOverflowError

H, W = ng.make_axis(3, "H"), ng.make_axis(2, "W")
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
    x, y = ng.placeholder([H, W], dtype, name="x"), ng.placeholder([W, H], dtype, name="y")
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
        (lambda x, i, p: i + 0.5, ElementTypeError, "add: 0.5 beside INT", "ng.cast(i, pl.FLOAT)"),
        (lambda x, i, p: x * True, ElementTypeError, "multiply: True beside FLOAT", "1; or a comp"),
        (lambda x, i, p: ng.dot(i, x), ElementTypeError, "dot: INT and FLOAT are", "ng.cast(i, pl"),
        (lambda x, i, p: x % i, ElementTypeError, "mod: FLOAT and INT are not", "ng.cast(i, pl.FL"),
        (lambda x, i, p: i**-1, ElementTypeError, "power: -1 as the power of INT", "ng.cast(i, pl"),
        (lambda x, i, p: i + 2**31, SizeOverflowError, "add: 2147483648 does not fit", "wider"),
        (
            lambda x, i, p: ng.where(x, x, 0),
            ElementTypeError,
            "where: the predicate is FL",
            "x > 0",
        ),
        (lambda x, i, p: -p, ElementTypeError, "negative: not of BOOL", "ng.logical_not(p)"),
        (
            lambda x, i, p: i / i,
            ElementTypeError,
            "divide: not of INT",
            "i // i, which rounds down",
        ),
        (lambda x, i, p: ng.logical_and(x, p), ElementTypeError, "logical_and: FLOAT and BOOL", ""),
        (lambda x, i, p: ng.logical_not(1), ElementTypeError, "logical_not: numbers alone", "not"),
        (lambda x, i, p: ng.pad(i, {H: 1}, 0.5), ElementTypeError, "pad: 0.5 beside INT", "whole"),
        (lambda x, i, p: ng.pad(x, {H: 1}, x), ElementTypeError, "pad: a border of", "a number"),
        (lambda x, i, p: ng.argmax(p, [H]), ElementTypeError, "argmax: not of BOOL", "pl.INT"),
        (
            lambda x, i, p: ng.deriv(ng.sum(x * x, ...), i),
            ElementTypeError,
            "deriv: not of INT",
            "",
        ),
        (
            lambda x, i, p: ng.cast(x, pl.QUARTER),
            ElementTypeError,
            "cast: named tensors are",
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


VALUES = [
    (pl.CHAR, 300, SizeOverflowError, "t (H:3): 300 does not fit CHAR"),
    (pl.UNSIGNED_INT, [-1, 0, 0], SizeOverflowError, "t (H:3): -1 does not fit UNSIGNED_INT"),
    (pl.HALF, [1e6, 0, 0], SizeOverflowError, "t (H:3): 1000000.0 does not fit HALF"),
    (pl.INT, [0.5, 0, 0], ElementTypeError, "t: a value of dtype float64 for INT"),
    (pl.BOOL, [2, 0, 0], ElementTypeError, "t: a value of dtype int64 for BOOL"),
    (pl.FLOAT, [[1], [2, 3], []], ElementTypeError, "t: [[1], [2, 3], []] is not an array"),
    (pl.FLOAT, ["a", "b", "c"], ElementTypeError, "t: values of dtype <U1"),
    (pl.FLOAT, [None, 1, 2], ElementTypeError, "t: values of dtype object"),
]


@pytest.mark.parametrize(("dtype", "value", "error", "what"), VALUES)
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
        (lambda: np.arctan(x), "ng.make_transformer().computation(x)() returns its values"),
    ]
    for call, fix in calls:
        with pytest.raises(pl.AxisError, match="NumPy computes values") as caught:
            call()
        assert caught.value.fix == fix
