"""Reductions as expressions: functions of NumPy's names, or selected by an operation's name.

    ops.sum((x - y) ** 2)                         one number; the squares are not stored
    x - ops.mean(x, 1, keepdims=True)             each row minus its mean
    ops.reduce(x, 0, "square_add", scale=0.5)     0.5 * sum(x ** 2, 0)
    ops.reduce(x, 0, "add", scale=rate, update=old)      rate * sum(x, 0) + old

`dims` is a dimension, a list of them, or by default all; negative ones count from the last. A
reduced dimension disappears, or stays with size 1 with `keepdims`. Sums and products of HALF are
computed in FLOAT and rounded once; those of integers wrap. The order in which floats are added
depends only on the mapping and the target, so results are bit-identical in every run.

All functions raise TensorIndexError for a dimension that does not exist or is listed twice, and
ElementTypeError for elements that cannot be reduced in this way.

Source: NumPy's functions of these names; PopLibs, `popops/Reduce.hpp`,
`popops/OperationDef.hpp`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from poplite.errors import (
    ElementTypeError,
    SizeOverflowError,
    TensorCreationError,
    TensorIndexError,
    did_you_mean,
)
from poplite.expr.build import apply, as_expr, cast, iota, reduction
from poplite.expr.operand import Operand
from poplite.expr.operations import kind_of
from poplite.expr.tree import (
    ElementClass,
    Expr,
    Leaf,
    Reduction,
    Weak,
    formula,
    labelled,
    new_parts,
    operation_name,
)
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.control import together
from poplite.ops.fuse.maps import EXACT
from poplite.ops.fuse.storing import MOST_STORED, first_of_repeated
from poplite.ops.record import map as stored
from poplite.ops.reductions.first_extremes import has_rows_in_order
from poplite.ops.reductions.plan import ordered
from poplite.program import Sequence as Steps
from poplite.program.recording import RecordedSteps as Block, Together, graph_for, innermost, target
from poplite.public import arguments_of
from poplite.text import amount, clipped, integer_or_none, of_type
from poplite.types import FLOAT, HALF, UNSIGNED_INT

MOST_POSITIONS = (1 << 32) - 1
"""The largest number of elements with positions: the next number means "no position"."""

Dims = int | Sequence[int] | None


def sum(x: Operand, dims: Dims = None, *, keepdims: bool = False) -> Expr:  # noqa: A001
    """Return the sum along dimensions, in the element type of x.

    For HALF, it is computed in FLOAT and rounded once; sums of integers wrap. The sum of no
    elements is 0.

    Args:
        x: a tensor or an expression of numbers.
        dims: a dimension or a list of them, negative ones from the last; by default all.
        keepdims: whether the dimensions are kept, with size 1; otherwise they disappear.

    Raises:
        TensorIndexError: for a dimension that does not exist or is listed twice.
        ElementTypeError: for elements that are not numbers, or an x that is a single number.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4, 6), "x")
    >>> sum(x * x, 0)
    <Expr sum(x * x, 0) float32[6]>
    """
    return reduction("add", x, dims, keepdims)


@arguments_of(sum)
def prod(x: Operand, dims: Dims = None, *, keepdims: bool = False) -> Expr:
    """Return the product along dimensions; of no elements, 1.

    Arguments and errors are those of `ops.sum`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4, 6), "x")
    >>> prod(x, [0, 1])
    <Expr prod(x, 0, 1) float32[]>
    """
    return reduction("mul", x, dims, keepdims)


@arguments_of(sum)
def mean(x: Operand, dims: Dims = None, *, keepdims: bool = False) -> Expr:
    """Return the mean of floats along dimensions: the sum, divided by the number of elements.

    For HALF, it is computed in FLOAT and rounded once, so the sum may exceed the range of HALF.
    Without elements it is NaN. Arguments and errors are those of `ops.sum`, for floats only.

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
        dims: as in `ops.sum`.
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
    found, element = _variance("ops.variance", x, dims, ddof, keepdims)
    return labelled(cast(found, element), "variance")


