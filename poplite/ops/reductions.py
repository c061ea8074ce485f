"""Reductions of tensors and expressions, as expressions.

    ops.sum((x - y) ** 2)                         one number; nothing of the size of x is stored
    x - ops.mean(x, 1, keepdims=True)             each row less its mean

`dims` is a dimension, a list of them, or left out for all; negative ones count from the last. A
dimension that is reduced disappears, or stays with size 1 with `keepdims`. Sums and products of
HALF are made in FLOAT and rounded once; those of integers wrap. In which order floats are added
follows from the mapping and the target, so that the bits of a result are the same in every run.

All raise TensorIndexError for a dimension that does not exist or is listed twice, and
ElementTypeError for elements that cannot be reduced so.

Source: NumPy's functions of these names; PopLibs, `popops/Reduce.hpp`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from poplite.errors import ElementTypeError
from poplite.expr.build import apply, as_expr, cast, reduction
from poplite.expr.operand import Operand
from poplite.expr.operations import kind_of
from poplite.expr.tree import Expr, Reduction, Weak
from poplite.source import here
from poplite.text import of_type
from poplite.types import FLOAT

Dims = int | Sequence[int] | None


def sum(x: Operand, dims: Dims = None, *, keepdims: bool = False) -> Expr:  # noqa: A001
    """Return the sum along dimensions.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4, 6), "x")
    >>> sum(x * x, 0)
    <Expr sum(x * x, 0) float32[6]>
    """
    return reduction("add", x, dims, keepdims)


def prod(x: Operand, dims: Dims = None, *, keepdims: bool = False) -> Expr:
    """Return the product along dimensions.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4, 6), "x")
    >>> prod(x, [0, 1])
    <Expr prod(x, 0, 1) float32[]>
    """
    return reduction("mul", x, dims, keepdims)


def mean(x: Operand, dims: Dims = None, *, keepdims: bool = False) -> Expr:
    """Return the mean of floats along dimensions: the sum, divided by the number of elements.

    That of HALF is made in FLOAT and rounded once, so that the sum may be larger than HALF holds.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4, 8), "x")
    >>> mean(x, 1, keepdims=True)
    <Expr sum(x, 1) / 8.0 float32[4, 1]>
    """
    operand = known_operand(x, "ops.mean")
    if kind_of(operand.element_type) != "float":
        raise ElementTypeError(
            f"ops.mean: its operand is {operand.element_type!r}",
            at=here(),
            found=repr(operand),
            fix="ops.cast(x, FLOAT) first",
        )
    total = reduction("add", cast(operand, FLOAT), dims, keepdims, "ops.mean")
    assert isinstance(total, Reduction)
    count = math.prod(operand.shape[d] for d in total.dims)
    return cast(apply("divide", total, count), operand.element_type)


def min(x: Operand, dims: Dims = None, *, keepdims: bool = False) -> Expr:  # noqa: A001
    """Return the least element along dimensions; NaN is the least.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4, 6), "x")
    >>> min(x, -1)
    <Expr min(x, 1) float32[4]>
    """
    return reduction("min", x, dims, keepdims)


def max(x: Operand, dims: Dims = None, *, keepdims: bool = False) -> Expr:  # noqa: A001
    """Return the greatest element along dimensions; NaN is the greatest.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4, 6), "x")
    >>> max(abs(x))
    <Expr max(absolute(x), 0, 1) float32[]>
    """
    return reduction("max", x, dims, keepdims)


def all(x: Operand, dims: Dims = None, *, keepdims: bool = False) -> Expr:  # noqa: A001
    """Return whether all elements of BOOL are true along dimensions.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4, 6), "x")
    >>> all(x > 0)
    <Expr all(x > 0.0, 0, 1) bool[]>
    """
    return reduction("logical_and", x, dims, keepdims)


def any(x: Operand, dims: Dims = None, *, keepdims: bool = False) -> Expr:  # noqa: A001
    """Return whether any element of BOOL is true along dimensions.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4, 6), "x")
    >>> any(x > 0, 1)
    <Expr any(x > 0.0, 1) bool[4]>
    """
    return reduction("logical_or", x, dims, keepdims)


def known_operand(x: Operand, called: str) -> Expr:
    """Return an operand whose shape and type are known."""
    operand = as_expr(x, called)
    if isinstance(operand, Weak):
        raise ElementTypeError(
            f"{called}: {operand.value!r} is one number",
            at=here(),
            found=of_type(x),
            fix="a tensor or an expression",
        )
    if operand.is_open:
        raise ElementTypeError(
            f"{called} of an expression with arguments: its shape and type are not known",
            at=here(),
            found=repr(operand),
            fix="ops.sum(...) of it, or tensors in the places of its arguments",
        )
    return operand
