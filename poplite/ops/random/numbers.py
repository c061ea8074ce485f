"""Draws in which all numbers are as likely, and true or false."""

from __future__ import annotations

from typing import Any

import numpy as np

from poplite.errors import InvalidOption
from poplite.expr.tree import ElementClass
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.operands import FLOATS, INTEGERS, count_of
from poplite.ops.random.checks import LARGEST, TWO_32, drawn_type, rounded, threshold
from poplite.ops.random.drawing import RandomDraw
from poplite.program import Sequence
from poplite.types import BOOL, FLOAT, INT, ElementTypeLike
from poplite.vertices.random import Bernoulli, Integers, Uniform

CHOSEN: tuple[ElementClass, ...] = (BOOL, *FLOATS, *INTEGERS)
"""Types of true and false, or 1 and 0."""


def uniform(
    key: Tensor,
    shape: Any = None,
    low: float = 0.0,
    high: float = 1.0,
    *,
    element_type: ElementTypeLike = FLOAT,
    out: Tensor | None = None,
    mapping: Any = None,
    name: str = "uniform",
    program: Sequence | None = None,
) -> Tensor:
    """Record a draw of numbers from `low` to before `high`, each as likely as another.

    Args:
        key: what they are drawn from; see `ops.random.key`.
        shape: of the new variable; left out where `out` takes the numbers.
        low: the least number.
        high: no number is as large as this.
        element_type: FLOAT or HALF. FLOAT numbers are `low` plus multiples of 2^-24 of the range.
        out: a tensor that takes the numbers, of that type; left out, a new variable.
        mapping: of the new variable, as in `graph.add_variable`; left out, linear.
        name: of the new variable and of the steps.
        program: where the steps go; left out, the block of `graph.steps()` that is open.

    Returns:
        The numbers: `out`, or the new variable.

    Raises:
        ElementTypeError: for a key that is none, and another element type.
        InvalidOption: where `low` is not below `high`, both rounded to the element type, or with
            neither or both of `shape` and `out`.
        GraphConnectionError: for an `out` that cannot be written.
        ControlProgramError: without `program=` outside of all steps.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> x = uniform(pl.ops.random.key(graph, seed=7), (3,), -1, 1, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(x)
    array([...], dtype=float32)
    """
    what = "ops.random.uniform"
    found = drawn_type(what, shape, element_type, FLOATS, out)
    numbers = uniform_fields(what, found, low, high)
    draw = RandomDraw(what, key, name, program, is_placed=mapping is not None)
    return draw.new(Uniform, numbers, shape, found, out, mapping)


def uniform_fields(
    what: str,
    element_type: ElementClass,
    low: float,
    high: float,
    names: tuple[str, str] = ("low", "high"),
) -> dict[str, object]:
    """Return the fields of vertices that draw between two numbers, or refuse these by names."""
    dtype = element_type.dtype
    least, most = rounded(what, names[0], low, dtype), rounded(what, names[1], high, dtype)
    width = float(most) - float(least)
    if not 0 < width <= LARGEST:
        raise InvalidOption(
            f"{what}: {names[0]} {low!r} and {names[1]} {high!r} are no range of {element_type!r}",
            found=f"rounded they are {least} and {most}, {width:g} apart",
            fix=f"{names[0]} below {names[1]}, such as {names[0]}=0.0, {names[1]}=1.0",
        )
    return {"low": float(least), "scale": width, "last": float(np.nextafter(most, least))}


def integers(
    key: Tensor,
    shape: Any = None,
    low: int = 0,
    high: int = 2,
    *,
    element_type: ElementTypeLike = INT,
    out: Tensor | None = None,
    mapping: Any = None,
    name: str = "integers",
    program: Sequence | None = None,
) -> Tensor:
    """Record a draw of whole numbers from `low` to before `high`.

    Each is as likely as another to within 2^-32: a number is the upper half of a word of 32 bits
    times their number.

    Args:
        key: what they are drawn from; see `ops.random.key`.
        shape: of the new variable; left out where `out` takes the numbers.
        low: the least number.
        high: one past the greatest; at most 2^32 above `low`.
        element_type: an integer type.
        out: a tensor that takes the numbers, of one of these types.
        mapping: of the new variable, as in `graph.add_variable`; left out, linear.
        name: of the new variable and of the steps.
        program: where the steps go; left out, the block of `graph.steps()` that is open.

    Returns:
        The numbers: `out`, or the new variable.

    Raises:
        SizeOverflowError: for numbers that do not fit the type.
        InvalidOption: where `low` is not below `high`, or too far below.
        the errors of `ops.random.uniform`.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> dice = integers(pl.ops.random.key(graph, seed=7), (1000,), 1, 7, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> sorted(set(engine.read(dice).tolist()))
    [1, 2, 3, 4, 5, 6]
    """
    what = "ops.random.integers"
    found = drawn_type(what, shape, element_type, INTEGERS, out)
    numbers = integer_fields(what, found, low, high)
    draw = RandomDraw(what, key, name, program, is_placed=mapping is not None)
    return draw.new(Integers, numbers, shape, found, out, mapping)


def integer_fields(what: str, element_type: ElementClass, low: int, high: int) -> dict[str, object]:
    """Return the fields of vertices that draw whole numbers of a range, or refuse it."""
    limits = np.iinfo(element_type.dtype.name)
    least = count_of(what, "low", low, int(limits.min), int(limits.max) + 1)
    most = count_of(what, "high", high, int(limits.min), int(limits.max) + 2)
    if not 0 < most - least <= TWO_32:
        raise InvalidOption(
            f"{what}: from low {least} to before high {most} there are {most - least} numbers",
            fix=f"at least 1, and at most 2^32: high={least + 10}",
        )
    signed = (least + (1 << 63)) % (1 << 64) - (1 << 63)
    return {"low": signed, "range": most - least}


def bernoulli(
    key: Tensor,
    shape: Any = None,
    probability: float = 0.5,
    *,
    element_type: ElementTypeLike = BOOL,
    out: Tensor | None = None,
    mapping: Any = None,
    name: str = "bernoulli",
    program: Sequence | None = None,
) -> Tensor:
    """Record a draw of true or 1 with a probability, and false or 0 otherwise.

    Args:
        key: what they are drawn from; see `ops.random.key`.
        shape: of the new variable; left out where `out` takes the numbers.
        probability: from 0 to 1, taken to the next multiple of 2^-32.
        element_type: BOOL, FLOAT, HALF or an integer type.
        out: a tensor that takes the numbers, of one of these types.
        mapping: of the new variable, as in `graph.add_variable`; left out, linear.
        name: of the new variable and of the steps.
        program: where the steps go; left out, the block of `graph.steps()` that is open.

    Returns:
        The numbers: `out`, or the new variable.

    Raises:
        InvalidOption: for another probability.
        the errors of `ops.random.uniform`.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> heads = bernoulli(pl.ops.random.key(graph, seed=7), (1000,), 0.25, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> 200 < engine.read(heads).sum() < 300
    np.True_
    """
    what = "ops.random.bernoulli"
    found = drawn_type(what, shape, element_type, CHOSEN, out)
    limit = threshold(what, "probability", probability)
    draw = RandomDraw(what, key, name, program, is_placed=mapping is not None)
    return draw.new(Bernoulli, {"threshold": limit}, shape, found, out, mapping)
