"""Reductions as expressions.

    ops.sum((x - y) ** 2)                         one number; the squares are not stored
    x - ops.mean(x, 1, keepdims=True)             each row minus its mean

`dims` is a dimension, a list of them, or by default all; negative ones count from the last. A
reduced dimension disappears, or stays with size 1 with `keepdims`. Sums and products of HALF are
computed in FLOAT and rounded once; those of integers wrap. The order in which floats are added
depends only on the mapping and the target, so results are bit-identical in every run.

All functions raise TensorIndexError for a dimension that does not exist or is listed twice, and
ElementTypeError for elements that cannot be reduced in this way.

Source: NumPy's functions of these names; PopLibs, `popops/Reduce.hpp`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence

import numpy as np

from poplite.errors import (
    ElementTypeError,
    SizeOverflowError,
    TensorCreationError,
    TensorIndexError,
)
from poplite.expr.build import apply, as_expr, cast, iota, reduction
from poplite.expr.operand import Operand
from poplite.expr.operations import kind_of
from poplite.expr.tree import ElementClass, Expr, Leaf, Reduction, Weak, labelled
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.fuse.placement import EXACT
from poplite.ops.fuse.storing import MOST_STORED, first_of_repeated
from poplite.ops.reductions.first_extremes import has_rows_in_order
from poplite.ops.reductions.order import ordered
from poplite.text import clipped, integer_or_none, of_type
from poplite.types import FLOAT, HALF, UNSIGNED_INT

MOST_POSITIONS = (1 << 32) - 1
"""The largest number of elements with positions: the next number means "no position"."""

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

    For HALF, it is computed in FLOAT and rounded once, so the sum may exceed the range of HALF.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4, 8), "x")
    >>> mean(x, 1, keepdims=True)
    <Expr sum(x, 1) / 8.0 float32[4, 1]>
    """
    operand = float_operand(x, "ops.mean")
    found = _mean(cast(operand, FLOAT), dims, keepdims, "ops.mean")
    return labelled(cast(found, operand.element_type), "mean")


def variance(x: Operand, dims: Dims = None, *, ddof: float = 0, keepdims: bool = False) -> Expr:
    """Return the variance of floats along dimensions: the mean of squared distances to the mean.

    The mean is computed first and the elements are read again, which avoids cancellation. For
    HALF, the variance is computed in FLOAT and rounded once.

    Args:
        x: a tensor or an expression.
        dims: as in all reductions.
        ddof: a number subtracted from the number of elements in the divisor: 1 for samples. If the
            difference is not positive, the result is infinity or NaN, as in NumPy.
        keepdims: whether the dimensions are kept, with size 1.

    Raises:
        ElementTypeError: for elements that are not floats, or a `ddof` that is not a number.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4, 8), "x")
    >>> variance(x, 1)
    <Expr sum((x - sum(x, 1) / 8.0) ** 2, 1) / 8.0 float32[4]>
    """
    called = "ops.variance"
    operand = float_operand(x, called)
    if isinstance(ddof, bool) or not isinstance(ddof, int | float):
        raise ElementTypeError(
            f"{called}: ddof is {clipped(ddof)}", found=of_type(ddof), fix="pass ddof=1"
        )
    wide = cast(operand, FLOAT)
    distances = apply("subtract", wide, _mean(wide, dims, True, called))
    total, count = _sum_and_count(apply("square", distances), dims, keepdims, called)
    divisor = count - ddof if count > ddof else 0
    return labelled(cast(apply("divide", total, divisor), operand.element_type), "variance")


