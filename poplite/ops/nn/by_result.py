"""Gradients by results, checked."""

from __future__ import annotations

from poplite.errors import TensorCreationError
from poplite.expr.formula import formula
from poplite.expr.operand import Operand
from poplite.expr.tree import Expr
from poplite.ops.reductions import float_operand


def by_result(what: str, gradient: Operand, like: Expr) -> Expr:
    """Return a gradient by what has the shape and the type of `like`, or raise."""
    made = float_operand(gradient, what)
    if made.shape != like.shape or made.element_type is not like.element_type:
        pair = [f"{each.element_type!r} {list(each.shape)}" for each in (made, like)]
        raise TensorCreationError(
            f"{what}: a gradient of {pair[0]} beside {pair[1]}",
            found=f"{formula(made)} beside {formula(like)}",
            fix=f"a gradient of {pair[1]}",
        )
    return made