@arguments_of(variance)
def std(x: Operand, dims: Dims = None, *, ddof: float = 0, keepdims: bool = False) -> Expr:
    """Return the standard deviation of floats along dimensions: the root of `ops.variance`.

    For HALF, it is computed in FLOAT and rounded once.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4, 8), "x")
    >>> std(x, 1)
    <Expr sqrt(sum((x - sum(x, 1) / 8.0) ** 2, 1) / 8.0) float32[4]>
    """
    found, element = _variance("ops.std", x, dims, ddof, keepdims)
    return labelled(cast(apply("sqrt", found), element), "std")


def _variance(
    called: str, x: Operand, dims: Dims, ddof: float, keepdims: bool
) -> tuple[Expr, ElementClass]:
    """Return the variance in FLOAT, and the element type of the operand."""
    operand = float_operand(x, called)
    if isinstance(ddof, bool) or not isinstance(ddof, int | float):
        raise ElementTypeError(
            f"{called}: ddof is {clipped(ddof)}", found=of_type(ddof), fix="pass ddof=1"
        )
    wide = cast(operand, FLOAT)
    distances = apply("subtract", wide, _mean(wide, dims, True, called))
    total, count = _sum_and_count(apply("square", distances), dims, keepdims, called)
    divisor = count - ddof if count > ddof else 0
    return apply("divide", total, divisor), operand.element_type


