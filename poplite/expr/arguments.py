"""Placeholders for tensors in expressions, `ops.arg(0)`."""

from __future__ import annotations

from collections.abc import Sequence

from poplite.errors import TensorIndexError
from poplite.expr.build import apply, as_expr, cast, contraction, reduction
from poplite.expr.formula import formula
from poplite.expr.operations import CAST
from poplite.expr.tree import Applied, Argument, Contraction, Expr, Reduction, Weak
from poplite.text import clipped, of_type


def argument(index: int) -> Expr:
    """Return a place for a tensor; see `poplite.ops.arg`."""
    if isinstance(index, bool) or not isinstance(index, int) or index < 0:
        raise TensorIndexError(
            f"ops.arg({clipped(index)}): arguments are counted from 0",
            found=of_type(index),
            fix="ops.arg(0), ops.arg(1), ...",
        )
    return Argument(index)


def bind(expr: Expr, values: Sequence[object], what: str) -> Expr:
    """Return an expression with tensors in the places of its arguments."""
    made: dict[Expr, Expr] = {}

    def made_of(node: Expr) -> Expr:
        if not node.is_open or isinstance(node, Weak):
            return node
        if isinstance(node, Argument):
            if node.number >= len(values):
                raise TensorIndexError(
                    f"{what}: ops.arg({node.number}), but {len(values)} are given",
                    found=formula(expr),
                    fix=f"a list of at least {node.number + 1} tensors behind the expression",
                )
            return as_expr(values[node.number], what)
        operands = [made[each] for each in node.operands]
        if isinstance(node, Reduction):
            return reduction(node.how, operands[0], node.dims, node.keepdims)
        if isinstance(node, Contraction):
            one, other = operands
            result = node.element_type
            return contraction(one, other, node.how, result=result, what="ops.matmul")
        assert isinstance(node, Applied)
        if node.operation is CAST:
            return cast(operands[0], node.element_type)
        plain = [each.value if isinstance(each, Weak) else each for each in operands]
        return apply(node.operation.name, *plain)

    waiting: list[tuple[Expr, bool]] = [(expr, False)]
    while waiting:
        node, is_done = waiting.pop()
        if is_done:
            made[node] = made_of(node)
        elif node not in made:
            waiting.append((node, True))
            if node.is_open:
                waiting += [(each, False) for each in reversed(node.operands)]
    return made[expr]


def number_of_arguments(expr: Expr) -> int:
    """Return how many tensors the arguments of an expression need."""
    found, seen, waiting = 0, {expr}, [expr]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Argument):
            found = max(found, node.number + 1)
        new = [each for each in node.operands if each.is_open and each not in seen]
        seen.update(new)
        waiting += new
    return found