def norm(x: Operand, dims: Dims = None, *, ord: float = 2, keepdims: bool = False) -> Expr:  # noqa: A002
    """Return the norm of floats along dimensions, whose elements are treated as one vector.

    For HALF, it is computed in FLOAT and rounded once. Squares that overflow FLOAT make the norm
    infinite, as in NumPy.

    Args:
        x: a tensor or an expression.
        dims: as in all reductions.
        ord: 1, the sum of absolute values; 2, the root of the sum of squares; or `math.inf`, the
            largest absolute value.
        keepdims: whether the dimensions are kept, with size 1.

    Raises:
        ElementTypeError: for elements that are not floats.
        TensorCreationError: for any other `ord`, or for `math.inf` without elements.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4, 8), "x")
    >>> norm(x, 1)
    <Expr sqrt(sum(x ** 2, 1)) float32[4]>
    """
    called = "ops.norm"
    operand = float_operand(x, called)
    if not isinstance(ord, int | float | np.number) or ord not in (1, 2, math.inf):
        raise TensorCreationError(
            f"{called}: ord is {clipped(ord)}", found=of_type(ord), fix="pass 1, 2 or math.inf"
        )
    wide = cast(operand, FLOAT)
    if ord == 2:
        found = apply("sqrt", reduction("add", apply("square", wide), dims, keepdims, called))
    else:
        how = "add" if ord == 1 else "max"
        found = reduction(how, apply("absolute", wide), dims, keepdims, called)
    return labelled(cast(found, operand.element_type), "norm")


def argmin(x: Operand, dim: int | None = None, *, keepdims: bool = False) -> Expr:
    """Return the position of the smallest element, as UNSIGNED_INT: see `argmax`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4, 6), "x")
    >>> argmin(x, 1).shape
    (4,)
    """
    return _first_position("min", x, dim, keepdims, "ops.argmin")


def argmax(x: Operand, dim: int | None = None, *, keepdims: bool = False) -> Expr:
    """Return the position of the largest element, as UNSIGNED_INT.

    It is the position of the first of several maxima, or of the first NaN if there is any. Rows of
    a FLOAT or HALF tensor are read once; columns, integers and expressions are read twice, without
    storing an intermediate result of their size.

    Args:
        x: a tensor or an expression of numbers.
        dim: the dimension along which positions are counted, from 0; by default, all elements in
            row-major order.
        keepdims: whether the dimensions are kept, with size 1.

    Raises:
        TensorIndexError: for a `dim` that is not a dimension of x.
        TensorCreationError: for an x without elements.
        SizeOverflowError: for positions beyond 2^32.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=1)), pl.Sequence()
    >>> x = graph.add_variable(pl.INT, (2, 3), "x", mapping=0, initial_value=[[1, 7, 7], [9, 2, 4]])
    >>> rows = pl.ops.map(argmax(x, 1), program=program)
    >>> best = pl.ops.map(argmax(x), program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(rows), int(engine.read(best))
    (array([1, 0], dtype=uint32), 3)
    """
    return _first_position("max", x, dim, keepdims, "ops.argmax")


def min(x: Operand, dims: Dims = None, *, keepdims: bool = False) -> Expr:  # noqa: A001
    """Return the smallest element along dimensions, or NaN if there is any.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4, 6), "x")
    >>> min(x, -1)
    <Expr min(x, 1) float32[4]>
    """
    return reduction("min", x, dims, keepdims)


def max(x: Operand, dims: Dims = None, *, keepdims: bool = False) -> Expr:  # noqa: A001
    """Return the largest element along dimensions, or NaN if there is any.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4, 6), "x")
    >>> max(abs(x))
    <Expr max(absolute(x), 0, 1) float32[]>
    """
    return reduction("max", x, dims, keepdims)


def all(x: Operand, dims: Dims = None, *, keepdims: bool = False) -> Expr:  # noqa: A001
    """Return whether all BOOL elements are true along dimensions.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4, 6), "x")
    >>> all(x > 0)
    <Expr all(x > 0.0, 0, 1) bool[]>
    """
    return reduction("logical_and", x, dims, keepdims)


def any(x: Operand, dims: Dims = None, *, keepdims: bool = False) -> Expr:  # noqa: A001
    """Return whether any BOOL element is true along dimensions.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4, 6), "x")
    >>> any(x > 0, 1)
    <Expr any(x > 0.0, 1) bool[4]>
    """
    return reduction("logical_or", x, dims, keepdims)


def _mean(wide: Expr, dims: Dims, keepdims: bool, called: str) -> Expr:
    return apply("divide", *_sum_and_count(wide, dims, keepdims, called))


def _sum_and_count(wide: Expr, dims: Dims, keepdims: bool, called: str) -> tuple[Expr, int]:
    """Return the sum along dimensions, and the number of elements of each sum."""
    total = reduction("add", wide, dims, keepdims, called)
    assert isinstance(total, Reduction)
    return total, math.prod(wide.shape[d] for d in total.dims)


