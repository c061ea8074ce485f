"""Where Python's own operators give the bits of the arithmetic, so that no call is needed.

The kinds of both operands are known before a vertex runs::

    float32 op float32       NumPy's scalars: one operation, rounded once
    weak op float32          the weak one is cast first, a literal when the text is compiled
    int op int               Python's ints; what may leave 64 bits is wrapped
    float op float           doubles; `/`, `//` and `%` raise for 0 in Python, so those are calls

All else is left to `poplite.vertex.compute.arithmetic`, as is everything that may trap.
"""

from __future__ import annotations

import ast
from typing import Literal

from poplite.vertex.compute.typing.kinds import Kind

_EXACT = (ast.BitAnd, ast.BitOr, ast.BitXor)
_WRAPPING = (ast.Add, ast.Sub, ast.Mult)
_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
_ROUNDED = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, *_ORDER)

Native = tuple[Kind, Literal["as it is", "wrapped", "truth"]]
"""The kind to which operands are cast first, if it is wider than int, and what the operator gives:
the result, an int that may have more than 64 bits, or a truth value of NumPy."""


def native(op: ast.AST, left: Kind | None, right: Kind | None) -> Native | None:
    """Return how Python's operator can replace an operation on two numbers, or None if it cannot.

    A kind is None where nothing is known.

    >>> native(ast.Add(), Kind.INT, Kind.INT), native(ast.Div(), Kind.INT, Kind.INT)
    ((Kind.INT, 'wrapped'), None)
    """
    if left is None or right is None or Kind.UINT in (left, right):
        return None
    kind = max(left, right, Kind.INT)
    if kind is Kind.F32 and isinstance(op, _ROUNDED):
        return kind, "truth" if isinstance(op, _ORDER) else "as it is"
    if kind is Kind.FLOAT and isinstance(op, (*_WRAPPING, *_ORDER)):
        return kind, "as it is"
    if kind is Kind.INT and isinstance(op, (*_EXACT, *_ORDER, ast.RShift)):
        return kind, "as it is"
    if kind is Kind.INT and isinstance(op, (*_WRAPPING, ast.LShift)):
        return kind, "wrapped"
    return None


def native_unary(op: ast.unaryop, kind: Kind | None) -> Native | None:
    """Return how Python's operator, other than `not`, can replace an operation, or None.

    >>> native_unary(ast.USub(), Kind.F32)
    (Kind.F32, 'as it is')
    """
    if kind is None or kind is Kind.UINT or isinstance(op, ast.UAdd):
        return None
    if kind <= Kind.INT:
        return Kind.INT, "wrapped"
    return kind, "as it is"
