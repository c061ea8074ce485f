"""Operations that move elements: as views, by steps, or in expressions.

For example:

    roll(x, 1)              a view: x[-1], x[0], x[1], ...
    pad(x, (1, 1))          a view of x and a constant
    tril(x)                 an expression: 0 above the diagonal
    transpose(x)            a step: a copy that is mapped linearly in its own order
"""

from __future__ import annotations

import math
from collections.abc import Sequence as List
from operator import index as whole_number
from typing import Any

from poplite.errors import InvalidOption, SizeOverflowError, TensorCreationError
from poplite.expr.build import as_expr
from poplite.expr.operand import Operand
from poplite.expr.tree import Expr
from poplite.graph.graph import Graph
from poplite.graph.tensor.arguments import no_tensor
from poplite.graph.tensor.concat import concat, stack as stack
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.elementwise import iota, where
from poplite.ops.operands import (
    check_closed,
    dimension,
    graph_of,
    invalid_value,
    operand,
    steps_for,
)
from poplite.ops.record import map as stored
from poplite.program import Sequence
from poplite.program.recording import deciding_tiles, graph_for
from poplite.text import clipped, integer_or_none, items_or_none, of_type
from poplite.types import BOOL

MODES = ("constant", "edge", "reflect")

concatenate = concat  # NumPy's name


def roll(x: Tensor, shift: int | List[int], dim: int | List[int] | None = None) -> Tensor:
    """Return a view with elements shifted along dimensions; the last elements wrap to the front.

    Args:
        x: a tensor.
        shift: the number of positions, negative to shift back; a list for a list of dimensions.
        dim: one or several dimensions; None means all elements in row-major order.

    Raises:
        ElementTypeError: for an x that is not a tensor.
        TensorIndexError: for a dimension that x does not have.
        InvalidOption: for shifts that are not integers, or not one for each dimension.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (5,), "x")
    >>> roll(x, 2)[0] == x[3]
    <same elements: True (not ops.equal)>
    """
    _check_tensor("ops.roll", x)
    shifts = _numbers("ops.roll", "shift", shift)
    if dim is None:
        return _rolled(x.flatten(), sum(shifts), 0).reshape(x.shape)
    dims = _numbers("ops.roll", "dim", dim)
    if len(shifts) == 1:
        shifts *= len(dims)
    if len(shifts) != len(dims):
        raise InvalidOption(
            f"ops.roll: {len(shifts)} shifts for {len(dims)} dimensions",
            fix="pass a shift for each dimension",
        )
    for each, by in zip(dims, shifts, strict=True):
        x = _rolled(x, by, dimension("ops.roll", x, each))
    return x


def pad(
    x: Tensor,
    widths: int | List[Any],
    mode: str = "constant",
    *,
    value: bool | int | float = 0,
) -> Tensor:
    """Return a view with elements added before and after each dimension: `numpy.pad`.

    No element is computed or copied: the padding is a constant on tile 0, or repeats elements of
    the tensor. A negative width removes elements.

    Args:
        x: a tensor.
        widths: a number for all sides; a pair (before, after) for all dimensions; or a list with a
            pair for each.
        mode: "constant"; "edge", which repeats the first and the last element; or "reflect", which
            mirrors the elements at them, without repeating them.
        value: the value of the constant.

    Raises:
        ElementTypeError: for an x that is not a tensor, or a value that its type cannot hold.
        InvalidOption: for an unknown mode, or widths that are not pairs of integers.
        TensorCreationError: if there are too few elements to reflect, repeat, or remove.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> x = graph.add_variable(pl.INT, (3,), "x", mapping=0, initial_value=[1, 2, 3])
    >>> y = pl.ops.map(pad(x, (1, 2), "reflect"), program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(y).tolist()
    [2, 1, 2, 3, 2, 1]
    """
    _check_tensor("ops.pad", x)
    if not isinstance(mode, str) or mode not in MODES:
        fix = f"pass one of {', '.join(MODES)}"
        raise InvalidOption(f"ops.pad: mode is {clipped(mode)}", fix=fix)
    # Concatenations made below do not name the padding.
    of = "pad" if x.name.startswith("concat(") else x.name
    for dim, (before, after) in enumerate(_widths(x, widths)):
        cut = max(0, -before), max(0, -after)
        size = x.shape[dim]
        if sum(cut) > size:
            raise _too_many(x, dim, f"remove {sum(cut)}", size)
        x = x.slice(cut[0], size - cut[1], dim)
        parts = [_added(x, dim, max(0, before), mode, value, 0, of), x]
        x = concat([*parts, _added(x, dim, max(0, after), mode, value, -1, of)], dim)
    return x


