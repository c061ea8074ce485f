"""Every operation of `pl.ops` against NumPy, on every element type that it takes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import poplite as pl
from helpers.depth import deep, forms, thinned, values_only
from poplite import ops
from poplite.expr.operations import OPERATIONS, kind_of

Array = npt.NDArray[Any]

FLOATS = np.array(
    [*(0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.1, 1.0, -1.0, 3.7, -7.25), *(100.0, -1e4)]
    + [math.inf, -math.inf, math.nan]
)
WHOLE = [0, 1, 2, 3, 7, 31, 32, 63, 64, 100, 127, -1, -2, -7, -128]


def wrapped(values: list[int], dtype: np.dtype[Any]) -> Array:
    """Return integers of any size, cut to the bits of a type."""
    bits = 8 * dtype.itemsize
    low = np.array([value % (1 << bits) for value in values], np.uint64)
    return low.astype(f"u{dtype.itemsize}").view(dtype)


def exact_trunc_div(a: Array, b: Array) -> Array:
    pairs = zip(a.tolist(), b.tolist(), strict=True)
    found = [abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1) if y else 0 for x, y in pairs]
    return wrapped(found, a.dtype)


def exact_trunc_rem(a: Array, b: Array) -> Array:
    pairs = zip(a.tolist(), b.tolist(), strict=True)
    return wrapped([abs(x) % abs(y) * (-1 if x < 0 else 1) if y else 0 for x, y in pairs], a.dtype)


def int_power(a: Array, b: Array) -> Array:
    pairs = zip(a.tolist(), b.tolist(), strict=True)
    bits = 8 * a.dtype.itemsize
    return wrapped([pow(x, y, 1 << bits) if y >= 0 else 0 for x, y in pairs], a.dtype)


def shift(a: Array, b: Array, *, left: bool, logical: bool = False) -> Array:
    bits = 8 * a.dtype.itemsize
    found = []
    for x, n in zip(a.tolist(), b.tolist(), strict=True):
        if logical:
            x %= 1 << bits
        past = n < 0 or n >= bits
        if left:
            found.append(0 if past else x << n)
        else:
            found.append((-1 if x < 0 else 0) if past else x >> n)
    return wrapped(found, a.dtype)


def bits_of(a: Array) -> list[str]:
    width = 8 * a.dtype.itemsize
    return [f"{value % (1 << width):0{width}b}" for value in a.tolist()]


erf, erfc = np.vectorize(math.erf, otypes=[float]), np.vectorize(math.erfc, otypes=[float])


def half_away(x: Array) -> Array:
    near = np.trunc(x)
    return np.where(np.abs(x - near) >= 0.5, near + np.sign(x), near)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def vanishing(x: Array, share: Array) -> Array:
    """Return a share of x, which is nothing at the lower end."""
    return np.where(np.isneginf(x), -0.0, x * share)


ORACLES: dict[str, dict[str, Callable[..., Any]]] = {
    "add": {"both": np.add},
    "subtract": {"both": np.subtract},
    "multiply": {"both": np.multiply},
    "divide": {"float": np.divide},
    "floor_divide": {"both": np.floor_divide},
    "remainder": {"both": np.remainder},
    "divide_trunc": {"int": exact_trunc_div},
    "remainder_trunc": {"float": np.fmod, "int": exact_trunc_rem},
    "power": {"float": np.power, "int": int_power},
    "square": {"both": np.square},
    "negative": {"both": np.negative},
    "absolute": {"both": np.absolute},
    "reciprocal": {"float": np.reciprocal},
    "sign": {"both": np.sign},
    "sign_popops": {"both": lambda x: (x > 0).astype(int) - (x < 0).astype(int)},
    "maximum": {"both": np.maximum},
    "minimum": {"both": np.minimum},
    "clamp": {"both": lambda x, a, b: np.minimum(np.maximum(x, a), b)},
    "variance_to_inv_std_dev": {"float": lambda x, e: 1 / np.sqrt(x + e)},
    "inv_std_dev_to_variance": {"float": lambda x, e: 1 / (x * x) - e},
    "less": {"both": np.less},
    "less_equal": {"both": np.less_equal},
    "greater": {"both": np.greater},
    "greater_equal": {"both": np.greater_equal},
    "equal": {"both": np.equal, "bool": np.equal},
    "not_equal": {"both": np.not_equal, "bool": np.not_equal},
    "is_finite": {"float": np.isfinite},
    "is_inf": {"float": np.isinf},
    "is_nan": {"float": np.isnan},
    "logical_and": {"bool": np.logical_and},
    "logical_or": {"bool": np.logical_or},
    "logical_xor": {"bool": np.logical_xor},
    "logical_not": {"bool": np.logical_not},
    "bitwise_and": {"int": np.bitwise_and, "bool": np.bitwise_and},
    "bitwise_or": {"int": np.bitwise_or, "bool": np.bitwise_or},
    "bitwise_xor": {"int": np.bitwise_xor, "bool": np.bitwise_xor},
    "bitwise_xnor": {"int": lambda a, b: ~(a ^ b), "bool": lambda a, b: a == b},
    "bitwise_not": {"int": np.bitwise_not, "bool": np.logical_not},
    "shift_left": {"int": lambda a, b: shift(a, b, left=True)},
    "shift_right": {"int": lambda a, b: shift(a, b, left=False)},
    "shift_right_logical": {"int": lambda a, b: shift(a, b, left=False, logical=True)},
    "popcount": {"int": lambda a: [text.count("1") for text in bits_of(a)]},
    "count_leading_zeros": {
        "int": lambda a: [len(text) - len(text.lstrip("0")) for text in bits_of(a)]
    },
    "sqrt_trunc": {"int": lambda a: [math.isqrt(max(x, 0)) for x in a.tolist()]},
    "atan2": {"float": np.arctan2},
    "floor": {"float": np.floor},
    "ceil": {"float": np.ceil},
    "trunc": {"float": np.trunc},
    "round": {"float": np.rint},
    "round_half_away": {"float": half_away},
    "rsqrt": {"float": lambda x: 1 / np.sqrt(x)},
    "sigmoid": {"float": sigmoid},
    "relu": {"float": lambda x: np.maximum(x, 0)},
    "softplus": {"float": lambda x: np.logaddexp(0, x)},
    "swish": {"float": lambda x: vanishing(x, 1 / (1 + np.exp(-x)))},
    "gelu_erf": {"float": lambda x: vanishing(x, (1 + erf(x / math.sqrt(2))) / 2)},
    "gelu": {
        "float": lambda x: vanishing(
            x, (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2
        )
    },
    "erf": {"float": erf},
    "erfc": {"float": erfc},
    "asin": {"float": np.arcsin},
    "acos": {"float": np.arccos},
    "atan": {"float": np.arctan},
    **{
        name: {"float": getattr(np, name)}
        for name in ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "cbrt")
        + ("sin", "cos", "tan", "sinh", "cosh", "tanh")
    },
    "select": {
        "both": lambda a, b, p: np.where(p, a, b),
        "bool": lambda a, b, p: np.where(p, a, b),
    },
}

EXACT_FLOATS = {
    *("add", "subtract", "multiply", "divide", "floor_divide", "remainder", "square", "negative"),
    *("absolute", "reciprocal", "sign", "sign_popops", "maximum", "minimum", "clamp", "floor"),
    *("ceil", "trunc", "round", "round_half_away", "relu", "sqrt", "select", "remainder_trunc"),
}
"""Operations whose floats are those of NumPy; others differ in the last places."""

COMPILED = ("add", "floor_divide", "power", "clamp", "is_nan", "logical_xor", "popcount", "tanh")
"""Operations that are compiled by default as well, one of a kind."""

TYPES = [
    pl.FLOAT,
    pl.HALF,
    pl.INT,
    pl.UNSIGNED_INT,
    pl.SHORT,
    pl.UNSIGNED_SHORT,
    pl.CHAR,
    pl.UNSIGNED_CHAR,
    pl.LONGLONG,
    pl.UNSIGNED_LONGLONG,
    pl.BOOL,
]


def values_of(element: Any, operand: int, name: str) -> Array:
    """Return operands that meet each other in every pair."""
    if element is pl.BOOL:
        truth = [[False, True, False, True], [False, False, True, True]]
        return np.array(truth[operand % 2])
    dtype = element.dtype
    if dtype.kind == "f":
        values = FLOATS
    else:
        limits = np.iinfo(dtype)
        kept = [value for value in WHOLE if limits.min <= value <= limits.max]
        values = np.array([*kept, limits.max, limits.min], object)
    other = values[:8] if name == "clamp" else values
    pair = np.meshgrid(values, other, indexing="ij")
    # The third operand follows the first.
    return np.asarray(pair[operand % 2].ravel(), dtype)


def cases() -> list[Any]:
    found = []
    for name, operation in OPERATIONS.items():
        for element in TYPES:
            if kind_of(element) in operation.text:
                shown = "float" if "float" in operation.text else kind_of(element)
                is_shown = element in (pl.FLOAT, pl.INT, pl.BOOL) and kind_of(element) == shown
                marks = () if is_shown else deep
                case = pytest.param(name, element, id=f"{name}-{element.__name__}", marks=marks)
                found.append(case)
    return found


def test_every_operation_has_an_oracle() -> None:
    assert set(ORACLES) == set(OPERATIONS)
    assert [name for name in OPERATIONS if not hasattr(ops, name)] == []


@pytest.mark.parametrize(("name", "element"), cases())
def test_as_numpy(name: str, element: Any) -> None:
    operation, kind = OPERATIONS[name], kind_of(element)
    assert kind is not None
    oracle = ORACLES[name].get(kind) or ORACLES[name]["both"]
    graph, program = pl.Graph(pl.Target(tiles=3)), pl.Sequence()
    tensors, arrays = [], []
    for operand in range(operation.arity):
        own = pl.BOOL if name == "select" and operand == 2 else element
        values = values_of(element, operand, name)
        if own is pl.BOOL and element is not pl.BOOL:
            values = np.arange(len(values)) % 3 > 0
        tensor = graph.add_variable(
            own, values.shape, f"x{operand}", mapping="linear", initial_value=values
        )
        tensors.append(tensor)
        arrays.append(values)
    result = ops.map(getattr(ops, name)(*tensors), program=program)
    with np.errstate(all="ignore"):
        if element is pl.HALF:
            arrays = [
                each.astype(np.float32) if each.dtype.kind == "f" else each for each in arrays
            ]
        expected = np.asarray(oracle(*arrays))
        expected = expected.astype(result.element_type.dtype)
    found = []
    for interpret in (False, True) if name in COMPILED else forms():
        engine = pl.Engine(graph, program, interpret=interpret, options=values_only())
        engine.run()
        found.append(engine.read(result))
    if kind != "float" or name in EXACT_FLOATS or operation.gives == "bool":
        for each in found:
            np.testing.assert_array_equal(each, expected)
            if name == "remainder_trunc" and kind == "float":
                there = ~np.isnan(expected)
                np.testing.assert_array_equal(np.signbit(each)[there], np.signbit(expected)[there])
    else:
        tolerance = 2e-6 if element is pl.FLOAT else 1e-3
        for each in found:
            np.testing.assert_allclose(each, expected, rtol=tolerance, atol=1e-6)


CASTS = thinned(
    [(a, b) for a in TYPES for b in TYPES],
    keep=[(a, TYPES[(k + n) % len(TYPES)]) for k, a in enumerate(TYPES) for n in (1,)],
)


@pytest.mark.parametrize(("source", "target"), CASTS)
def test_casts(source: Any, target: Any) -> None:
    values = [0, 1, 3, 100] if source is not pl.BOOL else [False, True, True, False]
    array = np.array(values, source.dtype)
    if source.dtype.kind in "fi":
        array = np.concatenate([array, np.array([-1, -7], source.dtype)])
    if source.dtype.kind == "f":
        array = np.concatenate([array, np.array([2.75, -2.75], source.dtype)])
    graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    x = graph.add_variable(source, array.shape, "x", mapping="linear", initial_value=array)
    y = ops.map(ops.cast(x, target), program=program)
    if target.dtype.kind in "iu":
        whole = np.trunc(array.astype(float)).astype(np.int64)
        expected = whole.astype(target.dtype)
    else:
        expected = array.astype(target.dtype)
    for interpret in forms():
        engine = pl.Engine(graph, program, interpret=interpret, options=values_only())
        engine.run()
        np.testing.assert_array_equal(engine.read(y), expected)
