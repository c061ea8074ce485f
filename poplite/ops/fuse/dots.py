"""Products of one row by one column, as the sums that they are.

    p @ q                         sum(p * q)
    ops.matmul(row, column)       the same, of shape (1, 1); of several pairs, as many sums

The unit that multiplies matrices would be used for one of its rows and columns; a sum reads both
operands once, where they lie. HALF is multiplied and added in FLOAT, and rounded once, at the end.
"""

from __future__ import annotations

from collections.abc import Sequence

from poplite.expr.build import apply, cast
from poplite.expr.tree import Contraction, Expr, Reduction
from poplite.expr.viewed import reshaped
from poplite.ops.fuse.storing import rebuilt
from poplite.ops.matmul.layout import Options
from poplite.types import FLOAT


def is_dot(node: Expr) -> bool:
    """Return whether a product is of one row by one column, and nothing is asked of its plan."""
    if not isinstance(node, Contraction) or not _is_free(node.how):
        return False
    one, other = (each.shape for each in node.operands)
    rows = one[-2] if len(one) > 1 else 1
    columns = other[-1] if len(other) > 1 else 1
    return rows == columns == 1 and one[-1] > 0


def _is_free(how: object) -> bool:
    """Return whether a plan may be any, with partial sums of FLOAT."""
    if not isinstance(how, Options):
        return how is None
    return how.partials in (None, FLOAT) and how == Options(how.partials, how.result)


def with_dots(roots: Sequence[Expr]) -> list[Expr]:
    """Return expressions with sums in the place of products of one row by one column."""
    return rebuilt(roots, lambda node: _sum(node) if is_dot(node) else node)


def _sum(node: Expr) -> Expr:
    """Return a product of one row by one column as a sum."""
    left, right = node.operands
    is_kept = left.rank > 1 and right.rank > 1
    if right.rank > 1:  # columns as rows
        right = reshaped(right, (*right.shape[:-2], 1, right.shape[-2]))
    product = apply("multiply", cast(left, FLOAT), cast(right, FLOAT))
    shape = (*product.shape[:-1], 1) if is_kept else product.shape[:-1]
    made = Reduction("add", product, (product.rank - 1,), is_kept, shape, node.element_type)
    made.location, made.label, made.origin = node.location, node.label, node.origin
    return made
