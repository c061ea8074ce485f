"""Draws of normal numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from poplite.graph.tensor.tensor import Tensor
from poplite.ops.operands import FLOATS, beside
from poplite.ops.random.checks import drawn_type, rounded
from poplite.ops.random.drawing import RandomDraw
from poplite.program import Sequence
from poplite.types import FLOAT, ElementTypeLike
from poplite.vertices.random import Normal, TruncatedNormal


def normal(
    key: Tensor,
    shape: Any = None,
    mean: float = 0.0,
    deviation: float = 1.0,
    *,
    element_type: ElementTypeLike = FLOAT,
    out: Tensor | None = None,
    mapping: Any = None,
    name: str = "normal",
    program: Sequence | None = None,
) -> Tensor:
    """Record a draw of normal numbers, at most 6.77 standard deviations from the mean.

    Args:
        key: what they are drawn from; see `ops.random.key`.
        shape: of the new variable; left out where `out` takes the numbers.
        mean: of the numbers.
        deviation: their standard deviation, from 0.
        element_type: FLOAT or HALF.
        out: a tensor that takes the numbers, of one of these types.
        mapping: of the new variable, as in `graph.add_variable`; left out, linear.
        name: of the new variable and of the steps.
        program: where the steps go; left out, the block of `graph.steps()` that is open.

    Returns:
        The numbers: `out`, or the new variable.

    Raises:
        InvalidOption: for a mean that is not finite, or a deviation that is not, or is negative.
        the errors of `ops.random.uniform`.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> key = pl.ops.random.key(graph, seed=7)
    >>> x = normal(key, (10_000,), mean=5, deviation=2, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> round(float(engine.read(x).mean()), 1), round(float(engine.read(x).std()), 1)
    (5.0, 2.0)
    """
    what = "ops.random.normal"
    found = drawn_type(what, shape, element_type, FLOATS, out)
    numbers = normal_fields(what, mean, deviation)
    draw = RandomDraw(what, key, name, program, is_placed=mapping is not None)
    return draw.new(Normal, numbers, shape, found, out, mapping)


def truncated_normal(
    key: Tensor,
    shape: Any = None,
    mean: float = 0.0,
    deviation: float = 1.0,
    bound: float = 2.0,
    *,
    element_type: ElementTypeLike = FLOAT,
    out: Tensor | None = None,
    mapping: Any = None,
    name: str = "truncated_normal",
    program: Sequence | None = None,
) -> Tensor:
    """Record a draw of normal numbers that are at most some standard deviations from the mean.

    Args:
        key: what they are drawn from; see `ops.random.key`.
        shape: of the new variable; left out where `out` takes the numbers.
        mean: of the numbers.
        deviation: standard deviation of the normal numbers that are cut off, from 0.
        bound: how many deviations a number is from the mean at most, above 0. Beyond 5.4 there
            are no numbers anyway, as a word has 24 bits for each.
        element_type: FLOAT or HALF.
        out: a tensor that takes the numbers, of one of these types.
        mapping: of the new variable, as in `graph.add_variable`; left out, linear.
        name: of the new variable and of the steps.
        program: where the steps go; left out, the block of `graph.steps()` that is open.

    Returns:
        The numbers: `out`, or the new variable.

    Raises:
        InvalidOption: as `ops.random.normal`, and for a bound that is not above 0.
        the errors of `ops.random.uniform`.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> key = pl.ops.random.key(graph, seed=7)
    >>> x = truncated_normal(key, (10_000,), deviation=0.5, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> 0.99 < abs(engine.read(x)).max() <= 1
    np.True_
    """
    what = "ops.random.truncated_normal"
    found = drawn_type(what, shape, element_type, FLOATS, out)
    numbers = truncated_fields(what, mean, deviation, bound)
    draw = RandomDraw(what, key, name, program, is_placed=mapping is not None)
    return draw.new(TruncatedNormal, numbers, shape, found, out, mapping)


def truncated_fields(
    what: str,
    mean: float,
    deviation: float,
    bound: float,
    names: tuple[str, str] = ("deviation", "bound"),
) -> dict[str, float]:
    """Return the fields of vertices that draw normal numbers within a bound, or refuse these."""
    numbers = normal_fields(what, mean, deviation, names[0])
    most = float(rounded(what, names[1], bound, np.dtype(np.float32)))
    if not most > 0:
        raise beside(what, names[1], bound, "above 0")
    numbers |= {"bound": most, "share": math.erf(most / math.sqrt(2))}
    return numbers


def normal_fields(
    what: str, mean: float, deviation: float, name: str = "deviation"
) -> dict[str, float]:
    """Return the fields of vertices that draw normal numbers, or refuse these."""
    single = np.dtype(np.float32)
    numbers = {
        "mean": float(rounded(what, "mean", mean, single)),
        "deviation": float(rounded(what, name, deviation, single)),
    }
    if numbers["deviation"] < 0:
        raise beside(what, name, deviation, "from 0")
    return numbers