def tile(x: Tensor, repeats: int | List[int]) -> Tensor:
    """Return a view that repeats a tensor: `numpy.tile`.

    Args:
        x: a tensor.
        repeats: the count along each dimension, or along the last ones; more numbers than
            dimensions add leading dimensions.

    Raises:
        ElementTypeError: for an x that is not a tensor.
        InvalidOption: for repeats that are not integers.
        SizeOverflowError: for negative repeats.

    >>> import poplite as pl
    >>> tile(pl.Graph().add_variable(pl.FLOAT, (2, 3), "x"), (2, 1, 4)).shape
    (2, 2, 12)
    """
    _check_tensor("ops.tile", x)
    counts = _numbers("ops.tile", "repeats", repeats)
    x = x.reshape((1,) * (len(counts) - x.rank) + x.shape)
    for dim, count in enumerate(counts, x.rank - len(counts)):
        if count < 0:
            raise SizeOverflowError(
                f"ops.tile: repeats is {count} for dimension {dim}", fix="pass 0 or more"
            )
        x = x.broadcast(count, dim)
    return x


def repeat_elements(x: Tensor, repeats: int, dim: int) -> Tensor:
    """Return a view that repeats each index of a dimension in place: 1 2 -> 1 1 2 2.

    Args:
        x: a tensor.
        repeats: the count, at least 0.
        dim: the dimension; negative ones count from the last.

    Raises:
        ElementTypeError: for an x that is not a tensor.
        TensorIndexError: for a dimension that x does not have, or a negative count.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (2, 3), "x")
    >>> repeat_elements(x, 2, -1)[0, 5] == x[0, 2]
    <same elements: True (not ops.equal)>
    """
    _check_tensor("ops.repeat_elements", x)
    return x.upsample(repeats, dimension("ops.repeat_elements", x, dim))


def tril(x: Operand, k: int = 0) -> Expr:
    """Return the lower triangle of the last two dimensions, with 0 above it: `numpy.tril`.

    Args:
        x: a tensor or an expression of rank 2 or more, of any type except QUARTER.
        k: the last diagonal that is kept: above the main one, or below it if negative.

    Raises:
        TensorCreationError: for a lower rank.
        InvalidOption: for a k that is not an integer.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> x = graph.add_variable(pl.INT, (2, 3), "x", mapping=0, initial_value=1)
    >>> y = pl.ops.map(tril(x), program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(y).tolist()
    [[1, 0, 0], [1, 1, 0]]
    """
    rows, columns, by = _triangle("ops.tril", x, k)
    return where(rows + by >= columns, x, False if x.element_type is BOOL else 0)


def triu(x: Operand, k: int = 0) -> Expr:
    """Return the upper triangle of the last two dimensions, with 0 below it: `numpy.triu`.

    Arguments and errors are those of `tril`; `k` is the first diagonal that is kept.

    >>> import poplite as pl
    >>> triu(pl.Graph().add_variable(pl.FLOAT, (4, 6), "x")).shape
    (4, 6)
    """
    rows, columns, by = _triangle("ops.triu", x, k)
    return where(rows + by <= columns, x, False if x.element_type is BOOL else 0)


def transpose(
    x: Operand,
    permutation: List[int] | None = None,
    *,
    name: str = "transpose",
    program: Sequence | None = None,
) -> Tensor:
    """Record a copy with permuted dimensions, mapped linearly over all tiles in its own order.

    `x.T` and `x.dim_shuffle(...)` are views and cost nothing, but their consecutive elements may
    be on different tiles, and are gathered whenever they are read.

    Args:
        x: a tensor. An expression is stored first.
        permutation: the dimension of x for each dimension of the result; by default, in reverse
            order.
        name: the name of the new variable and of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Raises:
        TensorIndexError: for a `permutation` that is not a permutation of the dimensions.
        ControlProgramError: if `program` is omitted outside any block of steps.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> x = graph.add_variable(pl.INT, (2, 3), "x", mapping="linear", initial_value=[[1, 2, 3]] * 2)
    >>> y = transpose(x, program=program)
    >>> graph.tile_mapping(y)[0]
    [Interval(begin=0, end=3)]
    """
    what = "ops.transpose"
    given = operand(what, x, program)
    reversed_ = range(given.rank)[::-1]
    order = _numbers(what, "permutation", reversed_ if permutation is None else permutation)
    graph = graph_of(what, given, program)
    if isinstance(given, Expr):
        steps_for(what, graph, name, program)
        # A variable of this shape for inspection: nothing is added to the graph.
        like = Graph(graph.target).add_variable(given.element_type, given.shape, name)
        like.dim_shuffle(order)
        given = stored(given, name=f"{name}/x", program=program)
    turned = given.dim_shuffle(order)
    with deciding_tiles(graph):
        return stored(turned, mapping="linear", name=name, program=program)


