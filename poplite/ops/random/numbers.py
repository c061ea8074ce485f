"""Draws: uniform, whole and normal numbers, true or false, and dropout."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from poplite.errors import InvalidOption, TensorCreationError
from poplite.expr.operand import Operand
from poplite.expr.tree import ElementClass, Expr
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tensor.tensor_text import type_and_shape
from poplite.ops.operands import (
    FLOATS,
    INTEGERS,
    beside,
    check_type,
    count_of,
    described,
    own_operand,
    the_tensor,
)
from poplite.ops.random.drawing import LARGEST, TWO_32, RandomDraw, drawn_type, rounded, threshold
from poplite.ops.record import map as stored
from poplite.program import Sequence
from poplite.types import BOOL, FLOAT, INT, ElementTypeLike
from poplite.vertices.random import Bernoulli, Dropout, Integers, Normal, TruncatedNormal, Uniform

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
        ElementTypeError: for an invalid key, and another element type.
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


# -- normal numbers --------------------------------------------------------------------------------


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


# -- dropout ---------------------------------------------------------------------------------------
# Dropout, and its gradient, which finds the same elements without a mask.


class Dropped(NamedTuple):
    """What `dropout` returns.

    Attributes:
        out: the kept elements of the tensor, and 0 elsewhere.
        counter: which elements were dropped, for `dropout_gradient`: UNSIGNED_INT[4].
    """

    out: Tensor
    counter: Tensor


def dropout(
    key: Tensor,
    x: Operand,
    rate: float,
    *,
    out: Tensor | None = None,
    name: str = "dropout",
    program: Sequence | None = None,
) -> Dropped:
    """Record a draw that replaces elements by 0, and divides the others by what share is left.

    Args:
        key: see `ops.random.key`.
        x: FLOAT or HALF. An expression is stored first.
        rate: the probability of an element to become 0, from 0 to 1, to the next multiple of 2^-32.
        out: what takes the result, of the type and size of x; it may be x itself. Left out, a new
            variable that lies as x.
        name: of the new variable and of the steps.
        program: where the steps go; left out, the block of `graph.steps()` that is open.

    Returns:
        The result, and the counter of the draw: with it `dropout_gradient` finds the same elements
        again, so that no mask is stored.

    Raises:
        InvalidOption: for another rate.
        the errors of `ops.random.uniform`.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> x = graph.add_variable(pl.FLOAT, (8,), "x", mapping="linear", initial_value=range(8))
    >>> y, counter = dropout(pl.ops.random.key(graph, seed=7), x, 0.5, program=program)
    >>> gradient = dropout_gradient(counter, x, 0.5, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> set(engine.read(y)) <= {0, 2, 4, 6, 8, 10, 12, 14}
    True
    >>> bool((engine.read(y) == engine.read(gradient)).all())
    True
    """
    what = "ops.random.dropout"
    draw = RandomDraw(what, key, name, program, x)
    made = _drop(draw, what, x, rate, out, name, program)
    return Dropped(made, draw.counter)


def dropout_gradient(
    counter: Tensor,
    gradient: Operand,
    rate: float,
    *,
    out: Tensor | None = None,
    name: str = "dropout_gradient",
    program: Sequence | None = None,
) -> Tensor:
    """Record what a dropout did, on a gradient: 0 for the same elements, the others divided.

    Args:
        counter: the counter that `ops.random.dropout` returned.
        gradient: of the shape of that result, FLOAT or HALF.
        rate: of the dropout.
        out: what takes the result, of the type and shape of the gradient; left out, a new variable.
        name: of the new variable and of the steps.
        program: where the steps go; left out, the block of `graph.steps()` that is open.

    Returns:
        The gradient by what went into the dropout.

    Raises:
        the errors of `ops.random.dropout`, which has an example.
    """
    what = "ops.random.dropout_gradient"
    draw = RandomDraw(what, counter, name, program, gradient, again=True)
    return _drop(draw, what, gradient, rate, out, name, program)


def _drop(
    draw: RandomDraw,
    what: str,
    x: Operand,
    rate: float,
    out: Tensor | None,
    name: str,
    program: Sequence | None,
) -> Tensor:
    """Record what a draw leaves of a tensor."""
    kept = TWO_32 - threshold(what, "rate", rate)
    x = own_operand(what, draw.graph, x, program)
    check_type(what, x, FLOATS)
    if out is not None:
        the_tensor(what, "out", out)
        if (out.element_type, out.shape) != (x.element_type, x.shape):
            raise TensorCreationError(
                f"{what}: out '{out.name}' is {type_and_shape(out)}, x {described(x)}",
                fix="an out of that type and shape",
            )
    draw.check_out(out, None)
    if isinstance(x, Expr):
        x = stored(x, name=f"{name}/x", program=program)
    numbers = {"threshold": kept, "scale": TWO_32 / kept if kept else 0.0}
    return draw.new(Dropout, numbers, x.shape, x.element_type, out, None, {"x": x})
