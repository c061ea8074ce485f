"""Choosing between elements, converting them, and counting positions, as expressions."""

from __future__ import annotations

from collections.abc import Iterable

from poplite.expr.arguments import argument as _argument
from poplite.expr.build import apply, cast as _cast, iota as _iota
from poplite.expr.operand import Operand
from poplite.expr.tree import Expr
from poplite.types import INT, ElementTypeLike


def select(a: Operand | float, b: Operand | float, predicate: Operand) -> Expr:
    """Return `a` where the predicate is true, else `b`; both are computed.

    PopLibs: `Select`, with the predicate last; `where` has NumPy's order.

    Raises:
        ElementTypeError: for a predicate that is not BOOL, two numbers, and as `ops.add`.
        TensorCreationError: for shapes that cannot be broadcast.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> select(x, 0, x > 0)
    <Expr select(x, 0.0, x > 0.0) float32[4]>
    """
    return apply("select", a, b, predicate)


def where(predicate: Operand, a: Operand | float, b: Operand | float) -> Expr:
    """Return `a` where the predicate is true, else `b`: NumPy's order of `select`.

    Raises:
        ElementTypeError: as `select`.
        TensorCreationError: as `select`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> where(x > 0, x, 0)
    <Expr select(x, 0.0, x > 0.0) float32[4]>
    """
    return apply("select", a, b, predicate)


def cast(x: Operand | float, element_type: ElementTypeLike) -> Expr:
    """Return elements in another type.

    Floats lose their fraction on the way to integers, and stop at -2^63 and 2^63 - 1, to
    UNSIGNED_LONGLONG at -2^63 and 2^64 - 1; NaN gives 0. Integers keep the low bits that the type
    has; to BOOL, what is not 0 is true; to floats, numbers round to nearest.

    Args:
        x: a tensor or expression of any type but QUARTER, or a number, which must fit.
        element_type: the type, or the NumPy dtype of one.

    Raises:
        ElementTypeError: for an unknown type, and for QUARTER.
        SizeOverflowError: for a number that does not fit.

    >>> import poplite as pl
    >>> i = pl.Graph().add_variable(pl.INT, (4,), "i")
    >>> cast(i, pl.FLOAT) / 2
    <Expr cast(i, FLOAT) / 2.0 float32[4]>
    """
    return _cast(x, element_type)


def iota(
    shape: int | Iterable[int], element_type: ElementTypeLike = INT, *, start: int = 0
) -> Expr:
    """Return whole numbers by position in row-major order: start, start + 1, ...

    Args:
        shape: sizes of the dimensions; a number is a shape of rank 1.
        element_type: of numbers.
        start: the first.

    Raises:
        SizeOverflowError: when the last number does not fit the type.
        TensorCreationError: for a size or a start that is no whole number, and for QUARTER.

    >>> iota((2, 3))
    <Expr iota([2, 3]) int32[2, 3]>
    """
    return _iota(shape, element_type, start)


def arg(index: int) -> Expr:
    """Return a place for a tensor, so that an expression can be used for several.

    Args:
        index: 0 for the first of the tensors that `ops.map` gets.

    Raises:
        TensorIndexError: when it is no whole number from 0.

    >>> 0.9 * arg(0) + 0.1 * arg(1)
    <Expr 0.9 * arg(0) + 0.1 * arg(1)>
    """
    return _argument(index)
