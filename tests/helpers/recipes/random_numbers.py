"""The vertices that draw random numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from helpers.recipes.shared import Expected, Recipe, Values, floats
from helpers.vertex_classes import Key
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


RECIPES: dict[Key, Recipe] = {
    ("vertices/random.py", "AdvanceKey"): advance_key,
    ("vertices/random.py", "Bernoulli"): bernoulli,
    ("vertices/random.py", "Draw"): draw,
    ("vertices/random.py", "Dropout"): dropout,
    ("vertices/random.py", "Integers"): integers,
    ("vertices/random.py", "Normal"): normal,
    ("vertices/random.py", "TruncatedNormal"): truncated_normal,
    ("vertices/random.py", "Uniform"): uniform,
}
