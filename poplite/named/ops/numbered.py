"""Rows of a table by number, and what is added to rows by number.

take(table, words, V)        (N, D) of a table (V, D) and words (N)
"""

from __future__ import annotations

from typing import Any

from poplite.errors import AxisError, ElementTypeError
from poplite.named.axes.axes import Axes, chosen, some
from poplite.named.axes.axis import Axis, AxisRoot
from poplite.named.axes.changes import one_of, spelled
from poplite.named.ops.element_types import NumberOp
from poplite.named.ops.op import Op, as_op, texts_of
from poplite.named.ops.slicing import sliced
from poplite.types import INT, UNSIGNED_INT


class Take(Op):
    """Rows of a table by number.

    Attributes:
        along: the axis of the table whose numbers are given.
        rest: the other axes of the table.
    """

    __slots__ = ("along", "rest")
    what = "take"

    def __init__(self, table: Op, indices: Op, along: Axis) -> None:
        self.along, self.rest = along, table.axes - along
        super().__init__(indices.axes + self.rest, table.dtype, (table, indices))

    @property
    def orders(self) -> tuple[tuple[AxisRoot, ...], ...]:
        """In which order the axes of the operands are read."""
        return (self.along.root, *self.rest.roots), self.args[1].axes.roots


class AddRows(Op):
    """Zeros, to whose rows others are added by number: the derivative of `take` by its table.

    Attributes:
        rest: the axes of a row.
    """

    __slots__ = ("along", "rest")
    what = "added rows"

    def __init__(self, rows: Op, indices: Op, along: Axis, rest: Axes) -> None:
        self.along, self.rest = along, rest
        super().__init__(some([along, *rest]), rows.dtype, (rows, indices))

    @property
    def orders(self) -> tuple[tuple[AxisRoot, ...], ...]:
        """In which order the axes of the operands are read."""
        indices = self.args[1].axes.roots
        return (*indices, *self.rest.roots), indices


def take(table: Any, indices: Any, axis: Axis) -> Op:
    """Return rows of a table by number, at the cost of `ops.embedding`.

    Args:
        table: a tensor that has the axis.
        indices: INT or UNSIGNED_INT, of any axes that the table does not have beside `axis`.
        axis: the axis of the table that they number, from 0.

    Returns:
        On the axes of the indices, then on the others of the table.

    Raises:
        MissingAxisError: for an axis that the table does not have.
        ElementTypeError: for indices of another type.
        AxisError: for an axis that both have.
        TensorIndexError: when the computation runs, for a number that the axis does not have.

    >>> import poplite as pl, poplite.named as ng
    >>> V, D, N = ng.make_axis(100, "V"), ng.make_axis(8, "D"), ng.make_axis(3, "N")
    >>> take(ng.placeholder([V, D]), ng.placeholder([N], pl.INT), V)
    <take (N:3, D:8) FLOAT>
    """
    rows, numbers = as_op(table, "take"), as_op(indices, "take")
    own = one_of(chosen(axis, rows.axes, "take"), "take")
    if isinstance(numbers, NumberOp):
        return sliced(rows, {own: numbers.value})
    if numbers.dtype not in (INT, UNSIGNED_INT):
        raise ElementTypeError(
            f"take: indices of {numbers.dtype!r}",
            found=numbers.text,
            fix=f"ng.cast({spelled(numbers, 'indices')}, pl.INT)",
        )
    both = (rows.axes - own) & numbers.axes
    if both.items:
        raise AxisError(
            f"take: both have axis '{both[0].name}'",
            found=texts_of((rows, numbers)),
            fix=f"ng.sum(ng.one_hot({spelled(numbers, 'indices')}, {own.name}) * "
            f"{spelled(rows, 'table')}, [{own.name}]) pairs it",
        )
    own.known_length("take")
    return Take(rows, numbers, own)