def _check_tensor(what: str, x: object) -> None:
    if not isinstance(x, Tensor):
        raise no_tensor(what, x)


def _numbers(what: str, name: str, value: Any) -> list[int]:
    """Return the integers in a number or a list."""
    try:
        parts = [value] if hasattr(value, "__index__") else list(value)
        return [whole_number(each) for each in parts]
    except TypeError:
        raise InvalidOption(
            f"{what}: {name} is {clipped(value)}",
            found=of_type(value),
            fix=f"pass a whole number, such as {name}=1, or a list of them",
        ) from None


def _rolled(x: Tensor, shift: int, dim: int) -> Tensor:
    size = x.shape[dim]
    if not size:
        return x
    at = -shift % size
    return concat([x.slice(at, size, dim), x.slice(0, at, dim)], dim)


def _widths(x: Tensor, widths: Any) -> list[tuple[int, int]]:
    """Return the number of elements to add before and after each dimension."""
    if hasattr(widths, "__index__"):
        widths = (widths, widths)
    parts = items_or_none(widths) or []
    if len(parts) == 2 and all(hasattr(each, "__index__") for each in parts):
        parts = [parts] * x.rank
    pairs = [_numbers("ops.pad", "widths", each) for each in parts]
    if len(pairs) != x.rank or any(len(pair) != 2 for pair in pairs):
        raise InvalidOption(
            f"ops.pad: widths is {clipped(widths)} for '{x.name}', which has rank {x.rank}",
            fix=f"pass a number, (before, after), or a list of {x.rank} such pairs",
        )
    return [(before, after) for before, after in pairs]


def _added(x: Tensor, dim: int, count: int, mode: str, value: Any, side: int, of: str) -> Tensor:
    """Return the padding on one side of a dimension: `side` is 0 at the start, -1 at the end.

    `of` is the name of the padded tensor, for the names of constants.
    """
    size = x.shape[dim]
    if not count:
        return x.slice(0, 0, dim)
    if mode == "constant":
        shape = (*x.shape[:dim], count, *x.shape[dim + 1 :])
        graph = graph_for(x.graph, [x], None)
        one = graph.add_constant(x.element_type, (), value, f"{of}/padding", mapping=0)
        return one.reshape((1,)).broadcast(math.prod(shape), 0).reshape(shape)
    if mode == "edge":
        if not size:
            raise _too_many(x, dim, f"repeat {count}", size)
        begin = 0 if side == 0 else size - 1
        return x.slice(begin, begin + 1, dim).broadcast(count, dim)
    if count >= size:
        raise _too_many(x, dim, f"reflect {count}", size)
    begin = 1 if side == 0 else size - 1 - count
    return x.slice(begin, begin + count, dim).reverse(dim)


def _too_many(x: Tensor, dim: int, what: str, size: int) -> TensorCreationError:
    return TensorCreationError(
        f"ops.pad: cannot {what} elements along dimension {dim} of '{x.name}', which has {size}",
        found=f"shape {x.shape}",
        fix="use smaller widths",
    )


def _triangle(what: str, x: Operand, k: int) -> tuple[Expr, Expr, int]:
    """Return the row indices, the column indices, and the index of the diagonal."""
    expr = as_expr(x, what)
    check_closed(what, expr)
    shape, by = expr.shape, integer_or_none(k)
    if by is None:
        raise invalid_value(what, "k", k, "a whole number, such as k=1")
    if len(shape) < 2:
        raise TensorCreationError(
            f"{what}: x has rank {len(shape)}",
            found=f"shape {shape}",
            fix="pass a tensor of rank 2 or more",
        )
    limit = max(shape[-2:])
    return iota((shape[-2], 1)), iota((shape[-1],)), max(-limit, min(by, limit))
