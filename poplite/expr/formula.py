"""An expression as text: `(x - y) ** 2`, with the names of its tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from poplite.expr.operations import ElementOperation
from poplite.expr.tree import (
    Applied,
    Argument,
    Contraction,
    ElementClass,
    Expr,
    IotaExpr,
    Leaf,
    Number,
    Reduction,
    ViewExpr,
    Weak,
)

Node = TypeVar("Node")

Writer = Callable[..., str]
"""Writes a node as an operand of a precedence, on the right side or not."""

PRECEDENCE = {
    **dict.fromkeys(("<", "<=", ">", ">="), 1),
    "|": 2,
    "^": 3,
    "&": 4,
    **dict.fromkeys(("<<", ">>"), 5),
    **dict.fromkeys(("+", "-"), 6),
    **dict.fromkeys(("*", "@", "/", "//", "%"), 7),
    "unary": 8,
    "**": 9,
    "name": 10,
}
"""Of Python's operators: which binds closer."""

REDUCTIONS = {"add": "sum", "mul": "prod", "logical_and": "all", "logical_or": "any"}
"""Names of reductions in `poplite.ops`, where they differ."""

MOST_NODES, MOST_LEVELS = 200, 60
"""Limits of a formula's text: those that share parts can be very long, and others very deep."""


def formula(expr: Expr, most_nodes: int = MOST_NODES) -> str:
    """Return an expression as one would write it, with three dots for what follows so many parts.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> formula(-(x + 1) * pl.ops.exp(x))
    '-(x + 1.0) * exp(x)'
    """
    return bracketed(expr, _with_precedence, most_nodes, MOST_LEVELS)


def bracketed(
    node: Any,
    with_precedence: Callable[[Any, Writer], tuple[str, int]],
    most_nodes: int,
    most_levels: int,
) -> str:
    """Return a tree as text with the brackets it needs, and dots where it is too long or deep."""
    left, levels = [most_nodes], [most_levels]

    def written(node: Any, above: int, is_right: bool = False) -> str:
        left[0] -= 1
        if left[0] < 0 or not levels[0]:
            return "..."
        levels[0] -= 1
        text, precedence = with_precedence(node, written)
        levels[0] += 1
        return f"({text})" if precedence < above + is_right else text

    return written(node, 0)


def operation_name(expr: Expr) -> str:
    """Return the name in `poplite.ops` of the outermost operation; empty without one."""
    if isinstance(expr, Reduction):
        return REDUCTIONS.get(expr.how, expr.how)
    if isinstance(expr, Contraction):
        return "matmul"
    return expr.operation.name if isinstance(expr, Applied) else ""


def step_name(expr: Expr) -> str:
    """Return what a step that stores an expression is called: its label, or its operation."""
    return expr.label or operation_name(expr)


def _with_precedence(node: Expr, written: Writer) -> tuple[str, int]:
    name = PRECEDENCE["name"]
    match node:
        case Applied():  # first, as most nodes are
            return applied(node.operation, node.operands, node.element_type, written)
        case Leaf():
            return node.tensor._in_formula(), name
        case Number():
            return number_text(node.value.item())
        case Weak():
            return number_text(node.value)
        case Argument():
            return f"arg({node.number})", name
        case IotaExpr():
            return f"iota({list(node.shape)})", name
        case Reduction():
            dims = "".join(f", {d}" for d in node.dims or ())
            return f"{operation_name(node)}({written(node.operands[0], 0)}{dims})", name
        case Contraction():
            own = PRECEDENCE["@"]
            left, right = node.operands
            return f"{written(left, own)} @ {written(right, own, True)}", own
        case ViewExpr():
            return f"view({', '.join(written(each, 0) for each in node.operands)})", name
    raise AssertionError(type(node))


def number_text(value: Any) -> tuple[str, int]:
    """Return a number as text; a sign binds as unary minus, so that (-2) ** x keeps its meaning."""
    text = repr(value)
    return text, PRECEDENCE["unary" if text.startswith("-") else "name"]


def applied(
    operation: ElementOperation,
    operands: Sequence[Node],
    element_type: ElementClass | None,
    written: Callable[..., str],
) -> tuple[str, int]:
    """Return an operation on operands as text, and its precedence.

    Args:
        operation: the operation.
        operands: what `written` writes: one of them as an operand of a precedence, on the right
            side or not.
        element_type: of the result, which a conversion names.
        written: writes an operand.
    """
    symbol = operation.symbol
    if operation.name == "square":
        return f"{written(operands[0], PRECEDENCE['**'] + 1)} ** 2", PRECEDENCE["**"]
    if symbol and len(operands) == 1:
        return f"{symbol}{written(operands[0], PRECEDENCE['unary'])}", PRECEDENCE["unary"]
    if symbol:
        own = PRECEDENCE[symbol]
        is_power = symbol == "**"
        first = written(operands[0], own, is_power)
        return f"{first} {symbol} {written(operands[1], own, not is_power)}", own
    parts = [written(each, 0) for each in operands]
    if operation.name == "cast":
        parts.append(repr(element_type))
    return f"{operation.name}({', '.join(parts)})", PRECEDENCE["name"]