def norm(x: Operand, dims: Dims = None, *, ord: float = 2, keepdims: bool = False) -> Expr:  # noqa: A002
    """Return the norm of floats along dimensions, whose elements are treated as one vector.

    For HALF, it is computed in FLOAT and rounded once. Squares that overflow FLOAT make the norm
    infinite, as in NumPy.

    Args:
        x: a tensor or an expression.
        dims: as in `ops.sum`.
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


@arguments_of(argmax)
def argmin(x: Operand, dim: int | None = None, *, keepdims: bool = False) -> Expr:
    """Return the position of the smallest element, as UNSIGNED_INT.

    Arguments and errors are those of `ops.argmax`, and so are ties and NaN.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4, 6), "x")
    >>> argmin(x, 1).shape
    (4,)
    """
    return _first_position("min", x, dim, keepdims, "ops.argmin")


@arguments_of(sum)
def min(x: Operand, dims: Dims = None, *, keepdims: bool = False) -> Expr:  # noqa: A001
    """Return the smallest element along dimensions, or NaN if there is any.

    Arguments and errors are those of `ops.sum`.

    Raises:
        TensorCreationError: without elements along the dimensions.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4, 6), "x")
    >>> min(x, -1)
    <Expr min(x, 1) float32[4]>
    """
    return reduction("min", x, dims, keepdims)


@arguments_of(sum)
def max(x: Operand, dims: Dims = None, *, keepdims: bool = False) -> Expr:  # noqa: A001
    """Return the largest element along dimensions, or NaN if there is any.

    Arguments and errors are those of `ops.sum`.

    Raises:
        TensorCreationError: without elements along the dimensions.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4, 6), "x")
    >>> max(abs(x))
    <Expr max(absolute(x), 0, 1) float32[]>
    """
    return reduction("max", x, dims, keepdims)


@arguments_of(sum)
def all(x: Operand, dims: Dims = None, *, keepdims: bool = False) -> Expr:  # noqa: A001
    """Return whether all BOOL elements are true along dimensions.

    Arguments and errors are those of `ops.sum`, for BOOL instead of numbers.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4, 6), "x")
    >>> all(x > 0)
    <Expr all(x > 0.0, 0, 1) bool[]>
    """
    return reduction("logical_and", x, dims, keepdims)


@arguments_of(sum)
def any(x: Operand, dims: Dims = None, *, keepdims: bool = False) -> Expr:  # noqa: A001
    """Return whether any BOOL element is true along dimensions.

    Arguments and errors are those of `ops.sum`, for BOOL instead of numbers.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4, 6), "x")
    >>> any(x > 0, 1)
    <Expr any(x > 0.0, 1) bool[4]>
    """
    return reduction("logical_or", x, dims, keepdims)


def has_nan(x: Operand) -> Expr:
    """Return whether any element of floats is NaN, as one BOOL.

    Args:
        x: a tensor or an expression.

    Raises:
        ElementTypeError: for elements that are not floats.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4, 6), "x")
    >>> has_nan(x)
    <Expr any(is_nan(x), 0, 1) bool[]>
    """
    return any(apply("is_nan", float_operand(x, "ops.has_nan")))


@arguments_of(has_nan)
def has_nan_or_inf(x: Operand) -> Expr:
    """Return whether any element of floats is NaN or infinite, as one BOOL; see `has_nan`.

    With it, a step of training may be skipped whose gradients overflowed.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4, 6), "x")
    >>> has_nan_or_inf(x)
    <Expr any(logical_not(is_finite(x)), 0, 1) bool[]>
    """
    operand = float_operand(x, "ops.has_nan_or_inf")
    return any(apply("logical_not", apply("is_finite", operand)))


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


def by_result(what: str, gradient: Operand, like: Expr) -> Expr:
    """Return a gradient of the shape and the type of `like`, or raise."""
    made = float_operand(gradient, what)
    if made.shape != like.shape or made.element_type is not like.element_type:
        pair = [f"{each.element_type!r} {list(each.shape)}" for each in (made, like)]
        raise TensorCreationError(
            f"{what}: the gradient must be {pair[1]}; found {pair[0]}",
            found=f"{formula(made)} and {formula(like)}",
            fix=f"pass a gradient of {pair[1]}",
        )
    return made


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


# -- by name ---------------------------------------------------------------------------------------

OPERATIONS = ("add", "square_add", "mul", "min", "max", "logical_and", "logical_or", "log_add")
"""The operations, named as in `popops::Operation`."""

SCALED = ("add", "square_add", "log_add")
"""The operations that take a scale and an update."""


def reduce(
    x: Operand,
    dims: Dims,
    op: str,
    *,
    keepdims: bool = False,
    scale: Operand | float | None = None,
    update: Operand | float | None = None,
) -> Expr:
    """Combine the elements along dimensions with an operation.

    For HALF, everything is computed in FLOAT, including squares, the scale and the update, and
    rounded once. Integers wrap.

    Args:
        x: a tensor or an expression. "logical_and" and "logical_or" take BOOL, "log_add" floats,
            the others all numbers except QUARTER.
        dims: a dimension, a list of them, or None for all; negative ones count from the last.
        op: "add", "square_add" (the sum of squares), "mul", "min", "max", "logical_and",
            "logical_or", or "log_add": `ops.log_sum_exp`. If there are no elements, "add" and
            "square_add" give 0, "mul" 1, "min" infinity or the largest integer of the type, "max"
            -infinity or the smallest integer, "logical_and" true and "logical_or" false; "log_add"
            raises.
        keepdims: whether the dimensions are kept, with size 1.
        scale: for "add" and "square_add", a factor for the result: a number, or a tensor
            or expression with one element; for "log_add", a term added to the result.
        update: for "add" and "square_add", a term added to the scaled result, of the same shape or
            one that broadcasts to it; for "log_add", `log(exp(result) + exp(update))` is returned.

    Raises:
        TensorCreationError: for an unknown operation, a scale or an update of the wrong shape, or
            "log_add" without elements.
        TensorIndexError: for a dimension that does not exist or is listed twice.
        ElementTypeError: for elements to which the operation does not apply, for a scale or an
            update of the wrong type, or for an operation that takes no scale or update.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4, 6), "x")
    >>> reduce(x, 0, "square_add", scale=0.5)
    <Expr sum(x ** 2, 0) * 0.5 float32[6]>
    """
    called = _checked_name(op)
    if op not in SCALED:
        _check_unscaled(op, scale, update)
        return reduction(op, x, dims, keepdims, called, may_be_empty=True)
    if op == "add" and scale is None and update is None:
        return reduction(op, x, dims, keepdims, called)
    operand = known_operand(x, called)
    element = operand.element_type
    wide = FLOAT if element is HALF else element
    if op == "log_add":
        result = log_sum_exp(cast(operand, wide), dims, keepdims=keepdims)
        scaled = "add"
    else:
        operand = cast(operand, wide)
        terms = apply("square", operand) if op == "square_add" else operand
        result = reduction("add", terms, dims, keepdims, called)
        scaled = "multiply"
    if scale is not None:
        result = apply(scaled, result, _one(scale, result, called))
    if update is not None:
        old = _fitting(update, result, called)
        result = apply("logaddexp" if op == "log_add" else "add", result, old)
    return cast(result, element)


@arguments_of(sum)
def log_sum_exp(x: Operand, dims: Dims = None, *, keepdims: bool = False) -> Expr:
    """Return the logarithm of the sum of exponentials of floats along dimensions.

    The largest element is subtracted first to avoid overflow. For FLOAT, the error is a few units
    in the last place of the result or of the largest element, whichever is larger. If all elements
    are -inf, the result is -inf; with an inf it is inf, with a NaN it is NaN. For HALF, it is
    computed in FLOAT and rounded once. PopLibs: `LOG_ADD`.

    Arguments and errors are those of `ops.sum`, for floats only.

    Raises:
        TensorCreationError: without elements along the dimensions.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4, 6), "x")
    >>> log_sum_exp(x, 1).shape
    (4,)
    """
    called = "ops.log_sum_exp"
    operand = float_operand(x, called)
    wide = cast(operand, FLOAT)
    most, kept = (
        _finite_or_0(reduction("max", wide, dims, keep, called)) for keep in (keepdims, True)
    )
    powers = reduction("add", apply("exp", apply("subtract", wide, kept)), dims, keepdims)
    return cast(apply("add", apply("log", powers), most), operand.element_type)


_OTHER_NAMES = {
    "sum": "add",
    "prod": "mul",
    "product": "mul",
    "multiply": "mul",
    "all": "logical_and",
    "any": "logical_or",
    "log_sum_exp": "log_add",
}
"""The names of these operations in NumPy and `ops`."""


def _checked_name(op: str) -> str:
    if not isinstance(op, str) or op not in OPERATIONS:
        meant = _OTHER_NAMES.get(op, op) if isinstance(op, str) else op
        near = did_you_mean(meant, OPERATIONS)
        raise TensorCreationError(
            f"ops.reduce: {clipped(op)} is not an operation{near}",
            found=f"the operations are {', '.join(map(repr, OPERATIONS))}",
            fix='ops.reduce(x, 0, "add")',
        )
    return f"ops.reduce {op!r}"


def _check_unscaled(op: str, scale: object, update: object) -> None:
    for name, value in (("scale", scale), ("update", update)):
        if value is not None:
            raise ElementTypeError(
                f"ops.reduce: {op!r} takes no {name}",
                found=f"{name}={clipped(value)}",
                fix=f"use one of {', '.join(map(repr, SCALED))}",
            )


def _one(scale: Operand | float, result: Expr, called: str) -> Expr:
    """Return a scale as an operand that does not change the shape of the result."""
    made = _of_type(as_expr(scale, f"{called}, scale"), result)
    if isinstance(made, Weak):
        return made
    if made.num_elements != 1:
        raise TensorCreationError(
            f"{called}: scale has shape {made.shape}, but must have one element",
            found=repr(made),
            fix="pass a number or one element; scale elementwise with ops.sum(x, 0) * y",
        )
    return made if made.rank <= result.rank else reduction("add", made, None, False)


def _fitting(update: Operand | float, result: Expr, called: str) -> Expr:
    """Return an update as an operand of the result's shape, or one that broadcasts to it."""
    made = _of_type(as_expr(update, f"{called}, update"), result)
    if isinstance(made, Weak):
        return made
    sizes = zip(made.shape[::-1], result.shape[::-1], strict=False)
    if made.rank > result.rank or [a for a, b in sizes if a not in (1, b)]:
        raise TensorCreationError(
            f"{called}: update has shape {made.shape}, but the result has shape {result.shape}",
            found=repr(made),
            fix=f"pass one of shape {result.shape}",
        )
    return made


