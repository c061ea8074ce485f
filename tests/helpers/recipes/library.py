"""The vertices that fill, draw, copy, convert, compute by element, multiply vectors, and sort."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from helpers.recipes.shared import Expected, Recipe, Values, floats
from helpers.vertices import Key
from poplite import vertices
from poplite.vertices.random import (
    Words,
    block_reference,
    normal_reference,
    truncated_reference,
)

Draw = Callable[[np.random.Generator, Words, Words, npt.NDArray[np.bool_]], tuple[Values, Expected]]


def drawn(draw: Draw) -> Recipe:
    """Return the recipe of a vertex that draws: fields of its own, and what it writes."""

    def recipe(rng: np.random.Generator) -> tuple[Values, Expected]:
        counter = rng.integers(0, 2**32, 4, np.uint32)
        first = int(rng.integers(0, 2 ** int(rng.integers(1, 65)), dtype=np.uint64, endpoint=False))
        count = int(rng.integers(0, 50))
        blocks = np.arange(first // 4, first // 4 + count // 4 + 2, dtype=np.uint64)
        pairs = block_reference(blocks, counter).reshape(-1, 2)
        mine = slice(first % 4, first % 4 + count)
        is_odd = np.arange(first % 4, first % 4 + count) % 2 == 1
        values, expected = draw(rng, pairs.ravel()[mine], pairs[:, ::-1].ravel()[mine], is_odd)
        return {"counter": counter, "first": first, **values}, expected

    return recipe


def as_type(rng: np.random.Generator, values: npt.NDArray[np.float32]) -> Expected:
    """Return numbers in a type of floats."""
    return {"out": values.astype(rng.choice(["float32", "float16"]))}


def before(expected: Expected) -> Values:
    """Return what an output holds before: other numbers of its type."""
    return {"out": np.ones_like(expected["out"])}


@drawn
def uniform(
    rng: np.random.Generator, words: Words, _: Words, __: npt.NDArray[np.bool_]
) -> tuple[Values, Expected]:
    low, scale, last = (float(np.float32(v)) for v in (rng.normal(), rng.random(), rng.normal()))
    u = (words >> 8).astype(np.float32) * np.float32(2**-24)
    numbers = np.minimum(np.float32(low) + np.float32(scale) * u, np.float32(last))
    expected = as_type(rng, numbers)
    return {"low": low, "scale": scale, "last": last, **before(expected)}, expected


@drawn
def integers(
    rng: np.random.Generator, words: Words, _: Words, __: npt.NDArray[np.bool_]
) -> tuple[Values, Expected]:
    low, size = int(rng.integers(-(2**31), 2**31)), int(rng.integers(1, 2**32, endpoint=True))
    numbers = [low + (word * size >> 32) for word in words.tolist()]
    expected = {"out": np.array(numbers, np.int64).astype(rng.choice(["int64", "int32", "uint8"]))}
    return {"low": low, "range": size, **before(expected)}, expected


@drawn
def bernoulli(
    rng: np.random.Generator, words: Words, _: Words, __: npt.NDArray[np.bool_]
) -> tuple[Values, Expected]:
    threshold = int(rng.integers(0, 2**32, endpoint=True))
    dtype = rng.choice(["bool", "float32", "float16", "int32"])
    expected = {"out": (words < threshold).astype(dtype)}
    return {"threshold": threshold, **before(expected)}, expected


@drawn
def normal(
    rng: np.random.Generator, words: Words, others: Words, is_odd: npt.NDArray[np.bool_]
) -> tuple[Values, Expected]:
    mean, deviation = np.float32(rng.normal()), np.float32(rng.random())
    z = normal_reference(words, others, is_odd)
    expected = as_type(rng, mean + deviation * z)
    return {"mean": float(mean), "deviation": float(deviation), **before(expected)}, expected


@drawn
def truncated_normal(
    rng: np.random.Generator, words: Words, _: Words, __: npt.NDArray[np.bool_]
) -> tuple[Values, Expected]:
    mean, deviation, share = (np.float32(v) for v in (rng.normal(), rng.random(), rng.random()))
    bound = np.float32(4 * rng.random())
    z = truncated_reference(words, float(bound), float(share))
    expected = as_type(rng, mean + deviation * z)
    fields = {"mean": mean, "deviation": deviation, "bound": bound, "share": share}
    return {name: float(each) for name, each in fields.items()} | before(expected), expected


@drawn
def dropout(
    rng: np.random.Generator, words: Words, _: Words, __: npt.NDArray[np.bool_]
) -> tuple[Values, Expected]:
    threshold, scale = int(rng.integers(0, 2**32, endpoint=True)), np.float32(1 + rng.random())
    x = floats(rng, len(words)).clip(-3e4, 3e4).astype(rng.choice(["float32", "float16"]))
    kept = (x.astype(np.float32) * scale).astype(x.dtype)
    expected = {"out": np.where(words < threshold, kept, x.dtype.type(0))}
    fields = {"threshold": threshold, "scale": float(scale), "x": x}
    return fields | before(expected), expected


@drawn
def draw(
    rng: np.random.Generator, words: Words, _: Words, __: npt.NDArray[np.bool_]
) -> tuple[Values, Expected]:
    return {"out": ~words}, {"out": words}


def advance_key(rng: np.random.Generator) -> tuple[Values, Expected]:
    key = rng.integers(0, 2**32, 4, np.uint32)
    if rng.integers(2):
        key[2:] |= np.uint32(0xFFFFFFFF)
    draws = (int(key[2]) | int(key[3]) << 32) + 1
    after = np.array([key[0], key[1], draws % 2**32, (draws >> 32) % 2**32], np.uint32)
    return {"key": key, "counter": ~key}, {"key": after, "counter": key}


Array = npt.NDArray[Any]

FLOATS = ("float32", "float16")
SIGNED = (*FLOATS, "int32")
NUMBERS = (*SIGNED, "uint32")
WIDE = (*NUMBERS, "int16", "uint16")


def numbers(rng: np.random.Generator, count: int, dtype: Any) -> Array:
    """Draw numbers of a type: floats of very different sizes without -0.0, or any integers."""
    kind = np.dtype(dtype)
    if kind.kind == "f":
        drawn: Array = floats(rng, count).clip(-6e4, 6e4).astype(kind) + kind.type(0)
        return drawn
    limits = np.iinfo(kind)
    return rng.integers(limits.min, limits.max, count, kind, endpoint=True)


def positive(rng: np.random.Generator, count: int, dtype: Any) -> Array:
    """Draw floats above 0."""
    drawn: Array = np.abs(numbers(rng, count, dtype)) + np.dtype(dtype).type(0.5)
    return drawn


def elementwise(
    reference: Callable[..., Array],
    names: str,
    dtypes: tuple[str, ...] = NUMBERS,
    draw: Callable[[np.random.Generator, int, Any], Array] = numbers,
) -> Recipe:
    """Return the recipe of an operation on vectors with these names."""

    def recipe(rng: np.random.Generator) -> tuple[Values, Expected]:
        count, dtype = int(rng.integers(0, 40)), rng.choice(dtypes)
        values = {name: draw(rng, count, dtype) for name in names.split()}
        made = reference(**values)
        return {**values, "out": made[::-1].copy()}, {"out": made}

    return recipe


def scale(rng: np.random.Generator) -> tuple[Values, Expected]:
    x = numbers(rng, int(rng.integers(0, 40)), rng.choice(NUMBERS))
    factor = x.dtype.type(3)
    return {"factor": factor, "x": x, "out": x}, {"out": vertices.Scale.reference(factor, x)}


def scaled_add(rng: np.random.Generator) -> tuple[Values, Expected]:
    count, dtype = int(rng.integers(0, 40)), rng.choice(FLOATS)
    x, y = (numbers(rng, count, dtype).clip(-99, 99) for _ in "xy")
    factor = x.dtype.type(0.3)
    made = vertices.ScaledAdd.reference(factor, x, y)
    return {"factor": factor, "x": x, "y": y}, {"y": made}


def clamp(rng: np.random.Generator) -> tuple[Values, Expected]:
    dtype = rng.choice(NUMBERS)
    x = numbers(rng, int(rng.integers(0, 40)), dtype)
    low, high = np.sort(numbers(rng, 2, dtype))
    made = vertices.Clamp.reference(x, low, high)
    return {"x": x, "low": low, "high": high, "out": x[::-1].copy()}, {"out": made}


def select(rng: np.random.Generator) -> tuple[Values, Expected]:
    count, dtype = int(rng.integers(0, 40)), rng.choice(WIDE)
    a, b = (numbers(rng, count, dtype) for _ in "ab")
    condition = rng.random(count) < 0.5
    made = vertices.Select.reference(condition, a, b)
    return {"condition": condition, "a": a, "b": b, "out": b}, {"out": made}


def filled(cls: Any, field: str, dtypes: tuple[str, ...]) -> Recipe:
    """Return the recipe of a vector made of one number."""

    def recipe(rng: np.random.Generator) -> tuple[Values, Expected]:
        dtype = np.dtype(rng.choice(dtypes))
        value, size = numbers(rng, 1, dtype)[0], int(rng.integers(0, 40))
        if dtype.kind == "f":
            value = np.clip(value, -999, 999)
        made = cls[dtype].reference(value, size)
        return {field: value, "out": numbers(rng, size, dtype)}, {"out": made}

    return recipe


def filled_rows(rng: np.random.Generator) -> tuple[Values, Expected]:
    out = numbers(rng, 12, rng.choice(WIDE)).reshape(3, 4)
    return {"value": out[0, 0], "out": out[::-1].copy()}, {"out": np.full_like(out, out[0, 0])}


def counted_rows(rng: np.random.Generator) -> tuple[Values, Expected]:
    dtype, starts = np.dtype(rng.choice(NUMBERS)), rng.integers(0, 2000, 3)
    made = (starts[:, np.newaxis] + np.arange(5)).astype(dtype)
    return {"starts": starts.astype(dtype), "out": made[::-1].copy()}, {"out": made}


def cast(rng: np.random.Generator, cls: Any, dtypes: tuple[str, ...]) -> tuple[Values, Expected]:
    source, result = np.dtype(rng.choice(WIDE)), np.dtype(rng.choice(dtypes))
    x = numbers(rng, int(rng.integers(0, 40)), source)
    made = cls[source, result].reference(x)
    return {"x": x, "out": made[::-1].copy()}, {"out": made}


def dot(rng: np.random.Generator) -> tuple[Values, Expected]:
    count, (dtype, result) = int(rng.integers(1, 200)), rng.choice(FLOATS, 2)
    a, b = (numbers(rng, count, dtype).clip(-9, 9) for _ in "ab")
    cls: Any = vertices.Dot
    made = cls[dtype, result].reference(a, b)
    return {"a": a, "b": b, "out": np.dtype(result).type(7)}, {"out": np.array(made)}


def with_nan(rng: np.random.Generator) -> Array:
    x = numbers(rng, int(rng.integers(0, 60)), rng.choice(WIDE))
    if x.dtype == np.float32:  # NumPy sorts halves that are NaN into other bits
        x[rng.random(len(x)) < 0.1] = np.nan
    return np.concatenate([x, x[: len(x) // 3]])


def sort(rng: np.random.Generator) -> tuple[Values, Expected]:
    x = with_nan(rng)
    return {"x": x}, {"x": np.sort(x)}


def arg_sort(rng: np.random.Generator) -> tuple[Values, Expected]:
    x = with_nan(rng)
    made = np.argsort(x, kind="stable").astype(np.uint32)
    return {"x": x, "out": np.full(len(x), 7, np.uint32)}, {"out": made}


_UNARY: dict[str, tuple[Any, ...]] = {
    "Negative": (SIGNED,),
    "Absolute": (SIGNED,),
    "Square": (NUMBERS,),
    "Sqrt": (FLOATS, positive),
    "Exp": (FLOATS,),
    "Log": (FLOATS, positive),
    "Tanh": (FLOATS,),
    "Sigmoid": (FLOATS,),
    "Relu": (FLOATS,),
}
_BINARY: dict[str, tuple[Any, ...]] = {
    **{name: (NUMBERS,) for name in ("Add", "Subtract", "Multiply", "Maximum", "Minimum")},
    "Divide": (FLOATS, positive),
}

_ELEMENTWISE: dict[str, Recipe] = {
    **{
        name: elementwise(getattr(vertices, name).reference, names, *how)
        for names, rows in (("x", _UNARY), ("a b", _BINARY))
        for name, how in rows.items()
    },
    "Scale": scale,
    "ScaledAdd": scaled_add,
    "Clamp": clamp,
    "Select": select,
    "Unary": elementwise(lambda x: x, "x"),
    "Binary": elementwise(lambda a, b: a, "a b"),
}

_FILLING: dict[str, Recipe] = {
    "Fill": filled(vertices.Fill, "value", WIDE),
    "FillRows": filled_rows,
    "Iota": filled(vertices.Iota, "start", NUMBERS),
    "IotaRows": counted_rows,
    "Copy": elementwise(vertices.Copy.reference, "x", WIDE),
    "Cast": partial(cast, cls=vertices.Cast, dtypes=FLOATS),
    "CastToInteger": partial(
        cast, cls=vertices.CastToInteger, dtypes=("int32", "uint32", "int16", "uint16")
    ),
}

RECIPES: dict[Key, Recipe] = {
    **{("vertices/elementwise.py", name): recipe for name, recipe in _ELEMENTWISE.items()},
    **{("vertices/filling.py", name): recipe for name, recipe in _FILLING.items()},
    ("vertices/reduce.py", "Dot"): dot,
    ("vertices/order.py", "Sort"): sort,
    ("vertices/order.py", "ArgSort"): arg_sort,
    ("vertices/random.py", "AdvanceKey"): advance_key,
    ("vertices/random.py", "Bernoulli"): bernoulli,
    ("vertices/random.py", "Draw"): draw,
    ("vertices/random.py", "Dropout"): dropout,
    ("vertices/random.py", "Integers"): integers,
    ("vertices/random.py", "Normal"): normal,
    ("vertices/random.py", "TruncatedNormal"): truncated_normal,
    ("vertices/random.py", "Uniform"): uniform,
}
