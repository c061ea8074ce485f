"""Variances, norms, and where the least and the greatest elements are: made of other reductions.

    ops.variance(x, 1)            the mean of squares of what is left when the mean is taken away
    ops.norm(x, 0, ord=math.inf)  the greatest magnitude
    ops.argmax(scores, 1)         the first position of the greatest element of each row

Nothing of the size of the operand is stored. Dimensions are as in `poplite.ops.reductions`.

Source: NumPy's functions of these names.
"""

from __future__ import annotations

import math

from poplite.errors import ElementTypeError, SizeOverflowError, TensorCreationError
from poplite.expr.build import apply, cast, iota, reduction
from poplite.expr.operand import Operand
from poplite.expr.operations import kind_of
from poplite.expr.tree import Expr, Reduction
from poplite.ops.reductions import Dims, closed, mean
from poplite.source import here
from poplite.text import clipped
from poplite.types import FLOAT, UNSIGNED_INT


def variance(x: Operand, dims: Dims = None, *, ddof: int = 0, keepdims: bool = False) -> Expr:
    """Return the variance of floats along dimensions, in two passes.

    Args:
        x: a tensor or an expression.
        dims: a dimension, several, or None for all.
        ddof: what is taken from the number of elements before the sum is divided by it.
        keepdims: whether the dimensions stay, with size 1.

    Raises:
        ElementTypeError: for elements that are no floats.
        TensorCreationError: where no element would be left to divide by.
        TensorIndexError: for a dimension that does not exist, or is listed twice.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4, 6), "x")
    >>> variance(x, 1).shape
    (4,)
    """
    operand = _floats(x, "ops.variance")
    wide = cast(operand, FLOAT)
    rest = apply("subtract", wide, mean(wide, dims, keepdims=True))
    total = reduction("add", apply("square", rest), dims, keepdims, "ops.variance")
    assert isinstance(total, Reduction)
    count = math.prod(operand.shape[d] for d in total.dims)
    if count <= ddof:
        raise TensorCreationError(
            f"ops.variance of {count} elements with ddof={ddof}",
            at=here(),
            found=repr(operand),
            fix="more elements, or a smaller ddof",
        )
    return cast(apply("divide", total, count - ddof), operand.element_type)


def norm(x: Operand, dims: Dims = None, *, ord: float = 2, keepdims: bool = False) -> Expr:  # noqa: A002
    """Return a norm of floats along dimensions.

    Args:
        x: a tensor or an expression.
        dims: a dimension, several, or None for all.
        ord: 1 for the sum of magnitudes, 2 for the root of the sum of squares, `math.inf` for the
            greatest magnitude.
        keepdims: whether the dimensions stay, with size 1.

    Raises:
        ElementTypeError: for elements that are no floats.
        TensorCreationError: for another `ord`, and the greatest magnitude of no elements.
        TensorIndexError: for a dimension that does not exist, or is listed twice.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4, 6), "x")
    >>> norm(x, 1)
    <Expr sqrt(sum(x ** 2, 1)) float32[4]>
    """
    operand = _floats(x, "ops.norm")
    if ord == math.inf:
        return reduction("max", apply("absolute", operand), dims, keepdims, "ops.norm")
    wide = cast(operand, FLOAT)
    if ord == 1:
        result = reduction("add", apply("absolute", wide), dims, keepdims, "ops.norm")
    elif ord == 2:
        squares = reduction("add", apply("square", wide), dims, keepdims, "ops.norm")
        result = apply("sqrt", squares)
    else:
        raise TensorCreationError(
            f"ops.norm: ord is {clipped(ord)}", at=here(), fix="1, 2 or math.inf"
        )
    return cast(result, operand.element_type)


def _floats(x: object, called: str) -> Expr:
    operand = closed(x, called)
    if kind_of(operand.element_type) != "float":
        raise ElementTypeError(
            f"{called}: its operand is {operand.element_type!r}",
            at=here(),
            found=repr(operand),
            fix="ops.cast(x, FLOAT) first",
        )
    return operand


def argmin(x: Operand, dim: int | None = None, *, keepdims: bool = False) -> Expr:
    """Return the first position of the least element, UNSIGNED_INT; see `argmax`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4, 6), "x")
    >>> argmin(x, 1).shape
    (4,)
    """
    return _position("min", x, dim, keepdims)


def argmax(x: Operand, dim: int | None = None, *, keepdims: bool = False) -> Expr:
    """Return the first position of the greatest element, UNSIGNED_INT.

    NaN is the greatest and the least: where there are some, the position is that of the first.

    Args:
        x: a tensor or an expression.
        dim: the dimension; left out, positions are those of all elements in row-major order.
        keepdims: whether the dimensions stay, with size 1.

    Raises:
        ElementTypeError: for elements of BOOL or QUARTER.
        SizeOverflowError: for more positions than UNSIGNED_INT holds.
        TensorCreationError: for no elements.
        TensorIndexError: for a dimension that does not exist.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4, 6), "x")
    >>> argmax(x).element_type
    UNSIGNED_INT
    """
    return _position("max", x, dim, keepdims)


def _position(how: str, x: object, dim: int | None, keepdims: bool) -> Expr:
    called = f"ops.arg{how}"
    operand = closed(x, called)
    best = reduction(how, operand, dim, True, called)
    assert isinstance(best, Reduction)
    is_best = apply("equal", operand, best)
    if kind_of(operand.element_type) == "float":
        is_best = apply("logical_or", is_best, apply("is_nan", operand))
    count = math.prod(operand.shape[d] for d in best.dims)
    if count >= 1 << 32:
        raise SizeOverflowError(
            f"{called}: {count:,} positions do not fit UNSIGNED_INT", at=here(), found=repr(operand)
        )
    position: Expr | None = None
    step = 1
    for d in reversed(best.dims):  # the position along each dimension, times the elements behind it
        shape = tuple(size if k == d else 1 for k, size in enumerate(operand.shape))
        own: Expr = iota(shape, UNSIGNED_INT, 0)
        own = own if step == 1 else apply("multiply", own, step)
        position = own if position is None else apply("add", own, position)
        step *= operand.shape[d]
    if position is None:  # of one element
        position = iota((1,) * operand.rank, UNSIGNED_INT, 0)
    chosen = apply("select", position, count, is_best)
    return reduction("min", chosen, dim, keepdims, called)
