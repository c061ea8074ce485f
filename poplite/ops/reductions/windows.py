"""Reductions of windows that move along the dimensions of a tensor: `lax.reduce_window`.

One dimension is reduced after the other. A long window is made of shorter ones, each stored once:

    width 100, in powers of 8      64 + 4 x 8 + 4 x 1: nine operands of the last step
    windows of 64                  8 windows of 8, which are 8 elements each

so the work grows with the logarithm of the width. The order in which numbers are added depends only
on the widths, and so do the bits of a result.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

import poplite.ops.operands as checks
from poplite.errors import InvalidOption, TensorCreationError
from poplite.expr.build import apply, cast, reduction
from poplite.expr.operand import Operand
from poplite.expr.tree import ElementClass
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.elements import pad
from poplite.ops.operands import NUMBERS
from poplite.ops.products.convolution_request import Number, Padding, check_number, spacings
from poplite.ops.record import map as stored, one_operation
from poplite.ops.slices.gather import as_tensor
from poplite.program import Sequence as Steps
from poplite.text import clipped
from poplite.types import FLOAT, HALF

BASE = 8
"""How many windows are joined in a step."""

JOINS = {"add": "add", "mul": "multiply", "min": "minimum", "max": "maximum"}
"""The elementwise operation that joins two windows, by the name of the reduction."""


def reduce_window(
    x: Operand,
    window: Number,
    op: str,
    *,
    stride: Number = 1,
    padding: Padding = 0,
    name: str = "reduce_window",
    program: Steps | None = None,
) -> Tensor:
    """Record steps that combine the elements of each window of a tensor: `lax.reduce_window`.

    Sums and products of HALF are computed in FLOAT and rounded once; integers wrap. A NaN makes the
    results of its windows NaN.

    Args:
        x: numbers of any type except QUARTER, of any shape.
        window: the width of a window along each dimension; a number for all.
        op: "add", "mul", "min" or "max".
        stride: the distance of windows along each dimension; a number for all.
        padding: elements that are added before and after each dimension, and change no result; a
            number, or for each dimension a number or a pair. Negative ones leave elements out.
        name: the name of the new variable and of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        A result for each window that lies within the padded tensor, in the type of x.

    Raises:
        ElementTypeError: for elements that are not numbers.
        InvalidOption: for another operation, a stride below 1, or arguments that are not numbers
            for each dimension.
        SizeOverflowError: for a width below 1.
        TensorCreationError: for too few or too many widths, or padding that removes too much.
        ControlProgramError: if `program` is omitted outside any block of steps.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> x = graph.add_variable(pl.INT, (5,), "x", mapping=0, initial_value=[3, 1, 4, 1, 5])
    >>> y = reduce_window(x, 3, "max", padding=[(1, 0)], program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(y).tolist()
    [3, 4, 4, 5]
    """
    what = "ops.reduce_window"
    given = checks.operand(what, x, program)
    checks.check_type(what, given, NUMBERS)
    if not isinstance(op, str) or op not in JOINS:
        fix = f"pass one of {', '.join(map(repr, JOINS))}"
        raise InvalidOption(f"{what}: op is {clipped(op)}", fix=fix)
    widths = tuple(window) if isinstance(window, Sequence) else (window,) * given.rank
    sizes = tuple(checks.count_of(what, "window", width, 1) for width in widths)
    check_number(what, "window", sizes, given.rank)
    how = spacings(what, given.rank, stride, padding, 1)
    sides = [each.padding for each in how]
    for dim, (size, own) in enumerate(zip(given.shape, sides, strict=True)):
        if size + sum(min(0, side) for side in own) < 0:
            raise TensorCreationError(
                f"{what}: padding {own} removes more than dimension {dim} of "
                f"{checks.called(given)} has, {size:,}",
                found=checks.described(given),
                fix="pass padding=0",
            )
    graph = checks.graph_of(what, given, program)
    checks.check_placed(given)
    place = checks.steps_for(what, graph, name, program)
    wide = FLOAT if given.element_type is HALF and op in ("add", "mul") else given.element_type
    with one_operation(graph, name, place):
        found = as_tensor(given if wide is given.element_type else cast(given, wide), "x", None)
        if any(map(any, sides)):
            found = pad(found, sides, value=neutral(op, wide))
        for dim, (size, each) in enumerate(zip(sizes, how, strict=True)):
            found = _windows(found, dim, size, each.stride, op)
        if wide is given.element_type and max(sizes, default=1) > 1:
            return found
        return stored(cast(found, given.element_type), name="result")


def neutral(op: str, element: ElementClass) -> int | float:
    """Return the number that changes no other: for integers, a limit instead of an infinity."""
    if op in ("add", "mul"):
        return int(op == "mul")
    if element.is_floating_point:
        return math.inf if op == "min" else -math.inf
    limits: Any = np.iinfo(element.dtype)
    return int(limits.max if op == "min" else limits.min)


def _windows(x: Tensor, dim: int, width: int, stride: int, op: str) -> Tensor:
    """Record the reduction of the windows along a dimension, in steps of `BASE` operands."""
    count = max(0, (x.shape[dim] - width) // stride + 1)
    if width == 1 or not count:
        return _each(x, dim, 0, count, stride)
    if count == 1:
        return stored(reduction(op, x.slice(0, width, dim), dim, True), name=f"windows {dim}")
    join = partial(reduce, partial(apply, JOINS[op]))
    runs = [x]
    while BASE ** len(runs) < width:
        run, step = runs[-1], BASE ** (len(runs) - 1)
        rest = run.shape[dim] - (BASE - 1) * step
        parts = [run.slice(k * step, k * step + rest, dim) for k in range(BASE)]
        runs.append(stored(join(parts), name=f"runs of {BASE * step}"))
    parts, begin = [], 0
    for k, run in reversed([*enumerate(runs)]):
        while width - begin >= BASE**k:
            parts.append(_each(run, dim, begin, count, stride))
            begin += BASE**k
    return stored(join(parts), name=f"windows {dim}")


def _each(x: Tensor, dim: int, begin: int, count: int, stride: int) -> Tensor:
    """Return so many indices of a dimension, at a distance."""
    end = begin + (count - 1) * stride + 1 if count else begin
    return x.slice(begin, end, dim).sub_sample(stride, dim) if count else x.slice(0, 0, dim)
