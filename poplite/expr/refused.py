"""The error of operators that would change a tensor in place."""

from __future__ import annotations

from poplite.errors import ElementTypeError
from poplite.expr.build import as_expr
from poplite.expr.formula import formula
from poplite.expr.operand import Operand
from poplite.source import here
from poplite.text import clipped_text


def in_place(operand: Operand, symbol: str, other: object) -> ElementTypeError:
    """Return the error of `x += y` and the like."""
    what = f"'{symbol}='"
    one = clipped_text(formula(as_expr(operand, what)), 60)
    two = clipped_text(formula(as_expr(other, what)), 60)
    return ElementTypeError(
        f"{what}: nothing is changed while a graph is built",
        at=here(),
        found=f"{one} {symbol}= {two}",
        fix=f"ops.assign({one}, {one} {symbol} {two}) records the change",
    )
