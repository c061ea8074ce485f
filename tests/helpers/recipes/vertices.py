"""The vertices of the library."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from helpers.recipes.shared import Expected, Recipe, Values, floats
from helpers.vertices import Key
from poplite.vertices.amp import amp_reference
from poplite.vertices.convolution import (
    How,
    convolution_reference,
    gradient_reference,
    pooling_reference,
)
from poplite.vertices.reduce import Join, columns_reference, partials_reference, rows_reference


def amp(rng: np.random.Generator) -> tuple[Values, Expected]:
    rows, inner, cols = (int(v) for v in rng.integers((1, 0, 1), (20, 40, 150)))
    dtype = rng.choice(["float32", "float16"])
    return product(rng, (rows, inner, cols), dtype, "float32")


def amp_in_half(rng: np.random.Generator) -> tuple[Values, Expected]:
    rows, inner, cols = (int(v) for v in rng.integers((1, 0, 1), (20, 40, 9)))
    return product(rng, (rows, inner, cols), "float16", "float16")


def convolution(rng: np.random.Generator) -> tuple[Values, Expected]:
    outputs, inputs = (int(v) for v in rng.integers((1, 0), (21, 9)))
    fields, places, seen = windows(rng)
    taps = fields["taps"]
    count = len(taps)
    dtype = rng.choice(["float32", "float16"])
    weights, x = (
        floats(rng, n).clip(-99, 99).astype(dtype)
        for n in (count * inputs * outputs, seen * inputs)
    )
    shape = count, inputs, outputs
    made = convolution_reference(
        weights.reshape(shape), x.reshape(seen, inputs), taps, places, np.float32
    )
    values = {"weights": weights, "x": x, "out": floats(rng, made.size).astype(np.float32)}
    return {**values, **fields, "outputs": outputs, "inputs": inputs}, {"out": made.ravel()}


def windows(rng: np.random.Generator) -> tuple[Values, npt.NDArray[Any], int]:
    """Fields that say what positions read, where each begins, and how many places there are."""
    count, columns = (int(v) for v in rng.integers((1, 1), (4, 5)))
    taps, rows = np.sort(rng.integers(0, 7, count)), rng.integers(0, 9, int(rng.integers(1, 4)))
    step = int(rng.integers(1, 3))
    places = (rows[:, None] + step * np.arange(columns)).ravel()
    fields = {"taps": taps, "rows": rows, "columns": columns, "step": step}
    return fields, places, int(places.max() + taps.max()) + 1


def pooling(rng: np.random.Generator, how: How) -> tuple[Values, Expected]:
    fields, places, seen = windows(rng)
    channels, dtype = int(rng.choice([1, 3, 64, 70])), rng.choice(["float32", "float16"])
    x = floats(rng, seen * channels).clip(-99, 99).astype(dtype)
    made = pooling_reference(how, x.reshape(seen, channels), fields["taps"], places).astype(dtype)
    values = {"x": x, "out": np.zeros(made.size, dtype), "channels": channels}
    return values | fields, {"out": made.ravel()}


def pooling_back(rng: np.random.Generator) -> tuple[Values, Expected]:
    fields, places, seen = windows(rng)
    channels, dtype = int(rng.choice([1, 3, 64, 70])), rng.choice(["float32", "float16"])
    pooled, x = (rng.integers(0, 3, (n, channels)).astype(dtype) for n in (seen, len(places)))
    gradient = floats(rng, pooled.size).clip(-99, 99).astype(dtype).reshape(pooled.shape)
    total = gradient_reference(x, pooled, gradient, fields["taps"], places)
    values = {"x": x, "pooled": pooled, "gradient": gradient, "out": np.zeros(x.size, dtype)}
    flat = {name: array.ravel() for name, array in values.items()}
    return {**flat, **fields, "channels": channels}, {"out": total.astype(dtype).ravel()}


def product(
    rng: np.random.Generator, shape: tuple[int, int, int], dtype: str, out: str
) -> tuple[Values, Expected]:
    rows, inner, cols = shape
    weights, x = (floats(rng, n).clip(-99, 99).astype(dtype) for n in (rows * inner, inner * cols))
    made = amp_reference(weights.reshape(rows, inner), x.reshape(inner, cols), out)
    before = floats(rng, rows * cols).clip(-6e4, 6e4).astype(out)
    return {"weights": weights, "x": x, "out": before, "columns": cols}, {"out": made.ravel()}


def count_from(rng: np.random.Generator) -> tuple[Values, Expected]:
    begin, end = rng.integers(0, 2**32, 2, np.uint32)
    values = {"begin": begin, "end": end, "index": ~begin, "goes_on": begin >= end}
    return values, {"index": np.array(begin), "goes_on": np.array(begin < end)}


def count_on(rng: np.random.Generator) -> tuple[Values, Expected]:
    step, end, index = rng.integers(0, 2**32, 3, np.uint32)
    beyond = int(index) + int(step)  # which may not fit in 32 bits
    goes_on = np.array(beyond < end)
    values = {"step": int(step), "end": end, "index": index, "goes_on": ~goes_on}
    return values, {"index": np.array(min(beyond, int(end)), np.uint32), "goes_on": goes_on}


def add_partials(rng: np.random.Generator) -> tuple[Values, Expected]:
    n, others = int(rng.integers(1, 40)), int(rng.integers(0, 6))
    dtype, out = rng.choice(["float32", "float16"], 2)
    partials = floats(rng, others + 1, n).clip(-9e3, 9e3).astype(dtype)
    made = partials_reference(partials, out)
    return {"partials": list(partials), "out": partials[0].astype(out)}, {"out": made}


def of_many(rng: np.random.Generator, join: Join, shape: tuple[int, int]) -> npt.NDArray[Any]:
    """Draw numbers that a reduction takes; NaN among them for the least and the greatest."""
    if join in (np.logical_and, np.logical_or):
        return rng.random(shape) < rng.random()
    if rng.integers(2):
        return rng.integers(-(2**31), 2**31, shape, np.int32)
    x = floats(rng, *shape) + np.float32(0)  # one zero
    if join in (np.minimum, np.maximum):
        x[rng.random(shape) < 0.1] = np.nan
    return x


def rows(join: Join) -> Recipe:
    """Return the recipe of a reduction of equally long rows."""

    def recipe(rng: np.random.Generator) -> tuple[Values, Expected]:
        count, length = int(rng.integers(1, 5)), int(rng.integers(1, 40))
        x = of_many(rng, join, (count, length))
        with np.errstate(over="ignore", invalid="ignore"):
            out = rows_reference(join, x)
        return {"x": x.ravel(), "out": x[:, 0]}, {"out": out}

    return recipe


def columns(join: Join) -> Recipe:
    """Return the recipe of a reduction of some columns of a matrix."""

    def recipe(rng: np.random.Generator) -> tuple[Values, Expected]:
        count, width = int(rng.integers(1, 9)), int(rng.integers(1, 30))
        stride = width + int(rng.integers(0, 9))
        x = of_many(rng, join, (count, stride))
        with np.errstate(over="ignore", invalid="ignore"):
            out = columns_reference(join, x[:, :width])
        reads = x.ravel()[: (count - 1) * stride + width]
        return {"x": reads, "out": x[0, :width], "stride": stride}, {"out": out}

    return recipe


def columns_of_tile(join: Join) -> Recipe:
    """Return the recipe of a reduction of the columns of a run of elements, or of some columns."""
    some = columns(join)

    def recipe(rng: np.random.Generator) -> tuple[Values, Expected]:
        if rng.integers(2):
            values, expected = some(rng)
            return {**values, "first": 0, "share": int(rng.integers(5, 9))}, expected
        count, width = int(rng.integers(2, 9)), int(rng.integers(1, 30))
        first = int(rng.integers(width))
        x = of_many(rng, join, (1, width * count)).ravel()
        reads = x[first : first + int(rng.integers(width, len(x) - first + 1))]
        end = first + len(reads)
        with np.errstate(over="ignore", invalid="ignore"):
            out = [
                columns_reference(join, x[k + width * (k < first) : end : width, None])
                for k in range(width)
            ]
        values = {"x": reads, "out": x[:width], "stride": width, "first": first, "share": 5}
        return values, {"out": np.concatenate(out)}

    return recipe


RECIPES: dict[Key, Recipe] = {
    ("vertices/amp.py", "AmpMatMul"): amp,
    ("vertices/amp.py", "AmpMatMulInHalf"): amp_in_half,
    ("vertices/convolution.py", "AmpConvolution"): convolution,
    ("vertices/convolution.py", "PoolMax"): partial(pooling, how="max"),
    ("vertices/convolution.py", "PoolMaxGradient"): pooling_back,
    ("vertices/convolution.py", "PoolSum"): partial(pooling, how="sum"),
    ("vertices/filling.py", "CountFrom"): count_from,
    ("vertices/filling.py", "CountOn"): count_on,
    ("vertices/reduce.py", "AddPartials"): add_partials,
    ("vertices/reduce.py", "AllColumns"): columns(np.logical_and),
    ("vertices/reduce.py", "AllColumnsOfTile"): columns_of_tile(np.logical_and),
    ("vertices/reduce.py", "AllRows"): rows(np.logical_and),
    ("vertices/reduce.py", "AnyColumns"): columns(np.logical_or),
    ("vertices/reduce.py", "AnyColumnsOfTile"): columns_of_tile(np.logical_or),
    ("vertices/reduce.py", "AnyRows"): rows(np.logical_or),
    ("vertices/reduce.py", "MaxColumns"): columns(np.maximum),
    ("vertices/reduce.py", "MaxColumnsOfTile"): columns_of_tile(np.maximum),
    ("vertices/reduce.py", "MaxRows"): rows(np.maximum),
    ("vertices/reduce.py", "MinColumns"): columns(np.minimum),
    ("vertices/reduce.py", "MinColumnsOfTile"): columns_of_tile(np.minimum),
    ("vertices/reduce.py", "MinRows"): rows(np.minimum),
    ("vertices/reduce.py", "ProductColumns"): columns(np.multiply),
    ("vertices/reduce.py", "ProductColumnsOfTile"): columns_of_tile(np.multiply),
    ("vertices/reduce.py", "ProductRows"): rows(np.multiply),
    ("vertices/reduce.py", "SumColumns"): columns(np.add),
    ("vertices/reduce.py", "SumColumnsOfTile"): columns_of_tile(np.add),
    ("vertices/reduce.py", "SumRows"): rows(np.add),
}
