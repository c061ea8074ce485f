"""From operands to nodes: element types, numbers and shapes.

All operands have the same element type, which a Python number takes if it fits the type.
Shapes are broadcast as in NumPy: they are aligned at the last dimension, and size 1 is stretched.

The module also has the shapes of matrix products, with remedies for shapes that do not match:

    [m, k] @ [k, n]             [m, n]
    [k] @ [k, n], [m, k] @ [k]  [n], [m]; for two vectors, a single number
    [g, m, k] @ [g, k, n]       [g, m, n]; dimensions before the last two are broadcast

The rules are those of `numpy.matmul`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Hashable, Iterable, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from poplite.errors import (
    ElementTypeError,
    SizeOverflowError,
    TensorCreationError,
    TensorIndexError,
    checked_truth,
)
from poplite.expr.numpy_names import refused_of_numpy
from poplite.expr.operand import JOINS_TRUTHS, Equality, Operand, check_no_truth
from poplite.expr.operations import CAST, OPERATIONS, ElementClass, ElementOperation, Kind, kind_of
from poplite.expr.tree import (
    REDUCTIONS,
    Applied,
    Contraction,
    Expr,
    IotaExpr,
    Leaf,
    Number,
    Reduction,
    Shape,
    Weak,
    formula,
)
from poplite.text import clipped, clipped_text, of_type
from poplite.types import BOOL, FLOAT, HALF, INT, as_double, element_type

_SHOWN = 60
"""Maximum number of characters of an operand in a message."""

_QUARTER = "use a vertex, which reads QUARTER as float32 numbers, and rounds when it stores"
"""The remedy for a QUARTER operand."""


def as_expr(value: object, what: str, others: Iterable[object] = ()) -> Expr:
    """Return an operand as a node; `what` is the operation, and `others` its other operands.

    Raises ElementTypeError for anything other than a tensor, an expression or a number.
    """
    if isinstance(value, Expr):
        return value
    if isinstance(value, Operand):
        return Leaf(value._read_as(others))
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool | int | float):
        return Weak(value)
    if isinstance(value, Equality):
        raise value.refused(what)
    fix = "pass a tensor, an expression or a Python number"
    if isinstance(value, np.ndarray | list | tuple):
        fix = "convert an array to a tensor: graph.add_constant(element_type, shape, values)"
    if isinstance(value, list | tuple) and any(isinstance(each, Operand) for each in value):
        fix = "combine tensors with pl.concat(tensors, dim) or ops.stack(tensors)"
    raise ElementTypeError(
        f"{what}: {clipped(value, _SHOWN)} is not a valid operand", found=of_type(value), fix=fix
    )


def apply(name: str, *values: object) -> Expr:
    """Return the node for an operation, which `poplite.ops` documents."""
    operation = OPERATIONS[name]
    if name in JOINS_TRUTHS or name == "select":
        check_no_truth(_called(operation), values[2:] if name == "select" else values)
    operands = tuple(as_expr(value, _called(operation), values) for value in values)
    if all(isinstance(each, Weak) for each in operands):
        raise ElementTypeError(
            f"{_called(operation)} takes at least one tensor or expression",
            found=", ".join(clipped(value) for value in values),
            fix="compute numbers in Python",
        )
    if any(each.is_open and not isinstance(each, Weak) for each in operands):
        return Applied(operation, operands, None, None)
    if name == "power" and isinstance(operands[1], Weak):
        power = _power(operands[0], operands[1].value)
        if power is not None:
            return power
    return _applied(operation, operands)


def _applied(operation: ElementOperation, operands: tuple[Expr, ...]) -> Expr:
    element = _common_type(operation, operands)
    kinds = [element] * operation.arity
    if operation.name == "select":
        kinds[2] = BOOL
    operands = tuple(
        typed_number(each.value, kind, _called(operation)) if isinstance(each, Weak) else each
        for each, kind in zip(operands, kinds, strict=True)
    )
    shape = _broadcast(operation, operands)
    return Applied(operation, operands, shape, BOOL if operation.gives == "bool" else element)


def _common_type(operation: ElementOperation, operands: tuple[Expr, ...]) -> ElementClass:
    """Return the common element type of the operands, except for a predicate, which is BOOL."""
    counted = operands
    if operation.name == "select":
        counted, predicate = operands[:2], operands[2]
        if predicate.element_type is not BOOL:
            raise ElementTypeError(
                f"select: the predicate {_shown(predicate)} is {_type_text(predicate)}, not BOOL",
                found=f"select(a, b, predicate) with the predicate {_shown(predicate)}",
                fix="pass a comparison, such as x > 0",
            )
        if all(isinstance(each, Weak) for each in counted):
            raise ElementTypeError(
                "select: two Python numbers do not determine an element type",
                found=", ".join(map(_shown, counted)),
                fix="use ops.cast(predicate, FLOAT) * (a - b) + b, or a constant tensor",
            )
    strong = [each for each in counted if not isinstance(each, Weak)]
    element = strong[0].element_type
    for other in strong[1:]:
        if other.element_type is not element:
            raise ElementTypeError(
                f"{_called(operation)}: {_shown(strong[0])} is {element!r}, "
                f"{_shown(other)} is {other.element_type!r}",
                found="all operands must have the same element type",
                fix=f"ops.cast({_written(other)}, {element!r})",
            )
    if operation.text_for(element) is None:
        accepted = {"float": "FLOAT and HALF", "int": "integers", "bool": "BOOL"}
        raise ElementTypeError(
            f"{_called(operation)}: {_shown(strong[0])} is {element!r}",
            found=f"it takes {' and '.join(accepted[k] for k in operation.text if k in accepted)}",
            fix=_QUARTER
            if kind_of(element) is None
            else operation.fix or f"ops.cast({_written(strong[0])}, {_castable(operation)}) first",
        )
    return element


def _castable(operation: ElementOperation) -> str:
    """Return an element type that an operation accepts."""
    return "FLOAT" if "float" in operation.text else "INT" if "int" in operation.text else "BOOL"


def _shown(expr: Expr) -> str:
    """Return an operand as text for messages."""
    if isinstance(expr, Leaf):
        return f"'{clipped_text(expr.tensor._as_written(), _SHOWN) or _text(expr)}'"
    return _text(expr)


def _text(expr: Expr) -> str:
    """Return an operand as text for code."""
    return clipped_text(formula(expr), _SHOWN)


def _written(expr: Expr) -> str:
    """Return an operand as the user may have written it: without scopes, which are not Python."""
    names = {str(leaf._in_formula()) for leaf in expr.leaves}
    text = _text(expr)
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, name.rpartition("/")[2])
    return text


def _type_text(expr: Expr) -> str:
    if isinstance(expr, Weak):
        return "a Python number"
    return repr(expr.element_type)


def _called(operation: ElementOperation) -> str:
    if operation.name == "select":  # both operands determine the result
        return "ops.where or ops.select"
    return f"'{operation.symbol}'" if operation.symbol else f"ops.{operation.name}"


def typed_number(value: bool | int | float, element: ElementClass, what: str) -> Number:
    """Return a Python number as a value of an element type.

    Raises SizeOverflowError for a number that does not fit the type, and ElementTypeError for the
    wrong kind of number, such as 0.5 for INT.
    """
    kind = kind_of(element)
    if (isinstance(value, bool) and kind != "bool") or (
        kind == "bool" and not isinstance(value, bool)
    ):
        raise ElementTypeError(
            f"{what}: {value!r} cannot be combined with {element!r}",
            found=of_type(value),
            fix="combine True or False only with BOOL, such as the result of a comparison",
        )
    if kind == "int" and isinstance(value, float):
        raise ElementTypeError(
            f"{what}: {value!r} cannot be combined with {element!r}",
            found=f"{element!r} stores whole numbers",
            fix=f"use {round(value)}, or ops.cast(x, FLOAT)"
            if math.isfinite(value)
            else "use ops.cast(x, FLOAT)",
        )
    fitted = _fitted(value, element)
    if fitted is None:
        raise SizeOverflowError(
            f"{what}: {clipped(value)} does not fit {element!r}",
            found=_range_text(element),
            fix="use a number in that range, or ops.cast to a larger type first",
        )
    return Number(fitted, element)


def _fitted(value: bool | int | float, element: ElementClass) -> np.generic | None:
    """Return a number in an element type; None if it does not fit."""
    dtype: np.dtype[Any] = element.dtype
    if dtype.kind == "f":
        try:
            exact = as_double(value) if isinstance(value, int) else float(value)
        except OverflowError:
            return None
        with np.errstate(over="ignore"):
            # Rounded as in a store: to float32 first, then to HALF.
            rounded: np.generic = np.float32(exact).astype(dtype)
        return None if math.isfinite(exact) and not np.isfinite(rounded) else rounded
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        if not limits.min <= value <= limits.max:
            return None
    number: np.generic = np.array(value, dtype)[()]  # type: ignore[assignment]
    return number


def _range_text(element: ElementClass) -> str:
    limits: Any = (np.finfo if element.dtype.kind == "f" else np.iinfo)(element.dtype)
    return f"{element!r} ranges from {limits.min:,} to {limits.max:,}"


# -- powers ----------------------------------------------------------------------------------------


def _power(base: Expr, exponent: bool | int | float) -> Expr | None:
    """Return a power with a number as exponent as products and roots; None if it is not short."""
    is_float = kind_of(base.element_type) == "float"
    if not is_float and isinstance(exponent, int) and exponent < 0:
        raise ElementTypeError(
            f"'**': {_shown(base)} is {base.element_type!r}, and {exponent} is negative",
            found="whole numbers have no reciprocals",
            fix="use ops.cast(x, FLOAT) first",
        )
    if isinstance(exponent, bool) or kind_of(base.element_type) not in ("float", "int"):
        return None
    if not is_float and isinstance(exponent, float):
        return None  # not valid with an integer operand
    if is_float and exponent in (0.5, -1):  # not -0.5: 1 / sqrt(-0.0) has the other sign
        return apply({0.5: "sqrt", -1: "reciprocal"}[float(exponent)], base)
    is_whole = isinstance(exponent, int) or float(exponent).is_integer()
    whole = int(exponent) if is_whole else 0
    # For floats, each product rounds: two are within 1.5 ulp, as is the power kernel.
    return power_by_squares(base, whole) if 1 <= whole <= (3 if is_float else 64) else None


def power_by_squares(base: Expr, exponent: int) -> Expr:
    """Return a power of at least 1 by repeated squaring, from the lowest bit of the exponent."""
    result: Expr | None = None
    while exponent:
        if exponent & 1:
            result = base if result is None else apply("multiply", result, base)
        exponent >>= 1
        if exponent:
            base = apply("square", base)
    assert result is not None
    return result


# -- shapes ----------------------------------------------------------------------------------------


def _broadcast(operation: ElementOperation, operands: Sequence[Expr]) -> Shape:
    """Return the shape to which operands are broadcast."""
    shapes = [each.shape for each in operands]
    rank = max(map(len, shapes))
    result = [1] * rank
    source: list[Expr | None] = [None] * rank
    for each in operands:
        for d, size in enumerate(each.shape, rank - len(each.shape)):
            if size == result[d] or size == 1:
                continue
            other = source[d]
            if other is not None:
                raise _misshapen(operation, other, each, rank, d)
            result[d], source[d] = size, each
    return tuple(result)


def _misshapen(
    operation: ElementOperation, one: Expr, other: Expr, rank: int, d: int
) -> TensorCreationError:
    dims = [d - rank + len(each.shape) for each in (one, other)]
    sizes = [each.shape[at] for each, at in zip((one, other), dims, strict=True)]
    fix = "make the sizes equal, or one of them 1"
    if len(other.shape) == 1 and other.shape[0] in one.shape:
        fix = f"reshape {_shown(other)} with sizes of 1 at the end for another dimension"
    return TensorCreationError(
        f"{_called(operation)}: {_shown(one)} has size {sizes[0]:,} in dimension {dims[0]}, but "
        f"{_shown(other)} has size {sizes[1]:,} in dimension {dims[1]}",
        found=f"shapes {one.shape} and {other.shape}",
        fix=fix,
    )


# -- nodes with attributes -------------------------------------------------------------------------


def cast(value: object, to: object) -> Expr:
    """Return elements in another type; see `poplite.ops.cast`."""
    element = element_type(to)  # type: ignore[arg-type]
    operand = as_expr(value, "ops.cast")
    if isinstance(operand, Weak):
        return typed_number(operand.value, element, "ops.cast")
    if not operand.is_open and operand.element_type is element:
        return operand
    for each in (element, operand.element_type):
        if each is not None and kind_of(each) is None:
            raise ElementTypeError(
                f"ops.cast: {each!r} needs metadata, which an expression does not have",
                found=repr(operand),
                fix=_QUARTER,
            )
    return Applied(CAST, (operand,), operand._shape, element)


def iota(shape: int | Iterable[int], to: object = INT, start: int = 0) -> Expr:
    """Return integers by position; see `poplite.ops.iota`."""
    try:
        listed = shape if isinstance(shape, Iterable) else (shape,)
        sizes = tuple([operator.index(size) for size in listed])
        start = operator.index(start)
    except TypeError:
        raise TensorCreationError(
            f"ops.iota({clipped(shape)}, start={clipped(start)}) needs whole numbers",
            found=f"{of_type(shape)} and {of_type(start)}",
            fix="ops.iota((2, 3), start=1), with ops.cast(..., FLOAT) * 0.5 for steps of 0.5",
        ) from None
    if any(size < 0 for size in sizes):
        raise TensorCreationError(
            f"ops.iota({clipped(shape)}): a size is negative", fix="use sizes from 0"
        )
    element = element_type(to)  # type: ignore[arg-type]
    if kind_of(element) is None:
        raise ElementTypeError(
            f"ops.iota: {element!r} is not an integer type", fix="ops.iota((2, 3), INT)"
        )
    last = start + max(math.prod(sizes) - 1, 0)
    for each in (start, last):
        typed_number(each, element, "ops.iota")
    return IotaExpr(sizes, element, start)


def reduction(
    how: str,
    value: object,
    dims: object,
    keepdims: bool,
    called: str = "",
    *,
    may_be_empty: bool = False,
) -> Expr:
    """Return a reduction; `dims` is a dimension, several, or None for all.

    "min" and "max" of no elements are refused, unless `may_be_empty`: the limits of the type.
    """
    called = called or f"ops.{REDUCTIONS.get(how, how)}"
    operand = as_expr(value, called)
    if isinstance(operand, Weak):
        raise ElementTypeError(
            f"{called}: {clipped(value)} is a single number",
            found=of_type(value),
            fix="pass a tensor or an expression",
        )
    listed, keepdims = _dims(dims, called), checked_truth(keepdims, f"{called}: keepdims")
    if operand.is_open:
        return Reduction(how, operand, listed, keepdims, None, None)
    rank = operand.rank
    chosen = list(range(rank)) if listed is None else [d + rank if d < 0 else d for d in listed]
    for d, given in zip(chosen, listed or (), strict=False):
        if not 0 <= d < rank:
            raise TensorIndexError(
                f"{called}: dimension {given} of {_shown(operand)}, which has {rank}",
                found=repr(operand),
                fix=f"use a dimension from {-rank} to {rank - 1}"
                if rank
                else "pass no dimensions: ()",
            )
    if len({*chosen}) < len(chosen):
        raise TensorIndexError(
            f"{called}: a dimension is listed twice: {clipped(dims)}",
            found=repr(operand),
            fix="list each dimension once",
        )
    _check_reducible(how, operand, called)
    if how in ("min", "max") and not may_be_empty and any(operand.shape[d] == 0 for d in chosen):
        results = math.prod(size for d, size in enumerate(operand.shape) if d not in chosen)
        if results:
            raise TensorCreationError(
                f"{called} of no elements of {_shown(operand)}",
                found=repr(operand),
                fix="reduce dimensions with at least one element",
            )
    sizes = enumerate(operand.shape)
    shape = tuple(1 if d in chosen else n for d, n in sizes if keepdims or d not in chosen)
    return Reduction(how, operand, tuple(sorted(chosen)), keepdims, shape, operand.element_type)


def contraction(
    left: object,
    right: object,
    how: Hashable = None,
    *,
    result: ElementClass | None = None,
    what: str = "'@'",
    call: str = "ops.matmul({}, {})",
) -> Contraction:
    """Return a matrix product of type `result` or of the operands; `call` is for messages."""
    one, other = as_expr(left, what), as_expr(right, what)
    for node, value in ((one, left), (other, right)):
        if isinstance(node, Weak):
            raise ElementTypeError(
                f"{what}: {clipped(value)} is not a matrix",
                found=of_type(value),
                fix=f"use a * {clipped(value)} to multiply each element",
            )
    if one.is_open or other.is_open:
        return Contraction(one, other, how, None, result)
    element = one.element_type
    if element is not other.element_type or element not in (FLOAT, HALF):
        is_same = element is other.element_type
        raise ElementTypeError(
            f"{what}: {_shown(one)} is {element!r}, {_shown(other)} is {other.element_type!r}",
            found=f"shapes {one.shape} and {other.shape}; the AMP unit multiplies HALF or FLOAT",
            fix=f"ops.cast({_written(other)}, {element!r})"
            if not is_same and element in (FLOAT, HALF)
            else f"use ops.cast({_written(one)}, FLOAT), exact for whole numbers up to 2**24, or "
            "ops.sum(a[:, :, None] * b, 1), whose integers wrap around",
        )
    shape = product_shape(one.shape, other.shape)
    if shape is None:
        is_code = isinstance(one, Leaf) and isinstance(other, Leaf)
        names = (_text(one), _text(other)) if is_code else None
        raise TensorCreationError(
            f"{what}: shapes {one.shape} of {_shown(one)} and {other.shape} of {_shown(other)} "
            "do not match",
            found=shape_misfit(one.shape, other.shape),
            fix=possible_product(names, one.shape, other.shape, call),
        )
    return Contraction(one, other, how, shape, result or element)


def _dims(dims: object, called: str) -> tuple[int, ...] | None:
    if dims is None:
        return None
    try:
        if isinstance(dims, Iterable):
            return tuple(operator.index(d) for d in dims)
        return (operator.index(dims),)  # type: ignore[arg-type]
    except TypeError:
        raise TensorIndexError(
            f"{called}: {clipped(dims)} are not valid dimensions",
            found=of_type(dims),
            fix="pass a number, or a list such as [0, 1], or leave it out for all dimensions",
        ) from None


def _check_reducible(how: str, operand: Expr, called: str) -> None:
    kind: Kind | None = kind_of(operand.element_type)
    is_logical = how.startswith("logical")
    fix = "pass a comparison, such as x > 0" if is_logical else "use ops.cast(x, FLOAT) first"
    if kind is None or is_logical != (kind == "bool"):
        raise ElementTypeError(
            f"{called}: {_shown(operand)} is {operand.element_type!r}",
            found=repr(operand),
            fix=_QUARTER if kind is None else fix,
        )


_NUMPYS_NAMES = {
    "arccos": "acos",
    "arcsin": "asin",
    "arctan": "atan",
    "arctan2": "atan2",
    "fmod": "remainder_trunc",
    "invert": "bitwise_not",
    "isfinite": "is_finite",
    "isinf": "is_inf",
    "isnan": "is_nan",
    "left_shift": "shift_left",
    "right_shift": "shift_right",
    "rint": "round",
}
"""Operations with different names in NumPy."""

NUMPYS_REDUCTIONS = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_and": "all",
    "logical_or": "any",
}
"""Reductions, by the NumPy function whose `reduce` computes them."""

NUMPYS_SCANS = {"add": "cumulative_sum", "multiply": "cumulative_product"}
"""Scans, by the NumPy function that has them as its `accumulate`."""


def of_numpy(operand: Operand, function: str, method: str, inputs: Sequence[object]) -> object:
    """Return the expression for an operator between a NumPy number and an operand.

    Raises ElementTypeError for NumPy functions, with the operation to use instead.
    """
    name = _NUMPYS_NAMES.get(function, function)
    is_beside = any(isinstance(each, np.generic | np.ndarray) for each in inputs)
    if method == "__call__" and is_beside and name in ("equal", "not_equal"):
        other = next(each for each in inputs if each is not operand)
        return operand == other if name == "equal" else operand != other
    if method == "__call__" and is_beside and name in OPERATIONS and OPERATIONS[name].symbol:
        # NumPy passes numbers in comparisons as arrays of rank 0.
        return apply(name, *[each[()] if isinstance(each, np.ndarray) else each for each in inputs])
    if method == "__call__" and is_beside and name == "matmul":
        as_expr(next(each for each in inputs if each is not operand), "'@'")  # refuses it
    if method != "__call__":
        ours = {"reduce": NUMPYS_REDUCTIONS, "accumulate": NUMPYS_SCANS}.get(method, {})
        raise refused_of_numpy(operand, f"{function}.{method}", ours.get(function, ""))
    raise refused_of_numpy(operand, function, name)


def in_place(operand: Operand, symbol: str, other: object) -> ElementTypeError:
    """Return the error for `x += y` and other augmented assignments."""
    what = f"'{symbol}='"
    one, two = (clipped_text(formula(as_expr(each, what)), _SHOWN) for each in (operand, other))
    one = clipped_text(operand._as_written(), _SHOWN) or one
    two = f"({two})" if " " in two else two
    fix = f"record the change: ops.assign({one}, {one} {symbol} {two})"
    if isinstance(operand, Expr):
        fix = f"write e = e {symbol} {two}, or ops.assign(t, e) to store it in a tensor"
    return ElementTypeError(
        f"{what}: nothing is changed while a graph is built",
        found=f"{one} {symbol}= {two}",
        fix=fix,
    )


# -- matrix shapes ---------------------------------------------------------------------------------


def product_shape(one: Shape, other: Shape) -> Shape | None:
    """Return the shape of a product; None if the shapes do not match.

    >>> product_shape((7, 1, 4, 6), (3, 6, 5))
    (7, 3, 4, 5)
    """
    if not one or not other or one[-1] != other[-2:][0]:
        return None
    groups: list[int] = []
    for a, b in zip_longest(one[-3::-1], other[-3::-1], fillvalue=1):
        if a != b and 1 not in (a, b):
            return None
        groups.append(b if a == 1 else a)
    return (*groups[::-1], *one[-2:-1], *(other[-1:] if len(other) > 1 else ()))


def shape_misfit(one: Shape, other: Shape) -> str:
    """Return the reason why two shapes do not match."""
    if not one or not other:
        return "a number has no rows; use a * b to multiply each element"
    if one[-1] == other[-2:][0]:
        return "dimensions before the last two must be equal, or 1"
    return f"each row of the left has {one[-1]:,}, each column of the right {other[-2:][0]:,}"


def possible_product(names: tuple[str, str] | None, one: Shape, other: Shape, call: str) -> str:
    """Return a way to multiply two operands whose shapes do not match.

    `names` are those of tensors, None for an expression; `call` multiplies them.
    """
    for left, shape in _as_matrix(names and names[0], "left", one, (1, *one)):
        for right, other_shape in _as_matrix(names and names[1], "right", other, (*other, 1)):
            if len(shape) == len(other_shape) == 2 and shape[1] == other_shape[0]:
                how = call.format(left, right) if names else f"{left}, by {right}"
                return f"{how}: {shape} by {other_shape}"
    depth = one[-1] if one else 1
    return f"use a right operand of shape ({depth}, columns); no transposition of the two matches"


def _as_matrix(name: str | None, side: str, shape: Shape, vector: Shape) -> list[tuple[str, Shape]]:
    """Return the matrices as which an operand may be meant, with the code that creates them.

    `vector` is the shape to use for a vector; `side` is the operand's name in the text.
    """
    text = name or f"the {side} operand"
    transposed, reshaped = (".T", ".reshape") if name else (", transposed", ", reshaped to ")
    if len(shape) == 2:
        turned = text.removesuffix(".T") if text.endswith(".T") else f"{text}{transposed}"
        return [(text, shape), (turned, shape[::-1])]
    if len(shape) > 2 and side == "right":
        return [(text, shape)]
    rows = vector if len(shape) == 1 else (math.prod(shape[:-1]), *(shape[-1:] or (1,)))
    return [(f"{text}{reshaped}({rows})" if name else f"{text}{reshaped}{rows}", rows)]
