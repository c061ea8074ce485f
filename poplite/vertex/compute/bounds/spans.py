"""The limits of a number, as expressions that are computed before a loop.

    i in range(1, n), then 2 * i + 1        from 3 to 2 * (n - 1) + 1

A span says how many bits its limits have at most: none is computed that could wrap around.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

MOST_BITS = 63
"""Bits of what a guard computes: more could wrap around."""

MOST_PARTS = 100
"""Nodes of an expression, and conditions for it: more would take long to compile."""

Needs = tuple[ast.expr, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Span:
    """The limits of a number, as expressions, and the conditions under which they hold.

    Attributes:
        bits: how many bits the limits have at most.
        needs: the conditions.
    """

    least: ast.expr
    most: ast.expr
    bits: int
    needs: Needs = ()

    @property
    def is_exact(self) -> bool:
        """Whether it is one number."""
        return self.least is self.most


def of_rest(op: ast.operator, b: Span) -> Span | None:
    """Return the limits of `%` and `&` for any first number; None for other operations."""
    known = number_in(b.least) if b.is_exact else None
    match op:
        case ast.Mod() if known is not None and known > 0:
            return bounded(ast.Constant(0), ast.Constant(known - 1), b.bits, ())
        case ast.BitAnd() if known is not None and known >= 0:
            return bounded(ast.Constant(0), ast.Constant(known), b.bits, ())
        case ast.Mod() if b.is_exact:
            positive = ast.Compare(b.least, [ast.Gt()], [ast.Constant(0)])
            most = minus(b.most, ast.Constant(1))
            return bounded(ast.Constant(0), most, b.bits + 1, (*b.needs, positive))
    return None


def of_operation(op: ast.operator, a: Span | None, b: Span) -> Span | None:
    """Return the limits of an operation on two numbers; None where they are not known."""
    if a is None:
        return None
    known = number_in(b.least) if b.is_exact else None
    bits, needs = max(a.bits, b.bits) + 1, (*a.needs, *b.needs)
    match op:
        case ast.Add():
            return _combined(plus, a, (b.least, b.most), bits, needs)
        case ast.Sub():
            return _combined(minus, a, (b.most, b.least), bits, needs)
        case ast.Mult():
            return _product(a, b, needs)
        case ast.FloorDiv() if known is not None and known > 0:
            return _combined(over, a, (b.least, b.most), a.bits, a.needs)
        case ast.FloorDiv() if known is None and b.is_exact:
            positive = ast.Compare(b.least, [ast.Gt()], [ast.Constant(0)])
            return _combined(over, a, (b.least, b.most), a.bits, (*needs, positive))
    return None


def _product(a: Span, b: Span, needs: Needs) -> Span | None:
    if not b.is_exact:
        a, b = b, a
    if not b.is_exact:
        return None
    factor = b.least
    known = number_in(factor)
    if known is not None and known < 0:
        return None
    if known is None:
        needs = (*needs, ast.Compare(factor, [ast.GtE()], [ast.Constant(0)]))
    return _combined(times, a, (factor, factor), a.bits + b.bits, needs)


def _combined(
    operation: Callable[[ast.expr, ast.expr], ast.expr],
    a: Span,
    others: tuple[ast.expr, ast.expr],
    bits: int,
    needs: Needs,
) -> Span | None:
    least = operation(a.least, others[0])
    is_exact = a.is_exact and others[0] is others[1]
    return bounded(least, least if is_exact else operation(a.most, others[1]), bits, needs)


def bounded(least: ast.expr, most: ast.expr, bits: int, needs: Needs) -> Span | None:
    """Return a span; None where its limits could wrap around, or are long."""
    if bits > MOST_BITS or len(needs) > MOST_PARTS or _is_long(least) or _is_long(most):
        return None
    return Span(least, most, bits, needs)


def _is_long(node: ast.expr) -> bool:
    return sum(1 for _ in islice(ast.walk(node), MOST_PARTS)) == MOST_PARTS


def negative(span: Span) -> Span | None:
    """Return the limits of the negative of a number."""
    least = minus(ast.Constant(0), span.most)
    most = least if span.is_exact else minus(ast.Constant(0), span.least)
    return bounded(least, most, span.bits, span.needs)


def number_in(node: ast.expr | None) -> int | None:
    """Return the int that a node is; None where it is none."""
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None


def plus(a: ast.expr, b: ast.expr) -> ast.expr:
    """Return a sum; constants are added.

    >>> ast.unparse(plus(plus(ast.Name("n"), ast.Constant(3)), ast.Constant(-1)))
    'n + 2'
    """
    x, y = number_in(a), number_in(b)
    if x is not None and y is not None:
        return ast.Constant(x + y)
    if x == 0 or y == 0:
        return b if x == 0 else a
    if y is not None and isinstance(a, ast.BinOp) and isinstance(a.op, ast.Add):
        return ast.BinOp(a.left, ast.Add(), plus(a.right, b))
    return ast.BinOp(a, ast.Add(), b)


def minus(a: ast.expr, b: ast.expr) -> ast.expr:
    """Return a difference."""
    if (y := number_in(b)) is not None:
        return plus(a, ast.Constant(-y))
    return ast.BinOp(a, ast.Sub(), b)


def times(a: ast.expr, b: ast.expr) -> ast.expr:
    """Return a product."""
    x, y = number_in(a), number_in(b)
    if x is not None and y is not None:
        return ast.Constant(x * y)
    return ast.BinOp(a, ast.Mult(), b)


def over(a: ast.expr, b: ast.expr) -> ast.expr:
    """Return a quotient, rounded down; the divisor is positive."""
    x, y = number_in(a), number_in(b)
    if x is not None and y is not None:
        return ast.Constant(x // y)
    return ast.BinOp(a, ast.FloorDiv(), b)
