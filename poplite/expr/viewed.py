"""Views of expressions: of tensors they are tensors, what else is viewed is stored first."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from poplite.expr.operand import Operand
from poplite.expr.tree import ElementClass, Expr, Leaf, Shape, View


def viewed(
    operands: Sequence[Expr],
    how: Callable[..., Operand],
    shape: Shape,
    element: ElementClass,
) -> Expr:
    """Return a view of what expressions come to: of tensors at once, of others once stored.

    Args:
        operands: what is viewed.
        how: makes the view of their tensors; it is compared and hashed to find equal views.
        shape: of the view.
        element: its element type.
    """
    if all(isinstance(each, Leaf) for each in operands):
        return Leaf(how(*[each.tensor for each in operands if isinstance(each, Leaf)]))
    return View(tuple(operands), how, shape, element)
