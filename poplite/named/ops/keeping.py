"""Hints: what is stored whatever that costs, and where something lies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from poplite.named.ops.hints import check_hint
from poplite.named.ops.op import Op, as_op

if TYPE_CHECKING:
    from poplite.named.ops.tensors import TensorOp


class Keep(Op):
    """An operand that is stored."""

    __slots__ = ()
    what = "keep"


class PlacedByHint(Op):
    """An operand that is stored where a hint says.

    Attributes:
        place: the hint, as `map=` of a tensor.
    """

    __slots__ = ("place",)
    what = "place"

    def __init__(self, x: Op, place: Any) -> None:
        super().__init__(x.axes, x.dtype, (x,))
        self.place = place


class Gradient(Op):
    """An operand that is a derivative by a tensor: a result lies where a hint puts that tensor.

    Attributes:
        by: the tensor.
    """

    __slots__ = ("by",)
    what = "deriv"

    def __init__(self, x: Op, by: TensorOp) -> None:
        super().__init__(x.axes, x.dtype, (x,), f"deriv {by.name}")
        self.by = by


def keep(x: Any) -> Op:
    """Return x, which is stored where it is computed, even if computing it again took less time."""
    operand = as_op(x, "keep")
    return Keep(operand.axes, operand.dtype, (operand,))


def place(x: Any, map: Any) -> Op:  # noqa: A002  (the word of `ng.variable`)
    """Return x, stored where a hint says.

    Args:
        x: a tensor.
        map: as for `ng.variable`.

    Raises:
        AxisError: for what is no hint, and an axis that x has not.
        InvalidTileMapping: for a tile below 0.
    """
    operand = as_op(x, "place")
    check_hint(f"place of '{operand.name or operand.called}'", operand.axes, map)
    return PlacedByHint(operand, map)
