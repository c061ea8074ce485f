"""Sorting along a dimension."""

from __future__ import annotations

from typing import NamedTuple

from poplite.errors import TensorCreationError, checked_truth
from poplite.expr.operand import Operand
from poplite.expr.tree import Expr
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.operands import check_name, check_type, own_operand, steps_for
from poplite.ops.order.network import sorted_words
from poplite.ops.order.rows import ORDERED, Rows
from poplite.ops.order.taking import MOVED, take_along_axis
from poplite.ops.order.words import check_positions, write
from poplite.ops.record import map as stored
from poplite.program import Sequence
from poplite.program.recording import RecordedSteps as Block
from poplite.vertices.order import key_rule


class Sorted(NamedTuple):
    """What `sort_key_value` returns.

    Attributes:
        keys: in order.
        values: as the keys lie.
    """

    keys: Tensor
    values: Tensor


def sort(
    x: Operand,
    dim: int | None = -1,
    *,
    descending: bool = False,
    name: str = "sort",
    program: Sequence | None = None,
) -> Tensor:
    """Record steps that sort the elements along a dimension.

    Sorting is stable: 0.0 and -0.0, which are equal, stay in order. A NaN is larger than all
    numbers, as in NumPy.

    Args:
        x: FLOAT, HALF, or integers of up to 32 bits; any shape. An expression is stored first.
        dim: the dimension; negative ones count from the last. None sorts all elements in row-major
            order, and the result has rank 1.
        descending: whether the largest come first.
        name: of the new variable and of the steps.
        program: where the steps go; left out, the block of `graph.steps()` that is open.

    Returns:
        A new tensor of the shape of x. A row lies in blocks, each on a tile: in as many as have the
        fewest modelled cycles. Every NaN is stored as the same one.

    Raises:
        ElementTypeError: for other elements.
        TensorIndexError: for a dimension that x does not have.
        ControlProgramError: without `program=` outside of all steps.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=1)), pl.Sequence()
    >>> x = graph.add_variable(pl.INT, (5,), "x", mapping="linear", initial_value=[3, 9, 4, 9, 1])
    >>> y = sort(x, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(y).tolist()
    [1, 3, 4, 9, 9]
    """
    return _sorted("ops.sort", x, dim, descending, name, program, values=True, positions=False)[0]


def argsort(
    x: Operand,
    dim: int | None = -1,
    *,
    descending: bool = False,
    name: str = "argsort",
    program: Sequence | None = None,
) -> Tensor:
    """Record steps that find where the elements along a dimension are in sorted order.

    Args:
        x: as of `sort`.
        dim: as of `sort`.
        descending: whether the largest come first; equal elements are in rising order of positions
            in any case.
        name: of the new variable and of the steps.
        program: where the steps go; left out, the block of `graph.steps()` that is open.

    Returns:
        Positions along the dimension, UNSIGNED_INT, of the shape of x.

    Raises:
        the errors of `ops.sort`.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=1)), pl.Sequence()
    >>> x = graph.add_variable(pl.INT, (5,), "x", mapping="linear", initial_value=[3, 9, 4, 9, 1])
    >>> y = argsort(x, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(y).tolist()
    [4, 0, 2, 1, 3]
    """
    return _sorted("ops.argsort", x, dim, descending, name, program, values=False, positions=True)[
        0
    ]


def sort_key_value(
    keys: Operand,
    values: Operand,
    dim: int | None = -1,
    *,
    descending: bool = False,
    name: str = "sort_key_value",
    program: Sequence | None = None,
) -> Sorted:
    """Record steps that sort keys along a dimension, and move values as the keys move.

    Args:
        keys: as of `sort`.
        values: of the shape of the keys, and of any type but QUARTER and CHAR.
        dim: as of `sort`.
        descending: whether the largest keys come first.
        name: of the new variables and of the steps.
        program: where the steps go; left out, the block of `graph.steps()` that is open.

    Returns:
        Keys and values.

    Raises:
        TensorCreationError: for values of another shape.
        the errors of `ops.sort`.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=1)), pl.Sequence()
    >>> x = graph.add_variable(pl.INT, (4,), "x", mapping="linear", initial_value=[3, 9, 4, 1])
    >>> y = graph.add_variable(pl.HALF, (4,), "y", mapping=0, initial_value=[0.5, 1.5, 2.5, 3.5])
    >>> keys, values = sort_key_value(x, y, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(keys).tolist(), engine.read(values).tolist()
    ([1, 3, 4, 9], [3.5, 0.5, 2.5, 1.5])
    """
    what = "ops.sort_key_value"
    check_name(what, name)
    inner = f"{name}/keys"
    rows = Rows(what, keys, dim, ORDERED, inner, program, values)
    check_positions(rows)
    first, second = rows.given, own_operand(what, rows.graph, values, program)
    check_type(what, second, MOVED)
    if first.shape != second.shape:
        raise TensorCreationError(
            f"{what}: values of shape {second.shape} for keys of shape {first.shape}",
            fix="values of the shape of the keys",
        )
    descending = checked_truth(descending, f"{what}: descending")
    place = steps_for(what, rows.graph, name, program)
    if isinstance(first, Expr):
        first = stored(first, name=f"{inner}/x", program=program)
    if isinstance(second, Expr):
        second = stored(second, name=f"{name}/values/x", program=program)
    steps = Block(rows.graph, name)
    made, order = _sorted(what, first, dim, descending, inner, steps, values=True, positions=True)
    moved = take_along_axis(second, order, dim, name=f"{name}/values", program=steps)
    place.add(steps)
    return Sorted(made, moved)


def _sorted(
    what: str,
    x: Operand,
    dim: int | None,
    descending: bool,
    name: str,
    program: Sequence | None,
    *,
    values: bool,
    positions: bool,
) -> list[Tensor]:
    rows = Rows(what, x, dim, ORDERED, name, program)
    check_positions(rows)
    falls = checked_truth(descending, f"{what}: descending")
    rows.begin()
    rule = key_rule(rows.element_type.dtype, falls=falls)
    words = sorted_words(rows, rule)
    made = write(rows, words, rows.size, rule if values else None, positions=positions)
    rows.finish([rows.x], made)
    return made
