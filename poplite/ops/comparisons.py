"""Comparisons and logic of elements, as expressions of BOOL.

NaN is unequal to everything, and no comparison with it holds. Operands and errors are those of
`poplite.ops.arithmetic`.

Source: NumPy's functions of these names; PopLibs, `popops/ElementWise.hpp`.
"""

from __future__ import annotations

from poplite.expr.build import apply
from poplite.expr.operand import Operand
from poplite.expr.tree import Expr


def equal(a: Operand | float, b: Operand | float) -> Expr:
    """Return where `a` and `b` are equal.

    PopLibs: `Equal`.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> x, y = (graph.add_variable(pl.FLOAT, (4,), n) for n in "xy")
    >>> equal(x, y)
    <Expr equal(x, y) bool[4]>
    """
    return apply("equal", a, b)


def not_equal(a: Operand | float, b: Operand | float) -> Expr:
    """Return where `a` and `b` differ.

    PopLibs: `NotEqual`.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> x, y = (graph.add_variable(pl.FLOAT, (4,), n) for n in "xy")
    >>> not_equal(x, y)
    <Expr not_equal(x, y) bool[4]>
    """
    return apply("not_equal", a, b)


def less(a: Operand | float, b: Operand | float) -> Expr:
    """Return `a < b`.

    PopLibs: `LessThan`.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> x, y = (graph.add_variable(pl.FLOAT, (4,), n) for n in "xy")
    >>> x < y
    <Expr x < y bool[4]>
    """
    return apply("less", a, b)


def less_equal(a: Operand | float, b: Operand | float) -> Expr:
    """Return `a <= b`.

    PopLibs: `LessThanEqual`.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> x, y = (graph.add_variable(pl.FLOAT, (4,), n) for n in "xy")
    >>> x <= y
    <Expr x <= y bool[4]>
    """
    return apply("less_equal", a, b)


def greater(a: Operand | float, b: Operand | float) -> Expr:
    """Return `a > b`.

    PopLibs: `GreaterThan`.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> x, y = (graph.add_variable(pl.FLOAT, (4,), n) for n in "xy")
    >>> x > y
    <Expr x > y bool[4]>
    """
    return apply("greater", a, b)


def greater_equal(a: Operand | float, b: Operand | float) -> Expr:
    """Return `a >= b`.

    PopLibs: `GreaterThanEqual`.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> x, y = (graph.add_variable(pl.FLOAT, (4,), n) for n in "xy")
    >>> x >= y
    <Expr x >= y bool[4]>
    """
    return apply("greater_equal", a, b)


def is_finite(a: Operand) -> Expr:
    """Return where floats are neither infinite nor NaN.

    PopLibs: `IsFinite`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> is_finite(x)
    <Expr is_finite(x) bool[4]>
    """
    return apply("is_finite", a)


def is_inf(a: Operand) -> Expr:
    """Return where floats are infinite.

    PopLibs: `IsInf`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> is_inf(x)
    <Expr is_inf(x) bool[4]>
    """
    return apply("is_inf", a)


def is_nan(a: Operand) -> Expr:
    """Return where floats are NaN.

    PopLibs: `IsNaN`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> is_nan(x)
    <Expr is_nan(x) bool[4]>
    """
    return apply("is_nan", a)


def logical_and(a: Operand | float, b: Operand | float) -> Expr:
    """Return where both are true, of BOOL.

    PopLibs: `LogicalAnd`.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> x, y = (graph.add_variable(pl.FLOAT, (4,), n) for n in "xy")
    >>> logical_and(x > 0, y > 0)
    <Expr logical_and(x > 0.0, y > 0.0) bool[4]>
    """
    return apply("logical_and", a, b)


def logical_or(a: Operand | float, b: Operand | float) -> Expr:
    """Return where one or both are true, of BOOL.

    PopLibs: `LogicalOr`.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> x, y = (graph.add_variable(pl.FLOAT, (4,), n) for n in "xy")
    >>> logical_or(x > 0, y > 0)
    <Expr logical_or(x > 0.0, y > 0.0) bool[4]>
    """
    return apply("logical_or", a, b)


def logical_xor(a: Operand | float, b: Operand | float) -> Expr:
    """Return where exactly one is true, of BOOL.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> x, y = (graph.add_variable(pl.FLOAT, (4,), n) for n in "xy")
    >>> logical_xor(x > 0, y > 0)
    <Expr logical_xor(x > 0.0, y > 0.0) bool[4]>
    """
    return apply("logical_xor", a, b)


def logical_not(a: Operand) -> Expr:
    """Return where an element of BOOL is false.

    PopLibs: `LogicalNot`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> logical_not(x > 0)
    <Expr logical_not(x > 0.0) bool[4]>
    """
    return apply("logical_not", a)