def _first_position(how: str, x: Operand, dim: int | None, keepdims: bool, called: str) -> Expr:
    """Return the position of the first element that is an extreme or NaN."""
    operand = known_operand(x, called)
    if dim is not None and integer_or_none(dim) is None:
        raise TensorIndexError(
            f"{called}: {clipped(dim)} is not a dimension",
            found=of_type(dim),
            fix="pass one dimension, or None for the position among all elements",
        )
    reduced = reduction(how, operand, dim, keepdims, called)
    assert isinstance(reduced, Reduction)
    dims = reduced.dims or ()
    shape = [size if d in dims else 1 for d, size in enumerate(operand.shape)]
    size = math.prod(shape)
    if size > MOST_POSITIONS:
        raise SizeOverflowError(
            f"{called}: {size:,} elements are too many for positions",
            found=f"positions are UNSIGNED_INT, for at most {MOST_POSITIONS:,} elements",
            fix=f"call {called}(x, dim) for a shorter dimension",
        )
    if _is_one_pass(operand, dims):
        kept = reduced.keepdims
        return Reduction(f"arg{how}", operand, dims, kept, reduced.shape, UNSIGNED_INT)
    # Long positions are sums of two (`fuse.storing`), which are faster to compute in FLOAT.
    counted = FLOAT if MOST_STORED < size <= EXACT else UNSIGNED_INT
    everywhere = iota(shape, counted)  # raises if there are too many positions
    read, steps = first_of_repeated(operand, dims)
    best = reduction(how, read, dim, True, called)
    is_best = apply("equal", read, best)
    if kind_of(operand.element_type) == "float":
        is_best = apply("logical_or", is_best, apply("is_nan", read))
    if read is not operand:
        everywhere = _positions(shape, read.shape, dict(zip(dims, steps, strict=True)), counted)
    positions = apply("select", everywhere, size, is_best)
    found = reduction("min", positions, dim, keepdims, called)
    if counted is FLOAT:
        found = cast(found, UNSIGNED_INT)
    return labelled(found, called.removeprefix("ops."))


def _is_one_pass(operand: Expr, dims: Sequence[int]) -> bool:
    """Return whether the vertices that find positions in one pass can read an operand."""
    if not isinstance(operand, Leaf) or operand.element_type not in (FLOAT, HALF):
        return False
    tensor = operand.tensor
    if not isinstance(tensor, Tensor) or not tensor.num_elements or tensor.contains_aliases():
        return False
    return has_rows_in_order(ordered(tensor, dims))


def _positions(
    shape: Sequence[int], read: Sequence[int], steps: Mapping[int, int], counted: ElementClass
) -> Expr:
    """Return the positions of the read elements in a shape, given their steps by dimension."""
    terms: list[Expr] = []
    for d, step in steps.items():
        if read[d] > 1:
            along = iota([read[d] if e == d else 1 for e in range(len(shape))], counted)
            terms.append(apply("multiply", along, step * math.prod(shape[d + 1 :])))
    none = iota([1] * len(shape), counted)
    return functools.reduce(lambda one, other: apply("add", one, other), terms or [none])


def float_operand(x: Operand, called: str) -> Expr:
    """Return an operand of floats with a known shape."""
    operand = known_operand(x, called)
    if kind_of(operand.element_type) != "float":
        raise ElementTypeError(
            f"{called}: the operand is {operand.element_type!r}",
            found=repr(operand),
            fix="call ops.cast(x, FLOAT) first",
        )
    return operand


def known_operand(x: Operand, called: str) -> Expr:
    """Return an operand with a known shape and type."""
    operand = as_expr(x, called)
    if isinstance(operand, Weak):
        raise ElementTypeError(
            f"{called}: cannot reduce the number {operand.value!r}",
            found=of_type(x),
            fix="pass a tensor or an expression",
        )
    if operand.is_open:
        raise ElementTypeError(
            f"{called}: the shape and type of an expression with arguments are not known",
            found=repr(operand),
            fix="use ops.sum(...) of it, or tensors instead of its arguments",
        )
    return operand
