"""Views of expressions: of tensors they are tensors, what else is viewed is stored first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from poplite.expr.operand import Operand
from poplite.expr.tree import ElementClass, Expr, Leaf, Shape, ViewExpr
from poplite.frozen import frozen


def viewed(
    operands: Sequence[Expr],
    how: Callable[..., Operand],
    shape: Shape,
    element: ElementClass,
) -> Expr:
    """Return a view of what expressions come to: of tensors at once, of others once stored.

    Args:
        operands: the expressions that are viewed.
        how: makes the view of their tensors; it is compared and hashed to find equal views.
        shape: of the view.
        element: its element type.
    """
    if all(isinstance(each, Leaf) for each in operands):
        return Leaf(how(*[each.tensor for each in operands if isinstance(each, Leaf)]))
    return ViewExpr(tuple(operands), how, shape, element)


def reshaped(x: Expr, shape: Shape) -> Expr:
    """Return what an expression comes to in another shape."""
    return x if x.shape == shape else viewed([x], Reshaped(shape), shape, x.element_type)


@frozen
class Reshaped:
    """Makes a tensor of another shape of the same elements."""

    shape: Shape

    def __call__(self, x: Any) -> Operand:
        """Return the view."""
        made: Operand = x.reshape(self.shape)
        return made