def _of_type(value: Expr, result: Expr) -> Expr:
    """Return floats in the type in which a result is computed, and other values unchanged."""
    if isinstance(value, Weak):
        return value
    if value.is_open:
        raise ElementTypeError(
            "ops.reduce: a scale or an update cannot contain arguments (ops.arg)",
            found=repr(value),
            fix="pass a tensor or an expression of tensors",
        )
    kinds = {kind_of(value.element_type), kind_of(result.element_type)}
    return cast(value, result.element_type) if kinds == {"float"} else value


def _finite_or_0(x: Expr) -> Expr:
    return apply("select", x, 0, apply("is_finite", x))


# -- several at once -------------------------------------------------------------------------------
# Several reductions whose stages share compute sets.
#
#     low, high = ops.reduce_many([("min", x, 0), ("max", x, 0)])
#
#     compute set 1      combines the elements of x on each tile, for the minimum and the maximum
#     compute set 2      combines the results of the workers of a tile, for both; and so on
#
# Source: PopLibs, `popops::reduceMany`.


_USAGE = "ops.reduce_many(reductions)"
_FORMS = 'pass ("add", x, 0), or an expression such as ops.sum(x, 0)'


def reduce_many(
    reductions: Sequence[tuple[str, Operand, Dims] | Expr],
    outputs: Sequence[Tensor] = (),
    *,
    mapping: Any = None,
    name: str = "reduce_many",
    program: Steps | None = None,
) -> list[Tensor]:
    """Record independent reductions stage by stage, in shared compute sets.

    Each stage takes one synchronisation for all reductions, instead of one per reduction.

    Args:
        reductions: `(operation, x, dims)`, as `ops.reduce` takes them, or expressions with a
            reduction in them.
        outputs: a tensor for each result; by default, new variables.
        mapping: the mapping of each new variable, as in `graph.add_variable`; by default, results
            are mapped where the reductions compute them.
        name: the name of the steps, and the prefix of the names of results.
        program: where to add the steps; by default, the open block of `graph.steps()`.

    Returns:
        A tensor for each reduction: the given output, or the new variable.

    Raises:
        TensorCreationError: for the wrong number of outputs, a mapping together with outputs, and
            as in `ops.reduce` and `ops.map`.
        ElementTypeError: for an entry that is not a reduction, and as in `ops.reduce`.
        GraphCycleError: for an output that another of the reductions reads or writes.
        ControlProgramError: if `program` is omitted outside any block of steps.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> x = graph.add_variable(pl.INT, (5,), "x", mapping="linear", initial_value=[4, 8, 1, 9, 3])
    >>> low, high = reduce_many([("min", x, 0), ("max", x, 0)], program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> int(engine.read(low)), int(engine.read(high))
    (1, 9)
    """
    for role, given in (("reductions", reductions), ("outputs", outputs)):
        if not isinstance(given, Sequence):
            raise ElementTypeError(
                f"{_USAGE}: {role} is {clipped(given)}, not a list",
                found=of_type(given),
                fix='ops.reduce_many([("min", x, 0), ("max", x, 0)])',
            )
    exprs = [_expr(each, number) for number, each in enumerate(reductions)]
    if len(outputs) not in (0, len(exprs)):
        raise TensorCreationError(
            f"{_USAGE}: {amount(len(outputs), 'output')} for {amount(len(exprs), 'reduction')}",
            fix="pass an output for each, or none",
        )
    if mapping is not None and outputs:
        raise TensorCreationError(
            f"{_USAGE}: mapping cannot be given with outputs, which have their own",
            found=f"mapping={clipped(mapping)}",
            fix="call graph.set_tile_mapping(output, mapping), or omit outputs",
        )
    if not exprs:
        return []
    leaves = [leaf for each in exprs for leaf in each.leaves if isinstance(leaf, Tensor)]
    graph = leaves[0].graph if leaves else innermost(_USAGE).graph
    graph = graph_for(graph, leaves, program, is_placed=mapping is not None)

    def recorded() -> list[Tensor]:
        outs: Sequence[Tensor | None] = outputs or (None,) * len(exprs)
        return [
            stored(expr, out=out, mapping=mapping, name=f"{name}/{operation_name(expr)}")
            for expr, out in zip(exprs, outs, strict=True)
        ]

    steps = target(graph, program, _USAGE)
    if isinstance(steps, Together):
        return recorded()
    block = Block(graph, name)
    with block, together():
        made = recorded()
    steps.add(block)
    return made


def _expr(entry: tuple[str, Operand, Dims] | Expr, number: int) -> Expr:
    """Return an entry as an expression that contains a reduction."""
    if isinstance(entry, tuple) and len(entry) == 3:
        op, x, dims = entry
        return reduce(x, dims, op)
    if isinstance(entry, Expr) and Reduction in map(type, new_parts(entry)):
        return entry
    raise ElementTypeError(
        f"{_USAGE}: entry {number} is not a reduction",
        found=repr(entry) if isinstance(entry, Expr) else of_type(entry),
        fix=_FORMS,
    )
