"""Operations on the bits of integers, as expressions.

A shift by the width of the type or more, or by a negative amount, leaves no bit: 0, or -1 where a
negative number is shifted to the right. Operands and errors are those of `poplite.ops.arithmetic`.

Source: NumPy's functions of these names; PopLibs, `popops/ElementWise.hpp`.
"""

from __future__ import annotations

from poplite.expr.build import apply
from poplite.expr.operand import Operand
from poplite.expr.tree import Expr


def bitwise_and(a: Operand | float, b: Operand | float) -> Expr:
    """Return `a & b`, of integers or BOOL.

    PopLibs: `BitwiseAnd`.

    >>> import poplite as pl
    >>> i = pl.Graph().add_variable(pl.INT, (4,), "i")
    >>> i & 7
    <Expr i & 7 int32[4]>
    """
    return apply("bitwise_and", a, b)


def bitwise_or(a: Operand | float, b: Operand | float) -> Expr:
    """Return `a | b`, of integers or BOOL.

    PopLibs: `BitwiseOr`.

    >>> import poplite as pl
    >>> i = pl.Graph().add_variable(pl.INT, (4,), "i")
    >>> i | 8
    <Expr i | 8 int32[4]>
    """
    return apply("bitwise_or", a, b)


def bitwise_xor(a: Operand | float, b: Operand | float) -> Expr:
    """Return `a ^ b`, of integers or BOOL.

    PopLibs: `BitwiseXor`.

    >>> import poplite as pl
    >>> i = pl.Graph().add_variable(pl.INT, (4,), "i")
    >>> i ^ 1
    <Expr i ^ 1 int32[4]>
    """
    return apply("bitwise_xor", a, b)


def bitwise_xnor(a: Operand | float, b: Operand | float) -> Expr:
    """Return the bits in which `a` and `b` agree, of integers or BOOL.

    PopLibs: `BitwiseXnor`.

    >>> import poplite as pl
    >>> i = pl.Graph().add_variable(pl.INT, (4,), "i")
    >>> bitwise_xnor(i, 1)
    <Expr bitwise_xnor(i, 1) int32[4]>
    """
    return apply("bitwise_xnor", a, b)


def bitwise_not(a: Operand) -> Expr:
    """Return `~a`, of integers; of BOOL, what is not true.

    PopLibs: `BitwiseNot`.

    >>> import poplite as pl
    >>> i = pl.Graph().add_variable(pl.INT, (4,), "i")
    >>> ~i
    <Expr ~i int32[4]>
    """
    return apply("bitwise_not", a)


def shift_left(a: Operand | float, amount: Operand | float) -> Expr:
    """Return `a << amount`.

    PopLibs: `ShiftLeft`.

    >>> import poplite as pl
    >>> i = pl.Graph().add_variable(pl.INT, (4,), "i")
    >>> i << 2
    <Expr i << 2 int32[4]>
    """
    return apply("shift_left", a, amount)


def shift_right(a: Operand | float, amount: Operand | float) -> Expr:
    """Return `a >> amount`, which keeps the sign.

    PopLibs: `ShiftRightSignExtend`.

    >>> import poplite as pl
    >>> i = pl.Graph().add_variable(pl.INT, (4,), "i")
    >>> i >> 2
    <Expr i >> 2 int32[4]>
    """
    return apply("shift_right", a, amount)


def shift_right_logical(a: Operand | float, amount: Operand | float) -> Expr:
    """Return `a` shifted to the right, with zeros from the left.

    PopLibs: `ShiftRight`.

    >>> import poplite as pl
    >>> i = pl.Graph().add_variable(pl.INT, (4,), "i")
    >>> shift_right_logical(i, 2)
    <Expr shift_right_logical(i, 2) int32[4]>
    """
    return apply("shift_right_logical", a, amount)


def popcount(a: Operand) -> Expr:
    """Return how many bits are set, in the type of `a`.

    PopLibs: `Popcount`.

    >>> import poplite as pl
    >>> i = pl.Graph().add_variable(pl.INT, (4,), "i")
    >>> popcount(i)
    <Expr popcount(i) int32[4]>
    """
    return apply("popcount", a)


def count_leading_zeros(a: Operand) -> Expr:
    """Return how many bits before the first one are 0; of 0, all.

    PopLibs: `CountLeadingZeros`.

    >>> import poplite as pl
    >>> i = pl.Graph().add_variable(pl.INT, (4,), "i")
    >>> count_leading_zeros(i)
    <Expr count_leading_zeros(i) int32[4]>
    """
    return apply("count_leading_zeros", a)
