"""Operations of `pl.ops` against NumPy on every element type, at the edges of integers too."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import deep, examples, forms, interpreted, thinned, values_only
from poplite import ops
from poplite.expr.operations import OPERATIONS, kind_of
from poplite.ops import nn

# -- every operation on every type -----------------------------------------------------------------


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
    "hypot": {"float": np.hypot},
    "logaddexp": {"float": np.logaddexp},
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


# -- views, triangles, transposed copies -----------------------------------------------------------


SHAPES = [(6,), (1,), (4, 5), (1, 3), (2, 3, 4)]


def numbered(shape: tuple[int, ...]) -> Any:
    """Return different numbers."""
    return np.arange(1, 1 + int(np.prod(shape)), dtype=np.int32).reshape(shape)


def moved(shape: tuple[int, ...], move: Callable[[pl.Tensor, pl.Sequence], Any]) -> Any:
    """Return what a view, an expression or a step makes of these numbers."""
    graph, program = pl.Graph(pl.Target(tiles=5)), pl.Sequence()
    x = graph.add_variable(pl.INT, shape, "x", mapping="linear", initial_value=numbered(shape))
    result = ops.map(move(x, program), program=program)
    engine = pl.Engine(graph, program, **interpreted())
    engine.run()
    return engine.read(result)


@examples(40)
@given(data=st.data(), shape=st.sampled_from(SHAPES))
def test_views_are_what_numpy_makes(data: st.DataObject, shape: tuple[int, ...]) -> None:
    x, rank = numbered(shape), len(shape)
    dim = data.draw(st.integers(-rank, rank - 1))
    by = data.draw(st.integers(-9, 9))
    found = moved(shape, lambda t, _: ops.roll(t, by, dim))
    np.testing.assert_array_equal(found, np.roll(x, by, dim))
    np.testing.assert_array_equal(moved(shape, lambda t, _: ops.roll(t, by)), np.roll(x, by))
    count = abs(by) % 4
    found = moved(shape, lambda t, _: ops.repeat_elements(t, count, dim))
    np.testing.assert_array_equal(found, np.repeat(x, count, dim))
    repeats = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=4))
    np.testing.assert_array_equal(
        moved(shape, lambda t, _: ops.tile(t, repeats)), np.tile(x, repeats)
    )


@examples(40)
@given(
    data=st.data(),
    shape=st.sampled_from(SHAPES),
    mode=st.sampled_from(["constant", "edge", "reflect"]),
)
def test_padding(data: st.DataObject, shape: tuple[int, ...], mode: Any) -> None:
    most = [size - 1 if mode == "reflect" else 4 for size in shape]
    widths = [data.draw(st.tuples(*2 * [st.integers(0, each)])) for each in most]
    found = moved(shape, lambda t, _: ops.pad(t, widths, mode))
    np.testing.assert_array_equal(found, np.pad(numbered(shape), widths, mode))


def test_widths_of_padding_may_be_short_or_negative() -> None:
    x = numbered((4, 5))
    found = moved((4, 5), lambda t, _: ops.pad(t, (1, 2), value=7))
    np.testing.assert_array_equal(found, np.pad(x, (1, 2), constant_values=7))
    np.testing.assert_array_equal(moved((4, 5), lambda t, _: ops.pad(t, 1)), np.pad(x, 1))
    found = moved((4, 5), lambda t, _: ops.pad(t, [(-1, 0), (1, -2)], "edge"))
    np.testing.assert_array_equal(found, np.pad(x[1:, :-2], [(0, 0), (1, 0)], "edge"))


@pytest.mark.parametrize(
    ("shape", "k"),
    thinned(
        product([(4, 5), (1, 3), (2, 3, 4)], [-9, -1, 0, 2, 9]),
        [((4, 5), 2), ((4, 5), 9), ((1, 3), 0), ((2, 3, 4), -1), ((2, 3, 4), -9)],
    ),
)
def test_triangles(shape: tuple[int, ...], k: int) -> None:
    x = numbered(shape)
    np.testing.assert_array_equal(moved(shape, lambda t, _: ops.tril(t, k)), np.tril(x, k))
    np.testing.assert_array_equal(moved(shape, lambda t, _: ops.triu(2 * t, k)), np.triu(2 * x, k))


@examples(40)
@given(
    rows=st.integers(0, 4),
    columns=st.integers(0, 4),
    k=st.integers(-6, 6),
    element=st.sampled_from([pl.FLOAT, pl.INT, pl.BOOL]),
)
def test_diagonals(rows: int, columns: int, k: int, element: Any) -> None:
    graph, program = pl.Graph(pl.Target(tiles=3)), pl.Sequence()
    x = graph.add_variable(pl.INT, (rows, columns), "x", mapping=0)
    v = graph.add_variable(pl.INT, (columns,), "v", mapping=0, initial_value=numbered((columns,)))
    made = [ops.diag(x, k), ops.diag(v, k), ops.eye(rows, columns, k, element)]
    results = [x, *(ops.map(each, program=program) for each in [made[1]])]
    target = graph.add_variable(element, (rows, columns), "eye", mapping="linear")
    ops.assign(target, made[2], program=program)
    engine = pl.Engine(graph, program, **interpreted())
    engine.write(x, numbered((rows, columns)))
    engine.run()
    np.testing.assert_array_equal(engine.read(made[0]), np.diag(numbered((rows, columns)), k))  # type: ignore[arg-type]
    np.testing.assert_array_equal(engine.read(results[1]), np.diag(numbered((columns,)), k))
    np.testing.assert_array_equal(
        engine.read(target), np.eye(rows, columns, k, dtype=element.dtype)
    )


@examples(40)
@given(data=st.data(), shape=st.sampled_from(SHAPES))
def test_flips_and_grids(data: st.DataObject, shape: tuple[int, ...]) -> None:
    x = numbered(shape)
    dims = data.draw(st.none() | st.lists(st.integers(0, len(shape) - 1), unique=True))
    found = moved(shape, lambda t, _: ops.flip(t, dims))
    np.testing.assert_array_equal(found, np.flip(x, None if dims is None else tuple(dims)))
    indexing: Any = data.draw(st.sampled_from(["xy", "ij"]))
    parts = [x.ravel()[: size + 1] for size in range(data.draw(st.integers(1, 3)))]
    grids = np.meshgrid(*parts, indexing=indexing)

    def grid(t: pl.Tensor, number: int) -> pl.Tensor:
        vectors = [t[: len(part)] for part in parts]
        return ops.meshgrid(*vectors, indexing=indexing)[number]

    for k, expected in enumerate(grids):
        found = moved((x.size,), lambda t, _, k=k: grid(t, k))  # type: ignore[misc]
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("element", [pl.FLOAT, pl.HALF])
def test_lengths_and_logarithms_of_sums_do_not_overflow(element: Any) -> None:
    most = float(np.finfo(element.dtype).max)
    sides = [0.0, -0.0, 3.0, -4.0, most, most / 2, 1e-7, math.inf, -math.inf, math.nan]
    pair = [np.asarray(each.ravel(), element.dtype) for each in np.meshgrid(sides, sides)]
    graph, program = pl.Graph(pl.Target(tiles=3)), pl.Sequence()
    a, b = (
        graph.add_variable(element, each.shape, name, mapping="linear", initial_value=each)
        for name, each in zip("ab", pair, strict=True)
    )
    made = [ops.map(each(a, b), program=program) for each in (ops.hypot, ops.logaddexp)]
    engine = pl.Engine(graph, program, **interpreted())
    engine.run()
    wide = [each.astype(float) for each in pair]
    with np.errstate(all="ignore"):
        for result, function in zip(made, (np.hypot, np.logaddexp), strict=True):
            expected = function(*wide).astype(element.dtype)
            tolerance = 4 * np.finfo(element.dtype).eps
            np.testing.assert_allclose(engine.read(result), expected, rtol=tolerance, atol=1e-7)


def test_a_transposed_copy_lies_in_its_own_order() -> None:
    graph, program = pl.Graph(pl.Target(tiles=6)), pl.Sequence()
    x = graph.add_variable(
        pl.INT, (2, 3, 4), "x", mapping="linear", initial_value=numbered((2, 3, 4))
    )
    found = [ops.transpose(x, program=program), ops.transpose(x + 1, (1, 0, 2), program=program)]
    for each in found:
        assert each.is_contiguous()
        assert len(graph.tile_mapping(each)[0]) == 1
    engine = pl.Engine(graph, program, **interpreted())
    engine.run()
    np.testing.assert_array_equal(engine.read(found[0]), numbered((2, 3, 4)).T)
    np.testing.assert_array_equal(engine.read(found[1]), numbered((2, 3, 4)).transpose(1, 0, 2) + 1)


REFUSED: list[tuple[Callable[[pl.Tensor], Any], type[pl.PopliteError], str]] = [
    (
        lambda x: ops.roll(x, 1, 2),
        pl.TensorIndexError,
        "there is no dimension 2 in 'x', which has 2",
    ),
    (lambda x: ops.flip(x, [0, -2]), pl.InvalidOption, "dims is"),
    (lambda x: ops.flip(x, 2), pl.TensorIndexError, "no dimension 2 in 'x', which has 2"),
    (lambda x: ops.diag(x[None]), pl.TensorCreationError, "'x' has rank 3"),
    (lambda x: ops.diag(x, 0.5), pl.InvalidOption, "k is 0.5"),  # type: ignore[arg-type]
    (lambda x: ops.eye(-1), pl.SizeOverflowError, "n is -1"),
    (lambda x: ops.eye(2, 2.5), pl.InvalidOption, "m is 2.5"),  # type: ignore[arg-type]
    (lambda x: ops.meshgrid(x), pl.TensorCreationError, "'x' has rank 2"),
    (lambda x: ops.meshgrid(x[0], indexing="yx"), pl.InvalidOption, "indexing is 'yx'"),
    (lambda x: ops.hypot(ops.cast(x, pl.INT), 2), pl.ElementTypeError, "ops.hypot"),
    (lambda x: ops.roll(x, [1, 2, 3], [0, 1]), pl.InvalidOption, "3 shifts for 2 dimensions"),
    (lambda x: ops.roll(x, 0.5), pl.InvalidOption, "shift is 0.5"),  # type: ignore[arg-type]
    (lambda x: ops.roll(x * 2, 1), pl.ElementTypeError, "is not a tensor"),  # type: ignore[arg-type]
    (lambda x: ops.pad(x, 1, "wrap"), pl.InvalidOption, "mode is 'wrap'"),
    (lambda x: ops.pad(x, [(1, 1)]), pl.InvalidOption, "which has rank 2"),
    (
        lambda x: ops.pad(x, (4, 0), "reflect"),
        pl.TensorCreationError,
        "cannot reflect 4 elements along dimension 0",
    ),
    (
        lambda x: ops.pad(x, (-3, -2)),
        pl.TensorCreationError,
        "cannot remove 5 elements along dimension 0",
    ),
    (
        lambda x: ops.pad(x[:0], 1, "edge"),
        pl.TensorCreationError,
        "cannot repeat 1 elements along dimension 0",
    ),
    (lambda x: ops.tile(x, (1, -2)), pl.SizeOverflowError, "repeats is -2 for dimension 1"),
    (lambda x: ops.tril(x[0]), pl.TensorCreationError, "rank 1"),
    (lambda x: ops.triu(x, 0.5), pl.InvalidOption, "k is 0.5"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("call", "error", "text"), REFUSED)
def test_what_is_refused_is_named_with_its_numbers(
    call: Callable[[pl.Tensor], Any], error: type[pl.PopliteError], text: str
) -> None:
    x = pl.Graph(pl.Target(tiles=2)).add_variable(pl.FLOAT, (4, 5), "x", mapping=0)
    with pytest.raises(error, match=text):
        call(x)


# -- integers by 0, shifts past the width, negative powers -----------------------------------------


SIGNED = (pl.CHAR, pl.SHORT, pl.INT, pl.LONGLONG)
UNSIGNED = (pl.UNSIGNED_CHAR, pl.UNSIGNED_SHORT, pl.UNSIGNED_INT, pl.UNSIGNED_LONGLONG)


def rows(bits: int, least: int, most: int) -> list[tuple[str, int, int, int]]:
    """Return operations, two operands, and what they come to."""
    found = [
        ("floor_divide", 7, 0, 0),
        ("divide_trunc", 7, 0, 0),
        ("remainder", 7, 0, 0),
        ("shift_left", 1, bits - 1, least or most // 2 + 1),
        ("shift_left", 1, bits, 0),
        ("shift_left", 1, bits + 5, 0),
        ("shift_right", most, bits, 0),
        ("shift_right_logical", most, bits, 0),
        ("power", 0, 0, 1),
        ("power", 2, bits, 0),
        ("power", most, 2, 1),
        ("add", most, 1, least),
        ("subtract", least, 1, most),
    ]
    if least:
        found += [
            ("floor_divide", least, -1, least),
            ("divide_trunc", least, -1, least),
            ("remainder", least, -1, 0),
            ("remainder_trunc", least, -1, 0),
            ("remainder", -7, 0, 0),
            ("shift_left", 1, -1, 0),
            ("shift_right", -7, bits, -1),
            ("shift_right", -7, -1, -1),
            ("shift_right", 7, -1, 0),
            ("shift_right_logical", -7, bits, 0),
            ("shift_right_logical", -1, bits - 1, 1),
            ("power", 1, -1, 0),
            ("power", -1, -3, 0),
            ("power", 0, -1, 0),
            ("multiply", least, -1, least),
        ]
    return found


@pytest.mark.parametrize("element", thinned([*SIGNED, *UNSIGNED], [pl.INT]))
def test_of_two_tensors_and_of_a_number(element: Any) -> None:
    limits = np.iinfo(element.dtype)
    table = rows(limits.bits, int(limits.min), int(limits.max))
    graph = pl.Graph(pl.Target(tiles=2))
    made: list[pl.Tensor] = []
    with graph.steps() as step, ops.together():
        for number, (name, one, other, _) in enumerate(table):
            a, b = (
                graph.add_variable(element, (1,), f"{name}{number}", mapping=0, initial_value=each)
                for each in (one, other)
            )
            made.append(ops.map(getattr(ops, name)(a, b)))
            # A negative number as an exponent is refused.
            expr = getattr(ops, name)(one, b) if name == "power" else getattr(ops, name)(a, other)
            made.append(ops.map(expr))
    for interpret in (False, True):
        engine = pl.Engine(graph, step, interpret=interpret, options=values_only())
        engine.run()
        found = [int(engine.read(each)[0]) for each in made]
        expected = [row for row in table for _ in range(2)]
        wrong = [(row, got) for row, got in zip(expected, found, strict=True) if row[3] != got]
        assert not wrong


# -- HALF is rounded once --------------------------------------------------------------------------


SHAPE = (2, 4, 3)

POOLS = [f"{how}_pool{part}" for how in ("max", "average", "sum") for part in ("", "_gradient")]
RECURRENT = [f"{part}{kind}" for part in ("plan_", "") for kind in ("gru", "lstm")]
RECORD_STEPS = {
    *POOLS,
    *RECURRENT,
    *("gru_gradient", "lstm_gradient", "multi_head_attention", "multi_head_attention_gradient"),
    *("adam", "adam_state", "clip_by_global_norm", "sgd", "running_statistics"),
}
"""Functions of `nn` that return no expressions."""


def functions() -> dict[str, Any]:
    """Return all functions that make expressions of floats."""
    shown = {name: getattr(nn, name) for name in nn.__all__}
    of_nn = {name: each for name, each in shown.items() if inspect.isfunction(each)}
    assert of_nn.keys() >= RECORD_STEPS
    found = {f"nn.{name}": each for name, each in of_nn.items() if name not in RECORD_STEPS}
    for name, operation in OPERATIONS.items():
        is_of_floats = operation.text.keys() == {"float"} and operation.gives == "same"
        if is_of_floats and "variance" not in name:  # whose second operand is a number as a rule
            found[name] = getattr(ops, name)
    return found


def test_half_is_rounded_once() -> None:
    rng = np.random.default_rng(5)
    graph, program = pl.Graph(pl.Target(tiles=1)), pl.Sequence()

    def constants(number: int, shape: tuple[int, ...], low: float, high: float) -> Any:
        values = rng.uniform(low, high, shape).astype(np.float16)
        return [graph.add_constant(e, shape, values, mapping=0) for e in (pl.HALF, pl.FLOAT)]

    ranges = {"a": (-3, 3), "b": (0.05, 0.95), "mean": (-1, 1), "variance": (0.5, 2)}
    of_channels = {"mean", "variance"}
    values = {
        name: constants(n, SHAPE[1:2] if name in of_channels else SHAPE, *limits)
        for n, (name, limits) in enumerate(ranges.items())
    }
    labels = graph.add_constant(pl.INT, SHAPE[:-1], rng.integers(0, 3, SHAPE[:-1]), mapping=0)
    stored: list[tuple[str, pl.Tensor, pl.Tensor]] = []
    for name, function in functions().items():
        required = [
            each.name
            for each in inspect.signature(function).parameters.values()
            if each.default is each.empty
        ]
        results = []
        for form in (0, 1):
            given = {
                "groups": 2,
                "labels": labels,
                "result": values["b"][form],
                "targets": values["b"][form],
                **{each: values[each][form] for each in of_channels},
            }
            made = function(*[given.get(each, values["a"][form]) for each in required])
            made = made if isinstance(made, tuple) else (made,)
            results.append([ops.map(each, program=program) for each in made])
        stored += [(name, one, other) for one, other in zip(*results, strict=True)]
    engine = pl.Engine(graph, program, **interpreted())
    engine.run()
    for name, half, single in stored:
        once = engine.read(single).astype(engine.read(half).dtype)
        np.testing.assert_array_equal(engine.read(half), once, err_msg=name)
    assert len({name for name, *_ in stored}) >= 50
